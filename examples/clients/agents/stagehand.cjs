// Stagehand: says in words what to do, and a model finds the elements.
const { Stagehand } = require("@browserbasehq/stagehand");

require("readline").createInterface({ input: process.stdin }).once("line", async (line) => {
  const task = JSON.parse(line);
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL } = process.env;
  const stagehand = new Stagehand({
    env: "LOCAL",
    localBrowserLaunchOptions: { cdpUrl: task.cdp_url },
    model: { modelName: "openai/gpt-4.1", apiKey, baseURL },
    disablePino: true,
    verbose: 0,
    logger: (said) => console.error(said.message), // stdout is for the answer
  });
  await stagehand.init();
  await stagehand.act('fill "Enamel, at most 60 crowns." into the field Text');
  await stagehand.act("click the button Save note");
  const page = stagehand.context.pages()[0];
  await page.waitForLoadState("load");
  const answer = await page.title();
  const used = await stagehand.metrics;
  const usage = { calls: 2, input_tokens: used.totalPromptTokens, output_tokens: used.totalCompletionTokens, cost: null };
  await stagehand.close();
  console.log(JSON.stringify({ type: "answer", answer, usage }));
  process.exit();
});
