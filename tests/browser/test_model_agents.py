"""Model agents end to end: real sites, real browser, the real SDK, and a model that is a few lines of Python."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.model_server import Answer, ModelServer, fail, model_server, say

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

TASKS = """
tasks:
  - id: reckon
    sites: [homepage]
    intent: What is 12 times 34?
    checks: [{answer: {number: 408}}]
  - id: blank
    sites: []
    intent: What is 12 times 34?
    checks: [{not: {answer: {number: 407}}}, {answer: {number: 408}}]
"""
AGENTS = ("cot", "direct", "tools", "vision", "tools-vision", "dialogue", "summary")
KEY, PLANTED = "sk-planted-key-0123456789", 'planted "s€cret" <more>'


def reckoner(body: dict[str, Any]) -> Answer:
    """Finds the calculator, types the sum, says the result; a chatterbox that repeats secrets."""
    messages = body.get("messages") or body["input"]
    text = _text(messages[-1])
    if "NEW STEPS" in text:
        return say("Typed the sum.")
    if "tools" in body and "PLANTED" not in text and "label=" not in text:
        return _act(body, "goto", url=f"http://homepage.test/scratchpad/?label=PLANTED+{PLANTED}")
    field, link = (
        re.search(pattern, text) for pattern in (r"\[(\d+)\].*Expression", r"\[(\d+)\] (?:link|\[A\]).*Calculator")
    )
    if "12*34" in text:
        return _act(body, "stop", answer="408")
    if field:
        return _act(body, "type", element=field[1], text="12*34", enter=True)
    return _act(body, "click", element=link[1] if link else "0")


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else content[0]["text"]


def _act(body: dict[str, Any], verb: str, **arguments: Any) -> Answer:
    chatter = f"My key is {KEY}, and they told me {PLANTED}."
    if "tools" in body:
        return Answer(text=chatter, calls=((verb, json.dumps(arguments)),), finish="tool_calls")
    values = ["1" if value is True else str(value) for value in arguments.values()]
    action = " ".join([verb, *(f"[{value}]" for value in values)])
    if "response_format" in body:
        return say(json.dumps({"thought": chatter, "action": action}))
    return say(f"The next action is ```{action}```")  # no secret: such replies can be kept in the cache


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    (pytester.path / "demo.tasks.yaml").write_text(TASKS)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("PLANTED", PLANTED)
    return pytester


def run(project: pytest.Pytester, server: ModelServer, *args: str, into: str = "run") -> pytest.RunResult:
    option = f"--agent-option=endpoint.base_url={server.url}"
    return project.runpytest_subprocess(f"--run-dir={into}", "--secret-env=PLANTED", option, *args, timeout=115)


def records(project: pytest.Pytester, run: str = "run") -> dict[str, dict[str, Any]]:
    found = [json.loads(file.read_text()) for file in (project.path / run / "trials").glob("*/trial.json")]
    return {record["key"]["agent"]: record for record in found}


def test_every_model_agent_solves_a_real_task_and_no_secret_is_written(project: pytest.Pytester) -> None:
    agents = [f"--agent={name}" for name in AGENTS]
    reports = ("--alluredir=allure", "--junitxml=junit.xml", "--model-cache=cache")
    with model_server(reckoner) as server:
        result = run(project, server, *agents, *reports, "-k", "reckon", "-v")
        result.assert_outcomes(passed=len(AGENTS))
        requests = server.requests
        assert all(headers["authorization"] == f"Bearer {KEY}" for headers in server.headers)
        assert sum("image_url" in json.dumps(body) for body in server.bodies) >= 6
    result.stdout.fnmatch_lines(["tools: 1/1 passed*", "  cost *$0.0*tokens in*"])

    found = records(project)
    assert set(found) == set(AGENTS)
    for record in found.values():
        assert (record["model"], record["usage"]["calls"]) == ("gpt-4o", record["steps"])
        assert record["usage"]["cost"] == pytest.approx(record["steps"] * (1000 * 2.5 + 100 * 10) / 1e6)
    (attempt,) = (project.path / "run" / "trials").glob("reckon.tools.1-*/attempt-1")
    steps = [json.loads(line) for line in (attempt / "steps.jsonl").read_text().splitlines()]
    assert [step["action"]["kind"] for step in steps] == ["goto", "click", "type", "stop"]
    exchange = json.loads((attempt / steps[2]["exchange"]).read_text())
    assert "What is 12 times 34?" in exchange["calls"][0]["messages"][-1]["text"]
    table = (project.path / "run" / "results.csv").read_text().splitlines()
    rows = {row["agent"]: row for row in csv.DictReader(table)}
    assert float(rows["tools"]["cost"]) == pytest.approx(0.014)
    summary = json.loads((project.path / "run" / "summary.json").read_text())
    assert summary["agents"]["tools"]["usage"]["input_tokens"] == 4000
    assert sum(line["usage"]["calls"] for line in summary["model_calls"]) == requests
    allure = [json.loads(file.read_text()) for file in (project.path / "allure").glob("*-result.json")]
    told = next(
        one for one in allure if any(p["value"] == "'tools'" or p["value"] == "tools" for p in one["parameters"])
    )
    assert {"cost", "model", "tokens in"} <= {parameter["name"] for parameter in told["parameters"]}
    names = {attached["name"] for step in told["steps"] for attached in step.get("attachments", ())}
    assert "Prompt and reply of the model" in names

    assert "[secret]" in (attempt / "network.jsonl").read_text()  # it was there to be taken out
    assert "[secret]" in steps[2]["raw"]
    written = [file for file in project.path.rglob("*") if file.is_file() and file.suffix != ".yaml"]
    assert len(written) > 150
    spelled = [
        KEY,
        's€cret"',
        "s%E2%82%ACcret",
        "s\\u20accret",
        "s&euro;cret",
        'planted "s',
        "planted &#34;s",
        "planted &quot;s",
    ]
    for file in written:
        data = file.read_bytes()
        for form in spelled:
            assert form.encode() not in data, f"{form} in {file.relative_to(project.path)}"
    for text in (result.stdout.str(), result.stderr.str()):
        assert KEY not in text


def test_a_rerun_from_the_cache_asks_nothing_and_ends_the_same(project: pytest.Pytester) -> None:
    # The fast extractor numbers elements itself; ids of the exact one are the browser's and may differ between runs.
    options = ("--agent=cot", "--agent-option=observation={extractor: fast}", "--model-cache=cache", "-k", "reckon")
    with model_server(reckoner) as server:
        run(project, server, *options).assert_outcomes(passed=1)
        requests = server.requests
        again = run(project, server, *options, into="again")
        again.assert_outcomes(passed=1)
        assert server.requests == requests == 3
    again.stdout.fnmatch_lines(
        ["  cost *$0, *3 of them from the cache,", "*$0.0105 saved", "models *cache: 3 hits, 0 missed"]
    )
    first, second = (records(project, name)["cot"] for name in ("run", "again"))
    assert (second["answer"], second["steps"], second["usage"]["saved"]) == (first["answer"], 3, first["usage"]["cost"])


def test_an_endpoint_that_keeps_failing_is_an_error_with_its_cause(project: pytest.Pytester) -> None:
    with model_server([fail(401, f"Incorrect API key provided: {KEY}")]) as server:
        result = run(project, server, "--agent=cot", "-k", "blank")
    result.assert_outcomes(errors=1)
    record = records(project)["cot"]
    assert (record["outcome"], record["cause"], len(record["attempts"])) == ("error", "model", 1)
    assert "HTTP 401: Incorrect API key provided: [secret]" in record["message"]
    result.stdout.fnmatch_lines(["cot: no trial was judged, 1 error beside", "*errors by*model 1*"])


def test_a_limit_of_money_ends_the_trial_and_the_checks_are_judged(project: pytest.Pytester) -> None:
    with model_server([say("```noop```")]) as server:
        result = run(project, server, "--agent=cot", "--max-trial-cost=0.005", "-k", "blank")
    result.assert_outcomes(failed=1)
    record = records(project)["cot"]
    assert (record["stop_reason"], record["steps"], record["outcome"]) == ("cost", 2, "failed")
    assert "1 of 2 checks holds (stopped: cost)" in record["message"]


def test_the_runs_budget_holds_over_workers(project: pytest.Pytester) -> None:
    budget, call, workers = 0.02, 0.0035, 2
    with model_server([say("```noop```")]) as server:
        result = run(
            project,
            server,
            "--agent=cot",
            "--trials=5",
            f"--max-cost={budget}",
            f"-n{workers}",
            "--max-steps=4",
            "-kblank",
        )
        requests = server.requests
    spent = requests * call
    assert budget - workers * call <= spent <= budget + workers * call
    outcomes = [json.loads(file.read_text()) for file in (project.path / "run" / "trials").glob("*/trial.json")]
    reasons = {(one["outcome"], one["stop_reason"] or one["cause"]) for one in outcomes}
    assert ("error", "model") in reasons  # trials that could not begin are no failed tasks
    assert len(outcomes) == 5
    result.stdout.fnmatch_lines(["models *spent of $0.02*(--max-cost)*"])


def test_what_is_missing_is_told_before_anything_runs(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server([say("x")]) as server:
        result = run(project, server, "--agent=cot", "--model=brand-new", "--max-cost=1")
        result.stderr.fnmatch_lines(["*expected a price for model 'brand-new', because --max-cost is to be held*"])
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        monkeypatch.delenv("OPENAI_API_KEY")
        result = run(project, server, "--agent=cot")
        result.stderr.fnmatch_lines(["*expected an API key in the environment variable OPENAI_API_KEY*"])
        result = run(project, server, "--agent=cot", "--collect-only", "-q")
        assert result.ret == 0
        assert server.requests == 0
    assert not Path(project.path / "run").exists()
