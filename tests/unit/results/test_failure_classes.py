"""Failure classes of trials: proposals of rules, labels of people, and tables of both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.verdict import CheckResult
from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import StepRecord, TargetRecord
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.failure_classes import CLASSES, propose
from pytest_webarena.results.failure_labels import FILE, add_labels, failures_of, labels_of
from pytest_webarena.results.merge import merge_runs
from pytest_webarena.results.table_forms import as_text
from pytest_webarena.results.tables import gather, tables
from tests.cases import each_case

from ...made_up import UNDECIDED, check, make_run, make_trial

SAVE, TITLE = TargetRecord(role="button", name="Save"), TargetRecord(role="textbox", name="Title")


def step(kind: str = "click", target: TargetRecord | None = SAVE, **more: Any) -> StepRecord:
    action = {"kind": kind, "target": {"id": "4"} if target else None, **more.pop("action", {})}
    facts: dict[str, Any] = {"index": 0, "raw": "", "url_before": "http://s.test/", "url_after": "http://s.test/"}
    return StepRecord(action=action, target=target, **{**facts, **more})


def typed(text: str, **more: Any) -> StepRecord:
    return step("type", TITLE, value=text, **more)


STOP = step("stop", None)


def record(outcome: Any = "failed", *, stop_reason: Any = "answered", **more: Any) -> TrialRecord:
    return TrialRecord(key=TrialKey("t", "a", 1), outcome=outcome, stop_reason=stop_reason, **more)


def names(found: TrialRecord, steps: Sequence[StepRecord] = (STOP,), observations: Sequence[str] = ()) -> list[str]:
    texts = dict(zip(map(id, steps), observations, strict=True)) if observations else {}
    return [each.name for each in propose(found, steps, lambda step: texts.get(id(step), ""))]


def test_undecided_answer_is_a_class_of_its_own() -> None:
    assert names(record(**UNDECIDED)) == ["undecided-answer"]
    assert names(record(stop_reason="agent_crash", **UNDECIDED)) == []


@each_case(
    ("steps", "expected"),
    [
        ([typed("rye"), typed("rye")], "overlooked-input"),
        ([typed("rye"), step(), typed("rye")], "overlooked-input"),
        ([typed("rye"), typed("tea"), typed("rye")], ""),
        ([typed("rye"), step("press", TITLE), typed("rye")], ""),  # it may have emptied it
        ([typed("rye"), typed("rye", url_before="http://s.test/other")], ""),
        ([typed("rye", error="No such element."), typed("rye")], ""),
        (
            [typed("rye", url_before="http://s.test/#a"), typed("rye", url_before="http://s.test/#b")],
            "overlooked-input",
        ),
        ([step()] * 3, "repeated-actions"),
        ([step()] * 2, ""),
        ([step(), step(target=TITLE), step(), step(target=TITLE)], ""),
        ([step(url_after="http://s.test/2")] * 3, ""),  # each click changed the page
        ([step(error="Nothing there.", url_after="http://s.test/2")] * 3, "repeated-actions"),
        ([step("scroll", None)] * 4, ""),  # of a long page
        ([step("press", None, action={"keys": "Tab"})] * 3, "repeated-actions"),
        ([step("press", None, action={"keys": key}) for key in ("Tab", "Enter", "Tab")], ""),
    ],
)
def test_rules_propose_classes_from_steps(steps: list[StepRecord], expected: str) -> None:
    assert names(record(), [*steps, STOP]) == ([expected] if expected else [])


def test_repeated_actions_match_elements_by_role_and_name() -> None:
    clicks = [step(action={"target": {"id": str(number)}}) for number in (4, 17, 23)]
    assert names(record(), [*clicks, STOP]) == ["repeated-actions"]


@each_case(
    ("answer", "observations", "expected"),
    [
        ("12.50", ["Home", "Tea 12.50"], True),
        ("12.50", ["Tea 12.50", "Tea 12.50"], False),  # it looked further
        ("12.50", ["Home", "Tea 112.505"], False),
        ("12.50", ["", "Tea 12.50"], False),  # the first observation is not recorded
        ("7", ["Home", "Tea 7"], False),  # on no page in particular
        ("Café  Rye", ["Home", "café rye, open"], True),
    ],
)
def test_answer_from_first_observation_is_observation_bias(
    answer: str, observations: list[str], expected: bool
) -> None:
    assert ("observation-bias" in names(record(answer=answer), [step(), STOP], observations)) is expected


def test_rules_propose_classes_from_record_alone() -> None:
    half = {"results": [{"score": 1.0}, {"score": 0.0, "counts": None}]}
    assert names(record(answer="N/A: no such thing")) == ["gave-up"]
    assert names(record(answer="N/A", category="unachievable")) == []
    assert names(record(verdict=half)) == ["incomplete"]
    assert names(record(verdict={"results": [{"score": 0.0}]})) == []
    assert names(record(verdict={"results": [{"score": 0.5}]})) == ["incomplete"]
    assert names(record(stop_reason="repeated")) == ["repeated-actions"]
    assert names(record(stop_reason="invalid")) == ["no-valid-action"]
    assert names(record(stop_reason="max_steps")) == ["ran-out"]
    assert names(record(stop_reason="context")) == ["ran-out"]
    assert names(record(stop_reason="filtered")) == []
    for outcome in ("passed", "error"):
        assert names(record(outcome, answer="N/A", stop_reason="max_steps")) == []
    assert all(each.rule or name in ("misread-intent", "wrong-verdict", "other") for name, each in CLASSES.items())


# --- people


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """Three failed trials, one that passed."""
    run = make_run(tmp_path / "run")
    bad: list[CheckResult] = [check(score=0.0)]
    for task in ("one", "two", "three"):
        make_trial(run, task, "failed", checks=bad, answer="N/A", started=5.0)
    make_trial(run, "four", started=5.0)
    return run


def label(run: RunDir, task: str, *classes: str, by: str = "ada", **more: Any) -> str:
    return json.dumps({"trial": TrialKey(task, "a", 1).folder, "started": 5.0, "classes": classes, "by": by, **more})


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_labels_are_stored_with_trials_and_counted_in_tables(run: RunDir, tmp_path: Path) -> None:
    file = write(
        tmp_path / "labels.jsonl",
        label(run, "one", "gave-up"),
        label(run, "one", "gave-up", by="lin"),
        label(run, "two", "misread-intent", note="asked for time"),
        label(run, "two", "other", by="lin"),
    )
    assert len(add_labels(run, file)) == 4
    found = failures_of(run, run.records())
    assert (found.failed, found.labelled, found.people, found.several, found.alike) == (3, 2, ("ada", "lin"), 2, 1)
    assert found.by_rule == {"gave-up": 3}
    assert found.by_people == {"gave-up": 1, "misread-intent": 1, "other": 1}
    assert (found.both, found.proposed) == ({"gave-up": 1}, {"gave-up": 2})
    merged = tmp_path / "merged"
    merge_runs([run.path], merged)
    assert failures_of(RunDir(merged), RunDir(merged).records()) == found
    text = " ".join(as_text(tables(gather([merged]))).split())
    assert "gave-up a 1 3 1 of 2 misread-intent a 1 – – other a 1 – –" in text
    assert "a: 3 failed trials, 2 labelled by ada, lin; 2 of them by several, 1 alike." in text


def test_later_label_replaces_earlier_one_of_the_same_person(run: RunDir, tmp_path: Path) -> None:
    one = next(each for each in run.records() if each.key.task == "one")
    folder = run.folder(one.key).path
    add_labels(run, write(tmp_path / "a", label(run, "one", "gave-up"), label(run, "one", "other", by="lin")))
    add_labels(run, write(tmp_path / "b", label(run, "one", "misread-intent")))
    assert {each.by: each.classes for each in labels_of(folder, one)} == {"ada": ("misread-intent",), "lin": ("other",)}
    add_labels(run, write(tmp_path / "c", label(run, "one")))  # withdrawn
    assert [each.by for each in labels_of(folder, one)] == ["lin"]
    assert labels_of(folder, replace(one, started=6.0)) == ()  # labels do not apply to a trial that was run again
    with (folder / FILE).open("a") as more:
        more.write("{broken\n")
    assert [each.by for each in labels_of(folder, one)] == ["lin"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: expected JSON"),
        ("[]", "line 2: expected a mapping, found a list"),
        ('{"by": "ada"}', "line 2: expected the keys trial and by, found no trial"),
        ('{"trial": "x", "by": "ada", "classes": "gave-up"}', "classes: expected a list of names, found text"),
        ('{"trial": "x", "by": "ada", "classes": ["gave-pu"]}', "gave-up"),
        ('{"trial": "x", "by": "ada", "classes": []}', "expected a trial of"),
        (label(RunDir(Path()), "four", "other"), "expected a failed trial, found one that is passed"),
        (label(RunDir(Path()), "two", "other").replace("5.0", "4.0"), "found one of an earlier run of it"),
    ],
)
def test_invalid_label_line_is_named_and_nothing_is_stored(
    run: RunDir, tmp_path: Path, line: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        add_labels(run, write(tmp_path / "labels.jsonl", label(run, "one", "gave-up"), line))
    assert message in str(caught.value)
    assert not list(run.path.rglob(FILE))


def test_annotate_add_reports_stored_labels(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "labels.jsonl", label(run, "one", "gave-up"))
    assert main(["judge", "annotate", "add", str(run.path), str(file)]) == 0
    assert (
        capsys.readouterr().out == f"1 failed trial labelled by ada: webarena compare tables {run.path} counts them\n"
    )
    assert main(["judge", "annotate", "add", str(run.path), str(tmp_path / "none")]) != 0
    assert "expected a file of labels as the viewer saves it" in capsys.readouterr().err


# --- the paper's other analyses


def test_tables_of_trajectory_lengths_and_templates(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for number, (template, outcome, steps) in enumerate(
        [("a", "passed", 2), ("a", "failed", 9), ("b", "passed", 3), ("b", "passed", 4), ("c", "passed", 5)]
    ):
        limit = "max_steps" if outcome == "failed" else "answered"
        make_trial(run, f"t{number}", outcome, template=template, steps=[{}] * steps, stop_reason=limit)
    (row,) = gather([run.path])
    assert row.metrics.lengths == {"passed": [2, 3, 4, 5], "failed": [9], "cut": [9]}
    assert {name: (rate.passed, rate.judged) for name, rate in row.metrics.by_template.items()} == {
        "a": (1, 2), "b": (2, 2), "c": (1, 1)
    }  # fmt: skip
    text = " ".join(as_text(tables([row], each_template=True)).split())
    assert "a, passed 4 3.5 3.5 5 2 to 5 a, failed 1 9.0 9 9 9 to 9 a, cut off by a limit 1" in text
    assert "a: of 2 templates with a success and several judged trials, 1 passed always." in text
    assert "template a a 1/2 b 2/2 c 1/1" in text  # the least consistent one first


def test_human_table_has_a_row_per_person_and_published_rows(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    more: dict[str, Any] = {"agent": "human", "source": {"suite": "webarena"}, "grading": "original"}
    verdicts = {
        outcome: {"original": {"grading": "original", "passed": outcome == "passed", "results": []}}
        for outcome in ("passed", "failed")
    }
    for task, who, outcome, category, seconds in (
        ("w.1", "lin", "passed", "information", 60.0),
        ("w.2", "lin", "failed", "content", 100.0),
        ("w.3", "ada", "passed", "content", 30.0),
    ):
        make_trial(
            run, task, outcome, category=category, environment={"participant": who},
            seconds={"total": 500.0, "episode": seconds}, verdicts=verdicts[outcome], **more,
        )  # fmt: skip
    (row,) = gather([run.path])
    assert list(row.participants) == ["ada", "lin"]
    text = " ".join(as_text(tables([row])).split())
    assert "who tasks time info others SR ada 1 30 – 100.0% 100.0% lin 2 80 100.0% 0.0% 50.0% " in text
    assert "human: 2 people 3 63 100.0% 50.0% 66.7%" in text
    assert "5 graduate students of computer science 170 110 74.68% 81.32% 78.24%" in text
    (exported,) = json.loads(json.dumps([asdict(row)]))
    assert exported["participants"]["lin"]["episode"] == 80.0
