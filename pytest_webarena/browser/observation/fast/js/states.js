// States and values of elements, in the order and words of Chromium's accessibility tree.

const bool = value => value ? 'True' : 'False';
const REQUIRES = new Set(['textbox', 'spinbutton', 'combobox', 'listbox', 'radiogroup', 'tree', 'treegrid', 'columnheader',
  'rowheader', 'gridcell']);
const SELECTS_MANY = new Set(['listbox', 'tablist', 'tree', 'grid', 'treegrid']);
const ORIENTED = {
  slider: 'horizontal', separator: 'horizontal', tablist: 'horizontal', menubar: 'horizontal', toolbar: 'horizontal',
  listbox: 'vertical', menu: 'vertical', tree: 'vertical', scrollbar: 'vertical',
};
const LIVE = {alert: 'assertive', status: 'polite', log: 'polite'};
const RANGES = new Set(['slider', 'spinbutton', 'progressbar', 'meter', 'scrollbar']);
const CHECKS = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);
const CHOSEN = new Set(['tab', 'treeitem']);
const DISABLES = new Set(['button', 'checkbox', 'radio', 'switch', 'combobox', 'listbox', 'option', 'textbox', 'searchbox',
  'spinbutton', 'slider', 'link', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'treeitem', 'gridcell',
  'Date', 'DateTime', 'InputTime', 'ColorWell']);
const EXPANDS = new Set(['button', 'checkbox', 'combobox', 'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'row',
  'rowheader', 'columnheader', 'gridcell', 'switch', 'tab', 'treeitem', 'application', 'listbox']);

const tristate = value => value === 'true' || value === 'mixed' ? value : 'false';

const isDisabled = (el, role) => {
  if (attr(el, 'aria-disabled') === 'true') return true;
  if (!DISABLES.has(role)) return false;
  return matches(el, ':disabled') || !!closest(el, '[aria-disabled=true]');
};

// Returns the properties of an element as printed, e.g. ["hasPopup: menu", "expanded: False"].
const statesOf = (el, tag, role, active, urls) => {
  const found = [];
  if (LIVE[role] || has(el, 'aria-live')) {
    const live = attr(el, 'aria-live') || LIVE[role];
    if (live && live !== 'off') {
      const atomic = has(el, 'aria-atomic') ? attr(el, 'aria-atomic') === 'true' : role === 'alert' || role === 'status';
      found.push(`live: ${live}`, `atomic: ${bool(atomic)}`, `relevant: ${attr(el, 'aria-relevant') || 'additions text'}`);
    }
  }
  if (attr(el, 'aria-busy') === 'true') found.push('busy: 1');
  if (isDisabled(el, role)) found.push('disabled: True');
  if (el === active && tag !== 'body' && tag !== 'html' && tag !== 'iframe') found.push('focused: True');
  if (isEditingHost(el) && !/^(textbox|searchbox|combobox|spinbutton)$/.test(role)) {
    found.push(`editable: ${attr(el, 'contenteditable').toLowerCase() === 'plaintext-only' ? 'plaintext' : 'richtext'}`);
  }
  if (isDraggable(el)) found.push('draggable: True');
  if (urls && role === 'link' && el.href) found.push(`url: ${typeof el.href === 'string' ? el.href : el.href.baseVal}`);
  if (has(el, 'aria-keyshortcuts')) found.push(`keyshortcuts: ${attr(el, 'aria-keyshortcuts')}`);
  if (has(el, 'aria-roledescription') && role !== 'generic') found.push(`roledescription: ${trimmed(attr(el, 'aria-roledescription'))}`);
  if (role === 'generic' && found.length === 0 && !has(el, 'aria-describedby') && !has(el, 'aria-owns')) return found;
  const native = tag === 'input' || tag === 'select' || tag === 'textarea';
  const listed = tag === 'input' && role === 'combobox' && has(el, 'list');
  if (listed) found.push('autocomplete: list');
  else if (has(el, 'aria-autocomplete') && /^(textbox|searchbox|combobox)$/.test(role)) {
    const kind = attr(el, 'aria-autocomplete');
    if (kind !== 'none') found.push(`autocomplete: ${kind}`);
  }
  const popup = popupOf(el, tag, role);
  if (popup) found.push(`hasPopup: ${popup}`);
  if (SELECTS_MANY.has(role)) {
    found.push(`multiselectable: ${bool(tag === 'select' ? el.multiple : attr(el, 'aria-multiselectable') === 'true')}`);
  }
  if (ORIENTED[role]) found.push(`orientation: ${attr(el, 'aria-orientation') || ORIENTED[role]}`);
  if (REQUIRES.has(role) && !(tag === 'select' && isDropDown(el))) {
    found.push(`required: ${bool(native ? el.required || attr(el, 'aria-required') === 'true' : attr(el, 'aria-required') === 'true')}`);
  }
  if (RANGES.has(role) || (role === 'separator' && has(el, 'tabindex'))) found.push(...rangeOf(el, tag, role));
  if (CHECKS.has(role)) found.push(`checked: ${checkedOf(el, tag, role)}`);
  else if (has(el, 'aria-checked') && (role === 'option' || role === 'treeitem')) {
    found.push(`checked: ${tristate(attr(el, 'aria-checked'))}`);
  }
  const expanded = expandedOf(el, tag, role);
  if (expanded !== null) found.push(`expanded: ${bool(expanded)}`);
  if (role === 'button' && has(el, 'aria-pressed') && attr(el, 'aria-pressed') !== 'undefined') {
    found.push(`pressed: ${tristate(attr(el, 'aria-pressed'))}`);
  }
  if (role === 'option') {
    if (!isDisabled(el, role)) found.push(`selected: ${bool(tag === 'option' ? el.selected : attr(el, 'aria-selected') === 'true')}`);
  } else if ((CHOSEN.has(role) && (has(el, 'aria-selected') || role !== 'tab' || !isFocusable(el))) || (has(el, 'aria-selected') && /^(row|gridcell|columnheader|rowheader)$/.test(role))) {
    found.push(`selected: ${bool(attr(el, 'aria-selected') === 'true')}`);
  }
  if (role === 'dialog' || role === 'alertdialog') {
    found.push(`modal: ${bool(attr(el, 'aria-modal') === 'true' || (tag === 'dialog' && matches(el, ':modal')))}`);
  }
  for (const relation of ['controls', 'describedby', 'details', 'errormessage', 'flowto', 'owns']) {
    const attribute = 'aria-' + relation;
    if (has(el, attribute) && referenced(el, attribute).length) found.push(`${relation}: ${trimmed(attr(el, attribute))}`);
  }
  return found;
};

const popupOf = (el, tag, role) => {
  const given = attr(el, 'aria-haspopup');
  if (given && given !== 'false') return given === 'true' ? 'menu' : given;
  if (tag === 'select') return role === 'combobox' ? 'menu' : '';
  return role === 'combobox' ? 'listbox' : '';
};

const rangeOf = (el, tag, role) => {
  let least = '0', most = '100', text = '';
  if (tag === 'input') {
    const spin = role === 'spinbutton';
    least = attr(el, 'min') || '0';
    most = attr(el, 'max') || (spin ? '0' : '100');
    text = el.value;
  } else if (tag === 'progress') {
    most = String(el.max);
  } else if (tag === 'meter') {
    least = String(el.min);
    most = String(el.max);
  } else {
    if (role === 'spinbutton') most = '0';
    least = attr(el, 'aria-valuemin') ?? least;
    most = attr(el, 'aria-valuemax') ?? most;
  }
  const number = value => Number.isFinite(parseFloat(value)) ? String(parseFloat(value)) : '0';
  return [`valuemin: ${number(least)}`, `valuemax: ${number(most)}`, `valuetext: ${attr(el, 'aria-valuetext') && tag === 'input' ? attr(el, 'aria-valuetext') : text}`];
};

const checkedOf = (el, tag, role) => {
  if (tag === 'input' && (el.type === 'checkbox' || el.type === 'radio')) {
    return el.indeterminate && el.type === 'checkbox' ? 'mixed' : String(el.checked);
  }
  const given = attr(el, 'aria-checked');
  return given === 'mixed' && (role === 'radio' || role === 'menuitemradio' || role === 'switch') ? 'false' : tristate(given);
};

const expandedOf = (el, tag, role) => {
  if (role === 'DisclosureTriangle') return has(parentOf(el), 'open');
  if (tag === 'select') return isDropDown(el) ? matches(el, ':open') : null;
  if (has(el, 'popovertarget') && el.popoverTargetElement) return matches(el.popoverTargetElement, ':popover-open');
  const given = attr(el, 'aria-expanded');
  if (given === 'true' || given === 'false') return EXPANDS.has(role) ? given === 'true' : null;
  return null;
};

// Whether an element in a combobox is not part of its value: a field that nobody sees, or a list of what can be chosen.
const isNoChoice = el => isSpare(el, tagOf(el))
  || (attr(el, 'role') === 'listbox' && !!queryWithin(el, '[role=option]:not([aria-selected=true])'));

// Returns a field's value as printed; null if its line already contains it.
const valueOf = (el, tag, role, name) => {
  switch (tag) {
    case 'input': {
      const type = el.type;
      if (type === 'checkbox' || type === 'radio' || type === 'submit' || type === 'reset' || type === 'button' || type === 'image') return null;
      if (type === 'file') return quoted(fileNames(el));
      if (type === 'number' || type === 'range') return el.value === '' ? null : String(parseFloat(el.value));
      if (type === 'password') return el.value ? quoted('•'.repeat(el.value.length)) : null;
      return el.value ? quoted(el.value) : null;
    }
    case 'textarea': return el.value ? quoted(el.value) : null;
    case 'select': {
      if (!isDropDown(el)) return null;
      const chosen = el.selectedOptions[0];
      const text = chosen ? trimmed(attr(chosen, 'label') || '') || trimmed(chosen.text) : '';
      return text ? quoted(text) : null;
    }
    case 'progress': return has(el, 'value') ? String(el.value) : null;
    case 'meter': return String(el.value);
  }
  if (el.isContentEditable && closest(el, '[contenteditable]') === el) return null;
  switch (role) {
    case 'slider': case 'progressbar': case 'meter': case 'scrollbar': case 'spinbutton': case 'separator': {
      if (role === 'separator' && !has(el, 'tabindex')) return null;
      const given = parseFloat(attr(el, 'aria-valuenow'));
      if (Number.isFinite(given)) return String(given);
      return role === 'progressbar' || role === 'meter' || role === 'spinbutton' ? null : '50';
    }
    case 'searchbox': case 'textbox': {
      const text = trimmed(textContentOf(el));
      return text ? quoted(text) : null;
    }
    case 'combobox': {
      const text = isFocusable(el) ? trimmed(contentText(el, tag, 0, el, false, isNoChoice)) : '';
      return text ? quoted(text) : null;
    }
  }
  return null;
};

const fileNames = el => {
  const files = [...el.files].map(file => file.name);
  return files.length > 1 ? `${files.length} files` : files[0] || 'No file chosen';
};
