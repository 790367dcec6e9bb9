"""Script that is installed in every page before its own, and records what an action sets going, to be awaited.

Pages often delay work: a search box queries the server after 300 ms without typing. No request is pending then and
nothing changes, so only the timer shows that something is still to come. The same is true of a script that waits for
the end of a transition. The script also records whether the page ever had scripts: a page without any does nothing
itself; and texts that are shown only for a moment.
"""

from __future__ import annotations

from pytest_webarena.browser.tabs.brief_texts import BRIEF_TEXTS

__all__ = ["INERT", "KEEP_NOTE", "ON_ITS_WAY", "PENDING"]

ON_ITS_WAY = 0.1
"""Seconds by which the start of an action is dated back for the page. The query arrives there with a delay, and a timer
that the action set at once must not count as an earlier one."""

_SHORT = 1000
"""Maximum delay of recorded timers in milliseconds. Longer ones are no reactions: they end a session, for example."""
_AT_LOAD = 300
"""Maximum delay for timers of a page that has just arrived, which often sets some for later."""
_GENERATIONS = 3
"""Maximum number of timers that set each other: a debounce sets itself again, but after this many it is a clock."""

# `born` is the time of the first timer of a series, `generation` the position in it. Proxies are used so that pages
# still find native functions. Code given as text stays text, because it runs as a script; timers around it record when.
# An interval is awaited until it has fired once, because those that continue are mostly clocks. Shadow roots are
# recorded because they can't be observed from outside. `inert` depends on every element that the parser has created,
# because scripts remove themselves; the first that has code, or loads a document that may have some, ends the search. A
# window may outlive its first, empty document.
KEEP_NOTE = (
    (
        """(() => {
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
"""
        + BRIEF_TEXTS
        + """
  Object.defineProperty(window, key, {value: {timers, roots, watch, inert, brief}});
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
})()"""
    )
    .replace("SHORT", str(_SHORT))
    .replace("GENERATIONS", str(_GENERATIONS))
)

INERT = """() => {
  const notes = window[Symbol.for('pytest-webarena')], workers = navigator.serviceWorker;
  return !!notes && notes.inert() && document.readyState === 'complete' && !(workers && workers.controller);
}"""
"""Function that returns whether a page has and had no scripts and no frames, so that only its visitor acts."""

PENDING = (
    """(view, since) => {
  const notes = view[Symbol.for('pytest-webarena')];
  if (!notes || since < 0) return false;
  const began = view.performance.now() - since, arrived = began + ON_ITS_WAY < 0 && since !== Infinity;
  const limit = arrived ? AT_LOAD : SHORT;
  for (const note of notes.timers.values()) if (note.born >= began && note.delay <= limit) return true;
  return view.document.getAnimations().some(({effect, playState, startTime, transitionProperty}) => {
    const el = effect && effect.target;
    if (!el || effect.pseudoElement || playState !== 'running') return false;
    if (startTime !== null && startTime < began) return false;
    if (!(effect.getComputedTiming().endTime <= limit)) return false;
    const given = ['offset', 'computedOffset', 'easing', 'composite'];
    const properties = transitionProperty ? [transitionProperty] : effect.getKeyframes().flatMap(Object.keys);
    const paint = /color|shadow|fill|stroke|outline/i;
    if (properties.every(name => given.includes(name) || paint.test(name))) return false;
    const parts = 'img, svg, canvas, video, iframe, input, select, textarea';
    return el.textContent.trim() !== '' || el.matches(parts) || el.querySelector(parts) !== null;
  });
}""".replace("AT_LOAD", str(_AT_LOAD))
    .replace("SHORT", str(_SHORT))
    .replace("ON_ITS_WAY", str(ON_ITS_WAY * 1000))
)
"""Function that returns whether a window has timers or animations to await that began within ``since`` milliseconds;
false if that is negative; for ``Infinity``, all short ones count. Of animations, only those that move or reveal
something that can be read or used count, as their end may do more."""
