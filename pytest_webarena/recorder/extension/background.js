// Collects what the listeners report in the recording's window, and sends it to `webarena tasks record`. Everything is
// stored before it is confirmed, and kept until the recording is over. So nothing is lost if the browser stops this
// script, or if the server is gone or begins again.
'use strict';

const NAME = 'recording', BATCH = 500000, HEARTBEAT = 1000, PATIENCE = 5000, DOCUMENTS = 300, PICTURE = 600, ANSWERS = 2000;
const GONE = 'webarena tasks record does not answer. What you do is kept; start it again with the same folder.';
const FOREIGN = 'Another program answers in place of webarena tasks record. Nothing was sent to it; start the command again with the same folder.';
const session = chrome.storage.session;
let meta = null;  // the recording; null while there is none
let config = null;
let hasFailed = false;
let isForeign = false;  // whether another program answers in place of the server
let isAwoken = false;  // whether this script was stopped during the recording
const met = new Set();  // documents that have connected since this script began
const nonces = new Map();
const ports = new Set();  // of the recorded documents

// A document may have ended before its report gets its turn; its port throws.
const tell = (port, said) => {
  try {
    port.postMessage(said);
  } catch {
    ports.delete(port);
    unanswered.delete(port);
  }
};

// --- order and storage

const keyOf = number => `event:${number}`;
let line = (async () => {
  meta = (await session.get(NAME))[NAME] || null;
  isAwoken = meta !== null;
  if (meta) watch();
})();
const inTurn = task => {
  line = line.then(task).catch(error => console.error(error));
  return line;
};
const save = more => session.set({[NAME]: meta, ...more});
const keep = async event => {
  const stored = {time: Date.now(), ...event}, number = meta.next++;
  try {
    await save({[keyOf(number)]: stored});
  } catch {  // the storage is full: the server has the first events
    await session.remove([...Array(meta.have - meta.first).keys()].map(n => keyOf(meta.first + n)));
    meta.first = meta.have;
    await save({[keyOf(number)]: stored}).catch(() => save({[keyOf(number)]: {kind: 'lost', time: stored.time}}));
  }
};
const flush = () => void send();

// --- server

const problemOf = () => isForeign ? FOREIGN : GONE;

const readConfig = async () => {
  config = await (await fetch(chrome.runtime.getURL('config.json'), {cache: 'no-store'})).json();
  return config;
};
const request = async (address, body, type) => {
  const answer = await fetch(address, {
    method: 'POST', headers: {'Content-Type': type}, body, signal: AbortSignal.timeout(PATIENCE), credentials: 'omit',
    redirect: 'error', referrerPolicy: 'no-referrer',
  });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
};
// Another program may have taken the port of a server that has ended. It can't prove that it knows the secret, which
// is in the address and only sent after the proof.
const verify = async address => {
  const {origin, port, pathname} = new URL(address), nonce = crypto.randomUUID(), bytes = text => new TextEncoder().encode(text);
  const {proof = ''} = await request(`${origin}/prove`, JSON.stringify({nonce}), 'application/json').catch(error => {
    if (/^\d+$/.test(error.message)) return {};  // it answers, but not as the server does
    throw error;
  });
  const key = await crypto.subtle.importKey('raw', bytes(pathname.slice(1, -1)), {name: 'HMAC', hash: 'SHA-256'}, false, ['verify']);
  const given = new Uint8Array((`${proof}`.match(/../g) || []).map(digits => parseInt(digits, 16)));
  isForeign = !await crypto.subtle.verify('HMAC', key, given, bytes(`${port}:${nonce}`));
  if (isForeign) throw new Error(FOREIGN);
};
const post = async (path, body, type = 'application/json') => {
  const {address} = await readConfig();
  await verify(address);
  return request(address + path, body, type);
};
const batch = async () => {
  const from = meta.have, until = meta.next, events = [];
  let size = 0;
  for (let number = from; number < until && size < BATCH; number++) {
    const found = (await session.get(keyOf(number)))[keyOf(number)] || {kind: 'lost', time: Date.now()};
    events.push(found);
    size += JSON.stringify(found).length;
  }
  return {recording: meta.id, from, events, waiting: until - from - events.length, confirmed};
};
// The server asks whether that is all. Each document answers behind all that it has reported; a busy one may not.
let asked = 0, confirmed = 0;
const unanswered = new Map();  // the ports of documents that have to answer, with the number that they answer
const confirm = number => {
  asked = number;
  for (const port of ports) {
    unanswered.set(port, number);
    tell(port, {ask: number});
  }
  const isDone = () => ![...unanswered.values()].includes(number);
  const limit = Date.now() + ANSWERS;
  const look = () => {
    if (!isDone() && Date.now() < limit) return void setTimeout(look, 50);
    inTurn(() => {
      confirmed = number;
      flush();
    });
  };
  look();
};
let sending = false;
const send = async () => {
  if (sending || !meta) return;
  sending = true;
  const recording = meta;
  try {
    for (let left = true; left && meta === recording;) {
      const said = await batch();
      const answer = await post('events', JSON.stringify(said));
      if (meta !== recording) return;
      hasFailed = false;
      if (answer.ask && answer.ask !== asked) confirm(answer.ask);
      recording.have = Math.max(0, Math.min(answer.have, recording.next));
      if (answer.state !== 'recording') {
        inTurn(() => meta === recording && end());
        return;
      }
      await save({});
      left = recording.have < recording.next;
    }
  } catch {
    hasFailed = true;
  } finally {
    sending = false;
    show();
  }
};

// --- recording

let heartbeat = 0;
const watch = () => {
  clearInterval(heartbeat);
  heartbeat = setInterval(flush, HEARTBEAT);  // its calls also keep this script running
  chrome.alarms.create('wake', {periodInMinutes: 0.5});
  show();
};
const show = () => {
  chrome.action.setBadgeText({text: !meta ? '' : hasFailed ? '!' : meta.hosts.length ? '?' : 'REC'});
  chrome.action.setBadgeBackgroundColor({color: hasFailed ? '#b00020' : '#1a5fb4'});
  chrome.action.setTitle({title: !meta ? 'webarena recorder' : hasFailed ? problemOf() : 'recording this window'});
};
const listen = async () => {
  const {origins = []} = await chrome.permissions.getAll();
  await chrome.scripting.unregisterContentScripts();
  await chrome.scripting.registerContentScripts([{
    id: 'listener', js: ['listener.js'], matches: origins, allFrames: true, matchOriginAsFallback: true,
    runAt: 'document_start', persistAcrossSessions: true,
  }]);
};
const begin = async () => {
  await readConfig();
  if (config.manifest !== chrome.runtime.getManifest().version_name) {
    return {problem: 'This folder was written again for other sites. Press Reload, then Record.', reload: true};
  }
  let hello;
  try {
    hello = await post('hello', '{}');
  } catch {
    return {problem: problemOf()};
  }
  if (!hello.ready) return {problem: 'webarena tasks record is not recording now. Press Restart on its page.'};
  if (meta) await end();
  await listen();
  const window = await chrome.windows.create({url: hello.start, focused: true}), [tab] = window.tabs;
  meta = {
    id: crypto.randomUUID(), window: window.id, tabs: {[tab.id]: ''}, heard: {}, hosts: [], first: 0, next: 0, have: 0,
    pictures: hello.pictures, began: false,
  };
  await keep({kind: 'opened', tab: tab.id, cause: 'browser'});
  watch();
  return {};  // events of the new window wait for their turn until now
};
const end = async () => {
  meta = null;
  hasFailed = false;
  for (const port of ports) tell(port, {stop: true});
  ports.clear();
  unanswered.clear();
  clearInterval(heartbeat);
  await chrome.alarms.clear('wake');
  await session.clear();
  await chrome.scripting.unregisterContentScripts();
  show();
};
const isRecorded = tab => meta !== null && Object.hasOwn(meta.tabs, tab);
const open = async (tab, cause) => {
  if (isRecorded(tab)) return;
  meta.tabs[tab] = '';
  await keep({kind: 'opened', tab, cause});
};
const unrecorded = async host => {
  if (meta.hosts.includes(host)) return;
  meta.hosts.push(host);
  await keep({kind: 'unrecorded', host});
  show();
};

// Reports of a document that ended while this script was stopped may be lost.
const follow = async (tab, document) => {
  const before = (meta.documents ??= {})[tab];
  if (before === document) return;
  meta.documents[tab] = document;
  await (isAwoken && before && !met.has(before) ? keep({kind: 'lost'}) : save({}));
};

// --- what the listeners report

const store = async ({tab, frameId, documentId}, said) => {
  const heard = meta.heard[documentId] || 0;
  if (said.number <= heard) return;
  if (said.number > heard + 1) await keep({kind: 'lost'});
  delete meta.heard[documentId];
  meta.heard[documentId] = said.number;
  for (const old of Object.keys(meta.heard).slice(0, -DOCUMENTS)) delete meta.heard[old];
  await keep({kind: 'report', time: said.time, tab: tab.id, frame: frameId, document: documentId, payload: said.payload});
  photograph();
};
const hear = async (port, said) => {
  const {tab, frameId} = port.sender;
  if (!isRecorded(tab.id)) {
    tell(port, {stop: true});
    return;
  }
  ports.add(port);
  if (said.enclosed) {
    const nonce = `NONCE${crypto.randomUUID()}`;
    nonces.set(nonce, {tab: tab.id, frame: frameId});
    tell(port, {nonce});
  } else if (said.found) {
    const about = nonces.get(said.found);
    nonces.delete(said.found);
    const frame = about && about.tab === tab.id && await chrome.webNavigation.getFrame({tabId: tab.id, frameId: about.frame});
    if (!frame || frame.parentFrameId !== frameId) return;
    await keep({kind: 'frame', tab: tab.id, frame: about.frame, parent: frameId});
    tell(port, {follow: `${about.frame}`, nonceOf: said.found});
  } else if (typeof said.unrecorded === 'string') {
    await unrecorded(said.unrecorded);
  } else if (said.asked) {
    if (unanswered.get(port) === said.asked) unanswered.delete(port);
  } else if (said.number) {
    await store(port.sender, said);
    tell(port, {stored: said.number});
    flush();
  }
};
chrome.runtime.onConnect.addListener(port => {
  if (port.sender.id !== chrome.runtime.id || !port.sender.tab || port.sender.frameId === undefined) return;
  const {tab, frameId, documentId} = port.sender;
  met.add(documentId);
  inTurn(async () => {
    if (frameId === 0 && isRecorded(tab.id)) await follow(tab.id, documentId);
  });
  port.onMessage.addListener(said => inTurn(() => hear(port, said)));
  port.onDisconnect.addListener(() => {
    ports.delete(port);
    unanswered.delete(port);
  });
});

// --- addresses and tabs

const CAUSES = new Set(['typed', 'auto_bookmark', 'generated', 'keyword', 'keyword_generated', 'start_page', 'auto_toplevel']);
const causeOf = ({transitionType, transitionQualifiers = []}) => {
  if (transitionQualifiers.includes('forward_back')) return 'history';
  if (transitionQualifiers.includes('client_redirect')) return 'page';
  return transitionQualifiers.includes('from_address_bar') || CAUSES.has(transitionType) ? 'browser' : 'page';
};
const isOwn = url => url.startsWith(chrome.runtime.getURL('')) || (config && url.startsWith(new URL(config.address).origin + '/'));
const address = async (tab, url, cause, document = '') => {
  if (isOwn(url)) return;
  const shown = /^(chrome|edge|about):/.test(url) ? 'about:blank' : url;
  meta.tabs[tab] = shown;
  await keep({kind: 'address', tab, url: shown, cause, document});
  if (!meta.began && shown !== 'about:blank') {
    meta.began = true;
    await keep({kind: 'begun'});
  }
  if (/^https?:/.test(url) && !await chrome.permissions.contains({origins: [`${new URL(url).origin}/*`]})) {
    await unrecorded(new URL(url).host);
  }
  photograph();
  flush();
};
const onAddress = (details, document) => inTurn(async () => {
  if (!meta || details.frameId !== 0 || details.documentLifecycle === 'prerender') return;
  if (!isRecorded(details.tabId)) {
    const tab = await chrome.tabs.get(details.tabId).catch(() => null);
    if (!tab || tab.windowId !== meta.window || isOwn(details.url)) return;
    await open(details.tabId, 'browser');
  }
  await address(details.tabId, details.url, causeOf(details), document);
});
chrome.webNavigation.onCommitted.addListener(details => onAddress(details, details.documentId));
chrome.webNavigation.onHistoryStateUpdated.addListener(details => onAddress(details, ''));
chrome.webNavigation.onReferenceFragmentUpdated.addListener(details => onAddress(details, ''));
chrome.webNavigation.onCreatedNavigationTarget.addListener(({sourceTabId, tabId}) => inTurn(async () => {
  if (isRecorded(sourceTabId)) await open(tabId, 'page');
}));
chrome.tabs.onUpdated.addListener((tabId, changed, tab) => inTurn(async () => {  // pages that were rendered in advance
  const shows = changed.status === 'complete' && isRecorded(tabId) && meta.tabs[tabId];
  if (shows && tab.url && /^https?:/.test(tab.url) && tab.url !== shows) await address(tabId, tab.url, '');
}));
chrome.tabs.onCreated.addListener(tab => inTurn(async () => {
  if (meta && tab.windowId === meta.window && /^chrome:/.test(tab.pendingUrl || tab.url || '')) await open(tab.id, 'browser');
}));
chrome.tabs.onAttached.addListener((tabId, {newWindowId}) => inTurn(async () => {
  if (meta && newWindowId === meta.window && !isRecorded(tabId)) await keep({kind: 'moved'});
}));
chrome.tabs.onRemoved.addListener((tabId, {isWindowClosing}) => inTurn(async () => {
  if (!isRecorded(tabId)) return;
  delete meta.tabs[tabId];
  await keep({kind: 'closed', tab: tabId, ends: isWindowClosing});
  flush();
}));

// --- pictures: each shows the page when it has come to rest, before the next step

let soon = 0;
const photograph = () => {
  if (!meta || !meta.pictures) return;
  clearTimeout(soon);
  soon = setTimeout(async () => {
    try {
      const [tab] = await chrome.tabs.query({active: true, windowId: meta.window});
      if (!tab || !isRecorded(tab.id)) return;
      const time = Date.now(), recording = meta.id;
      const image = await (await fetch(await chrome.tabs.captureVisibleTab(meta.window, {format: 'jpeg', quality: 70}))).blob();
      await post(`picture?recording=${recording}&tab=${tab.id}&time=${time}`, image, 'image/jpeg');
    } catch (error) {
      if (meta && /permission/i.test(error.message)) inTurn(() => meta && keep({kind: 'unpictured'}));
    }
  }, PICTURE);
};

// --- popup

const answers = {
  state: async () => ({recording: meta !== null, problem: meta && hasFailed ? problemOf() : '', hosts: meta ? meta.hosts : [], pictures: !!meta?.pictures}),
  record: begin,
  stop: async () => {
    if (meta) await end();
    return {};
  },
  allowed: async () => {
    if (!meta) return {};
    await listen();
    const granted = await Promise.all(meta.hosts.map(host => chrome.permissions.contains({origins: [`https://${host}/*`]})));
    meta.hosts = meta.hosts.filter((_, number) => !granted[number]);
    await save({});
    show();
    return {};
  },
};
chrome.runtime.onMessage.addListener((said, sender, answer) => {
  if (sender.id === chrome.runtime.id && sender.tab && Array.isArray(said?.left)) {  // of a document that has ended
    met.add(sender.documentId);
    inTurn(async () => {
      for (const each of isRecorded(sender.tab.id) ? said.left : []) await store(sender, each);
      flush();
    });
    return false;
  }
  const isPopup = sender.id === chrome.runtime.id && sender.url?.startsWith(chrome.runtime.getURL('popup.html'));
  if (!isPopup || !Object.hasOwn(answers, said?.do)) return false;
  inTurn(async () => answer(await answers[said.do]()));
  return true;
});
chrome.alarms.onAlarm.addListener(flush);
