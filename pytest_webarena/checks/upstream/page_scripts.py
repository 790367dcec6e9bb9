"""JavaScript that page programs run: locators as the original runs them, and its helper functions that read pages."""

from __future__ import annotations

import json

from pytest_webarena.checks.upstream.calls import Call

__all__ = ["PAGE_SOURCE", "close_selectors", "helper_source", "locator_source"]

PAGE_SOURCE = (
    "js=JSON.stringify([['value', (document.doctype ? new XMLSerializer().serializeToString(document.doctype) : '')"
    " + (document.documentElement ? document.documentElement.outerHTML : '')]])"
)
"""A ``js=`` locator for the whole page's HTML."""

# A result keeps its JavaScript type, for the original writes it as Python would.
_TAGGED = """
const plain = (value, above) => {
  if (value instanceof Node) return 'ref: <Node>';
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return null;
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Error) return value.message;
  if (value === null || typeof value !== 'object') return value;
  if (above.includes(value)) return '{...}';
  const inside = [...above, value];
  if (Array.isArray(value)) return value.map(each => plain(each, inside));
  return Object.fromEntries(Object.keys(value).map(key => [key, plain(value[key], inside)]));
};
const tagged = value => {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return ['text', Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'];
  }
  if (Object.is(value, -0)) return ['text', '-0.0'];
  const made = plain(value, []);
  return made === null ? ['none'] : ['value', made];
};
const tried = async read => { try { return tagged(await read()); } catch (error) { return ['error', String(error)]; } };
"""

_ORDERED = """
const rows = [...document.querySelector('#my-orders-table').getElementsByTagName('tbody')].map(body => {
  const row = {};
  for (const cell of body.getElementsByTagName('td')) {
    const key = cell.className.split(' ')[1];
    row[key] = cell.outerText;
    const list = key === 'name' ? cell.querySelector('dl') : null;
    if (list) {
      row.options = {};
      for (let i = 0; i < list.children.length; i += 2) {
        row.options[list.children[i].outerText] = list.children[i + 1].outerText;
      }
    }
  }
  return row;
});
"""

_COMMENTS = """
const read = (node, level) => ({
  user: node.querySelector('.fg-inherit').outerText,
  text: node.querySelector('.comment__content').outerText,
  time: Date.parse(node.querySelector('.comment__main > header > h1 > span > time').dateTime),
  children: [...node.querySelectorAll('.comment')]
    .filter(child => parseInt(child.getAttribute('data-level')) === level + 1).map(child => read(child, level + 1)),
});
const root = read(document.querySelector('#main'), 0);
let latest = -Infinity, found = '';
"""

_BODIES = {
    "gitlab_get_project_memeber_role": (
        "const names = [...document.querySelectorAll(\"td[data-label='Account'] span.gl-avatar-labeled-sublabel\")];"
        "const index = names.findIndex(each => each.outerText === '@' + args[0]);"
        "return document.querySelectorAll('td.col-max-role span')[index].outerText;",
        "",
    ),
    "get_query_text": ("return document.querySelector(args[0]).textContent;", ""),
    "get_query_text_lowercase": ("return document.querySelector(args[0]).textContent.toLowerCase();", ""),
    "shopping_get_product_price": (
        "return parseFloat(document.querySelector('#maincontent > div.columns > div > div.product-info-main > "
        "div.product-info-price > div.price-box.price-final_price > span > span').outerText.substr(1)) || 0;",
        0,
    ),
    "shopping_get_num_reviews": (
        "return parseInt(document.querySelector('#tab-label-reviews-title').outerText.split(' ')[1]) || 0;",
        0,
    ),
    "shopping_get_rating_as_percentage": (
        "return parseFloat(document.querySelector('.rating-result').title.replace('%', '')) || 0;",
        0,
    ),
    "shopping_get_product_attributes": (
        "const wanted = args[0].toLowerCase().split(' |or| ');"
        "return [...document.querySelector('#productDetails_detailBullets_sections1 > tbody').children]"
        ".filter(row => wanted.some(each => row.children[0].outerText.toLowerCase().includes(each)))"
        ".map(row => row.children[1].outerText).join(', ');",
        "",
    ),
    "shopping_get_order_product_name_list": (_ORDERED + "return rows.map(row => row.name).join(' |OR| ');", ""),
    "shopping_get_order_product_quantity": (
        _ORDERED + "const row = rows.find(each => args[0].split(' |OR| ').includes(each.sku.trim()));"
        "const digits = row ? row.qty.slice(7).trim() : '0'; return /^-?\\d+$/.test(digits) ? Number(digits) : 0;",
        0,
    ),
    "shopping_get_order_product_option": (
        _ORDERED + "const row = rows.find(each => each.sku.trim() === args[0]); return row.options[args[1]];",
        "",
    ),
    "reddit_get_latest_comment_content_by_username": (
        _COMMENTS + "const look = node => { if (node.user === args[0] && node.time > latest)"
        " { latest = node.time; found = node.text; } node.children.forEach(look); }; look(root); return found;",
        "",
    ),
    "reddit_get_parent_comment_username_of_latest_comment_by_username": (
        _COMMENTS + "const look = node => node.children.forEach(child => { if (child.user !== args[0]) look(child);"
        " else if (child.time > latest) { latest = child.time; found = node.user; } }); look(root); return found;",
        "",
    ),
}


def locator_source(locator: str) -> str:
    """A ``js=`` locator whose text is JSON: what ``locator`` gives, and what it gives with its selectors closed.

    Each is ``[kind, …]``: ``value`` and the value, ``text`` and how Python writes it, ``none``, or ``error``.
    """
    locator = locator.strip()
    if locator.startswith("lambda:"):
        run = f"(() => {{ const made = {locator.removeprefix('lambda:')}\n; "
        both = [f"{run} return typeof made === 'function' ? made() : made; }})()"]
    else:
        both = [each.rstrip("; \n") for each in dict.fromkeys((locator, close_selectors(locator)))]
    reads = ", ".join(f"await tried(() => {each}\n)" for each in both)
    return _source(f"[{reads}]")


def helper_source(call: Call) -> str:
    """The same for a helper function that reads a page."""
    body, otherwise = _BODIES[call.name]
    work = (
        f"(() => {{ const args = {json.dumps(call.arguments)}; try {{ {body} }} "
        f"catch (error) {{ return {json.dumps(otherwise)}; }} }})()"
    )
    return _source(f"[await tried(() => {work})]")


def _source(expression: str) -> str:
    return f"js=(async () => {{ {_TAGGED} return JSON.stringify({expression}); }})()"


def close_selectors(locator: str) -> str:
    """``closed-selectors``: with the brackets that selectors in quotes lack.

    >>> close_selectors("document.querySelector('[name=\\"a\\"').value")
    'document.querySelector(\\'[name="a"]\\').value'
    """
    made: list[str] = []
    quote, begin = "", 0
    for index, character in enumerate(locator):
        if not quote and character in "'\"`":
            quote, begin = character, index
        elif quote == character and locator[index - 1] != "\\":
            literal = locator[begin:index]
            if "[" in literal:
                made.append(_missing(literal[1:]))
            quote = ""
        made.append(character)
    return "".join(made)


def _missing(selector: str) -> str:
    """The quotes and brackets that would close an attribute selector."""
    inner = ""
    is_open = False
    for character in selector:
        if inner:
            inner = "" if character == inner else inner
        elif character in "'\"":
            inner = character
        elif character in "[]":
            is_open = character == "["
    return inner + "]" * is_open if is_open else ""
