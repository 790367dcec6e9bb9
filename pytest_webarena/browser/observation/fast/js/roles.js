// Roles of elements, by ARIA in HTML, with the names of Chromium's accessibility tree.

const SECTIONING = 'article, aside, main, nav, section, [role=article], [role=complementary], [role=main],'
  + ' [role=navigation], [role=region]';

// ARIA roles that the attribute may set, with their names where those differ.
const ARIA = new Map(('alert alertdialog application article banner blockquote button caption cell checkbox code columnheader'
  + ' combobox complementary contentinfo definition deletion dialog document emphasis feed figure form generic grid'
  + ' gridcell group heading insertion link list listbox listitem log main mark marquee math menu menubar menuitem'
  + ' menuitemcheckbox menuitemradio meter navigation note option paragraph progressbar radio radiogroup region row'
  + ' rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript suggestion'
  + ' superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem')
  .split(' ').map(role => [role, role]));
ARIA.set('img', 'image').set('image', 'image').set('directory', 'list');
ARIA.set('none', 'none').set('presentation', 'none');

const INPUTS = {
  button: 'button', checkbox: 'checkbox', color: 'ColorWell', date: 'Date', 'datetime-local': 'DateTime', file: 'button',
  hidden: 'none', image: 'button', month: 'DateTime', number: 'spinbutton', radio: 'radio', range: 'slider',
  reset: 'button', search: 'searchbox', submit: 'button', time: 'InputTime', week: 'DateTime',
};

const TAGS = {
  abbr: 'Abbr', address: 'group', article: 'article', audio: 'Audio', blockquote: 'blockquote', button: 'button',
  canvas: 'Canvas', caption: 'caption', code: 'code', dd: 'definition', del: 'deletion', details: 'group', dfn: 'term',
  dialog: 'dialog', dl: 'DescriptionList', dt: 'term', em: 'emphasis', fieldset: 'group', figcaption: 'Figcaption',
  figure: 'figure', form: 'form', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading',
  h6: 'heading', hgroup: 'group', hr: 'separator', iframe: 'Iframe', ins: 'insertion', label: 'LabelText', legend: 'Legend',
  main: 'main', mark: 'mark', math: 'MathMLMath', menu: 'list', meter: 'meter', nav: 'navigation', ol: 'list', optgroup: 'group',
  option: 'option', output: 'status', p: 'paragraph', progress: 'progressbar', ruby: 'Ruby', s: 'deletion', search: 'search',
  strong: 'strong', sub: 'subscript', sup: 'superscript', textarea: 'textbox', tfoot: 'rowgroup', thead: 'rowgroup',
  time: 'time', ul: 'list', video: 'Video',
};

const GLOBAL_ARIA = ['aria-atomic', 'aria-busy', 'aria-controls', 'aria-describedby', 'aria-details', 'aria-dropeffect',
  'aria-flowto', 'aria-grabbed', 'aria-keyshortcuts', 'aria-label', 'aria-labelledby', 'aria-live', 'aria-owns',
  'aria-relevant', 'aria-roledescription'];

const isFocusable = el => has(el, 'tabindex') || matches(el, 'a[href], button, input, select, textarea, summary, iframe');

const nameGiven = el => !!(attr(el, 'aria-label') || '').trim() || has(el, 'aria-labelledby') || has(el, 'title');

const roleOf = (el, tag) => {
  const given = attr(el, 'role');
  if (given) {
    for (const token of given.toLowerCase().split(/\s+/)) {
      const role = ARIA.get(token);
      if (!role) continue;
      // The role `none` does not hide elements that are focusable or have global attributes.
      if (role === 'none' && (isFocusable(el) || GLOBAL_ARIA.some(name => has(el, name)))) break;
      if (role === 'form' || role === 'region') return nameGiven(el) ? role : 'generic';
      return role;
    }
  }
  return nativeRole(el, tag);
};

const nativeRole = (el, tag) => {
  const role = TAGS[tag];
  if (role !== undefined) return role;
  switch (tag) {
    case 'a': case 'area': return has(el, 'href') ? 'link' : 'generic';
    case 'input': {
      const type = el.type;
      const found = INPUTS[type];
      if (found) return found;
      return has(el, 'list') && el.list ? 'combobox' : 'textbox';
    }
    case 'select': return isDropDown(el) ? 'combobox' : 'listbox';
    case 'img': return attr(el, 'alt') === '' && !nameGiven(el) ? 'none' : 'image';
    case 'li': return isPresentational(flatParent(el)) ? 'generic' : 'listitem';
    case 'header': return closest(el, SECTIONING) ? 'sectionheader' : 'banner';
    case 'footer': return closest(el, SECTIONING) ? 'sectionfooter' : 'contentinfo';
    case 'aside': {
      const parent = parentOf(el);
      const inside = parent && typeOf(parent) === ELEMENT && closest(parent, 'article, aside, nav, section');
      return inside && !nameGiven(el) ? 'generic' : 'complementary';
    }
    case 'section': return nameGiven(el) ? 'region' : 'generic';
    case 'summary': {
      const parent = parentOf(el);
      return parent && typeOf(parent) === ELEMENT && tagOf(parent) === 'details' && firstSummary(parent) === el
        ? 'DisclosureTriangle' : 'generic';
    }
    case 'svg':
      if (el.querySelector('text')) return 'SvgRoot';
      return nameGiven(el) || el.firstElementChild ? 'image' : 'none';
    case 'table': return tableRole(el);
    case 'tr': case 'td': case 'th': return rowOrCellRole(el, tag);
    default: return 'generic';
  }
};

const isDropDown = select => !select.multiple && select.size < 2;
const isPresentational = el => !!el && typeOf(el) === ELEMENT && has(el, 'role') && roleOf(el, tagOf(el)) !== 'list';
const firstSummary = details => {
  for (let child = firstOf(details); child; child = nextOf(child)) {
    if (typeOf(child) === ELEMENT && tagOf(child) === 'summary') return child;
  }
  return null;
};
const svgTitle = el => {
  for (let child = firstOf(el); child; child = nextOf(child)) {
    if (typeOf(child) === ELEMENT && tagOf(child) === 'title') return trimmed(textContentOf(child));
  }
  return '';
};

// Distinguishes layout tables from data tables as Chromium does. Computed once per observation.
let tableRoles = new WeakMap();
const tableRole = table => {
  let role = tableRoles.get(table);
  if (role === undefined) tableRoles.set(table, role = isDataTable(table) ? 'table' : 'LayoutTable');
  return role;
};

const isDataTable = table => {
  if (table.isContentEditable || has(table, 'summary') || table.caption || table.tHead || table.tFoot) return true;
  if (attr(table, 'rules')) return true;
  for (let child = firstOf(table); child; child = nextOf(child)) {
    if (typeOf(child) === ELEMENT && /^col(group)?$/.test(tagOf(child))) return true;
  }
  const rows = table.rows, count = rows.length;
  if (count >= 20) return true;
  if (!count || (count === 1 && rows[0].cells.length <= 1)) return false;
  const own = styleOf(table);
  const spaced = own.borderCollapse === 'separate' && parseFloat(own.borderSpacing) > 0;
  const background = own.backgroundColor, stripes = [];
  let cells = 0, bordered = 0, coloured = 0;
  const sides = [0, 0, 0, 0];
  for (const row of rows) {
    for (const cell of row.cells) {
      if (tagOf(cell) === 'th' || ['headers', 'abbr', 'axis', 'scope'].some(name => attr(cell, name))) return true;
      const box = rectOf(cell);
      if (box.width < 1 || box.height < 1) continue;
      cells++;
      const style = styleOf(cell);
      if (style.emptyCells === 'hide') return true;
      const widths = [style.borderTopWidth, style.borderBottomWidth, style.borderLeftWidth, style.borderRightWidth]
        .map(width => parseFloat(width) > 0);
      if ((widths[0] && widths[1]) || (widths[2] && widths[3])) bordered++;
      widths.forEach((wide, side) => { if (wide) sides[side]++; });
      if (spaced && style.backgroundColor !== background && style.backgroundColor !== 'rgba(0, 0, 0, 0)') coloured++;
      if (bordered >= 10 || coloured >= 10) return true;
    }
    if (stripes.length < 5) stripes.push(styleOf(row).backgroundColor);
  }
  if (cells < 2) return false;
  const half = Math.floor(cells / 2);
  if ([bordered, ...sides, coloured].some(number => number >= half)) return true;
  return stripes.length > 2 && stripes.every((colour, n) => (colour === stripes[0]) === (n % 2 === 0));
};

const rowOrCellRole = (el, tag) => {
  const table = closest(el, 'table, [role=table], [role=grid], [role=treegrid]');
  if (!table) return 'generic';
  const given = attr(table, 'role');
  const kind = ARIA.get(given || '') || (tagOf(table) === 'table' ? tableRole(table) : 'generic');
  if (kind === 'none') return 'generic';
  if (kind === 'LayoutTable') return tag === 'tr' ? 'LayoutTableRow' : 'LayoutTableCell';
  if (tag === 'tr') return 'row';
  if (tag === 'td') return kind === 'table' ? 'cell' : 'gridcell';
  switch ((attr(el, 'scope') || '').toLowerCase()) {
    case 'col': case 'colgroup': return 'columnheader';
    case 'row': case 'rowgroup': return 'rowheader';
  }
  const data = cell => !!cell && tagOf(cell) === 'td' && !BLANK.test(textContentOf(cell));
  const header = cell => !!cell && tagOf(cell) === 'th';
  const before = el.previousElementSibling, after = el.nextElementSibling;
  if (header(before) && header(after)) return 'columnheader';
  return data(before) || data(after) ? 'rowheader' : 'columnheader';
};
