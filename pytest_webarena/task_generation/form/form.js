"use strict";
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);

// Elements are made, never parsed: whatever a site, a model or a person says stays text.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== ""));
  return element;
}

const LABELS = { information: "The answer:", navigation: "It is done on the page (/path or site:/path):", content: "It is worth doing. (How, is shown later with webarena tasks record.)" };
const forms = new Map();
let unsaved = false;

function changed(form) {
  unsaved = true;
  form.update();
}

function ideaForm(idea, number) {
  const form = { idea, says: "", choice: "", text: "" };
  const box = make("textarea", { rows: 2, "aria-label": "The answer, or the reason", oninput: () => { form.text = box.value; changed(form); } });
  const note = make("p", { className: "wrong", role: "status" });
  const radios = [];
  const option = (choice, says, text, label) => {
    const radio = make("input", { type: "radio", name: `idea-${number}`, value: choice, onchange: () => {
      form.choice = choice; form.says = says;
      if (text !== null) { form.text = text; box.value = text; }
      changed(form);
    } });
    radios.push(radio);
    return make("label", {}, radio, ` ${label}`);
  };
  const offered = data.deciding ? idea.answers.map((answer, at) => option(`answer-${at}`, answer.says, answer.text, `One says: ${answer.description}`)) : [];
  const own = data.deciding ? "Neither: " : "";
  const options = [...offered,
    option("answer", "answer", null, own + (LABELS[idea.kind] ?? LABELS.information)),
    option("impossible", "impossible", null, `${own}It can't be done there, because:`),
    option("bad", "bad", null, `${own}It is no good as a task, because:`)];
  const pages = idea.pages.length ? `, thought of on ${idea.pages.join(", ")}` : "";
  const element = make("fieldset", {}, make("legend", {}, idea.intent),
    make("p", { className: "dim" }, `${idea.task} · ${idea.kind} · ${idea.sites.join(", ")}${pages}`), options, box, note);
  form.update = () => {
    box.hidden = !form.says || form.choice.startsWith("answer-") || (form.says === "answer" && idea.kind === "content");
    const ready = isReady(form);
    element.className = ready ? "done" : "";
    note.textContent = form.says && !ready ? "Say what, or why." : "";
    count();
  };
  form.take = (answer) => {
    form.says = answer.says; form.text = answer.text; box.value = answer.text;
    const at = data.deciding ? idea.answers.findIndex((each) => each.says === answer.says && each.text === answer.text) : -1;
    form.choice = at >= 0 ? `answer-${at}` : answer.says;
    for (const radio of radios) radio.checked = radio.value === form.choice;
    form.update();
  };
  forms.set(idea.task, form);
  return element;
}

function isReady(form) {
  if (!form.says) return false;
  return Boolean(form.text.trim()) || (form.says === "answer" && form.idea.kind === "content");
}

function lines() {
  const by = $("name").value.trim().replace(/\s+/g, " ");
  return [...forms.values()].filter(isReady).map(({ idea, says, text }) => ({
    task: idea.task, digest: idea.digest, by, says, text: says === "answer" && idea.kind === "content" ? "" : text.trim(), at: Math.round(Date.now() / 1000) }));
}

function count() {
  $("status").textContent = `${[...forms.values()].filter(isReady).length} of ${data.ideas.length} answered${unsaved ? ", not saved yet" : ""}`;
}

function save() {
  const by = $("name").value.trim();
  if (!by) { $("name").focus(); $("status").textContent = "Say who you are: two people answer apart, and nobody twice."; return; }
  const all = lines();
  if (!all.length) { $("status").textContent = "Answer one idea at least."; return; }
  const name = `${data.deciding ? "decisions" : "answers"}-${by.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "mine"}.jsonl`;
  const link = make("a", { href: URL.createObjectURL(new Blob(all.map((line) => `${JSON.stringify(line)}\n`), { type: "application/x-ndjson" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  unsaved = false;
  $("status").textContent = `${name} has ${all.length} of ${data.ideas.length}. ` + (data.deciding ? "Hand it to webarena tasks generate settle … --decided" : "Show it to nobody who has yet to answer; webarena tasks generate settle takes it with that of somebody else.");
}

async function loadAnswers(file) {
  let taken = 0, by = "";
  for (const line of (await file.text()).split("\n")) {
    let answer;
    try { answer = JSON.parse(line); } catch { continue; }
    const form = answer && forms.get(answer.task);
    if (!form || form.idea.digest !== answer.digest || !["answer", "impossible", "bad"].includes(answer.says) || typeof answer.text !== "string") continue;
    form.take(answer);
    by = typeof answer.by === "string" ? answer.by : by;
    taken += 1;
  }
  if (by && !$("name").value.trim()) $("name").value = by;
  $("status").textContent = taken ? `${taken} taken over from ${file.name}` : `${file.name}: expected answers that this form has saved, found none to these ideas`;
}

document.title = `${data.source} · ideas for tasks`;
$("source").textContent = data.source;
$("about").textContent = data.deciding
  ? "Two people have answered these apart, and differ. Look at the sites yourself, then decide."
  : "Look for each answer on the sites yourself, and ask nobody who answers them, too: what two people find apart is likely to be right.";
$("ideas").append(...data.ideas.map(ideaForm));
for (const form of forms.values()) form.update();
$("save").onclick = save;
$("earlier").onchange = () => { if ($("earlier").files.length) loadAnswers($("earlier").files[0]); };
addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
