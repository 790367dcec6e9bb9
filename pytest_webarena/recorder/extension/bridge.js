// Connects the listener, which follows in the same file, with the extension. Both run in an isolated world: the page's
// scripts can neither see them nor call them. A report is kept here until the extension has stored it, because the
// browser stops and restarts the extension's script at any time.
(() => {
'use strict';
if (globalThis['BINDING']) return;
const KEY = Symbol.for('DOM_EVENTS'), FRAMES = 'iframe, frame, object, embed', MOST = 20000;
const SETTLES = 60;  // milliseconds, in which the listener reports letters that it has collected
const waiting = new Map();
const followed = new WeakSet();
let port = null, last = 0, isOver = false;

const connect = () => {
  if (port || isOver) return;
  try {
    port = chrome.runtime.connect();
  } catch {  // the extension was reloaded, and this script belongs to the previous one
    isOver = true;
    return;
  }
  port.onMessage.addListener(hear);
  port.onDisconnect.addListener(() => {
    port = null;
    setTimeout(connect, 50);
  });
  for (const each of waiting.values()) port.postMessage(each);
};
const post = said => {
  try { port?.postMessage(said); } catch { port = null; }
};
globalThis['BINDING'] = payload => {
  if (isOver) return;
  const each = {number: ++last, time: Date.now(), payload: payload};
  waiting.set(last, each);
  post(each);
  if (JSON.parse(payload).enclosed) post({enclosed: true});
};
const hear = said => {
  if (said.stored) waiting.delete(said.stored);
  if (said.stop) {
    isOver = true;
    waiting.clear();
  }
  if (said.ask) setTimeout(() => post({asked: said.ask}), SETTLES);
  if (said.nonce) window.parent.postMessage(said.nonce, '*');
  if (said.follow && sought.has(said.nonceOf)) {
    const element = sought.get(said.nonceOf);
    sought.delete(said.nonceOf);
    followed.add(element);
    globalThis[KEY]?.followFrame(element, said.follow);
  }
};

// A frame of another origin can't see the element that contains it, and the page around it can't see its document. So
// the frame passes a word, which the extension gave it, to the window around it. It is of no use a second time.
const sought = new Map();
const elementOf = (root, view, left = {count: MOST}) => {
  for (const each of root.querySelectorAll('*')) {
    if (left.count-- <= 0) return null;
    if (each.matches(FRAMES) && each.contentWindow === view) return each;
    const inside = chrome.dom?.openOrClosedShadowRoot?.(each), found = inside && elementOf(inside, view, left);
    if (found) return found;
  }
  return null;
};
window.addEventListener('message', event => {
  if (isOver || typeof event.data !== 'string' || !event.data.startsWith('NONCE')) return;
  event.stopImmediatePropagation();
  const element = elementOf(document, event.source);
  if (!element) return;
  sought.set(event.data, element);
  post({found: event.data});
}, true);

// Input in a frame without a listener, because its host is not allowed, is reported as not recorded.
window.addEventListener('blur', () => setTimeout(() => {
  const el = document.activeElement;
  if (isOver || !el || !el.matches(FRAMES) || el.contentDocument || followed.has(el)) return;
  let host = '';
  try { host = new URL(el.src || el.data).host; } catch { /* it has no address */ }
  post({unrecorded: host});
}, 500), true);
window.addEventListener('pageshow', connect, true);
// A message starts the extension's script, where a port would wait for it while the page is already gone.
window.addEventListener('pagehide', () => {
  if (isOver || !waiting.size) return;
  try { chrome.runtime.sendMessage({left: [...waiting.values()]}).catch(() => {}); } catch { /* it was reloaded */ }
}, true);
connect();
})();
