// Puppeteer. With `scheme: http` the address is one for `browserURL`; with `ws` it is one for `browserWSEndpoint`.
const puppeteer = require("puppeteer-core");

require("readline").createInterface({ input: process.stdin }).once("line", async (line) => {
  const task = JSON.parse(line);
  const browser = await puppeteer.connect({ browserURL: task.cdp_url, defaultViewport: null });
  const [page] = await browser.pages();
  await page.locator("#body").fill("Enamel, at most 60 crowns.");
  await Promise.all([page.waitForNavigation(), page.locator("::-p-aria(Save note)").click()]);
  const answer = await page.locator("article h1").map((heading) => heading.textContent).wait();
  console.log(JSON.stringify({ type: "answer", answer, usage: { calls: 0, cost: 0 } }));
  process.exit();
});
