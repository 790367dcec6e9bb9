"""Model agents end to end: real sites, real browser, the real SDK, and a model scripted in Python."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.model_server import Answer, ModelServer, fail, model_server, say

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]

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
AGENTS = ("cot", "tools", "tools-vision", "summary", "fast")
"""One of each way to ask: for text or calls, about texts or pictures, with or without a summary of earlier steps."""
OTHERS = ("direct", "vision", "dialogue")
REFUSED = "gpt-4o-mini"
KEY, PLANTED = "sk-planted-key-0123456789", 'planted "s€cret" <more>'


def scripted_model(body: dict[str, Any]) -> Answer:
    """Finds the calculator, types the sum, returns the result; and repeats secrets in its replies."""
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


ENVIRON = {"OPENAI_API_KEY": KEY, "PLANTED": PLANTED}


RunHere = Callable[..., pytest.RunResult]


@pytest.fixture
def run_here(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> RunHere:
    """Run pytest in a directory and in this process, which has already imported the SDK."""
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)

    def run_here(directory: Path, server: ModelServer, *args: str, into: str = "run") -> pytest.RunResult:
        monkeypatch.chdir(directory)
        options = (f"--run-dir={into}", "--secret-env=PLANTED", f"--agent-option=endpoint.base_url={server.url}")
        return pytester.runpytest_inprocess(*options, *args)

    return run_here


def write_project(directory: Path) -> None:
    """Write the tasks, and two agents like ``cot``.

    One uses the fast extractor, which numbers elements itself: ids of the exact one come from the browser and may
    differ between runs, so that the cache would not help. The other uses a model that the endpoint rejects.
    """
    (directory / "demo.tasks.yaml").write_text(TASKS)
    (directory / "agents").mkdir()
    cot = yaml.safe_load((Path(__file__).parents[2] / "agents" / "cot.yaml").read_text("utf-8"))
    changes: dict[str, dict[str, Any]] = {
        "fast": {"observation": {"extractor": "fast"}},
        "refused": {"model": REFUSED},
    }
    for name, change in changes.items():
        (directory / "agents" / f"{name}.yaml").write_text(yaml.safe_dump({**cot, **change}))


def records(directory: Path, run: str = "run") -> dict[str, dict[str, Any]]:
    found = [json.loads(file.read_text()) for file in (directory / run / "trials").glob("*/trial.json")]
    return {record["key"]["agent"]: record for record in found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A run of all agents on a task that they solve, and the endpoint that they used."""

    directory: Path
    result: pytest.RunResult
    server: ModelServer
    requests: int
    """How many the run made."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelServer]:
    """The endpoint for the agents of all tests of the solved run."""
    with model_server(scripted_model) as server:
        yield server


MADE: list[Solved] = []


@pytest.fixture
def solved(endpoint: ModelServer, run_here: RunHere, pytester: pytest.Pytester) -> Solved:
    """The first test makes the run; all tests read it."""
    if not MADE:
        write_project(pytester.path)
        agents = [f"--agent={name}" for name in AGENTS]
        reports = ("--alluredir=allure", "--junitxml=junit.xml", "--model-cache=cache")
        result = run_here(pytester.path, endpoint, *agents, *reports, "-k", "reckon", "-v", "--concurrency=4")
        MADE.append(Solved(directory=pytester.path, result=result, server=endpoint, requests=endpoint.requests))
    return MADE[0]


def test_model_agents_solve_a_task_and_no_secret_is_stored(solved: Solved) -> None:
    project, result, server, requests = solved.directory, solved.result, solved.server, solved.requests
    result.assert_outcomes(passed=len(AGENTS))
    assert all(headers["authorization"] == f"Bearer {KEY}" for headers in server.headers)
    assert sum("image_url" in json.dumps(body) for body in server.bodies) >= 3
    result.stdout.fnmatch_lines(["tools: 1/1 passed*", "  cost *$0.0*tokens in*"])

    found = records(project)
    assert set(found) == set(AGENTS)
    for record in found.values():
        assert (record["model"], record["usage"]["calls"]) == ("gpt-4o", record["steps"])
        assert record["usage"]["cost"] == pytest.approx(record["steps"] * (1000 * 2.5 + 100 * 10) / 1e6)
    (attempt,) = (project / "run" / "trials").glob("reckon.tools.1-*/attempt-1")
    steps = [json.loads(line) for line in (attempt / "steps.jsonl").read_text().splitlines()]
    assert [step["action"]["kind"] for step in steps] == ["goto", "click", "type", "stop"]
    written = json.loads((attempt / steps[2]["model_calls"]).read_text())
    assert "What is 12 times 34?" in written["calls"][0]["messages"][-1]["text"]
    table = (project / "run" / "results.csv").read_text().splitlines()
    rows = {row["agent"]: row for row in csv.DictReader(table)}
    assert float(rows["tools"]["cost"]) == pytest.approx(0.014)
    summary = json.loads((project / "run" / "summary.json").read_text())
    assert summary["agents"]["tools"]["usage"]["input_tokens"] == 4000
    assert sum(line["usage"]["calls"] for line in summary["model_calls"]) == requests
    allure = [json.loads(file.read_text()) for file in (project / "allure").glob("*-result.json")]
    allure_result = next(
        one for one in allure if any(p["value"] == "'tools'" or p["value"] == "tools" for p in one["parameters"])
    )
    assert {"cost", "model", "tokens in"} <= {parameter["name"] for parameter in allure_result["parameters"]}
    names = {attached["name"] for step in allure_result["steps"] for attached in step.get("attachments", ())}
    assert "Prompt and reply" in names

    assert "[secret]" in (attempt / "network.jsonl").read_text()  # it was there to be taken out
    assert "[secret]" in steps[2]["raw"]
    written = [file for file in project.rglob("*") if file.is_file() and file.suffix != ".yaml"]
    assert len(written) > 20 * len(AGENTS)
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
            assert form.encode() not in data, f"{form} in {file.relative_to(project)}"
    for text in (result.stdout.str(), result.stderr.str()):
        assert KEY not in text


@pytest.mark.exhaustive
def test_other_model_agents_solve_a_task(endpoint: ModelServer, run_here: RunHere, tmp_path: Path) -> None:
    write_project(tmp_path)
    agents = [f"--agent={name}" for name in OTHERS]
    result = run_here(tmp_path, endpoint, *agents, "-k", "reckon", "--concurrency=3")
    result.assert_outcomes(passed=len(OTHERS))
    for record in records(tmp_path).values():
        assert (record["model"], record["usage"]["calls"]) == ("gpt-4o", record["steps"])


def test_run_from_cache_makes_no_requests(tmp_path: Path, run_here: RunHere) -> None:
    write_project(tmp_path)
    arguments = ("--agent=cot", "--model-cache=cache", "-k", "blank")
    with model_server([say("```stop [408]```")]) as server:
        run_here(tmp_path, server, *arguments).assert_outcomes(passed=1)
        again = run_here(tmp_path, server, *arguments, into="again")
        again.assert_outcomes(passed=1)
        assert server.requests == 1
    again.stdout.fnmatch_lines(
        ["  cost *$0, *1 of them from the cache,", "*$0.0035 saved", "models *cache: 1 hit*, 0 missed"]
    )
    first, second = (records(tmp_path, name)["cot"] for name in ("run", "again"))
    assert (second["answer"], second["usage"]["saved"]) == (first["answer"], first["usage"]["cost"])


@pytest.mark.exhaustive
def test_run_on_pages_from_cache_makes_no_requests_and_gives_same_result(solved: Solved, run_here: RunHere) -> None:
    again = run_here(
        solved.directory, solved.server, "--agent=fast", "--model-cache=cache", "-k", "reckon", into="again"
    )
    again.assert_outcomes(passed=1)
    assert solved.server.requests == solved.requests
    again.stdout.fnmatch_lines(
        ["  cost *$0, *3 of them from the cache,", "*$0.0105 saved", "models *cache: 3 hits, 0 missed"]
    )
    first, second = (records(solved.directory, name)["fast"] for name in ("run", "again"))
    assert (second["answer"], second["steps"], second["usage"]["saved"]) == (first["answer"], 3, first["usage"]["cost"])


def test_endpoint_failure_is_error_and_cost_limit_ends_a_judged_trial(tmp_path: Path, run_here: RunHere) -> None:
    write_project(tmp_path)

    def answer(body: dict[str, Any]) -> Answer:
        return fail(401, f"Incorrect API key provided: {KEY}") if body["model"] == REFUSED else say("```noop```")

    with model_server(answer) as server:
        result = run_here(tmp_path, server, "--agent=cot", "--agent=refused", "--max-trial-cost=0.005", "-k", "blank")
    result.assert_outcomes(failed=1, errors=1)
    found = records(tmp_path)
    refused, limited = found["refused"], found["cot"]
    assert (refused["outcome"], refused["cause"], len(refused["attempts"])) == ("error", "model", 1)
    assert "HTTP 401: Incorrect API key provided: [secret]" in refused["message"]
    result.stdout.fnmatch_lines(["refused: no trial was judged, 1 error excluded", "*errors by*model 1*"])
    assert (limited["stop_reason"], limited["steps"], limited["outcome"]) == ("cost", 2, "failed")
    assert "1 of 2 checks holds (stopped: cost)" in limited["message"]


@pytest.mark.exhaustive
def test_max_cost_applies_across_workers(tmp_path: Path, run_here: RunHere) -> None:
    write_project(tmp_path)
    budget, call, workers = 0.02, 0.0035, 2
    limits = ("--trials=5", f"--max-cost={budget}", f"-n{workers}", "--max-steps=4")
    with model_server([say("```noop```")]) as server:
        result = run_here(tmp_path, server, "--agent=cot", *limits, "-k", "blank")
        requests = server.requests
    spent = requests * call
    assert budget - workers * call <= spent <= budget + workers * call
    outcomes = [json.loads(file.read_text()) for file in (tmp_path / "run" / "trials").glob("*/trial.json")]
    assert "budget" in {one["event"] for one in outcomes if one["stop_reason"] == "unattributed"}
    assert len(outcomes) == 5
    result.stdout.fnmatch_lines(["models *spent of $0.02*(--max-cost)*"])


def test_missing_price_key_or_package_stops_run_before_first_trial(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(pytester.path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with model_server([say("x")]) as server:
        arguments = ("--run-dir=run", f"--agent-option=endpoint.base_url={server.url}", "--agent=cot")
        result = pytester.runpytest_inprocess(*arguments, "--model=brand-new", "--max-cost=1")
        result.stderr.fnmatch_lines(["*expected a price for model 'brand-new', because --max-cost limits the run*"])
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        monkeypatch.delenv("OPENAI_API_KEY")
        result = pytester.runpytest_inprocess(*arguments)
        result.stderr.fnmatch_lines(["*expected an API key in the environment variable OPENAI_API_KEY*"])
        result = pytester.runpytest_inprocess(*arguments, "--collect-only", "-q")
        assert result.ret == 0
        assert server.requests == 0
    assert not Path(pytester.path / "run").exists()
