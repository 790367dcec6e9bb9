"""A script put into every page before its own: keeps note of its timers, so that waiting can be for those of an action.

Pages often act late on purpose: a search box asks the server once nobody has typed for 300 ms. No request is under way
then and nothing changes, so only the timer tells that something is still to come. And of whether the page has scripts
at all: one that never had any does nothing by itself.
"""

from __future__ import annotations

__all__ = ["INERT", "KEEP_NOTE", "PENDING"]

_SHORT = 1000
"""Milliseconds. Longer timers are no reaction: they hide a message, end a session."""
_AT_LOAD = 300
"""The same for those of a page that has just arrived, which often sets some for later."""
_GENERATIONS = 3
"""Timers set by timers: a debounce sets itself again; what goes on after this many is a clock."""

# `born` is when the first timer of a row was set, `generation` its place in the row. Proxies, so that a page which asks
# still finds native functions. Code given as text stays text, for it runs as a script does: timers around it tell when.
# An interval is waited for until it has fired once: what goes on then is most often a clock. Shadow roots are noted
# because nobody can observe them from outside. `inert` goes by every element that the parser has made, for scripts
# remove themselves; the first that has code, or loads a document which may have some, ends the looking. A window may
# outlive its first, empty document.
KEEP_NOTE = """(() => {
  const key = Symbol.for('pytest-webarena');
  if (window[key]) { window[key].watch(); return; }
  const timers = new Map(), roots = [];
  let running = null, watched = null, lively = false;
  const live = 'script, iframe, frame, object, embed, portal, meta[http-equiv=refresh i]';
  const code = ({name, value}) => /^on/i.test(name) || /^\\s*javascript:/i.test(value);
  const moves = el => el.matches(live) || el.shadowRoot || [...el.attributes].some(code);
  const see = (records, observer) => {
    for (const {addedNodes} of records) for (const node of addedNodes) {
      if (node.nodeType === 1 && (lively ||= moves(node))) {
        observer.disconnect();
        return;
      }
    }
  };
  const watch = () => {
    if (watched === document || lively) return;
    watched = document;
    lively = document.documentElement && [...document.querySelectorAll('*')].some(moves);
    if (!lively) new MutationObserver(see).observe(document, {subtree: true, childList: true});
  };
  watch();
  const inert = () => watched === document && !lively;
  Object.defineProperty(window, key, {value: {timers, roots, watch, inert}});
  const later = window.setTimeout;
  for (const name of ['setTimeout', 'setInterval']) {
    window[name] = new Proxy(window[name], {apply(set, self, args) {
      const [handler, delay, ...rest] = args;
      const now = performance.now();
      const [born, generation] = running ? [running.born, running.generation + 1] : [now, 1];
      const note = {born, generation, delay: +delay || 0};
      let id, outer = null, fired = false;
      const before = () => {
        timers.delete(id);
        outer = running;
        if (!fired) running = note;
        fired = true;
      };
      const after = () => { running = outer; };
      if (typeof handler === 'function') {
        id = Reflect.apply(set, self, [function (...given) {
          before();
          try { return handler.apply(this, given); } finally { after(); }
        }, delay, ...rest]);
      } else {
        later(before, delay);
        try { id = Reflect.apply(set, self, args); } finally { later(after, delay); }
      }
      if (note.delay <= SHORT && note.generation <= GENERATIONS) timers.set(id, note);
      return id;
    }});
  }
  for (const name of ['clearTimeout', 'clearInterval']) {
    window[name] = new Proxy(window[name], {apply(clear, self, args) {
      timers.delete(args[0]);
      return Reflect.apply(clear, self, args);
    }});
  }
  Element.prototype.attachShadow = new Proxy(Element.prototype.attachShadow, {apply(attach, self, args) {
    const root = Reflect.apply(attach, self, args);
    roots.push(new WeakRef(root));
    return root;
  }});
})()""".replace("SHORT", str(_SHORT)).replace("GENERATIONS", str(_GENERATIONS))

INERT = """() => {
  const notes = window[Symbol.for('pytest-webarena')], workers = navigator.serviceWorker;
  return !!notes && notes.inert() && document.readyState === 'complete' && !(workers && workers.controller);
}"""
"""Whether a page has no scripts, nor ever had any, nor frames: what it does, its visitor does."""

PENDING = """(view, since) => {
  const notes = view[Symbol.for('pytest-webarena')];
  if (!notes || since < 0) return false;
  const began = view.performance.now() - since, limit = began < 0 && since !== Infinity ? AT_LOAD : SHORT;
  for (const note of notes.timers.values()) if (note.born >= began && note.delay <= limit) return true;
  return false;
}""".replace("AT_LOAD", str(_AT_LOAD)).replace("SHORT", str(_SHORT))
"""Whether a window has timers to wait for that were set within ``since`` milliseconds; never if that is negative, and
for ``Infinity`` all short ones, whenever they were set."""
