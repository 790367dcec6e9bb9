const COLUMNS = [
  { key: "outcome", title: "Outcome", value: (trial) => `${OUTCOMES.indexOf(trial.outcome)}${ended(trial)}` },
  { key: "task", title: "Task", value: (trial) => trial.task },
  { key: "agent", title: "Agent", value: (trial) => trial.agent },
  { key: "stop", title: "Ended", value: ended },
  { key: "steps", title: "Steps", value: (trial) => trial.steps, number: true },
  { key: "seconds", title: "Time", value: (trial) => trial.seconds, number: true },
];
const several = AGENTS.length > 1 || index.trials.some((trial) => trial.trial > 1);
const state = { sort: "task", descending: false, group: null, rows: several ? "tasks" : "trials" };
let shown = [];

const needles = new Map(index.trials.map((trial) => [trial, `${trial.task} ${trial.intent} ${trial.tags.join(" ")} ${trial.agent} ${trial.cause ?? ""}`.toLowerCase()]));

function outcomeSign(trial, text = "") {
  return make("span", { className: `sign ${trial.outcome}` }, make("span", { "aria-hidden": "true" }, SIGNS[trial.outcome]), text ? ` ${text}` : make("span", { className: "hidden" }, trial.outcome));
}

const cached = new Map();

function trialRow(trial) {
  if (!cached.has(trial)) {
    cached.set(trial, make("tr", { onclick: (event) => event.target.closest("button") || openTrial(trial) },
      make("td", {}, outcomeSign(trial, trial.outcome)),
      make("td", {}, make("button", { type: "button", className: "link", onclick: () => openTrial(trial) }, trial.task + (trial.trial > 1 ? ` · trial ${trial.trial}` : "")), make("small", {}, trial.intent)),
      make("td", {}, trial.agent),
      make("td", { title: index.words[trial.outcome === "error" ? trial.cause : trial.stop] }, ended(trial), trial.attempts > 1 ? make("small", {}, plural(trial.attempts, "attempt")) : ""),
      make("td", { className: "number", "data-unit": trial.steps === 1 ? "step" : "steps" }, trial.steps),
      make("td", { className: "number" }, duration(trial.seconds))));
  }
  return cached.get(trial);
}

function taskRow(task, trials) {
  const chips = (agent) => trials.filter((trial) => trial.agent === agent).sort((a, b) => a.trial - b.trial).map((trial) =>
    make("button", { type: "button", className: `chip ${trial.outcome}`, title: `${agent}, trial ${trial.trial}: ${trial.outcome}, ${ended(trial)}, ${plural(trial.steps, "step")}`, "aria-label": `${task}, ${agent}, trial ${trial.trial}: ${trial.outcome}`, onclick: () => openTrial(trial) }, SIGNS[trial.outcome]));
  const first = trials.find((trial) => trial.outcome !== "passed") ?? trials[0]; // what most come to see
  return make("tr", { onclick: (event) => event.target.closest("button") || openTrial(first) },
    make("td", {}, make("button", { type: "button", className: "link", onclick: () => openTrial(first) }, task), make("small", {}, trials[0].intent)),
    AGENTS.map((agent) => make("td", { className: "chips", "data-label": agent }, chips(agent))));
}

function wanted() {
  const words = $("text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const outcomes = new Set([...document.querySelectorAll("#outcomes input:checked")].map((box) => box.value));
  const [agent, site, category, end] = ["agent", "site", "category", "ended"].map((id) => $(id).value);
  const { group } = state;
  return index.trials.filter((trial) => outcomes.has(trial.outcome)
    && (!agent || trial.agent === agent)
    && (!site || (trial.sites.length ? trial.sites : ["(no site)"]).includes(site))
    && (!category || (trial.category || "(none)") === category)
    && (!end || ended(trial) === end)
    && (!group || GROUPINGS[group.by].of(trial).includes(group.name))
    && words.every((word) => needles.get(trial).includes(word)));
}

function table() {
  const { value } = COLUMNS.find((column) => column.key === state.sort);
  const compare = (a, b) => { const x = value(a), y = value(b); return typeof x === "number" ? x - y : natural(x, y); };
  const flip = state.descending ? -1 : 1;
  shown = wanted().sort((a, b) => flip * compare(a, b) || natural(a.task, b.task) || natural(a.agent, b.agent) || a.trial - b.trial);
  const byTask = state.rows === "tasks";
  const heads = byTask ? [make("th", { scope: "col" }, "Task"), ...AGENTS.map((agent) => make("th", { scope: "col" }, agent))] : COLUMNS.map((column) =>
    make("th", { scope: "col", className: column.number ? "number" : "", "aria-sort": column.key === state.sort ? (state.descending ? "descending" : "ascending") : "none" },
      make("button", { type: "button", onclick: () => sortBy(column.key) }, column.title)));
  let rows;
  if (byTask) {
    const tasks = new Map();
    for (const trial of [...shown].sort((a, b) => natural(a.task, b.task))) tasks.set(trial.task, [...(tasks.get(trial.task) ?? []), trial]);
    rows = [...tasks].map(([task, trials]) => taskRow(task, trials));
    shown = [...tasks.values()].flat();
  } else rows = shown.map(trialRow);
  if (!rows.length) rows = [make("tr", {}, make("td", { colSpan: heads.length, className: "dim" }, "No trial is like that."))];
  $("trials").className = byTask ? "by-task" : "by-trial";
  $("trials").replaceChildren(make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
  const { group } = state, count = tally(shown);
  $("count").textContent = `${shown.length} of ${plural(index.trials.length, "trial")}` + (group ? `, ${group.name}` : "") + rateOf(shown, count);
  $("clear").hidden = shown.length === index.trials.length;
}

// The rate of the trials shown: only of one agent, and of trials that were not selected by their outcome.
function rateOf(shown, count) {
  const agents = new Set(shown.map((trial) => trial.agent));
  if (count.rate === null || agents.size !== 1 || document.querySelector("#outcomes input:not(:checked)")) return "";
  const upper = count.undecided ? `, ${percent(count.ifMet)} if ${count.undecided} undecided ${count.undecided === 1 ? "is" : "are"} met` : "";
  return ` · ${percent(count.rate)} passed${upper}${index.summary.agents[[...agents][0]].mixed ? " (mixed)" : ""}`;
}

function sortBy(key) {
  const number = COLUMNS.find((column) => column.key === key).number;
  state.descending = state.sort === key ? !state.descending : Boolean(number);
  state.sort = key;
  table();
  document.querySelectorAll("#trials thead button")[COLUMNS.findIndex((column) => column.key === key)].focus();
}

function narrow({ agent, field, name, by }) {
  clear();
  $("agent").value = agent;
  if (name !== null && field) $(field).value = name;
  else if (name !== null) state.group = { by, name };
  table();
  $("filters").scrollIntoView({ block: "start" });
}

function clear() {
  $("filters").reset();
  state.group = null;
}

function rowsAs(kind) {
  state.rows = kind;
  for (const button of $("view").children) button.setAttribute("aria-pressed", String(button.value === kind));
  table();
}

function filters() {
  const fill = (id, label, values) => {
    const known = [...new Set(values)].sort(natural);
    $(id).append(make("option", { value: "" }, label), ...known.map((value) => make("option", { value }, value)));
    $(id).hidden = known.length < 2;
  };
  fill("agent", "all agents", AGENTS);
  fill("site", "all sites", index.trials.flatMap(GROUPINGS.site.of));
  fill("category", "all categories", index.trials.flatMap(GROUPINGS.category.of));
  fill("ended", "any end", index.trials.map(ended).filter(Boolean));
  for (const outcome of OUTCOMES) {
    const count = tally(index.trials)[outcome];
    if (outcome === "undecided" && !count) continue;
    $("outcomes").append(make("label", { className: outcome }, make("input", { type: "checkbox", value: outcome, defaultChecked: true }), make("span", {}, `${SIGNS[outcome]} ${outcome} ${count}`)));
  }
  if (several) $("view").append(...["tasks", "trials"].map((kind) => make("button", { type: "button", value: kind, onclick: () => rowsAs(kind) }, `by ${kind.slice(0, -1)}`)));
  $("filters").addEventListener("input", table);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("clear").onclick = () => { clear(); table(); $("text").focus(); };
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || document.querySelector("dialog[open]") || event.target.closest("input, select")) return;
    event.preventDefault();
    $("text").focus();
  });
  rowsAs(state.rows);
}
