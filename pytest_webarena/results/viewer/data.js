"use strict";
const $ = (id) => document.getElementById(id);

// Elements are made, never parsed: whatever a page, an agent or a task says stays text.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.includes("-")) element.setAttribute(name, value);
    else if (name === "style") Object.entries(value).forEach(([key, each]) => element.style.setProperty(key, each));
    else element[name] = value;
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const index = JSON.parse($("index").textContent);
const OUTCOMES = ["passed", "failed", "undecided", "error"];
const SIGNS = { passed: "✓", failed: "✗", undecided: "?", error: "!" };
const AGENTS = [...new Set(index.trials.map((trial) => trial.agent))].sort();

const percent = (value, digits = 1) => `${(100 * value).toFixed(digits)} %`;
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const ended = (trial) => trial.outcome === "error" ? `error: ${trial.cause}` : trial.stop || "";
const natural = new Intl.Collator(undefined, { numeric: true }).compare;

function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  return minutes < 60 ? `${minutes} min ${String(Math.round(seconds) % 60).padStart(2, "0")} s` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

function tally(trials) {
  const count = { passed: 0, failed: 0, undecided: 0, error: 0 };
  for (const trial of trials) count[trial.outcome] += 1;
  const judged = count.passed + count.failed + count.undecided;
  const ifMet = judged ? (count.passed + count.undecided) / judged : null;
  return { ...count, judged, ifMet, rate: judged ? count.passed / judged : null, interval: clustered(trials) };
}

const Z95 = 1.959963984540054, Z90 = 1.6448536269514722;

// As results/intervals.py has it (clustered_interval), so that the page, the terminal and summary.json say the same.
function clustered(trials) {
  const clusters = new Map();
  for (const { cluster, outcome } of trials) {
    if (outcome === "error") continue;
    const [won, size] = clusters.get(cluster) ?? [0, 0];
    clusters.set(cluster, [won + (outcome === "passed"), size + 1]);
  }
  const found = [...clusters.values()], sum = (of) => found.reduce((all, each) => all + of(...each), 0);
  const passed = sum((won) => won), total = sum((won, size) => size), count = found.length, p = passed / total;
  if (!total) return [0, 1];
  const alike = total ** 2 / sum((won, size) => size * size);
  let independent = alike;
  if (count > 1 && passed && passed < total) {
    const between = count / (count - 1) * sum((won, size) => (won - p * size) ** 2) / total ** 2;
    const effective = between ? Math.min(total, p * (1 - p) / between) : total;
    const rare = Math.min(sum((won) => won > 0), sum((won, size) => won < size));
    independent = Math.max(alike, effective * (Z95 / student(Math.max(1, Math.min(alike - 1, 2 * rare)))) ** 2);
  }
  const [low, high] = wilson(p, independent);
  return [Math.min(low, rareEnd(p, independent, low)), Math.max(high, 1 - rareEnd(1 - p, independent, 1 - high))];
}

function rareEnd(p, trials, end) {
  const events = p * trials;
  if (!(events > 1e-9 && events <= 3 + 1e-9) || p > 0.15 + 1e-9) return end;
  return events * Math.max(0, 1 - 1 / (9 * events) - Z90 / (3 * Math.sqrt(events))) ** 3 / trials;
}

function student(freedom) {
  const z = Z95, terms = [
    z,
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160,
  ];
  return terms.reduce((all, term, power) => all + term / freedom ** power, 0);
}

function wilson(p, total, z = Z95) {
  const centre = p + z * z / (2 * total), scale = 1 + z * z / total;
  const spread = z * Math.sqrt(p * (1 - p) / total + z * z / (4 * total * total));
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}

const loaded = new Promise((resolve) => document.readyState === "loading" ? addEventListener("DOMContentLoaded", resolve) : resolve());

async function element(id) {
  if (!$(id)) await loaded; // a large page is used before all of it is there
  return $(id);
}

async function unpack(folder) {
  const block = await element(`trial-${folder}`);
  const bytes = Uint8Array.from(atob(block.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// The address of a screenshot: of one inside the page its data, else the file's.
async function address(picture) {
  if (!picture.startsWith("#")) return picture;
  const block = await element(picture.slice(1));
  return `data:${block.type};base64,${block.textContent}`;
}
