"""One outcome of a trial for all reports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.owners import UNATTRIBUTED
from pytest_webarena.plugin.reporting.allure import write_results
from pytest_webarena.plugin.reporting.github import TaskPlace, summary
from pytest_webarena.plugin.runner import facts
from pytest_webarena.results import summarise
from pytest_webarena.results.following.progress import Follower
from pytest_webarena.results.trial_outcome import reported_outcome
from pytest_webarena.results.viewer import write_view
from tests.cases import each_case

from ...made_up import UNDECIDED, check, make_run, make_trial

PEOPLE = Verdict(score=None, passed=None, results=(check("human", None),), task="t", intent="Do t").to_json()


@each_case(
    ("record", "label", "words", "status"),
    [
        ({"outcome": "passed"}, "passed", "passed", "passed"),
        ({"outcome": "passed", "attempt": 2}, "passed: attempt 2", "passed on attempt 2", "passed"),
        ({"outcome": "failed"}, "failed: answered", "failed", "failed"),
        ({"outcome": "failed", "stop_reason": "max_steps"}, "failed: max_steps", "failed (max_steps)", "failed"),
        ({"outcome": "failed", **UNDECIDED}, "undecided: rules", "undecided", "unknown"),
        (
            {"outcome": "failed", "verdict": {**PEOPLE, "judgeable": True}},
            "undecided: people",
            "undecided (people)",
            "unknown",
        ),
        (
            {"outcome": "failed", "stop_reason": UNATTRIBUTED, **UNDECIDED},
            "undecided: unattributed",
            "undecided (unattributed)",
            "unknown",
        ),
        (
            {"outcome": "failed", "stop_reason": "agent_crash", **UNDECIDED},
            "failed: agent_crash",
            "failed (agent_crash)",
            "failed",
        ),
        ({"outcome": "error", "cause": "model"}, "error: model", "error (model)", "broken"),
    ],
)
def test_all_reports_name_the_same_outcome(
    record: dict[str, Any], label: str, words: str, status: str, tmp_path: Path
) -> None:
    folder = tmp_path / re.sub(r"\W+", "-", label)
    run = make_run(folder / "run")
    made = make_trial(run, message="undecided: so", **record)
    kind = label.partition(":")[0]
    assert (reported_outcome(made).label, reported_outcome(made).words) == (label, words)
    assert dict(facts(made))["outcome"] == kind  # JUnit, so GitLab and Jenkins, and pytest-html
    write_results(run, folder / "allure")
    (file,) = (folder / "allure").glob("*-result.json")
    result = json.loads(file.read_text())
    assert result["status"] == status
    assert [each["value"] for each in result["labels"] if each["name"] == "outcome"] == [label]
    assert result["description"].lower().startswith(f"**{words}.**")
    if words != "passed":
        assert re.match(rf"{re.escape(words)}(: |$)", result["statusDetails"]["message"])
    if kind != "passed":
        assert f"| a | {words} | " in summarised(made).replace("&#40;", "(").replace("&#41;", ")")
    write_view(run, folder / "view.html")
    assert f'"outcome": "{kind}"' in (folder / "view.html").read_text()
    (ended,) = Follower(run.path).look()["recent"]
    assert ended["outcome"] == kind


def summarised(record: Any) -> str:
    place = TaskPlace("tasks/x.yaml", 1, "why")
    return summary(
        summarise([record]), [record], {record.key.folder: place}, coverages={}, ruling=None, repository="", folder=""
    )
