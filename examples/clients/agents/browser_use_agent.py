"""browser-use: looks, asks its model and acts by itself; tells its answer and the tokens it used."""

import asyncio
import json
import os
import sys

os.environ |= {"ANONYMIZED_TELEMETRY": "false", "BROWSER_USE_SETUP_LOGGING": "false", "HOME": os.getcwd()}

from browser_use import Agent, BrowserSession, ChatOpenAI


async def solve(task: dict) -> dict:
    session = BrowserSession(cdp_url=task["cdp_url"])
    model = ChatOpenAI(model="gpt-4.1")
    agent = Agent(task=task["intent"], llm=model, browser_session=session, use_vision=False, use_judge=False)
    history = await agent.run(max_steps=task["max_steps"])
    answer = {"type": "answer", "answer": history.final_result() or ""}
    used = history.usage
    if used is not None and used.entry_count:  # else nobody knows, which is not the same as 0
        counts = {"input_tokens": used.total_prompt_tokens, "output_tokens": used.total_completion_tokens}
        # 0 dollars is what it says of prices that it doesn't know.
        answer["usage"] = {"calls": used.entry_count, **counts, "cost": used.total_cost or None}
    return answer


print(json.dumps(asyncio.run(solve(json.loads(sys.stdin.readline())))), flush=True)
