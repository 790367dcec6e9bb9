let current = null, frameAt = 0, show = () => {};

const mark = (score) => score === null || score === undefined ? ["?", "error"] : score >= 1 ? ["✓", "passed"] : score <= 0 ? ["✗", "failed"] : ["◐", "failed"];

// SVG elements are made as others are.
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The key nodes of a trial: at which step each was reached, and by what.
function timelineOf(parts) {
  const steps = Math.max(current.steps, 1);
  return make("ol", { className: "timeline" }, parts.map((part, number) => {
    const reached = Boolean(part.by), good = part.forbidden ? !reached : reached;
    const [sign, kind] = part.open ? ["?", "error"] : good ? ["✓", "passed"] : ["✗", "failed"];
    const when = typeof part.step !== "number" ? "" : part.step < 0 ? "at the start" : `step ${part.step + 1}`;
    const howReached = [when, part.by].filter(Boolean).join(", ") || part.why || (part.open ? "no telling" : "not reached");
    const track = draw("svg", { viewBox: "0 0 200 12", role: "img", "aria-label": when || "not reached" }, draw("path", { d: "M4 6H196" }));
    if (when) track.append(draw("circle", { class: kind, cx: 4 + 192 * Math.min(1, (part.step + 1) / steps), cy: 6, r: 4 }));
    const place = part.step >= 0 ? make("button", { type: "button", className: "link", onclick: () => show(part.step), title: "Show this step" }, howReached) : howReached;
    return make("li", {}, make("span", { className: `sign ${kind}` }, sign),
      make("span", { className: "node" }, make("b", {}, number + 1), ` ${part.what} `, ["free", "forbidden"].filter((label) => part[label]).map((label) => make("small", { className: "label" }, label))),
      track, make("small", {}, place));
  }));
}

// The items of a rubric: what each came to, and the words of the answer that earned it.
function partsOf(parts) {
  return make("table", { className: "parts" }, make("tbody", {}, parts.map((part, number) => {
    const [sign, kind] = mark(part.points / part.of);
    return make("tr", {}, make("td", { className: `sign ${kind}` }, sign), make("td", { className: "number" }, number + 1), make("td", { className: "number" }, `${part.points} / ${part.of}`),
      make("td", {}, part.what, part.quote ? make("q", {}, part.quote) : "", part.why ? make("small", {}, part.why) : ""));
  })));
}

function check(result) {
  const [sign, kind] = mark(result.counts ?? result.score);
  const waited = typeof result.waited === "number" ? ` after ${result.waited.toFixed(1)} s` : "";
  const state = (result.state && result.state !== "end" ? ` ${result.state}` : "") + waited;
  const rows = ["expected", "actual", "why"].filter((name) => result[name]);
  return make("li", {}, make("p", {}, make("span", { className: `sign ${kind}` }, sign), " ", make("b", {}, result.kind), make("span", { className: "dim" }, ` ${result.path}${state}`)),
    rows.length ? make("dl", {}, rows.map((name) => [make("dt", {}, name), make("dd", {}, String(result[name]))])) : "",
    result.parts?.length ? (result.parts.some((part) => part.function) ? timelineOf : partsOf)(result.parts) : "",
    result.children?.length ? make("ul", { className: "checks" }, result.children.map(check)) : "");
}

function picture(frame, alt) {
  const image = make("img", { alt, loading: "lazy", decoding: "async" });
  image.onerror = () => image.replaceWith(make("span", { className: "blank" }, "Its file is not where it was when this page was made."));
  address(frame.picture).then((source) => { image.src = source; });
  return image;
}

// Where the action hit, drawn on the screenshot; its size in CSS pixels is the viewport's.
function target(frame, image) {
  const { x, y } = frame.target ?? {};
  if (typeof x !== "number" || typeof y !== "number") return "";
  const spot = make("span", { className: "spot", hidden: true, title: `hit at ${Math.round(x)}, ${Math.round(y)}` });
  const place = () => {
    if (!image.naturalWidth || x > image.naturalWidth || y > image.naturalHeight) return;
    Object.assign(spot.style, { left: `${(100 * x) / image.naturalWidth}%`, top: `${(100 * y) / image.naturalHeight}%` });
    spot.hidden = false;
  };
  image.addEventListener("load", place);
  return spot;
}

function frameView(frame, number, total) {
  const times = Object.entries(frame.seconds ?? {}).map(([name, value]) => `${name} ${value.toFixed(2)} s`).join(", ");
  const facts = [["page", frame.url], ["leads to", frame.leads], ["selector", frame.target?.selector], ["before it, by script", frame.scripts], ["time", times], ["model", frame.model], ["asked again", frame.retries || ""]].filter(([, text]) => text);
  const image = frame.picture ? picture(frame, `What the agent saw before step ${number + 1}`) : null;
  return [
    make("div", { className: "seen" }, image
      ? make("button", { type: "button", className: "shot", "aria-label": "Show the screenshot at full size", onclick: () => enlarge(frame) }, image, target(frame, image))
      : make("p", { className: "blank" }, "No screenshot was kept.")),
    make("div", { className: "said" },
      make("h3", {}, frame.kind ? `${number + 1} of ${total}: ${frame.title}` : "The final page"),
      frame.error ? make("p", { className: "no-effect" }, `No effect: ${frame.error}`) : "",
      facts.length ? make("dl", {}, facts.map(([term, text]) => [make("dt", {}, term), make("dd", {}, text)])) : "",
      frame.thought ? [make("h4", {}, "Its reasons"), make("pre", {}, frame.thought)] : "",
      frame.raw ? [make("h4", {}, "The agent's reply"), make("pre", {}, frame.raw)] : "",
      frame.model_calls ? make("details", { className: "raw" }, make("summary", {}, "Prompt and reply of the model"), make("pre", {}, frame.model_calls)) : "",
      frame.observation ? [make("h4", {}, "What it was shown"), make("pre", { className: "observation", tabIndex: 0 }, frame.observation)] : ""),
  ];
}

function attemptView(attempt) {
  const { frames } = attempt, stage = make("div", { className: "stage" });
  const acts = frames.filter((frame) => frame.kind).length;
  const strip = make("div", { className: "strip", role: "listbox", "aria-label": "Steps", tabIndex: 0 }, frames.map((frame, number) =>
    make("button", { type: "button", role: "option", tabIndex: -1, className: `frame${frame.error ? " no-effect" : ""}`, onclick: () => show(number) },
      frame.picture ? picture(frame, "") : make("span", { className: "blank" }),
      make("span", { className: "caption", title: frame.title }, make("b", {}, frame.kind ? number + 1 : "end"), ` ${frame.title}`))));
  show = (number) => {
    if (number < 0 || number >= frames.length) return;
    frameAt = number;
    [...strip.children].forEach((child, other) => child.setAttribute("aria-selected", String(other === number)));
    strip.scrollTo({ left: strip.children[number].offsetLeft - strip.clientWidth / 2 + strip.children[number].offsetWidth / 2 });
    stage.replaceChildren(...frameView(frames[number], number, acts).flat());
    history.replaceState(null, "", `#${current.folder}/${number + 1}`);
  };
  const network = attempt.network.map(([at, status, method, url, refused]) => make("tr", { className: refused ? "failed" : "" },
    make("td", { className: "number" }, at.toFixed(2)), make("td", {}, status ?? "–"), make("td", {}, method), make("td", {}, url, refused ? make("small", {}, `refused: ${refused}`) : "")));
  return make("div", {},
    frames.length ? [strip, stage] : make("p", { className: "dim" }, "No step was taken."),
    make("div", { className: "more" },
      network.length ? make("details", {}, make("summary", {}, `Traffic: ${plural(network.length, "request")}`), make("div", { className: "scroll" }, make("table", { className: "network" }, make("tbody", {}, network)))) : "",
      attempt.tabs.length ? make("details", {}, make("summary", {}, `Tabs at the end: ${attempt.tabs.length}`), make("pre", {}, attempt.tabs.map((tab) => `${tab.active ? "*" : " "} ${tab.title || "(no title)"}  ${tab.url}`).join("\n"))) : "",
      (attempt.notes ?? []).map(([title, text]) => make("details", {}, make("summary", {}, title), make("pre", {}, text))),
      attempt.traceback ? make("details", {}, make("summary", {}, "Traceback"), make("pre", {}, attempt.traceback)) : ""));
}

// The pictures that belong to the intent; the same in all attempts that came so far.
function inputsOf(attempts) {
  const given = attempts.map((attempt) => attempt.inputs ?? []).findLast((inputs) => inputs.length) ?? [];
  return given.length ? make("div", { className: "inputs" }, given.map((source, number) => {
    const frame = { picture: source }, label = `Picture ${number + 1} of the task`;
    return make("button", { type: "button", className: "input", "aria-label": `${label}: show it at full size`, onclick: () => enlarge(frame) }, picture(frame, label));
  })) : "";
}

function summaryOf(trial, record, words) {
  const facts = [
    ["agent", trial.agent + (record.privileged ? " (sees the solution)" : "")],
    ["trial", String(trial.trial)],
    ["ended", record.stop_reason ? `${record.stop_reason}: ${record.stop_detail || index.words[record.stop_reason]}` : ""],
    ["score", record.score === null ? "" : String(Math.round(1000 * record.score) / 1000)],
    ["took", `${duration(trial.seconds)}, ${plural(trial.steps, "step")}`],
    ["phases", Object.entries(record.seconds ?? {}).filter(([name]) => name !== "total").map(([name, value]) => `${name} ${value.toFixed(1)} s`).join(", ")],
    ["model", record.model], ...Object.entries(words),
    ["judged before", (record.history ?? []).map((earlier) => `${earlier.cause ? `${earlier.cause} error` : earlier.outcome}, until ${new Date(1000 * earlier.until).toLocaleString()}`).join("; ")],
    ["isolation", record.isolation], ["browser", record.browser], ["node id", record.node_id],
  ].filter(([, text]) => text);
  return make("dl", { className: "facts" }, facts.map(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
}

// What a reader reports of a task, for "webarena tasks monitor --flags". A page of a file can't write one, so it is offered.
const flags = [];

function flagForm(trial, record) {
  const reason = make("textarea", { rows: 2, placeholder: "What is wrong with the task?", "aria-label": "What is wrong with the task?" });
  const said = make("output", {});
  const save = make("button", { type: "button", onclick: () => {
    if (!reason.value.trim()) { reason.focus(); return; }
    flags.push({ task: trial.task, reason: reason.value.trim(), at: Math.round(Date.now() / 1000), digest: record.task_digest ?? "", trial: trial.folder });
    reason.value = "";
    download("flags.jsonl", flags);
    said.textContent = `flags.jsonl has ${plural(flags.length, "report")} of this page. Hand it to: webarena tasks monitor --flags flags.jsonl TASKS`;
  } }, "Save the report");
  return make("details", { className: "raw flag" }, make("summary", {}, "Flag this task"), reason, save, said);
}

// What a reader says of why a trial failed, for "webarena judge annotate add"; rules propose, people decide.
const labels = new Map();
let reader = "";

function labelForm(trial, record, why) {
  if (!["failed", "undecided"].includes(trial.outcome)) return "";
  const kept = labels.get(trial.folder);
  const chosen = new Set(kept?.classes ?? []);
  const boxes = Object.entries(index.classes).map(([name, about]) => {
    const box = make("input", { type: "checkbox", checked: chosen.has(name), onchange: () => box.checked ? chosen.add(name) : chosen.delete(name) });
    return make("label", { className: "class" }, box, make("b", {}, name), ` ${about}`, why.proposals[name] ? make("small", { className: "dim" }, `proposed: ${why.proposals[name]}`) : "");
  });
  const who = make("input", { type: "text", value: reader, placeholder: "Your name", "aria-label": "Your name", oninput: () => { reader = who.value.trim(); } });
  const note = make("input", { type: "text", value: kept?.note ?? "", placeholder: "Note", "aria-label": "Note" });
  const said = make("output", {});
  const save = make("button", { type: "button", onclick: () => {
    if (!reader) { who.focus(); said.textContent = "Say who you are: labels of several people are compared."; return; }
    if (!chosen.size) { said.textContent = "Choose one class at least."; return; }
    labels.set(trial.folder, { trial: trial.folder, started: record.started, classes: [...chosen], by: reader, note: note.value.trim(), at: Math.round(Date.now() / 1000) });
    download("labels.jsonl", [...labels.values()]);
    said.textContent = `labels.jsonl has ${plural(labels.size, "trial")} of this page. Keep them: webarena judge annotate add ${index.run.path} labels.jsonl`;
  } }, "Save the label");
  const people = why.labels.map((label) => make("p", {}, make("b", {}, label.by), `: ${label.classes.join(", ")}`, label.note ? ` (${label.note})` : ""));
  const proposed = Object.keys(why.proposals).join(", ");
  const summary = why.labels.length ? plural(why.labels.length, "label") : proposed ? `proposed: ${proposed}` : "nothing proposed";
  return make("details", { className: "raw flag" }, make("summary", {}, `Why did it fail? (${summary})`), people, make("div", { className: "classes" }, boxes), who, note, save, said);
}

function download(name, values) {
  const lines = new Blob(values.map((value) => `${JSON.stringify(value)}\n`), { type: "application/x-ndjson" });
  const link = make("a", { href: URL.createObjectURL(lines), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const verdictWord = ({ passed, judgeable }) => passed === true ? "passed" : passed === false ? "failed" : judgeable ? "undecided" : "not computed";

// Every grading's verdict; the one that counts first, the others folded.
function gradingsOf(record) {
  const others = Object.entries(record.verdicts ?? {}).filter(([, verdict]) => verdict.grading);
  if (others.length < 2) return "";
  return [make("h3", {}, "Gradings"), others.map(([name, verdict]) => {
    const [sign, kind] = mark(verdict.score);
    return make("details", { className: "raw grading" },
      make("summary", {}, make("span", { className: `sign ${kind}` }, sign), ` ${verdict.grading}: `, make("b", {}, verdictWord(verdict)), name === record.grading ? " (counts)" : ""),
      make("ul", { className: "checks" }, verdict.results.map(check)));
  })];
}

async function openTrial(trial, frame = 0) {
  current = trial;
  const { record, words, attempts, why, beside } = await unpack(trial.folder);
  if (current !== trial) return; // somebody was faster than the unpacking
  const at = shown.indexOf(trial);
  const move = (by, label, sign) => make("button", { type: "button", "aria-label": label, title: label, disabled: at < 0 || !shown[at + by], onclick: () => openTrial(shown[at + by]) }, sign);
  const place = make("div");
  const pick = (attempt) => {
    place.replaceChildren(attemptView(attempt));
    [...choice.children].forEach((button) => button.setAttribute("aria-pressed", String(button.value === String(attempt.number))));
    show(Math.min(frame, attempt.frames.length - 1));
  };
  const choice = make("div", { className: "attempts", role: "group", "aria-label": "Attempts" }, attempts.length > 1 ? attempts.map((attempt) =>
    make("button", { type: "button", value: String(attempt.number), title: attempt.message, onclick: () => { frame = 0; pick(attempt); } }, `Attempt ${attempt.number}: ${attempt.cause ? `${attempt.cause} error` : attempt.outcome}`)) : "");
  const verdict = record.verdict?.results ?? [];
  $("trial").replaceChildren(
    make("div", { className: "trial-head" },
      make("h2", { id: "trial-title" }, outcomeSign(trial, record.cause ? `${record.cause} error` : trial.outcome), " ", make("code", {}, trial.task)),
      make("div", { className: "buttons" }, move(-1, "Previous trial ( k )", "↑"), move(1, "Next trial ( j )", "↓"), make("button", { type: "button", autofocus: true, onclick: () => $("trial").close() }, "Close"))),
    make("div", { className: "trial-body" },
      make("p", { className: "intent" }, record.intent),
      inputsOf(attempts),
      make("div", { className: "columns" },
        make("div", {},
          record.outcome === "error" ? [make("h3", {}, "Error"), make("p", { className: "dim" }, index.words[record.cause] ?? ""), make("pre", {}, record.message)] : "",
          trial.outcome === "undecided" ? [make("h3", {}, "Undecided"), make("p", { className: "undecided" }, record.message.split("\n").slice(0, 2).join(" "))] : "",
          record.answer !== null ? [make("h3", {}, "Answer"), make("pre", {}, record.answer || "(empty)")] : "",
          verdict.length ? [make("h3", {}, "Checks"), make("ul", { className: "checks" }, verdict.map(check))] : "",
          gradingsOf(record),
          beside ? make("details", { className: "raw" }, make("summary", {}, beside[0]), make("pre", {}, beside[1].join("\n"))) : ""),
        make("div", {}, make("h3", {}, "Trial"), summaryOf(trial, record, words))),
      make("div", { className: "bar-title" }, make("h3", {}, "Steps"), choice, make("span", { className: "dim" }, "← → to step")),
      place,
      labelForm(trial, record, why),
      flagForm(trial, record),
      make("details", { className: "raw" }, make("summary", {}, "Record"), make("pre", {}, JSON.stringify(record, null, 1)))));
  if ($("trial").open) $("trial").querySelector("[autofocus]").focus();
  else $("trial").showModal();
  $("trial").scrollTop = 0;
  history.replaceState(null, "", `#${trial.folder}`);
  pick(attempts.find((attempt) => attempt.number === record.attempt) ?? attempts.at(-1));
}

async function enlarge(frame) {
  $("picture").querySelector("img").src = await address(frame.picture);
  $("picture").showModal();
}

function trialKeys(event) {
  if (!$("trial").open || $("picture").open || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".observation, select, input, textarea")) return;
  const at = shown.indexOf(current);
  const act = { ArrowRight: () => show(frameAt + 1), ArrowLeft: () => show(frameAt - 1), j: () => shown[at + 1] && openTrial(shown[at + 1]), k: () => at > 0 && openTrial(shown[at - 1]) }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

addEventListener("keydown", trialKeys);
$("picture").querySelector("button").onclick = () => $("picture").close();
$("trial").addEventListener("click", (event) => event.target === $("trial") && $("trial").close());
$("trial").addEventListener("close", () => {
  current = null;
  history.replaceState(null, "", location.pathname + location.search);
});

function openAsked() {
  const [folder, number] = decodeURIComponent(location.hash.slice(1)).split("/");
  const trial = index.trials.find((each) => each.folder === folder);
  if (trial) openTrial(trial, Math.max(0, Number(number || 1) - 1));
}

element("pictures").then((block) => {
  const { linked } = JSON.parse(block.textContent);
  if (linked) $("run-facts").append(` · ${plural(linked, "screenshot")} linked: keep this page where it is`);
});
overview();
filters();
openAsked();
addEventListener("hashchange", openAsked);
