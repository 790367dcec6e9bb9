'use strict';
// The view: pictures of the page as it changes, and the input of mouse, keyboard, clipboard and files.

const canvas = $('picture'), keys = $('keys');
let number = 0, size = [1280, 720], running = false, offered = false;
const using = () => state.live && state.phase === 'doing' && !!state.browser;

// --- pictures

const pictures = async () => {
  for (;;) {
    if (!using() || document.hidden) {
      if (state.phase !== 'doing') number = 0;  // the next browser starts to count again
      await sleep(150);
      continue;
    }
    try {
      const answer = await fetch(`frame.jpg?seen=${number}`);
      if (answer.status !== 200) {
        if (answer.status !== 204) await sleep(300);
        continue;
      }
      number = Number(answer.headers.get('X-Number'));
      const [width, height] = answer.headers.get('X-Size').split('x').map(Number);
      if (width && height) size = [width, height];
      const picture = await createImageBitmap(await answer.blob());
      if (canvas.width !== picture.width) canvas.width = picture.width;
      if (canvas.height !== picture.height) canvas.height = picture.height;
      canvas.getContext('2d').drawImage(picture, 0, 0);
      canvas.dataset.number = number;
      picture.close();
    } catch {
      await sleep(500);
    }
  }
};

// --- mouse and keyboard events, in order, with at most one pending request

const queue = [];
const send = event => {
  const last = queue[queue.length - 1];
  if (event.kind === 'move' && last && last.kind === 'move') queue[queue.length - 1] = event;
  else if (event.kind === 'wheel' && last && last.kind === 'wheel') {
    last.across += event.across;
    last.down += event.down;
  } else queue.push(event);
  pump();
};
const pump = async () => {
  if (running) return;
  running = true;
  try {
    while (queue.length) {
      const said = await post('input', {events: queue.splice(0, 100)});
      if (said.offer) offer(said.offer);
    }
  } catch {
    queue.length = 0;
  }
  running = false;
};
window.idle = async () => {  // waits until all input is sent
  while (running) await sleep(20);
};
const modifiersOf = event => event.getModifierState('AltGraph') ? 0 :
  event.altKey * 1 + event.ctrlKey * 2 + event.metaKey * 4 + event.shiftKey * 8;
const placeOf = event => {
  const box = canvas.getBoundingClientRect();
  return {
    x: Math.round((event.clientX - box.left) / box.width * size[0] * 10) / 10,
    y: Math.round((event.clientY - box.top) / box.height * size[1] * 10) / 10,
  };
};
const mouse = (kind, event, more = {}) => {
  const button = Math.min(event.button, 2);
  send({kind, ...placeOf(event), button, clicks: Math.min(Math.max(event.detail, 1), 3), modifiers: modifiersOf(event), ...more});
};
let pressed = false;
canvas.addEventListener('mousedown', event => {
  event.preventDefault();
  if (!using()) return;
  keys.focus({preventScroll: true});
  pressed = true;
  offered = false;
  mouse('down', event);
});
window.addEventListener('mouseup', event => {
  if (!pressed) return;
  pressed = false;
  if (!offered) mouse('up', event);
});
window.addEventListener('mousemove', event => {
  if (using() && (pressed || event.target === canvas)) mouse('move', event);
});
canvas.addEventListener('contextmenu', event => event.preventDefault());
canvas.addEventListener('wheel', event => {
  if (!using()) return;
  event.preventDefault();
  const unit = event.deltaMode === 1 ? 40 : event.deltaMode === 2 ? size[1] : 1;
  mouse('wheel', event, {across: event.deltaX * unit, down: event.deltaY * unit});
}, {passive: false});
let finger = null;
canvas.addEventListener('touchstart', event => { finger = event.touches[0]; }, {passive: true});
canvas.addEventListener('touchmove', event => {
  if (!using() || !finger) return;
  const now = event.touches[0], scale = size[0] / canvas.getBoundingClientRect().width;
  send({
    kind: 'wheel', ...placeOf(now), button: 0, clicks: 1, modifiers: 0,
    across: (finger.clientX - now.clientX) * scale, down: (finger.clientY - now.clientY) * scale,
  });
  finger = now;
}, {passive: true});

keys.addEventListener('keydown', event => {
  if (!using() || event.isComposing || event.key === 'Process' || event.key === 'Unidentified') return;
  if (event.key === 'F6') {
    event.preventDefault();
    $('intent').focus();
    return;
  }
  const shortcut = event.ctrlKey || event.metaKey;
  if (shortcut && event.key.toLowerCase() === 'v') return;  // the paste event has the text
  event.preventDefault();
  if (shortcut && ['c', 'x'].includes(event.key.toLowerCase())) copy();
  if (event.key !== 'Dead') send({kind: 'keydown', key: event.key, modifiers: modifiersOf(event)});
});
keys.addEventListener('keyup', event => {
  if (!using() || event.isComposing || ['Process', 'Unidentified', 'Dead', 'F6'].includes(event.key)) return;
  send({kind: 'keyup', key: event.key, modifiers: modifiersOf(event)});
});
keys.addEventListener('paste', event => {
  event.preventDefault();
  const text = event.clipboardData.getData('text/plain');
  if (using() && text) send({kind: 'insert', text});
});
// Composed keys and on-screen keyboards only provide the text that they wrote.
keys.addEventListener('input', event => {
  if (event.isComposing) return;
  const text = keys.value;
  keys.value = '';
  if (using() && text) send({kind: 'insert', text});
});
keys.addEventListener('compositionend', () => {
  const text = keys.value;
  keys.value = '';
  if (using() && text) send({kind: 'insert', text});
});
const copy = async () => {
  const said = await post('selected', {});
  if (said.text) await navigator.clipboard?.writeText(said.text).catch(() => {});
};
$('type').addEventListener('click', () => keys.focus({preventScroll: true}));

// --- controls next to the page

// Input in the page is sent first, so that a click does not end in the next tab; except if the page waits for just this
// action: a click that opened a dialog ends only when that is answered.
const inTurn = async () => {
  while (running && !state.browser?.dialog && !state.browser?.file_dialog) await sleep(20);
};
const act = async data => {
  if (!['accept', 'dismiss', 'take', 'files'].includes(data.do)) await inTurn();
  complain('');
  await post('act', data);
  await look();
};
for (const button of document.querySelectorAll('[data-do]')) {
  button.addEventListener('click', () => act({do: button.dataset.do}));
}
$('bar').addEventListener('submit', event => {
  event.preventDefault();
  act({do: 'goto', address: $('address').value});
  $('address').blur();
});
const offer = what => {
  offered = true;
  const field = what.kind === 'select' ? make('select', '', {size: Math.min(Math.max(what.options.length, 2), 10)}) : make('input', '', {type: what.kind});
  for (const option of what.options) field.append(make('option', option));
  field.id = 'offer-value';
  field.value = what.value;
  $('offer-label').textContent = what.label || (what.kind === 'select' ? 'Choose one' : `Choose: ${what.kind}`);
  $('offer-field').replaceChildren(field);
  $('offer').hidden = false;
  field.addEventListener('dblclick', () => $('offer').querySelector('form').requestSubmit());
  field.focus();
};
const close = id => {
  $(id).hidden = true;
  keys.focus({preventScroll: true});
};
$('offer').querySelector('form').addEventListener('submit', async event => {
  event.preventDefault();
  const value = $('offer-value').value;
  close('offer');
  await act({do: 'take', value});
});
$('offer-cancel').addEventListener('click', () => close('offer'));
$('dialog').querySelector('form').addEventListener('submit', event => {
  event.preventDefault();
  const data = state.browser?.dialog?.kind === 'prompt' ? {do: 'accept', text: $('dialog-text').value} : {do: 'accept'};
  close('dialog');
  act(data);
});
$('dialog-cancel').addEventListener('click', () => {
  close('dialog');
  act({do: 'dismiss'});
});
$('file').querySelector('form').addEventListener('submit', async event => {
  event.preventDefault();
  const names = [];
  for (const file of $('file-input').files) {
    const said = await post(`file/${encodeURIComponent(file.name)}`, file, 'application/octet-stream');
    if (said.problem) return;
    names.push(said.name);
  }
  close('file');
  await act({do: 'files', names});
});
$('file-cancel').addEventListener('click', () => {
  close('file');
  act({do: 'files', names: []});
});

let shown = '';
// Buttons are reused when their text changes, because one that is replaced between press and release gets no click.
const drawTabs = tabs => {
  const place = $('tabs');
  while (place.children.length > tabs.length) place.lastChild.remove();
  while (place.children.length < tabs.length) {
    const button = make('button', '', {type: 'button'}), index = place.children.length;
    button.addEventListener('click', () => act({do: 'tab', index}));
    place.append(button);
  }
  tabs.forEach((tab, index) => {
    const button = place.children[index];
    button.textContent = tab.title || tab.url || 'empty';
    button.title = tab.url;
    button.setAttribute('aria-pressed', tab.active);
  });
};
document.addEventListener('seen', () => {
  const browser = state.browser;
  $('browser').hidden = !using();
  if (!using()) {
    $('offer').hidden = true;
    return;
  }
  const now = JSON.stringify(browser);
  if (now === shown) return;
  shown = now;
  drawTabs(browser.tabs);
  document.querySelector('[data-do=close_tab]').disabled = browser.tabs.length < 2;
  const current = browser.tabs.find(tab => tab.active);
  if (current && document.activeElement !== $('address')) $('address').value = current.url;
  const dialog = browser.dialog;
  if (dialog && $('dialog').hidden) {
    $('dialog-kind').textContent = {alert: 'The page says', confirm: 'The page asks', prompt: 'The page asks', beforeunload: 'Leave the page?'}[dialog.kind] || dialog.kind;
    $('dialog-message').textContent = dialog.message;
    $('dialog-answer').hidden = dialog.kind !== 'prompt';
    $('dialog-text').value = dialog.proposed;
    $('dialog-cancel').hidden = dialog.kind === 'alert';
    $('dialog').hidden = false;
    (dialog.kind === 'prompt' ? $('dialog-text') : $('dialog').querySelector('.main')).focus();
  } else if (!dialog) {
    $('dialog').hidden = true;
  }
  if (browser.file_dialog && $('file').hidden) {
    $('file-input').multiple = browser.file_dialog === 'many';
    $('file-input').value = '';
    $('file').hidden = false;
    $('file-input').focus();
  } else if (!browser.file_dialog) {
    $('file').hidden = true;
  }
});
pictures();
