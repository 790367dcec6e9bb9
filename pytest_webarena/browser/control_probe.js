// Lists the controls of a page that only its scripts know, uses one of them, and serialises what the page shows.
(request) => {
  const LISTENERS = Symbol.for('pytest-webarena-listeners');
  const CLICKS = ['click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'touchstart', 'mouseover', 'mouseenter'];
  const TYPING = ['input', 'keydown', 'keyup', 'keypress', 'change', 'search'];
  const ROLES = ['button', 'tab', 'link', 'menuitem', 'menuitemradio', 'menuitemcheckbox', 'option', 'switch', 'radio',
                 'checkbox', 'treeitem'];
  const TYPED = ['text', 'search', 'number', 'url', 'email', 'tel'];
  const known = window[LISTENERS] || new WeakMap();
  const roots = ((window[Symbol.for('pytest-webarena')] || {roots: []}).roots)
    .map(root => root.deref()).filter(root => root && root.isConnected);
  const listens = (el, types) => types.some(type => el[`on${type}`] || (known.get(el) || new Set()).has(type));
  const shown = el => el.checkVisibility ? el.checkVisibility() : el.getClientRects().length > 0;
  const labelOf = el => (el.getAttribute('aria-label') || el.textContent || el.value || el.title || '')
    .replace(/\s+/g, ' ').trim().slice(0, 80);
  const points = el => getComputedStyle(el).cursor === 'pointer';

  const useOf = el => {
    const tag = el.localName, form = el.form, role = el.getAttribute('role');
    const reads = form && form.method === 'get', scripted = form && listens(form, ['submit']);
    if (el.disabled || tag === 'body' || tag === 'html' || tag === 'option') return null;
    if (tag === 'a' && el.hasAttribute('href')) return /^\s*(#|javascript:|$)/i.test(el.getAttribute('href')) ? 'click' : null;
    if (tag === 'select') return reads && !listens(el, ['change', 'input']) ? null : form && !reads ? null : 'choose';
    if (tag === 'input' || tag === 'textarea') {
      const type = tag === 'textarea' ? 'text' : el.type;
      if (TYPED.includes(type)) {
        return (form ? (reads && (scripted || listens(el, TYPING))) : true) && !el.readOnly ? 'type' : null;
      }
      if (['checkbox', 'radio'].includes(type)) return form && !listens(el, ['click', 'change', 'input']) ? null : 'click';
      if (type === 'button') return 'click';
      return ['submit', 'image'].includes(type) && !form ? 'click' : null;
    }
    if (tag === 'button') return el.type === 'submit' && form ? (scripted && reads ? 'click' : null) : 'click';
    if (tag === 'summary' || ROLES.includes(role) || listens(el, CLICKS)) return 'click';
    const within = el.closest('a,button,label,summary,select');
    return !within && points(el) && !(el.parentElement && points(el.parentElement)) ? 'click' : null;
  };

  const controls = () => {
    const found = new Map();
    for (const root of [document, ...roots]) {
      for (const el of root.querySelectorAll('*')) {
        const use = useOf(el);
        if (!use || !shown(el)) continue;
        const parts = use === 'click' && listens(el, ['click']) && el.localName !== 'button'
          ? [...el.querySelectorAll('*')].filter(each => !each.children.length && each.textContent.trim()) : [];
        // A list that listens for its items' clicks.
        for (const each of parts.length > 1 ? parts : [el]) if (!found.has(each)) found.set(each, use);
      }
    }
    const count = new Map();
    return [...found].flatMap(([el, use]) => {
      const name = `${use} ${el.localName} ${labelOf(el)}`, number = count.get(name) || 0;
      count.set(name, number + 1);
      const values = use === 'choose' ? [...el.options].filter(each => !each.disabled).map(each => each.value) : [''];
      return values.map(value => ({el, use, label: labelOf(el), value, key: `${name} ${number} ${value}`}));
    });
  };

  const tell = (el, type, kind = MouseEvent) =>
    el.dispatchEvent(new kind(type, {bubbles: true, cancelable: true, composed: true, view: window}));
  const use = ({el, use, value}) => {
    if (use === 'choose') {
      el.value = value;
    } else if (use === 'type') {
      el.focus();
      el.value = request.word;
      for (const type of ['keydown', 'keypress', 'input', 'keyup', 'change']) {
        el.dispatchEvent(type.startsWith('key')
          ? new KeyboardEvent(type, {key: 'Enter', code: 'Enter', keyCode: 13, bubbles: true, cancelable: true})
          : new Event(type, {bubbles: true}));
      }
      if (el.form) el.form.requestSubmit();
      return;
    } else {
      for (const type of ['pointerover', 'pointerenter', 'pointerdown', 'pointerup']) tell(el, type, PointerEvent);
      for (const type of ['mouseover', 'mouseenter', 'mousedown', 'mouseup']) tell(el, type);
      el.click ? el.click() : tell(el, 'click');
      return;
    }
    for (const type of ['input', 'change']) el.dispatchEvent(new Event(type, {bubbles: true}));
  };

  if (request.does === 'list') return controls().map(({el, ...rest}) => rest);
  if (request.does === 'use') {
    const one = controls().find(each => each.key === request.key);
    if (one) use(one);
    return Boolean(one);
  }
  for (const root of [document, ...roots]) {
    for (const el of root.querySelectorAll('input')) if (!['password', 'file'].includes(el.type)) el.setAttribute('value', el.value);
    for (const el of root.querySelectorAll('textarea')) el.defaultValue = el.value;
  }
  const whole = document.documentElement;
  const html = whole.getHTML ? `<html>${whole.getHTML({shadowRoots: roots})}</html>` : whole.outerHTML;
  const frames = [];
  for (const frame of document.querySelectorAll('iframe')) {
    const inner = frame.contentDocument;
    if (inner && /^about:(blank|srcdoc)/.test(inner.URL)) frames.push(inner.documentElement.outerHTML);
  }
  return {url: document.URL, html, frames, size: document.querySelectorAll('*').length};
}
