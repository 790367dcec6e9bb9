// Does a planned task as Puppeteer's users write it: handles are clicked, locators filled, lists chosen from.
const fs = require("fs");
const puppeteer = require("puppeteer-core");

const PATIENCE = 15000;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// One part of a Playwright selector in Puppeteer's words, and which of those it finds.
function translated(part) {
  let found = part.match(/^role=(\w+)(?:\[name="((?:[^"\\]|\\.)*)"s?\])?$/);
  if (found) {
    const name = found[2] === undefined ? "" : `[name="${found[2]}"]`;
    return `::-p-aria(${name}[role="${found[1]}"])`;
  }
  found = part.match(/^text=(.*)$/);
  if (found) return `::-p-text(${found[1]})`;
  return part.replace(/^css=/, "").replace(/:has-text\("([^"]*)"\)/g, "");
}

async function query(page, selector) {
  let found = [page];
  for (const part of selector.split(" >> ")) {
    const nth = part.match(/^nth=(-?\d+)$/);
    if (nth) {
      found = found.slice(+nth[1], +nth[1] === -1 ? undefined : +nth[1] + 1);
      continue;
    }
    const all = async (words) => (await Promise.all(found.map((each) => each.$$(words)))).flat();
    const named = part.match(/^role=\w+\[name="(.*)"s?\]$/);
    const inner = await all(translated(part));
    found = inner.length || !named ? inner : await all(`::-p-text(${named[1]})`); // an icon may be part of a name
    const texts = [...part.matchAll(/:has-text\("([^"]*)"\)/g)].map((each) => each[1]);
    if (texts.length) {
      const keep = await Promise.all(
        found.map((each) => each.evaluate((e, texts) => texts.every((text) => e.textContent.includes(text)), texts)),
      );
      found = found.filter((_, number) => keep[number]);
    }
  }
  return found[0];
}

async function find(page, selector) {
  for (const until = Date.now() + PATIENCE; Date.now() < until; await sleep(100)) {
    try {
      const found = await query(page, selector);
      if (found && (await found.isVisible())) return found;
    } catch (error) {
      if (!/context|detached|navigat/i.test(error.message)) throw error;
    }
  }
  throw new Error(`expected an element ${selector} at ${page.url()}, found none`);
}

const DOING = {
  click: async (page, step) => (await find(page, step.target.selector)).click({ button: step.button, count: step.count }),
  type: async (page, step) => {
    if (step.target) {
      const handle = await find(page, step.target.selector);
      if (step.clear) await handle.asLocator().fill(step.text);
      else await handle.type(step.text);
    } else await page.keyboard.type(step.text);
    if (step.enter) await page.keyboard.press("Enter");
  },
  press: async (page, step) => {
    if (step.target) await (await find(page, step.target.selector)).focus();
    const keys = step.keys.split("+");
    for (const key of keys.slice(0, -1)) await page.keyboard.down(key);
    await page.keyboard.press(keys.at(-1));
    for (const key of keys.slice(0, -1)) await page.keyboard.up(key);
  },
  select: async (page, step) => {
    const handle = await find(page, step.target.selector);
    const values = await handle.evaluate(
      (list, wanted) =>
        [...list.options].filter((each) => wanted.some((one) => [each.label.trim(), each.value].includes(one))).map((each) => each.value),
      step.options,
    );
    await handle.select(...values);
  },
  check: async (page, step) => {
    const handle = await find(page, step.target.selector);
    if ((await handle.evaluate((box) => box.checked)) !== step.checked) await handle.click();
  },
  hover: async (page, step) => (await find(page, step.target.selector)).hover(),
  go_back: (page) => page.goBack(),
};

async function solve(task, steps) {
  const browser = await puppeteer.connect({ browserURL: task.cdp_url, defaultViewport: null });
  const host = (url) => url.split("/")[2];
  const place = (url) => (task.start.includes(url) ? task.start.indexOf(url) : task.start.map(host).indexOf(host(url)));
  const tabs = (await browser.pages()).sort((one, other) => place(one.url()) - place(other.url())); // told in any order
  let page = tabs[0];
  browser.on("targetcreated", async (target) => {
    const opened = target.type() === "page" ? await target.page() : null;
    if (opened && !tabs.includes(opened)) tabs.push((page = opened));
  });
  for (const step of steps) {
    if (step.kind === "stop") return step.answer;
    if (step.kind === "goto") {
      const [, site, path] = step.url.match(/^(\w+):(.*)$/);
      await page.goto(site in task.sites ? task.sites[site] + path : step.url);
    } else if (step.kind === "tab_focus") await (page = tabs[step.index]).bringToFront();
    else if (step.kind === "new_tab") await browser.newPage();
    else await DOING[step.kind](page, step);
    await sleep(300);
    await page.waitForNetworkIdle({ idleTime: 300, timeout: PATIENCE }).catch((error) => console.error(error.message));
  }
  return "";
}

require("readline").createInterface({ input: process.stdin }).once("line", async (line) => {
  const task = JSON.parse(line);
  const answer = await solve(task, JSON.parse(fs.readFileSync("plans.json"))[task.intent]);
  console.log(JSON.stringify({ type: "answer", answer, usage: { calls: 0, cost: 0 } }));
  process.exit();
});
