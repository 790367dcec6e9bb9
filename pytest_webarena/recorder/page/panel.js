'use strict';
// The panel: shows the state of the task, which is polled twice a second, and sends what its author does. Texts from
// pages are only inserted as text.

const $ = id => document.getElementById(id);
const make = (tag, text, attributes = {}) => {
  const el = document.createElement(tag);
  if (text) el.textContent = text;
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
  return el;
};
const sleep = ms => new Promise(done => setTimeout(done, ms));
const PHASES = {
  starting: 'opening the sites', doing: 'recording', proving: 'doing it again on fresh sites', choosing: 'choosing checks',
  trying: 'trying the task', over: 'over',
};

let state = {phase: 'starting', steps: [], checks: [], nodes: [], variables: {}};
let drawn = '';
const ticks = new Map();  // whether it is ticked, by kind and description

const complain = text => {
  $('problem').hidden = !text;
  $('problem').firstElementChild.textContent = text || '';
};
const post = async (path, data, kind = 'application/json') => {
  const body = kind === 'application/json' ? JSON.stringify(data) : data;
  const answer = await fetch(path, {method: 'POST', headers: {'Content-Type': kind}, body});
  const said = answer.headers.get('Content-Type') === 'application/json' ? await answer.json() : {problem: await answer.text()};
  if (said.problem) complain(said.problem);
  return said;
};
const change = async data => {
  complain('');
  await post('change', data);
  await look();
};

// --- prompts for the author

const askFor = (label, value, hint) => new Promise(done => {
  const box = $('edit');
  $('edit-label').textContent = label;
  $('edit-value').value = value;
  $('edit-hint').textContent = hint || '';
  box.returnValue = '';
  box.addEventListener('close', () => done(box.returnValue === 'save' ? $('edit-value').value : null), {once: true});
  box.showModal();
  $('edit-value').select();
});
const nameOf = async (key, value, name) => {
  const said = await askFor(`A name for ${value}`, name, 'Letters, digits and _. Empty: no variable. It is {{ name }} in the file.');
  if (said !== null) await change({name: key, variable: said.trim()});
};

// --- drawing

const drawSteps = () => {
  const rows = state.steps.map((step, number) => {
    const row = make('li'), line = make('div', '', {class: 'step'}), buttons = make('span', '', {class: 'buttons'});
    const button = (text, label, act) => {
      const el = make('button', text, {type: 'button', 'aria-label': `${label} step ${number + 1}`});
      el.disabled = !['doing', 'choosing'].includes(state.phase);
      el.addEventListener('click', act);
      buttons.append(el);
    };
    line.append(make('code', step.text));
    if (step.name) line.append(make('span', `{{ ${step.name} }}`, {class: 'variable'}));
    if (step.editable) {
      button('Edit', 'Edit', async () => {
        const said = await askFor(`Step ${number + 1}: the value`, step.value);
        if (said !== null) await change({give: step.key, value: said});
      });
    }
    if (step.value) button('Name', 'Name the value of', () => nameOf(step.key, step.value, step.name));
    button('✕', 'Leave out', () => change({leave_out: step.key}));
    line.append(buttons);
    row.append(line);
    if (step.problem) row.append(make('span', `look at this one: ${step.problem}`, {class: 'look'}));
    return row;
  });
  $('steps').replaceChildren(...rows);
  $('no-steps').hidden = rows.length > 0;
};
const drawColumns = (id, key, columns) => {
  const line = make('div', '', {class: 'columns'});
  for (const column of columns) {
    const label = make('label'), box = make('input', '', {type: 'checkbox', 'data-of': id, value: column});
    const own = `${key} ${column}`;
    box.checked = ticks.has(own) ? ticks.get(own) : true;
    box.addEventListener('change', () => ticks.set(own, box.checked));
    label.append(box, make('span', column));
    line.append(label);
  }
  return line;
};
const drawTicks = (place, kind, all) => {
  for (const old of place.querySelectorAll('label, .columns')) old.remove();
  all.forEach((each, number) => {
    const id = `${kind}${number}`, label = make('label'), box = make('input', '', {type: 'checkbox', id});
    const key = `${kind} ${each.about}`;
    box.checked = ticks.has(key) ? ticks.get(key) : !!each.recommended;
    box.addEventListener('change', () => ticks.set(key, box.checked));
    label.append(box, make('span', each.step ? `step ${each.step}: ${each.about}` : each.about));
    place.append(label);
    if ((each.columns || []).length > 1) place.append(drawColumns(id, key, each.columns));
  });
  place.hidden = all.length === 0;
};
const drawResult = () => {
  const result = state.result;
  $('outcome').hidden = !result;
  if (!result) return;
  $('verdict').textContent = result.about;
  $('verdict').className = result.passed ? 'passed' : 'failed';
  $('whys').replaceChildren(...result.checks.map(each => make(
    'li', `${each.holds ? '✓' : '✗'} ${each.about}${each.why ? `: ${each.why}` : ''}`, {class: each.holds ? 'passed' : 'failed'})));
  $('whys').append(...result.doubts.map(doubt => make('li', `think about this: ${doubt}`, {class: 'error'})));
  $('written').textContent = result.written ? `Written: ${result.written}. Next: pytest --audit ${result.written}` : '';
  $('text').textContent = result.text;
  $('text').parentElement.hidden = !result.text;
};
const draw = () => {
  const phase = state.phase, busy = ['starting', 'proving', 'trying', 'over'].includes(phase);
  document.body.dataset.phase = phase;
  $('phase').textContent = PHASES[phase] || phase;
  $('accounts').replaceChildren(...state.accounts.map(each => make('li', each)));
  $('sites').textContent = `on ${state.sites.join(', ')}`;
  for (const [id, value] of [['intent', state.intent], ['answer', state.answer]]) {
    if (document.activeElement !== $(id)) $(id).value = value;
    $(id).disabled = busy;
  }
  $('name-answer').textContent = state.answer_name ? `{{ ${state.answer_name} }}` : 'Name';
  $('name-answer').disabled = busy || !state.answer;
  $('take-selected').hidden = phase !== 'doing';
  $('leave-out-last').disabled = busy || !state.steps.length;
  $('take-back').disabled = busy || !state.can_undo;
  $('choice').hidden = phase !== 'choosing' || (!state.checks.length && !state.nodes.length);
  drawSteps();
  drawTicks($('checks'), 'check', state.checks);
  drawTicks($('nodes'), 'node', state.nodes);
  const names = Object.keys(state.variables);
  $('more').hidden = names.length === 0;
  $('order').textContent = `in the order ${names.join(', ')}, with commas`;
  drawResult();
  $('going').hidden = !state.log.length;
  $('log').textContent = state.log.join('\n');
  $('log').scrollTop = $('log').scrollHeight;
  const proved = phase === 'choosing' && (state.checks.length > 0 || state.nodes.length > 0);
  const shown = {
    finish: phase === 'doing', try: proved && !state.stale, prove: phase === 'choosing', write: phase === 'choosing' && !!state.result && !!state.result.text && !state.result.passed,
    again: phase === 'doing' || phase === 'choosing', leave: phase === 'doing' || phase === 'choosing',
  };
  for (const button of document.querySelectorAll('[data-ask]')) button.hidden = !shown[button.dataset.ask];
  document.querySelector('[data-ask=prove]').classList.toggle('main', !!state.stale);
  $('next').hidden = !Object.values(shown).some(Boolean);
};

const look = async () => {
  try {
    const answer = await fetch('state.json');
    if (!answer.ok) throw new Error(answer.status);
    state = await answer.json();
    $('lost').hidden = true;
  } catch {
    $('lost').hidden = state.phase === 'over';
    return;
  }
  const {browser, ...rest} = state, now = JSON.stringify(rest);
  if (now !== drawn) {
    drawn = now;
    draw();
  }
  document.dispatchEvent(new CustomEvent('seen'));
};

// --- what the author does

$('intent').addEventListener('change', () => change({intent: $('intent').value}));
$('answer').addEventListener('change', () => change({answer: $('answer').value}));
$('name-answer').addEventListener('click', () => nameOf('answer', state.answer, state.answer_name));
$('leave-out-last').addEventListener('click', () => change({leave_out_last: true}));
$('take-back').addEventListener('click', () => change({take_back: true}));
$('problem-read').addEventListener('click', () => complain(''));
$('take-selected').addEventListener('click', async () => {
  await idle();
  const said = await post('selected', {});
  if (said.text) await change({answer: said.text});
  else if (!said.problem) complain('Nothing is selected in the page: drag over the text there, then press this again.');
});
for (const button of document.querySelectorAll('[data-ask]')) {
  button.addEventListener('click', async () => {
    if (button.disabled) return;
    button.disabled = true;
    complain('');
    await idle();
    const ticked = kind => state[`${kind}s`].map((_, number) => number).filter(number => $(`${kind}${number}`)?.checked);
    await post('change', {intent: $('intent').value});
    if ($('answer').value.trim() !== state.answer) await post('change', {answer: $('answer').value});
    const without = {};
    for (const box of document.querySelectorAll('#checks [data-of]:not(:checked)')) {
      (without[box.dataset.of.replace('check', '')] ??= []).push(box.value);
    }
    const data = {what: button.dataset.ask, checks: ticked('check'), nodes: ticked('node'), without, fillings: $('fillings').value};
    await post('ask', data);
    button.disabled = false;
    await look();
  });
}
(async () => {
  for (;;) {
    await look();
    if (state.phase === 'over') return;
    await sleep(500);
  }
})();
