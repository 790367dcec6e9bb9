"""Repeats a script's action on an element, as a script, in the row whose text is the recorded one."""

from __future__ import annotations

from typing import Any

from pytest_webarena.actions import ByScript
from pytest_webarena.browser.acting.element_probes import RECORD
from pytest_webarena.text import shorten

__all__ = ["BY_SCRIPT", "failure_text"]

BY_SCRIPT = (
    "(node, event, value, unlessHeld, alone, rows, names) => {"
    + RECORD
    + r"""
  const found = elementOf(node), root = found.getRootNode();
  if (alone && root.querySelectorAll(alone).length !== 1) return {several: root.querySelectorAll(alone).length};
  const bare = text => (text || '').replace(/\s+/g, ''), unnumbered = text => bare(text).replace(/\d+/g, '#');
  const texts = new Map();
  const read = each => {
    if (!texts.has(each)) texts.set(each, each.innerText ?? each.textContent);
    return texts.get(each);
  };
  const around = each => {
    const all = [];
    for (let n = each; n && n.nodeType === 1; n = n.parentElement) all.push(n);
    return all;
  };
  const plain = text => (text || '').replace(/\s+/g, ' ').trim();
  const inAnyOrder = text => plain(text).split(' ').sort().join(' ');
  const held = field => {
    const hints = `${field.type} ${field.getAttribute('autocomplete') || ''}`;
    if (/\b(password|button|submit|reset|image|hidden)\b/i.test(hints)) return '';
    if (field.localName === 'select') return [...field.selectedOptions].map(option => plain(option.label)).join('\n');
    if (field.type === 'file') return [...field.files].map(file => file.name).join('\n');
    return field.value;
  };
  const marksOf = (row, but) => {  // as `dom_scripts.js` reads them
    const marks = [], clip = text => text.length > 100 ? text.slice(0, 99) + '…' : text;
    const all = [...row.querySelectorAll('input, textarea, select, [alt], [title], [aria-label]')];
    for (const each of all.slice(0, 50)) {
      const box = ['checkbox', 'radio'].includes(each.type);
      if (box) marks.push(each.getAttribute('value'));
      else if (each !== but && ['input', 'textarea', 'select'].includes(each.localName)) marks.push(held(each));
      for (const name of ['alt', 'title', 'aria-label']) marks.push(each.getAttribute(name));
    }
    return plain(marks.filter(Boolean).map(clip).join(' | ')).slice(0, 200);
  };
  const alike = ([tag, text], how) =>
    [...root.querySelectorAll(CSS.escape(tag))].filter(each => how(read(each)) === how(text));
  // Marks say which is which of those that read alike, or of which nothing is read but what the element itself says.
  const fits = (n, row, how, el) => n.localName === row[0] && how(read(n)) === how(row[1])
    && (!row[2] || how(marksOf(n, el)) === how(row[2])
      || (how(row[1]) !== how(read(el)) && alike(row, how).length < 2));
  const reads = (each, how) => rows.every(row => around(each).some(n => fits(n, row, how, each)));
  const kinOf = row => [...row.querySelectorAll(CSS.escape(found.localName))];
  const place = () => {
    if (!rows.length || reads(found, bare)) return found;
    if (!alone && reads(found, inAnyOrder)) return found;  // found by its name
    for (const how of rows.some(row => row[3]) ? [bare] : [bare, unnumbered]) {
      const last = rows[rows.length - 1], all = alike(last, how);
      const own = around(found).find(n => n.localName === last[0]);
      const inside = row => row && row !== found ? kinOf(row) : [];
      const then = inside(own), at = then.indexOf(found);
      const within = row => {
        const now = inside(row);
        return own === found ? row : then.length === now.length ? now[at] : now.length === 1 ? now[0] : null;
      };
      const outer = last[2] ? all.filter(row => within(row) && fits(row, last, how, within(row))) : all;
      if (outer.length > 1) break;  // nobody knows which
      if (!outer.length) continue;
      const there = within(outer[0]);
      if (there && reads(there, how)) return there;
    }
    return null;
  };
  const el = place();
  if (!el) return {elsewhere: read(around(found).find(n => n.localName === rows[rows.length - 1][0]) || found)};
  const saying = text => squeeze(text, 200).replace(/\s+/g, '').toLowerCase();
  const isCalled = () => {
    if (!alone && el === found) return true;  // it was found by that
    const texts = [nameOf(el), el.textContent, ...(el.innerText ? [] : [el.getAttribute('title')])].map(saying);
    if (!names.length || el.isContentEditable || names.some(name => texts.includes(saying(name)))) return true;
    if (!['input', 'textarea', 'select'].includes(el.localName)) return false;
    // How many letters may be written yet, say.
    const so = each => names.some(name => unnumbered(nameOf(each)) === unnumbered(name));
    return so(el) && [...root.querySelectorAll(el.localName)].filter(so).length === 1;
  };
  if (!isCalled()) return {called: nameOf(el)};
  const view = el.ownerDocument.defaultView, tag = el.localName;
  const Pointer = event.startsWith('pointer') ? view.PointerEvent : view.MouseEvent;
  const made = {bubbles: true, cancelable: true, composed: true, view: view};
  const announce = () => {
    el.dispatchEvent(new view.Event('input', {bubbles: true, composed: true}));
    el.dispatchEvent(new view.Event('change', {bubbles: true}));
  };
  const give = (kind, name, what) => Object.getOwnPropertyDescriptor(view[kind].prototype, name).set.call(el, what);
  const fill = () => {
    if (tag === 'select') {
      const options = [...el.options];
      const labels = () => options.filter(option => option.selected).map(option => plain(option.label)).join('\n');
      if (unlessHeld && labels() === value) return true;
      const wanted = value === '' ? [] : value.split('\n');
      if (wanted.some(label => !options.some(option => plain(option.label) === label))) {
        return {missing: wanted.find(label => !options.some(option => plain(option.label) === label)),
                options: options.slice(0, 30).map(option => plain(option.label))};
      }
      if (!el.multiple) el.selectedIndex = options.findIndex(option => plain(option.label) === value);
      else for (const option of options) option.selected = wanted.includes(plain(option.label));
      return false;
    }
    if (tag === 'input' && el.type === 'file') return {files: value};
    if (tag === 'input' && ['checkbox', 'radio'].includes(el.type)) {
      if (unlessHeld && el.checked === (value === 'on')) return true;
      give('HTMLInputElement', 'checked', value === 'on');
      return false;
    }
    const kind = {input: 'HTMLInputElement', textarea: 'HTMLTextAreaElement'}[tag];
    if (!kind) return {nothing: true};
    if (unlessHeld && el.value === value) return true;
    give(kind, 'value', value);
    return el.value === value ? false : {refused: el.value};
  };
  if (['change', 'put', 'set'].includes(event)) {
    const filled = fill();
    if (filled === true || typeof filled === 'object') return filled;
    if (event !== 'set') announce();
  } else if (event === 'submit' || event === 'sent') {
    const form = tag === 'form' ? el : el.form;
    if (!form) return {nothing: true};
    if (event === 'submit') view.HTMLFormElement.prototype.requestSubmit.call(form, tag === 'form' ? undefined : el);
    else view.HTMLFormElement.prototype.submit.call(form);
  } else if (event === 'keydown') {
    const held = value.split('+'), key = value.endsWith('+') ? '+' : held[held.length - 1];
    const keys = {...made, key: key, code: key.length === 1 && /[a-z]/i.test(key) ? `Key${key.toUpperCase()}` : key,
      ctrlKey: held.includes('Control'), altKey: held.includes('Alt'), metaKey: held.includes('Meta'),
      shiftKey: held.includes('Shift'), keyCode: key === 'Enter' ? 13 : key === 'Escape' ? 27 : key === 'Tab' ? 9 : 0};
    for (const type of ['keydown', 'keyup']) el.dispatchEvent(new view.KeyboardEvent(type, keys));
  } else if (event === 'click' && typeof el.click === 'function') {
    el.click();
  } else {
    el.dispatchEvent(new Pointer(event, made));
  }
  return false;
}"""
)
"""Repeats what a script did: ``event`` is that of `DomEvent.event`. Returns false if it was done, true if nothing was
to be done; else an object with the reason why not."""


def failure_text(action: ByScript, found: dict[str, Any]) -> str:
    """Return a sentence that says why `BY_SCRIPT` failed."""
    if "missing" in found:
        listed = ", ".join(repr(option) for option in found["options"])
        return f"The list has no option {found['missing']!r}. It has: {listed}."
    if "several" in found:
        return f"{action.alone} found one element, and now {found['several']}."
    if "elsewhere" in found:
        previous_text = " ".join(action.rows[-1][1:3]).strip()
        return (
            f"It stood in what read {shorten(previous_text, 80)!r}; that is not here, or more than once: there is now "
            f"{shorten(str(found['elsewhere']), 80)!r}."
        )
    if "called" in found:
        previous_text, now = shorten(action.names[0], 80), shorten(str(found["called"]), 80)
        return f"It was called {previous_text!r}; what is there now is {now!r}."
    if "files" in found:
        return f"A script had put files there ({found['files']!r}), and what is in them was not recorded."
    if "refused" in found:
        return f"The field does not take {action.value!r}; it holds {found['refused']!r} instead."
    return f"There is nothing here to which a script could do that ({action.event})."
