"""Explanations for a replay whose verdict differs although each step was repeated as recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.agents.divergence import divergence_text, request_differences, verdict_text
from pytest_webarena.agents.recording import Recording
from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.evidence import StepRecord, TargetRecord

SAVE = TargetRecord(role="button", name="Save")
STEPS = tuple(
    StepRecord(
        index=index, action={"kind": kind}, raw="", target=target, started=float(index), seconds={"observe": 0.1}
    )
    for index, (kind, target) in enumerate((("goto", None), ("click", SAVE), ("stop", None)))
)
SAVED = {
    "time": 101.5,
    "method": "POST",
    "url": "http://s.test/save?now=1",
    "request_body": "corn=Rye&token=" + "a1" * 10,
}


def recording(folder: Path, *requests: dict[str, Any], results: Any = (), began: float = 100.0) -> Recording:
    folder.mkdir(exist_ok=True)
    (folder / "network.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in requests))
    return Recording(folder=folder, steps=STEPS, outcome="passed", verdict={"results": results}, began=began)


def divergence(tmp_path: Path, then: list[dict[str, Any]], now: list[dict[str, Any]], **more: Any) -> str:
    replay = recording(tmp_path / "now", *now, results=more.pop("results_now", ()))
    return divergence_text(recording(tmp_path / "then", *then, **more), replay.verdict, replay.folder)


def result(score: float, *parts: tuple[str, float, int | None, str], path: str = "checks[0]") -> dict[str, Any]:
    entries = [{"what": what, "given": given, "step": step, "by": by} for what, given, step, by in parts]
    return {"path": path, "kind": "state", "score": score, "parts": entries, "expected": 1, "actual": 2}


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        (
            [("the basket", 1.0, 2, "http://s.test/basket"), ("value of #corn", 1.0, 1, "change on combobox")],
            [("the basket", 0.0, None, ""), ("value of #corn", 0.0, None, "")],
            "step 1 of 3 (click button 'Save'): it had reached what nothing reached this time, value of #corn "
            "by change on combobox",
        ),
        (
            [("the basket", 0.0, None, "")],
            [("the basket", 1.0, 0, "http://s.test/basket")],
            "the basket: not so in the recorded trial, and now reached by http://s.test/basket",
        ),
        (
            [("the answer", 1.0, None, "")],
            [("the answer", 0.0, None, "")],
            "the answer: reached in the recorded trial, and not now",
        ),
    ],
)
def test_divergence_names_the_step_that_reached_a_key_node(tmp_path: Path, then: Any, now: Any, expected: str) -> None:
    text = divergence(tmp_path, [SAVED], [], results=[result(1, *then)], results_now=[result(0, *now)])
    assert text == expected


def test_divergence_names_the_step_whose_request_is_missing(tmp_path: Path) -> None:
    star = {**SAVED, "time": 100.2, "url": "http://s.test/star"}
    read = {**SAVED, "time": 100.1, "method": "GET"}
    kept_back = {**SAVED, "time": 100.1, "url": "http://other.test/x", "refused": "not in reach"}
    text = divergence(tmp_path, [read, kept_back, star, SAVED], [star])
    assert text == "step 1 of 3 (click button 'Save'): it had sent POST s.test/save, and nothing did this time"
    twice = divergence(tmp_path, [star, SAVED, {**SAVED, "time": 102.9}], [star, SAVED])
    assert twice == "step 2 of 3 (stop): it had sent POST s.test/save, and it was sent once this time"
    more = divergence(tmp_path, [SAVED], [SAVED, star])
    assert more == "POST s.test/star was sent once this time, and not in the recorded trial"


def test_divergence_names_no_step_without_a_start_time(tmp_path: Path) -> None:
    text = divergence(tmp_path, [SAVED], [], began=0.0)
    assert text == "at some step: it had sent POST s.test/save, and nothing did this time"


def test_divergence_reports_changed_values_but_not_generated_tokens(tmp_path: Path) -> None:
    now = {**SAVED, "time": 901.0, "request_body": "corn=Oats&token=" + "b2" * 10}
    text = divergence(tmp_path, [SAVED], [now])
    assert text == "step 1 of 3 (click button 'Save'): POST s.test/save had sent 'corn' 'Rye', and now 'Oats'"
    same = {**now, "request_body": "corn=Rye&token=" + "b2" * 10}
    assert divergence(tmp_path, [SAVED], [same]) == ""


def test_divergence_names_the_failed_check_when_requests_match(tmp_path: Path) -> None:
    text = divergence(tmp_path, [SAVED], [SAVED], results=[result(1)], results_now=[result(0)])
    assert text == "the same was sent, and checks[0] (state) fails now: expected 1, found 2"
    assert divergence(tmp_path, [], [], results=[result(1)], results_now=[result(1)]) == ""


def test_repeated_request_is_reported_whatever_the_verdict(tmp_path: Path) -> None:
    replay = recording(tmp_path / "now", SAVED, {**SAVED, "time": 103.0})
    text = request_differences(recording(tmp_path / "then", SAVED), replay.folder)
    assert text == "POST s.test/save was sent twice this time, and once in the recorded trial"
    assert request_differences(replay, replay.folder) == ""


def test_divergence_hides_values_of_secret_fields(tmp_path: Path) -> None:
    for name in ("pass", "user[pwd]", "api_key", "userPin", "pin"):
        then, now = ({**SAVED, "request_body": f"{name}={value}"} for value in ("hush", "quiet"))
        text = divergence(tmp_path, [then], [now])
        assert text == f"step 1 of 3 (click button 'Save'): POST s.test/save had sent another value of {name!r}"
    then, now = ({**SAVED, "request_body": f"shipping={value}"} for value in ("sea", "air"))
    assert divergence(tmp_path, [then], [now]).endswith("'shipping' 'sea', and now 'air'")


def test_divergence_hides_a_value_that_its_field_masks(tmp_path: Path) -> None:
    action = {"kind": "type", "text": "hush"}
    target = TargetRecord(role="textbox", name="Word")
    typed = replace(STEPS[0], action=action, target=target, observation="0.txt")
    steps = (typed, replace(STEPS[1], observation="1.txt"), STEPS[2])
    then, now = ({**SAVED, "request_body": f"word={value}"} for value in ("hush", ""))
    made = replace(recording(tmp_path / "then", then), steps=steps)
    recording(tmp_path / "now", now)
    (made.folder / "1.txt").write_text("[4] textbox 'Word' value: '••••'")
    assert divergence_text(made, {}, tmp_path / "now").endswith("POST s.test/save had sent another value of 'word'")
    (made.folder / "1.txt").write_text("[4] textbox 'Word' value: 'hush'")
    assert divergence_text(made, {}, tmp_path / "now").endswith("had sent 'word' 'hush', and now ''")


def test_divergence_compares_values_in_json(tmp_path: Path) -> None:
    then, now = ({**SAVED, "request_body": json.dumps({"id": row, "on": True})} for row in (2, 1))
    text = divergence(tmp_path, [then], [now])
    assert text == "step 1 of 3 (click button 'Save'): POST s.test/save had sent 'id' '2', and now '1'"


def test_crash_of_the_recorded_agent_explains_the_divergence_first(tmp_path: Path) -> None:
    crashed = replace(recording(tmp_path / "then", SAVED), outcome="failed", verdict={"stop_reason": "agent_crash"})
    recording(tmp_path / "now", SAVED, SAVED)
    passed = Verdict(score=1.0, passed=True, results=())
    text, differs = verdict_text(crashed, tmp_path / "now", "passed", passed)
    assert text == (
        "the replay passed, and the recorded trial had failed: its agent had crashed at the end, and a replay of what "
        "it had done does not"
    )
    assert differs
