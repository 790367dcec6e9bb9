"use strict";
const $ = (id) => document.getElementById(id);
const make = (tag, props = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), props);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
};
const index = JSON.parse($("index").textContent);
const percent = (value) => `${(100 * value).toFixed(1)} %`;
const OUTCOMES = ["passed", "failed", "error"];
let sortKey = "task", descending = false, shown = [], current = -1;

function head() {
  $("run-name").textContent = index.run.path;
  document.title = `webarena run ${index.run.path}`;
  const facts = [new Date(1000 * index.run.started).toLocaleString(), `sites ${index.run.catalogue}`, `${index.trials.length} trials`];
  if (index.run.git) facts.push(`git ${index.run.git.slice(0, 12)}`);
  if (index.run.argv) facts.push(`pytest ${index.run.argv.join(" ")}`);
  $("run-facts").textContent = facts.join(" · ");
}

function agents() {
  for (const [name, summary] of Object.entries(index.summary.agents)) {
    const { rate } = summary, [low, high] = rate.interval95;
    const bar = make("div", { className: "interval", title: `95 % interval: ${percent(low)} to ${percent(high)}` });
    if (rate.value !== null) {
      bar.append(make("i"), make("u"));
      bar.firstChild.style.cssText = `left:${100 * low}%;width:${100 * (high - low)}%`;
      bar.lastChild.style.left = `${100 * rate.value}%`;
    }
    const stops = Object.entries(summary.stop_reasons).map(([reason, count]) => `${reason} ${count}`).join(", ");
    const causes = Object.entries(summary.error_causes).map(([cause, count]) => `${cause} ${count}`).join(", ");
    $("agents").append(make("article", { className: "agent" },
      make("h2", {}, name), make("b", {}, rate.value === null ? "no verdict" : percent(rate.value)),
      make("p", {}, `${rate.passed} of ${rate.judged} judged trials passed; 95 % interval ${percent(low)} to ${percent(high)}`), bar,
      make("p", {}, `stopped: ${stops || "never"}`),
      causes ? make("p", { className: "error" }, `errors, not in the rate: ${causes}`) : "",
      summary.privileged ? make("p", {}, "This agent sees the solutions.") : ""));
  }
}

function bars(title, groups) {
  const box = make("div", {}, make("h3", {}, title));
  for (const [name, trials] of groups) {
    const counts = OUTCOMES.map((outcome) => trials.filter((trial) => trial.outcome === outcome).length);
    const bar = make("div");
    for (const count of counts) bar.append(Object.assign(make("i"), { style: `width:${(100 * count) / trials.length}%` }));
    const judged = counts[0] + counts[1];
    box.append(make("div", { className: "bar", title: OUTCOMES.map((o, i) => `${o} ${counts[i]}`).join(", ") },
      make("span", {}, name), bar, make("span", {}, judged ? `${counts[0]}/${judged}` : `${counts[2]} err.`)));
  }
  return box;
}

function grouped(trials, keys) {
  const groups = new Map();
  for (const trial of trials) for (const key of keys(trial)) groups.set(key, [...(groups.get(key) || []), trial]);
  return [...groups].sort((a, b) => String(a[0]).localeCompare(String(b[0]), undefined, { numeric: true }));
}

const bucket = (value, edges) => {
  const at = edges.findIndex((edge) => value <= edge);
  return at < 0 ? `over ${edges.at(-1)}` : at === 0 ? `up to ${edges[0]}` : `${edges[at - 1]}–${edges[at]}`;
};

function charts() {
  const trials = shown;
  const order = (edges) => (a, b) => rank(a[0], edges) - rank(b[0], edges);
  const rank = (label, edges) => label.startsWith("up") ? -1 : label.startsWith("over") ? edges.length : edges.findIndex((edge) => label.endsWith(`–${edge}`));
  const steps = [2, 5, 10, 15, 20, 30], seconds = [2, 5, 15, 60, 180, 600];
  $("chart-grid").replaceChildren(
    bars("By site", grouped(trials, (trial) => trial.sites.length ? trial.sites : ["(no site)"])),
    bars("By category", grouped(trials, (trial) => [trial.category || "(none)"])),
    bars("By steps", grouped(trials, (trial) => [bucket(trial.steps, steps)]).sort(order(steps))),
    bars("By seconds", grouped(trials, (trial) => [bucket(trial.seconds, seconds)]).sort(order(seconds))),
    bars("By stop reason", grouped(trials, (trial) => [trial.stop || `error: ${trial.cause}`])),
    bars("By agent", grouped(trials, (trial) => [trial.agent])));
}

function filters() {
  const fill = (id, label, values) => {
    $(id).append(make("option", { value: "" }, label), ...[...new Set(values)].sort().map((value) => make("option", { value }, value)));
    $(id).hidden = new Set(values).size < 2;
  };
  fill("agent", "all agents", index.trials.map((trial) => trial.agent));
  fill("site", "all sites", index.trials.flatMap((trial) => trial.sites));
  fill("category", "all categories", index.trials.map((trial) => trial.category).filter(Boolean));
  for (const outcome of OUTCOMES) {
    const box = make("input", { type: "checkbox", value: outcome, checked: true });
    $("outcomes").append(make("label", { className: outcome }, box, ` ${outcome}`));
  }
  $("filters").addEventListener("input", table);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const cell of document.querySelectorAll("th")) cell.addEventListener("click", () => {
    descending = sortKey === cell.dataset.key && !descending;
    sortKey = cell.dataset.key;
    table();
  });
}

function table() {
  const words = $("text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const outcomes = [...document.querySelectorAll("#outcomes input:checked")].map((box) => box.value);
  const wanted = (trial) => outcomes.includes(trial.outcome)
    && (!$("agent").value || trial.agent === $("agent").value)
    && (!$("site").value || trial.sites.includes($("site").value))
    && (!$("category").value || trial.category === $("category").value)
    && words.every((word) => `${trial.task} ${trial.intent} ${trial.tags.join(" ")}`.toLowerCase().includes(word));
  shown = index.trials.filter(wanted);
  const value = (trial) => trial[sortKey] ?? "";
  shown.sort((a, b) => (typeof value(a) === "number" ? value(a) - value(b) : String(value(a)).localeCompare(String(value(b)), undefined, { numeric: true })) * (descending ? -1 : 1));
  for (const cell of document.querySelectorAll("th")) {
    if (cell.dataset.key === sortKey) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  }
  $("count").textContent = `${shown.length} of ${index.trials.length}`;
  document.querySelector("#trials tbody").replaceChildren(...shown.map((trial, at) => {
    const row = make("tr", { onclick: () => open(at) },
      make("td", { className: `outcome ${trial.outcome}` }, trial.cause ? `error: ${trial.cause}` : trial.outcome),
      make("td", {}, make("button", { type: "button" }, trial.task + (trial.trial > 1 ? ` #${trial.trial}` : "")), make("small", {}, trial.intent)),
      make("td", {}, trial.agent), make("td", {}, trial.stop || ""),
      make("td", { className: "number" }, trial.steps), make("td", { className: "number" }, trial.seconds.toFixed(1)));
    row.cells[4].dataset.unit = "steps"; row.cells[5].dataset.unit = "s";
    return row;
  }));
  charts();
}

async function unpack(folder) {
  const bytes = Uint8Array.from(atob($(`trial-${folder}`).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const check = (result) => make("li", {},
  make("span", { className: `outcome ${result.passed === null ? "error" : result.passed ? "passed" : "failed"}` }, result.passed === null ? "? " : result.passed ? "✓ " : "✗ "),
  make("b", {}, result.kind), ` ${result.path}`,
  make("dl", {}, ...["expected", "actual", "why"].filter((name) => result[name]).flatMap((name) => [make("dt", {}, name), make("dd", {}, String(result[name]))])),
  result.children?.length ? make("ul", { className: "checks" }, ...result.children.map(check)) : "");

async function open(at) {
  if (at < 0 || at >= shown.length) return;
  current = at;
  const trial = shown[at], { record, frames, network, tabs } = await unpack(trial.folder);
  history.replaceState(null, "", `#${trial.folder}`);
  const step = make("div", { id: "step" });
  const strip = make("div", { className: "strip", tabIndex: 0 });
  frames.forEach((frame, number) => strip.append(make("button", {
    type: "button", className: `frame${frame.error ? " bad" : ""}`, onclick: () => show(number) },
    frame.picture ? make("img", { src: frame.picture, alt: "", loading: "lazy" }) : make("div", { className: "blank" }),
    make("span", {}, `${number + 1}. ${frame.title}`))));
  const show = (number) => {
    const frame = frames[number];
    [...strip.children].forEach((child, other) => child.setAttribute("aria-current", String(other === number)));
    step.replaceChildren(
      make("div", {}, make("h3", {}, `${number + 1}. ${frame.title}`), make("div", {}, frame.url || ""),
        frame.error ? make("p", { className: "failed" }, `No effect: ${frame.error}`) : "",
        frame.raw ? make("pre", {}, frame.raw) : "",
        frame.picture ? make("img", { src: frame.picture, alt: "What the agent saw", onclick: () => enlarge(frame.picture) }) : ""),
      make("div", {}, frame.observation ? make("h3", {}, "Observation") : "", frame.observation ? make("pre", {}, frame.observation) : ""));
  };
  const close = make("button", { type: "button", onclick: () => $("trial").close() }, "Close");
  $("trial").replaceChildren(close,
    make("h2", { id: "trial-title" }, trial.task), make("p", {}, record.intent),
    make("p", {}, make("span", { className: `outcome ${trial.outcome}` }, trial.outcome), ` · agent ${trial.agent} · trial ${trial.trial}`
      + (record.stop_reason ? ` · stopped: ${record.stop_reason} (${record.stop_detail})` : "") + (record.score === null ? "" : ` · score ${record.score}`)),
    record.answer === null ? "" : make("h3", {}, "Answer"), record.answer === null ? "" : make("pre", {}, record.answer || "(empty)"),
    record.verdict ? make("h3", {}, "Checks") : "", record.verdict ? make("ul", { className: "checks" }, ...record.verdict.results.map(check)) : "",
    record.outcome === "error" ? make("pre", {}, record.message) : "",
    frames.length ? make("h3", {}, "Steps") : "", strip, step,
    make("details", {}, make("summary", {}, `Network (${network.length})`), make("pre", {}, network.map((r) => `${r.status ?? "---"} ${r.method} ${r.url} ${r.refused}`).join("\n"))),
    make("details", {}, make("summary", {}, `Final tabs (${tabs.length})`), make("pre", {}, tabs.map((tab) => `${tab.active ? "*" : " "} ${tab.title} ${tab.url}`).join("\n"))),
    make("details", {}, make("summary", {}, "Record"), make("pre", {}, JSON.stringify(record, null, 1))));
  if (frames.length) show(0);
  if (!$("trial").open) $("trial").showModal();
}

function enlarge(source) {
  $("picture").firstChild.src = source;
  $("picture").onclick = () => $("picture").close();
  $("picture").showModal();
}

$("trial").addEventListener("keydown", (event) => {
  if (event.key === "ArrowRight" && event.altKey) open(current + 1);
  if (event.key === "ArrowLeft" && event.altKey) open(current - 1);
});
$("trial").addEventListener("close", () => history.replaceState(null, "", location.pathname));
head(); agents(); filters(); table();
const asked = decodeURIComponent(location.hash.slice(1));
if (asked) open(shown.findIndex((trial) => trial.folder === asked));
