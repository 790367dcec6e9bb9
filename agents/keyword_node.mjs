// An example agent in another language: reads and writes JSON lines, needs nothing but Node.js 18 or newer.
// `pytest --agent=keyword-node tasks/` runs it; https://pytest-webarena.readthedocs.io/en/latest/bring-your-own.html tells what is in the messages.

import { createInterface } from "node:readline";

const words = (text) =>
  new Set((text.toLowerCase().match(/[a-z0-9]{3,}/g) ?? []).map((word) => word.replace(/s+$/, "")));
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

let wanted = new Set();
let patience = 4;
const clicked = new Set();
const score = (name) => [...words(name)].filter((word) => wanted.has(word)).length;

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "task") {
    wanted = words(message.intent);
    patience = message.options.patience ?? patience;
    console.error(`looking for: ${[...wanted].join(" ")}`); // stderr is kept with the attempt
  } else if (message.type === "observation") {
    const found = [...message.text.matchAll(/^\s*\[(\d+)\] (\w+) '(.*)'/gm)];
    const rank = ([, , , name]) => [score(name), name]; // among equals the last in the alphabet
    const above = ([score, name], [other, least]) => score > other || (score === other && name > least);
    const best = (list) => list.reduce((one, each) => (above(rank(each), rank(one)) ? each : one), ["", "", "", ""]);
    const link = best(found.filter(([, , role, name]) => role === "link" && !clicked.has(name)));
    if (score(link[3]) > 0 && clicked.size < patience) {
      clicked.add(link[3]);
      say({ type: "action", action: { kind: "click", target: { id: link[1] } } });
    } else {
      say({ type: "answer", answer: best(found.filter(([, , role]) => role !== "link"))[3] });
    }
  }
}
