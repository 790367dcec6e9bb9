"""Lines of a page with text that CSS inserts (``::before``, ``::after``, counters), which ``innerText`` omits."""

from __future__ import annotations

from pytest_webarena.browser.observation.fast.source import parts

__all__ = ["INSERTED_LINES"]

INSERTED_LINES = (
    "const insertedLines = (() => {"
    + parts("dom", "text", "counters", "inserted")
    + r"""
  const isInline = style => style.display === 'contents' || style.display.startsWith('inline');
  // Returns the text of a block without the blocks in it.
  const textOf = block => {
    let text = '';
    const add = (el, pseudo) => {
      const found = insertedText(el, pseudo);
      if (found && isReadable(found.text)) text += isInline(found.style) ? found.text : `\n${found.text}\n`;
    };
    const visit = el => {
      const style = styleOf(el);
      if (style.display === 'none' || ['script', 'style', 'textarea', 'select'].includes(tagOf(el))) return;
      if (el !== block && !isInline(style)) { text += '\n'; return; }
      add(el, '::before');
      const children = laidOutChildren(el, tagOf(el), null);
      let at = 0;
      for (let child = Array.isArray(children) ? children[0] : children; child;
        child = Array.isArray(children) ? children[++at] : nextOf(child)) {
        if (typeOf(child) === ELEMENT) visit(child);
        else if (typeOf(child) === TEXT && style.visibility === 'visible') text += laidOutText(dataOf(child), style);
      }
      add(el, '::after');
    };
    visit(block);
    return text;
  };
  return roots => {
    forgetInserted();
    const blocks = new Set();
    for (const root of roots) {
      for (const el of root.querySelectorAll('*')) {
        if (!mayInsert(el) || !el.checkVisibility()) continue;
        const found = ['::before', '::after'].map(pseudo => insertedText(el, pseudo));
        if (!found.some(each => each && isReadable(each.text))) continue;
        let block = el;
        for (let up = el; up && typeOf(up) === ELEMENT && isInline(styleOf(block)); up = flatParent(up)) block = up;
        blocks.add(block);
      }
    }
    return [...blocks].flatMap(block => textOf(block).split('\n')).map(trimmed).filter(Boolean);
  };
})();
"""
)
"""JavaScript function ``insertedLines(roots)`` that returns the lines of blocks in which CSS inserts text."""
