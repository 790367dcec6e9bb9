"""WebCanvas's agent end to end: a real site, a real browser, and a scripted planner and reward model."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.inner import run_pytest
from tests.model_server import Answer, model_server, say

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

TASKS = """
tasks:
  - id: reckon
    sites: [homepage]
    intent: What is 12 times 34?
    checks: [{answer: {number: 408}}]
    source: {reference_length: 8}
"""
REWARD = "gpt-4o-mini"


def _text(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def reward(body: dict[str, Any]) -> Answer:
    """A reward model: finished once the result was stored."""
    done = "cache_data" in _text(body)
    verdict = {"status": "finished", "score": 10} if done else {"status": "doing", "score": 7}
    return say(json.dumps({**verdict, "reason": "It is so.", "description": "Kept." if done else "Not kept yet."}))


def planner(body: dict[str, Any]) -> Answer:
    """A planner that finds the calculator, fills in the sum and stores the result; it never stops."""
    text = _text(body)
    field, link = (
        re.search(pattern, text) for pattern in (r"\[(\d+)\] textbox 'expression", r"\[(\d+)\] link '.*Calculator")
    )
    action: dict[str, Any] = {"action": "click", "element_id": link[1] if link else "0"}
    if "text '408'" in text:
        action = {"action": "cache_data", "action_input": "408"}
    elif field:
        action = {"action": "fill_search", "element_id": field[1], "action_input": "12*34"}
    return say(json.dumps({"thought": "The sum is left.", **action, "description": "Brings the sum."}))


@pytest.mark.exhaustive
def test_multimodal_reward_model_ends_the_webcanvas_trial(tmp_path: Path) -> None:
    (tmp_path / "demo.tasks.yaml").write_text(TASKS)

    def model(body: dict[str, Any]) -> Answer:
        return reward(body) if body["model"] == REWARD else planner(body)

    with model_server(model) as server:
        options = [f"endpoint.base_url={server.url}", f"reward.model={REWARD}", "reward.sees=screenshot"]
        arguments = [f"--agent-option={option}" for option in options]
        environ = {"OPENAI_API_KEY": "sk-of-a-test"}
        result = run_pytest(tmp_path, "--agent=webcanvas-reward", "--run-dir=run", *arguments, environ=environ)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*of it by reward models*"])

    (file,) = (tmp_path / "run" / "trials").glob("*/trial.json")
    record = json.loads(file.read_text())
    assert (record["answer"], record["stop_reason"], record["steps"]) == ("408", "answered", 4)
    assert (record["model"], record["reward_model"]) == ("gpt-4o", REWARD)
    rewards = [body for body in server.bodies if body["model"] == REWARD]
    planned = [body for body in server.bodies if body["model"] != REWARD]
    assert (len(planned), len(rewards)) == (3, 3)
    assert record["usage"]["calls"] == 6
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    calls = {(line["purpose"], line["model"]): line["usage"]["calls"] for line in summary["model_calls"]}
    assert calls == {("agent", "gpt-4o"): 3, ("reward", REWARD): 3}

    assert "image_url" not in json.dumps(planned)
    for body in rewards:
        *_, picture = body["messages"][-1]["content"]
        data = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
        assert Image.open(io.BytesIO(data)).size == (1080, 720)
    assert "Step 2 of at most 12." in _text(planned[1])
    assert "reflection: doing, 7 of 10: Not kept yet." in _text(planned[1])
    steps = [json.loads(line) for line in (file.parent / "attempt-1" / "steps.jsonl").read_text().splitlines()]
    assert steps[-1]["raw"] == "The reward model said: finished, 10 of 10: Kept. (It is so.)"
    written = json.loads((file.parent / "attempt-1" / steps[1]["model_calls"]).read_text())
    assert [call["purpose"] for call in written["calls"]] == ["reward", "action"]
