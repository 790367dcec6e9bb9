"""Cases judged by the published evaluators (``scripts/agree_upstream.py --golden``): ``original`` says the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.checks import ORIGINAL, judge
from pytest_webarena.checks.judge_protocol import Grade, Question
from pytest_webarena.evidence import Evidence, Probe, TabState
from pytest_webarena.testing import make_task
from tests.cases import each_case

GROUPS = json.loads((Path(__file__).parent / "golden/upstream.json").read_text("utf-8"))
SITES = {name: f"http://{name}.test" for name in ("shopping", "reddit", "gitlab", "map")}


class Judge:
    """Gives the replies that upstream was given, in order."""

    def __init__(self, replies: Sequence[str]) -> None:
        self.replies = list(replies)

    def ask(self, question: Question) -> Grade:
        return Grade(decision="correct", replies=(self.replies.pop(0),), model="m", prompt="p", temperature=0.0)


def verdict(check: Any, case: dict[str, Any]) -> bool | None:
    task = make_task(f"intent: What is it?\nsites: {json.dumps(list(SITES))}\nchecks: [{json.dumps(check)}]")
    looks: Any = [{"own": {"found": found}} for found in case.get("shown", ())]
    recorded = Evidence(
        answer=case.get("answer", ""),
        stop_reason="answered",
        tabs=(TabState(url=case.get("url", ""), title="", html="", active=True),),
        probes=(Probe(check="checks[0]", state="end", value=looks),),
        sites=SITES,
    )
    return judge(task, recorded, grading=ORIGINAL, asker=Judge(case.get("replies", ()))).passed


@each_case("group", GROUPS, ids=map(str, range(len(GROUPS))))
def test_verdicts_of_the_published_evaluators(group: dict[str, Any]) -> None:
    wrong = [case for case in group["cases"] if verdict(group["check"], case) != case["passed"]]
    assert wrong == []


def test_the_cases_tell_something() -> None:
    said = [case["passed"] for group in GROUPS for case in group["cases"]]
    assert {said.count(True) > 100, said.count(False) > 100, said.count(None) > 10} == {True}
