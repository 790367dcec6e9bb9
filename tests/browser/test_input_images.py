"""Input images of an intent, end to end: loaded, shown to a model, recorded, reported."""

from __future__ import annotations

import base64
import json

import pytest

from tests.model_server import model_server, say

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TASKS = """
tasks:
  - id: dot
    sites: [homepage]
    user: ''
    intent: Is this dot on __HOMEPAGE__?
    images: dot.png
    checks: [{answer: "no"}]
  - id: drawing
    sites: []
    intent: What is this?
    images: homepage:/static/icon.svg?
    checks: [{answer: a house}]
"""


@pytest.mark.exhaustive
def test_multimodal_model_gets_input_image_of_task(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (pytester.path / "dot.png").write_bytes(base64.b64decode(DOT))
    (pytester.path / "a.tasks.yaml").write_text(TASKS)
    with model_server([say("I see. ```stop [no]```")]) as server:
        args = (
            "--agent=vision",
            f"--agent-option=endpoint.base_url={server.url}",
            "--run-dir=run",
            "--alluredir=allure",
        )
        result = pytester.runpytest("-p", "no:cacheprovider", *args)
    result.assert_outcomes(passed=1, errors=1)
    [body] = server.bodies
    text, dot, page = body["messages"][-1]["content"]
    assert "Is this dot on http" in text["text"]
    assert "(The first picture belongs to this task.)" in text["text"]
    assert dot["image_url"]["url"] == f"data:image/png;base64,{DOT}"
    assert page["image_url"]["url"].startswith("data:image/jpeg")

    records = [json.loads(file.read_text()) for file in (pytester.path / "run").glob("trials/*/trial.json")]
    seen, drawing = sorted(records, key=lambda record: record["outcome"], reverse=True)
    assert seen["intent"] == "Is this dot on http://homepage.test?"
    [kept] = (pytester.path / "run").glob("trials/*/attempt-1/intent_images/0.png")
    assert kept.read_bytes() == base64.b64decode(DOT)
    results = [json.loads(file.read_text()) for file in (pytester.path / "allure").glob("*-result.json")]
    assert "Image 1 of the task" in {each["name"] for result in results for each in result.get("attachments", ())}

    assert drawing["cause"] == "task"
    assert (
        "image homepage:/static/icon.svg?: expected a PNG, JPEG, GIF or WebP image, found b'<svg" in drawing["message"]
    )
