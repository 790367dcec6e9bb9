"""Judging with a time limit in a separate process: endless or crashing checks are undecided."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_webarena.checks import REPAIRED, judge_all_bounded, judge_bounded
from pytest_webarena.checks.images import captions
from pytest_webarena.checks.judge_protocol import Grade, JudgeOff, JudgeUnreadable, Question
from pytest_webarena.errors import HarnessError, JudgeError, TaskError
from pytest_webarena.evidence import Evidence
from pytest_webarena.testing import make_task
from tests.cases import each_case
from tests.unit.checks.helpers import evidence

_SOON = 1.0
"""Seconds that checks get here: far more than those need that end. Those that don't end use a core for as long."""

_ANSWER = "a" * 60 + "_"


def stays(evidence: Evidence) -> bool:
    while True:
        try:
            time.sleep(60)
        except BaseException:
            continue


def count(evidence: Evidence) -> bool:
    return sum(range(10**15)) > 0  # one call that no signal interrupts


def leave(evidence: Evidence) -> bool:
    os._exit(3)


def crash(evidence: Evidence) -> bool:
    os.kill(os.getpid(), signal.SIGSEGV)
    return True


def exits(evidence: Evidence) -> bool:
    raise SystemExit("done")


def interrupts(evidence: Evidence) -> bool:
    raise KeyboardInterrupt


def tries(evidence: Evidence) -> bool:
    return re.match("^(a+)+$", evidence.answer or "") is not None


def late_once(evidence: Evidence) -> bool:
    late = Path(os.environ["LATE"])
    if late.exists():
        late.unlink()
        stays(evidence)
    return True


def where(evidence: Evidence) -> tuple[bool, str]:
    return False, f"in {os.getpid()}"


def asks_about_an_image(evidence: Evidence) -> tuple[bool, str]:
    from PIL import Image

    return True, captions.find_captioner().answer(Image.new("RGB", (2, 3)), "what is it?")


def judged(check: str, answer: str = _ANSWER, **more: Any) -> Any:
    task = make_task(
        f"intent: x\nsites: []\nscore: mean\nchecks:\n  - answer: {{regex: a+_}}\n  - {check}",
        id="t",
    )
    return judge_bounded(task, evidence(answer, url="http://a.test/" + answer), seconds=_SOON, **more)


@each_case(
    ("check", "why"),
    [
        ('url: {regex: "(a+)+$"}', "judging took longer than 1 s"),
        (f"python: {__name__}:stays", "judging took longer than 1 s"),
        (f"python: {__name__}:count", "judging took longer than 1 s"),
        (f"python: {__name__}:leave", "the process that judged ended with exit code 3"),
        (f"python: {__name__}:exits", f"{__name__}:exits raised SystemExit"),
        (f"python: {__name__}:interrupts", "the process that judged ended with exit code 1"),
        (f"python: {__name__}:crash", "the process that judged ended with signal SIGSEGV"),
    ],
)
def test_endless_check_is_undecided_and_others_are_judged(check: str, why: str) -> None:
    before = psutil.Process().children()
    verdict = judged(check)
    assert psutil.Process().children() == before
    first, second = verdict.results
    assert first.score == 1
    assert (second.path, second.score) == ("checks[1]", None)
    assert second.why.startswith(why)
    assert (verdict.passed, verdict.cause) == (None, "task")
    assert verdict.open_because == second.why


def test_verdict_is_decided_despite_an_endless_check() -> None:
    task = make_task(f"intent: x\nsites: []\nchecks: [answer: wrong, python: '{__name__}:stays']", id="t")
    verdict = judge_bounded(task, evidence("a"), seconds=_SOON)
    assert (verdict.passed, [result.score for result in verdict.results]) == (False, [0, None])


PATTERNS = {
    'answer: {regex: "^(a+)+$"}': _ANSWER,
    'answer: {schema: {type: string, pattern: "^(a+)+$"}}': f'"{_ANSWER}"',
}


@each_case("check", PATTERNS)
def test_check_that_only_this_answer_makes_endless_is_not_met(check: str) -> None:
    """Neither is its negation."""
    for checks in (check, f"not: {{{check}}}"):
        result = judged(checks, PATTERNS[check]).results[1]
        assert (result.score, result.cause) == (0, None)
        why = (result.children or (result,))[0].why
        assert why.startswith("judging took longer than 1 s")
        assert why.endswith("with another answer it ends in time, so this one is the cause")


@each_case(
    ("solution", "score"),
    [
        ("", None),  # nobody knows what the function reads
        ("solution: [stop: _]", 0),
        (f"solution: [stop: {_ANSWER}]", None),
    ],
)
def test_solution_shows_whether_the_answer_makes_a_function_endless(solution: str, score: int | None) -> None:
    task = make_task(f"intent: x\nsites: []\nchecks: [python: '{__name__}:tries']\n{solution}", id="t")
    assert judge_bounded(task, evidence(_ANSWER), seconds=_SOON).results[0].score == score


def test_check_that_was_late_only_once_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is not the answer's fault."""
    monkeypatch.setenv("LATE", str(tmp_path / "late"))
    (tmp_path / "late").touch()
    task = make_task(f"intent: x\nsites: []\nchecks: [python: '{__name__}:late_once']\nsolution: [stop: _]", id="t")
    assert judge_bounded(task, evidence("a"), seconds=_SOON).results[0].score == 1


def test_all_states_of_a_check_share_its_time_limit() -> None:
    from pytest_webarena.evidence import StepRecord

    task = make_task("intent: x\nsites: []\nchecks: [{url: {regex: '(a+)+$'}, when: any_step}]", id="t")
    steps = tuple(
        StepRecord(index=index, action={"kind": "noop"}, raw="", url_after="http://a.test/" + _ANSWER)
        for index in range(50)
    )
    verdict = judge_bounded(task, Evidence(answer=None, stop_reason="max_steps", steps=steps), seconds=_SOON)
    assert verdict.passed is None


def test_judging_runs_in_another_process_unless_unlimited() -> None:
    check = f"python: {__name__}:where"
    assert judged(check).results[1].why != f"in {os.getpid()}"
    task = make_task(f"intent: x\nsites: []\nchecks: [{{{check}}}]", id="t")
    assert judge_bounded(task, evidence("a"), seconds=0).results[0].why == f"in {os.getpid()}"


def test_errors_are_raised_across_the_process_boundary() -> None:
    task = make_task("intent: x\nsites: []\nchecks: [string_match: {exact_match: a}]", id="t")
    from pytest_webarena.checks import VERIFIED

    with pytest.raises(TaskError, match="expected checks of the grading 'verified'"):
        judge_all_bounded(task, evidence("a"), headline=VERIFIED)


class Judge:
    """A judge with a fixed reply that records its questions."""

    def __init__(self, says: Grade | Exception) -> None:
        self.says = says
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


FUZZY = make_task("intent: why?\nsites: []\nchecks: [string_match: {fuzzy_match: [the zip breaks]}]", id="t")


def test_judge_model_is_called_by_the_main_process() -> None:
    judge = Judge(Grade(decision="correct", replies=("GRADE: correct",), model="m", prompt="p", temperature=None))
    verdicts = judge_all_bounded(FUZZY, evidence("the zip"), headline=REPAIRED, asker=judge)
    assert [verdict.passed for verdict in verdicts.values()] == [True, True]
    assert {question.answer for question in judge.asked} == {"the zip"}


class Unsendable(JudgeError):
    """An exception of a third-party judge that cannot be pickled."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.hold = lambda: None


@each_case(
    "error",
    [
        JudgeError("no endpoint"),
        JudgeUnreadable("hard to read", replies=("hm", "hum")),
        JudgeOff("there is none"),
        Unsendable("no endpoint of its own"),
    ],
)
def test_judge_exception_gives_the_same_verdict_as_without_a_limit(error: Exception) -> None:
    apart, here = (
        judge_all_bounded(FUZZY, evidence("the zip"), headline=REPAIRED, asker=Judge(error), seconds=seconds)
        for seconds in (60.0, 0)
    )
    assert apart == here
    assert apart["repaired"].passed is None
    assert str(error) in apart["repaired"].open_because


def test_captioner_is_called_by_the_main_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Captioner:
        def answer(self, image: Any, question: str) -> str:
            asked.append((image.size, question))
            return "a kettle"

    monkeypatch.setattr(captions, "_installed", Captioner)
    assert judged(f"python: {__name__}:asks_about_an_image").results[1].why == "a kettle"
    assert asked == [((2, 3), "what is it?")]


def test_timeout_outside_of_checks_is_a_harness_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_webarena.checks import bounded

    monkeypatch.setattr(bounded, "judge", lambda *args, **more: stays(evidence("a")))
    with pytest.raises(HarnessError, match="outside of its checks judging took longer than 1 s"):
        judged("answer: a")
