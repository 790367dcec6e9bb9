'use strict';
// The extension's popup: starts a recording, and asks for permissions, which needs a click.

const $ = id => document.getElementById(id);
const ask = what => chrome.runtime.sendMessage({do: what});
const draw = async () => {
  const {recording, problem, hosts, pictures} = await ask('state');
  $('state').textContent = recording ? 'The recording window is recorded. Finish on the page of webarena tasks record.' : 'Nothing is recorded.';
  if (problem) $('problem').textContent = problem;
  $('record').hidden = recording;
  $('stop').hidden = !recording;
  $('pictures').hidden = !recording || !pictures || await chrome.permissions.contains({origins: ['<all_urls>']});
  $('hosts').replaceChildren(...hosts.filter(Boolean).map(host => {
    const button = document.createElement('button');
    button.textContent = `Record ${host}, too`;
    button.addEventListener('click', () => allow([`*://${host}/*`]));
    return button;
  }));
};
const allow = async origins => {
  if (!await chrome.permissions.request({origins})) return;
  await ask('allowed');
  $('problem').textContent = 'Reload the page that you want recorded.';
  await draw();
};
const act = async what => {
  const {problem = '', reload = false} = await ask(what);
  $('problem').textContent = problem;
  $('reload').hidden = !reload;
  await draw();
};
$('record').addEventListener('click', () => act('record'));
$('stop').addEventListener('click', () => act('stop'));
$('reload').addEventListener('click', () => chrome.runtime.reload());
$('pictures').addEventListener('click', () => allow(['<all_urls>']));
draw();
