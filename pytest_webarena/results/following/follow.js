"use strict";
const $ = (id) => document.getElementById(id);

// Elements are made, never parsed: whatever a page, an agent or a task says stays text.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) name.includes("-") || name === "role" ? element.setAttribute(name, value) : (element[name] = value);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== ""));
  return element;
}

const EVERY = 2000; // milliseconds between two looks
const SIGNS = { passed: "✓", failed: "✗", undecided: "?", error: "!" };
const run = location.pathname.match(/^\/runs\/[^/]+\/$/) ? location.pathname : null;
const percent = (value) => `${(100 * value).toFixed(1)} %`;
const clock = (time) => new Date(1000 * time).toLocaleTimeString();

function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds)), minutes = Math.floor(whole / 60);
  return minutes ? minutes < 60 ? `${minutes} min ${String(whole % 60).padStart(2, "0")} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${whole} s`;
}

function progress(ended, planned) {
  const words = planned ? `${ended} of ${planned} trials` : `${ended} trials`;
  const bar = make("progress", { max: planned || 1, value: Math.min(ended, planned || 1), "aria-label": words });
  return [bar, make("span", { className: "dim" }, words)];
}

function rate(agent) {
  if (agent.rate === undefined) return make("span", { className: "dim" }, "nothing yet");
  const said = agent.rate === null ? "no verdict" : `${percent(agent.rate)} (${agent.passed}${agent.undecided ? `–${agent.passed + agent.undecided}` : ""}/${agent.judged})`;
  const notes = [agent.errors_failed, agent.mixed].filter(Boolean).map((note) => make("small", { className: "dim" }, note));
  return [said, notes, agent.errors ? make("span", { className: "error" }, ` +${agent.errors} err.`) : ""];
}

function listing({ folder, runs }) {
  document.title = "webarena runs";
  $("facts").textContent = folder;
  if (!runs.length) return [make("p", { className: "dim" }, "No run yet: this page shows the first one as soon as it has begun.")];
  return [table(["Run", "State", "Progress", "Passed"], runs.map((each) => each.problem
    ? [each.name, make("span", { className: "error" }, each.problem), "", ""]
    : [[make("a", { href: `/runs/${encodeURIComponent(each.name)}/` }, each.name), make("small", {}, each.when)], state(each.state), progress(each.ended, each.planned),
       each.agents.map((agent) => make("div", {}, `${agent.name}: `, rate(agent)))]))];
}

const state = (name) => make("span", { className: `state ${name.replace(" ", "-")}` }, name);

function table(heads, rows) {
  return make("div", { className: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, at) => make("td", { "data-label": heads[at] }, make("div", {}, cell))))))));
}

function one(data) {
  document.title = `${data.ended}/${data.planned} · ${data.name}`;
  $("title").replaceChildren(make("a", { href: "/" }, "runs"), ` / ${data.name}`);
  const going = data.state === "going on", perTrial = data.ended && data.started ? (data.now - data.started) / data.ended : 0;
  $("facts").replaceChildren(state(data.state), ` begun ${data.started ? new Date(1000 * data.started).toLocaleString() : "?"}`,
    going && perTrial && data.planned > data.ended ? `, about ${duration(perTrial * (data.planned - data.ended))} left` : "");
  const parts = [make("section", {}, progress(data.ended, data.planned), data.ended ? make("a", { className: "whole", href: "view.html" }, "Filmstrips and figures of all ended trials") : "")];
  if (data.unreadable) parts.push(make("p", { className: "error" }, `${data.unreadable} records can't be read; they are in no figure. \`webarena summary\` names them.`));
  parts.push(make("section", { className: "agents" }, data.agents.map((agent) => make("article", {},
    make("h2", {}, agent.name), make("p", { className: "big" }, rate(agent)),
    agent.interval && agent.judged ? make("p", { className: "dim" }, `95 % interval ${percent(agent.interval[0])} to ${percent(agent.interval[1])}`) : "",
    make("p", { className: "dim" }, `${(agent.judged ?? 0) + (agent.errors ?? 0)} of ${agent.planned} trials`),
    agent.use ? make("p", { className: "dim" }, `used: ${agent.use}`) : "",
    agent.errors ? make("p", { className: "error" }, `errors: ${Object.entries(agent.causes).map(([cause, count]) => `${cause} ${count}`).join(", ")}`) : "",
    agent.privileged ? make("p", { className: "dim" }, "sees the solutions") : ""))));
  if (data.under_way.length) parts.push(make("h2", {}, going ? "Under way" : "Cut off"), table(["Task", "Agent", "Steps", going ? "For" : "Begun", "Latest action"],
    data.under_way.map((each) => [each.task + (each.trial > 1 ? ` · trial ${each.trial}` : ""), each.agent, String(each.steps), going ? duration(data.now - each.since) : clock(each.since), make("code", {}, each.latest)])));
  if (data.recent.length) parts.push(make("h2", {}, "Ended last"), table(["Outcome", "Task", "Agent", "Steps", "Time", "At"],
    data.recent.map((each) => [make("span", { className: each.outcome }, `${SIGNS[each.outcome]} ${each.outcome}`),
      [each.task + (each.trial > 1 ? ` · trial ${each.trial}` : ""), each.outcome === "passed" ? "" : make("small", {}, each.message)], each.agent, String(each.steps), duration(each.seconds), clock(each.end)])));
  return parts;
}

let before = "";

async function look() {
  try {
    const answer = await fetch(run ? `${run}progress.json` : "/runs.json");
    const text = await answer.text();
    $("lost").hidden = true;
    if (!answer.ok) $("main").replaceChildren(make("p", { className: "error" }, text));
    else {
      const data = JSON.parse(text), news = data.state === "going on" ? text : JSON.stringify({ ...data, now: 0 });
      if (news !== before) $("main").replaceChildren(...(run ? one : listing)(data)); // what stands still can be read and selected
      before = news;
    }
  } catch {
    $("lost").hidden = false;
  }
  setTimeout(() => document.hidden ? addEventListener("visibilitychange", look, { once: true }) : look(), EVERY);
}

look();
