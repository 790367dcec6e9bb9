function head() {
  const { run } = index;
  $("run-name").textContent = run.path;
  document.title = `${run.path} · webarena run`;
  const facts = [];
  if (run.started) facts.push(new Date(1000 * run.started).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }));
  facts.push(plural(index.trials.length, "trial"), `sites: ${run.catalogue ?? "unknown"}`);
  if (run.grading) {
    const without = run.grading.without?.length ? ` without ${run.grading.without.join(", ")}` : "";
    facts.push(`grading: ${run.grading.name}${without}`);
  }
  const times = index.trials.filter((trial) => trial.started);
  if (times.length) {
    const from = Math.min(...times.map((trial) => trial.started)), to = Math.max(...times.map((trial) => trial.started + trial.seconds));
    facts.push(`${duration(to - from)} on ${plural(run.workers ?? 1, "worker")}`);
  }
  if (run.git) facts.push(`git ${run.git.slice(0, 10)}${run.git.endsWith("+") ? "+" : ""}`);
  $("run-facts").textContent = facts.join(" · ");
  $("problems").append(...index.problems.map((text) => make("li", {}, text)));
  $("problems").hidden = !index.problems.length;
  const versions = Object.entries(run.versions ?? {}).map(([name, version]) => `${name} ${version}`).join("\n");
  $("command").querySelector("pre").textContent = `pytest ${(run.argv ?? []).join(" ")}\n\n${versions}`;
}

function bar({ rate, interval }) {
  const [low, high] = interval;
  return make("span", { className: "rate-bar", "aria-hidden": "true" },
    rate === null ? "" : make("i", { style: { width: `${100 * rate}%` } }),
    rate === null ? "" : make("u", { style: { left: `${100 * low}%`, width: `${100 * (high - low)}%` } }));
}

// The rate as papers print it, next to the one without errors.
function errorsFailed({ errors_failed: found, undecided, stopped }) {
  if (!found) return "";
  const counts = `${found.passed}${undecided ? `–${found.passed + undecided.count}` : ""}/${found.trials}`;
  const trials = stopped ? `errors and ${plural(stopped, "stopped trial")}` : "errors";
  return make("p", { className: "dim" }, `${counts} = ${percent(found.value)} (95 % interval ${percent(found.interval95[0])} to ${percent(found.interval95[1])}) with ${trials} as failures`);
}

const list = (counts) => Object.entries(counts).map(([name, count]) => `${name} ${count}`).join(", ");

function agents() {
  for (const name of AGENTS) {
    const summary = index.summary.agents[name], trials = index.trials.filter((trial) => trial.agent === name), count = tally(trials);
    const rows = [
      ["stopped", list(summary.stop_reasons) || "–"],
      ["errors", count.error ? `${list(summary.error_causes)} (not in the rate)` : "none"],
      ["per trial", `${(summary.steps / trials.length).toFixed(1)} steps, ${duration(summary.seconds / trials.length)}`],
    ];
    if (index.cost[name]) rows.push(["cost", index.cost[name]]);
    if (summary.memory?.length) rows.push(["note", `trials remember earlier ones (memory: ${summary.memory.join(" or ")}); the interval takes them for independent`]);
    if (summary.retried) rows.push(["retried", plural(summary.retried, "trial")]);
    if (summary.passed_after_own_error) rows.push(["passed later", `${plural(summary.passed_after_own_error, "trial")} on a later attempt, which does not count`]);
    rows.push(...gradings(name));
    $("agents").append(make("article", { className: "card" },
      make("h2", {}, name),
      make("p", { className: "big" }, make("b", {}, count.rate === null ? "no verdict" : percent(count.rate)),
        make("span", {}, count.judged ? ` ${count.passed} of ${count.judged} passed${count.undecided ? `; ${percent(count.ifMet)} if ${count.undecided} undecided ${count.undecided === 1 ? "is" : "are"} met` : ""}` : "")),
      bar(count),
      make("p", { className: "dim" }, count.judged ? `95 % interval ${percent(count.interval[0])} to ${percent(count.interval[1])}` : ""),
      errorsFailed(summary.rate),
      make("dl", {}, rows.map(([term, text]) => [make("dt", {}, term), make("dd", { className: term === "errors" && count.error ? "error" : "" }, text)])),
      summary.mixed ? make("p", { className: "note" }, `No one rate, its trials are mixed: ${summary.mixed.join("; ")}`) : "",
      summary.privileged ? make("p", { className: "note" }, "Sees the solutions: its rate says nothing about agents.") : ""));
  }
}

// What each grading says, where there are several, and how many trials they dispute.
function gradings(agent) {
  const found = index.summary.gradings?.[agent];
  if (!found || Object.keys(found.rates).length < 2) return [];
  const rates = Object.entries(found.rates).map(([name, rate]) => `${name} ${rate.passed}/${rate.judged}${rate.value === null ? "" : ` = ${percent(rate.value)}`}${rate.undecided ? `, ${rate.undecided.count} undecided` : ""}${rate.errors ? `, ${rate.errors} not computed` : ""}${name === found.headline ? " (counts)" : ""}`);
  const disputed = found.disagreements.length;
  return [["gradings", rates.join("\n")], ["disputed", disputed ? make("button", { type: "button", className: "link", onclick: () => narrow({ agent, name: "disputed", by: "gradings" }) }, plural(disputed, "trial")) : "none"]];
}

const bucket = (edges, unit) => (value) => {
  const at = edges.findIndex((edge) => value <= edge);
  const label = at < 0 ? `over ${edges.at(-1)} ${unit}` : at === 0 ? `up to ${edges[0]} ${unit}` : `${edges[at - 1]} to ${edges[at]} ${unit}`;
  return { label, rank: at < 0 ? edges.length : at };
};
const agreement = (trial) => {
  const verdicts = Object.values(trial.gradings ?? {});
  return verdicts.length < 2 ? "one grading" : verdicts.includes(true) && verdicts.includes(false) ? "disputed" : "agreed";
};
const steps = bucket([2, 5, 10, 15, 20, 30], "steps"), seconds = bucket([2, 5, 15, 60, 180, 600], "s");

// How trials can be grouped: the groups a trial is in, and the filter that shows one of them.
const GROUPINGS = {
  site: { of: (trial) => trial.sites.length ? trial.sites : ["(no site)"], field: "site" },
  category: { of: (trial) => [trial.category || "(none)"], field: "category" },
  steps: { of: (trial) => [steps(trial.steps).label], rank: (trial) => steps(trial.steps).rank },
  time: { of: (trial) => [seconds(trial.seconds).label], rank: (trial) => seconds(trial.seconds).rank },
  gradings: { of: (trial) => [agreement(trial)], rank: (trial) => ["agreed", "disputed", "one grading"].indexOf(agreement(trial)) },
  tag: { of: (trial) => trial.tags.length ? trial.tags : ["(none)"] },
};

function rates(by) {
  const { of, rank, field } = GROUPINGS[by];
  const groups = new Map();
  for (const trial of index.trials) for (const name of of(trial)) {
    if (!groups.has(name)) groups.set(name, { name, trials: [], rank: rank ? rank(trial) : 0 });
    groups.get(name).trials.push(trial);
  }
  const rows = [...groups.values()].sort((a, b) => a.rank - b.rank || natural(a.name, b.name));
  if (rows.length > 1) rows.push({ name: "all", trials: index.trials, all: true });
  const cell = (row, agent) => {
    const trials = row.trials.filter((trial) => trial.agent === agent), count = tally(trials);
    if (!trials.length) return make("td", { "data-label": agent }, make("span", { className: "dim" }, "–"));
    const text = count.rate === null ? "no verdict" : percent(count.rate, count.judged < 1000 ? 0 : 1);
    const mixed = index.summary.agents[agent].mixed ? "mixed" : "", passed = `${count.passed}${count.undecided ? `–${count.passed + count.undecided}` : ""}`;
    const label = `${agent}, ${row.name}: ${text}, ${passed} of ${count.judged} passed, ${plural(count.error, "error")}${mixed && ", mixed"}`;
    return make("td", { "data-label": agent }, make("button", { type: "button", "aria-label": label, onclick: () => narrow({ agent, field, name: row.all ? null : row.name, by }) },
      bar(count), make("b", {}, text), make("small", {}, `${passed}/${count.judged} ${mixed}`.trim()),
      count.error ? make("small", { className: "error" }, `+${count.error} err.`) : ""));
  };
  const whole = (row) => make("button", { type: "button", className: "link", onclick: () => narrow({ agent: "", field, name: row.all ? null : row.name, by }) }, row.name);
  $("rates-table").replaceChildren(
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, by), AGENTS.map((agent) => make("th", { scope: "col" }, agent)))),
    make("tbody", {}, rows.map((row) => make("tr", { className: row.all ? "all" : "" }, make("th", { scope: "row" }, whole(row)), AGENTS.map((agent) => cell(row, agent))))));
  for (const button of $("rates-by").children) button.setAttribute("aria-pressed", String(button.value === by));
}

function overview() {
  head();
  agents();
  const useful = Object.keys(GROUPINGS).filter((by) => (by !== "tag" || index.trials.some((trial) => trial.tags.length)) && (by !== "gradings" || index.trials.some((trial) => agreement(trial) !== "one grading")));
  $("rates-by").append(...useful.map((by) => make("button", { type: "button", value: by, onclick: () => rates(by) }, by)));
  rates("site");
  const root = document.documentElement, schemes = ["auto", "light", "dark"];
  $("theme").onclick = () => {
    const next = schemes[(schemes.indexOf(root.dataset.theme ?? "auto") + 1) % 3];
    root.dataset.theme = next;
    $("theme").textContent = `Theme: ${next}`;
  };
}
