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
const OUTCOMES = ["passed", "failed", "error"];
const SIGNS = { passed: "✓", failed: "✗", error: "!" };
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
  const count = { passed: 0, failed: 0, error: 0 };
  for (const trial of trials) count[trial.outcome] += 1;
  const judged = count.passed + count.failed;
  return { ...count, judged, rate: judged ? count.passed / judged : null, interval: wilson(count.passed, judged) };
}

function wilson(passed, total, z = 1.959963984540054) {
  if (!total) return [0, 1];
  const p = passed / total, centre = p + z * z / (2 * total), scale = 1 + z * z / total;
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
