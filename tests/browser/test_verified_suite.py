"""A suite in WebArena-Verified's format on embedded sites, from its JSON file to the package's verdict on the exported
HAR.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]

HOME = "__HOMEPAGE__"


def row(number: int, kind: str, data: Any = None, *events: dict[str, Any], status: str = "SUCCESS") -> dict[str, Any]:
    """Return a task in the suite's format; ``events`` are the expected requests."""
    schema = {"type": "array", "items": {"type": "number"}} if data else {"type": "null"}
    answer = {"task_type": kind, "status": status, "retrieved_data": data}
    return {
        "sites": ["homepage"], "task_id": number, "intent_template_id": number, "start_urls": [HOME], "revision": 1,
        "intent": f"Do number {number}.", "intent_template": f"Do number {number}.", "instantiation_dict": {},
        "eval": [
            {"evaluator": "AgentResponseEvaluator", "results_schema": schema, "expected": answer},
            *({"evaluator": "NetworkEventEvaluator", "expected": event} for event in events),
        ],
    }  # fmt: skip


ROWS = [
    row(0, "retrieve", [408]),
    row(1, "navigate", None, {"url": f"{HOME}/scratchpad/?label=study"}),
    row(
        2,
        "mutate",
        None,
        {
            "url": f"{HOME}/scratchpad/new",
            "http_method": "POST",
            "response_status": 303,
            "post_data": {"title": "Rye & oats", "body": "and butter"},
        },
    ),
    row(3, "retrieve", status="NOT_FOUND_ERROR"),
]


def structured_answer(kind: str, data: Any = None, status: str = "SUCCESS") -> dict[str, str]:
    return {"stop": json.dumps({"task_type": kind, "status": status, "retrieved_data": data})}


NOTE = [
    {"goto": "homepage:/scratchpad/new"},
    {"fill": {"css=#title": "Rye & oats"}},
    {"fill": {"css=#body": "and butter"}},
    {"click": 'role=button[name="Save note"]'},
    structured_answer("MUTATE"),
]
RIGHT = {
    "mine.0": [{"goto": "homepage:/calculator"}, structured_answer("retrieve", ["408"])],
    "mine.1": [
        {"goto": "homepage:/scratchpad/"},
        {"goto": "homepage:/scratchpad/?label=study"},
        structured_answer("navigate"),
    ],
    "mine.2": NOTE,
    "mine.3": [structured_answer("RETRIEVE", None, "NOT_FOUND_ERROR")],
}
WRONG = {
    "mine.0": [structured_answer("RETRIEVE", [409])],
    "mine.1": [
        {"goto": "homepage:/scratchpad/?label=study"},
        {"goto": "homepage:/calculator"},
        structured_answer("NAVIGATE"),
    ],
    "mine.2": [NOTE[0], NOTE[1], {"fill": {"css=#body": "and jam"}}, *NOTE[3:]],
    "mine.3": [{"stop": "N/A"}],
}


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "mine.json").write_text(json.dumps(ROWS))
    for name, tasks in (("right", RIGHT), ("wrong", WRONG)):
        (pytester.path / f"{name}.yaml").write_text(json.dumps({"kind": "scripted", "tasks": tasks}))
    return pytester


def records(project: pytest.Pytester) -> dict[tuple[str, str], dict[str, Any]]:
    found = [json.loads(file.read_text()) for file in (project.path / "run" / "trials").glob("*/trial.json")]
    return {(record["key"]["agent"], record["key"]["task"]): record for record in found}


@pytest.mark.exhaustive
def test_verified_tasks_pass_for_right_and_fail_for_near_misses(project: pytest.Pytester, tmp_path: Path) -> None:
    agents = ["--agent=right.yaml", "--agent=wrong.yaml", "--agent=na"]
    # The agent `na` is right only where nothing can be found.
    which = ["-k", "right or wrong or mine.0 or mine.3"]
    result = project.runpytest_inprocess(
        "--suite=mine.json", "--run-dir=run", "--concurrency=4", "--record=minimal", *agents, *which
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    found = records(project)
    passed = {key for key, record in found.items() if record["outcome"] == "passed"}
    assert passed == {*(("right", task) for task in RIGHT), ("na", "mine.3")}, result.stdout.str()
    assert len(found) == 4 + 4 + 2
    assert {record["outcome"] for record in found.values()} == {"passed", "failed"}
    assert {(record["grading"], record["answer_format"]) for record in found.values()} == {("verified", "verified")}
    assert json.loads(found["na", "mine.3"]["answer"])["status"] == "NOT_FOUND_ERROR"
    why = found["wrong", "mine.2"]["verdict"]["results"][0]["why"]
    assert why.startswith("POST http://homepage.test/scratchpad/new: No matching network event found")

    assert main(["runs", "export-verified", str(project.path / "run"), "-o", str(tmp_path / "out")]) == 0
    for (agent, task), record in found.items():
        folder = tmp_path / "out" / f"{agent}-1"
        score = packages_score(ROWS[int(task[-1])], folder)
        assert score == record["score"], (agent, task)


def packages_score(task: dict[str, Any], folder: Path) -> float:
    """Return the package's score of the exported files; its command line only knows its own 812 tasks."""
    from webarena_verified.api import WebArenaVerifiedEvaluator
    from webarena_verified.types.config import WebArenaVerifiedConfig
    from webarena_verified.types.eval import TaskEvalContext
    from webarena_verified.types.task import WebArenaVerifiedTask
    from webarena_verified.types.tracing import NetworkTrace

    config = WebArenaVerifiedConfig.from_file(folder / "config.json")
    here = folder / str(task["task_id"])
    context = TaskEvalContext(
        task=WebArenaVerifiedTask.model_validate(task),
        agent_response_raw=(here / "agent_response.json").read_text(),
        network_trace=NetworkTrace.from_content(here / "network.har"),
        config=config,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its dependencies warn of each other
        score: float = WebArenaVerifiedEvaluator(config=config, reader=None).evaluate_task(context=context).score
    return score


@pytest.mark.exhaustive
def test_text_answer_format_is_not_judged_by_response_schema(project: pytest.Pytester) -> None:
    (project.path / "plain.yaml").write_text(json.dumps({"kind": "scripted", "tasks": {"*": [{"stop": "408"}]}}))
    arguments = ["--suite=mine.json", "--run-dir=run", "--agent=plain.yaml", "--answer-format=text", "-k", "mine.0"]
    result = project.runpytest_inprocess(*arguments)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*not computed: the answer is not in the response format*"])
    ((_, record),) = records(project).items()
    assert (record["outcome"], record["answer_format"]) == ("error", "text")
