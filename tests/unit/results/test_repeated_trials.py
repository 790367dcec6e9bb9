"""The same trial in several merged runs: which verdict counts, and that nothing recorded is lost."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.results import JudgeRecord, RunDir
from pytest_webarena.results.conditions import mixed, source_of
from pytest_webarena.results.merge import merge_runs
from pytest_webarena.results.records import JUDGED_FIELDS
from tests.made_up import UNDECIDED, make_run, make_trial

JUDGE = JudgeRecord(model="judge-1", prompt="teacher@1", temperature=0.0, questions=1)
ENDED = 1_700_000_003.0
SAME: dict[str, Any] = {"task_digest": "d", "agent_digest": "x"}


def undecided_run(path: Path, *tasks: str) -> Path:
    """Write a run whose trials are undecided."""
    run = make_run(path)
    for task in tasks:
        make_trial(run, task, "failed", **UNDECIDED, **SAME)
    return path


def rescored(run: Path, copy: Path, at: float, **verdict: Any) -> Path:
    """Copy a run and judge its trials again at ``at``, as `trials.rescoring` does."""
    shutil.copytree(run, copy)
    for record in RunDir(copy).records():
        before = {name: value for name, value in asdict(record).items() if name in JUDGED_FIELDS}
        later = replace(record, **verdict, history=(*record.history, {**before, "until": at}))
        RunDir(copy).folder(record.key).finish(later)
    return copy


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_latest_judging_of_one_execution_counts_in_any_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    first = undecided_run(tmp_path / "run", "t", "u")
    passed = {"outcome": "passed", "score": 1.0, "verdict": {"judgeable": False}, "judge": JUDGE}
    second = rescored(first, tmp_path / "judged", ENDED + 10, **passed)
    third = rescored(first, tmp_path / "again", ENDED + 20, **{**passed, "outcome": "failed", "score": 0.0})
    runs = [first, second, third]
    merged = merge_runs([runs[place] for place in order], tmp_path / "out")
    assert (merged.trials, merged.rejudged, merged.run_again) == (2, 2, 0)
    for record in RunDir(tmp_path / "out").records():
        assert (record.outcome, record.undecided, record.judge) == ("failed", False, JUDGE)
        assert [each["outcome"] for each in record.history] == ["failed", "passed"]
        assert [bool(each["verdict"]["judgeable"]) for each in record.history] == [True, False]
        assert [each["until"] for each in record.history] == [ENDED + 20, ENDED + 20]
    assert not mixed(source_of(tmp_path / "out", RunDir(tmp_path / "out").facts(), RunDir(tmp_path / "out").records()))


def test_verdict_of_an_execution_precedes_a_later_error_which_is_kept(tmp_path: Path) -> None:
    first = undecided_run(tmp_path / "run", "t")
    broken = rescored(first, tmp_path / "judged", ENDED + 10, outcome="error", cause="judge", verdict=None, score=None)
    merge_runs([broken, first], tmp_path / "out")
    [record] = RunDir(tmp_path / "out").records()
    assert record.undecided
    assert [(each["outcome"], each["cause"]) for each in record.history] == [("error", "judge")]


def test_identical_copies_replace_no_verdict(tmp_path: Path) -> None:
    first = undecided_run(tmp_path / "run", "t")
    shutil.copytree(first, tmp_path / "copy")
    merged = merge_runs([first, tmp_path / "copy"], tmp_path / "out")
    assert (merged.rejudged, merged.run_again) == (0, 0)
    assert RunDir(tmp_path / "out").records()[0].history == ()


def test_labels_and_files_of_all_copies_are_kept(tmp_path: Path) -> None:
    first = undecided_run(tmp_path / "run", "t")
    second = rescored(first, tmp_path / "judged", ENDED + 10, judge=JUDGE)
    for run, at, extra in ((first, 1.0, "trace.zip"), (second, 2.0, "note.txt")):
        [folder] = (run / "trials").iterdir()
        (folder / "labels.jsonl").write_text(json.dumps({"by": run.name, "at": at}) + "\n")
        (folder / "attempt-1" / extra).write_text(run.name)
    merge_runs([first, second], tmp_path / "out")
    [folder] = (tmp_path / "out" / "trials").iterdir()
    assert [json.loads(line)["by"] for line in (folder / "labels.jsonl").read_text().splitlines()] == ["run", "judged"]
    assert (folder / "attempt-1" / "trace.zip").read_text() == "run"
    assert (folder / "attempt-1" / "note.txt").read_text() == "judged"


def test_merge_prints_how_many_trials_were_judged_or_run_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = undecided_run(tmp_path / "run", "t", "u")
    second = rescored(first, tmp_path / "judged", ENDED + 10, judge=JUDGE)
    third = make_run(tmp_path / "later").path
    make_trial(RunDir(third), "u", "passed", started=1_800_000_000.0, **SAME)
    assert main(["runs", "merge", *map(str, (second, first, third)), "-o", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "judged twice: 1 trials; the later verdict counts" in printed
    assert "run twice: 1 trials left out" in printed
    assert [record.outcome for record in RunDir(tmp_path / "out").records()] == ["failed", "passed"]


def with_reply(run: Path, reply: str, *, answer: str = "rye", name: str = "ab/abcd.json") -> Path:
    """Store a judge's reply to the question of a trial of the run."""
    file = run / "judge_replies" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    question = {"kind": "equivalent", "intent": "Do t", "reference": "oats", "answer": answer}
    file.write_text(json.dumps({"question": question, "replies": [reply]}))
    return run


@pytest.mark.parametrize("swap", [False, True])
def test_replies_of_the_verdict_that_counts_are_kept(tmp_path: Path, swap: bool) -> None:
    """The run that was judged first is also the one with the latest trial, which is not this question's."""
    plain = undecided_run(tmp_path / "run", "t", "u")
    passed = {"outcome": "passed", "score": 1.0, "verdict": {"judgeable": False}, "judge": JUDGE}
    earlier = with_reply(rescored(plain, tmp_path / "earlier", ENDED + 10, **passed), "X GRADE: correct")
    failed = {**passed, "outcome": "failed", "score": 0.0}
    later = with_reply(rescored(plain, tmp_path / "later", ENDED + 20, **failed), "X GRADE: incorrect")
    make_trial(RunDir(earlier), "v", "passed", started=1_800_000_000.0, **SAME)
    for run, reply in ((earlier, "old"), (later, "new")):  # to a question of no trial
        with_reply(run, reply, answer="of nobody", name="cd/cdef.json")
    runs = [earlier, later] if swap else [later, earlier]
    merged = merge_runs(runs, tmp_path / "out")
    kept = json.loads((tmp_path / "out" / "judge_replies" / "ab" / "abcd.json").read_text())
    assert kept["replies"] == ["X GRADE: incorrect"]
    of_none = json.loads((tmp_path / "out" / "judge_replies" / "cd" / "cdef.json").read_text())
    assert of_none["replies"] == ["old"]  # its run has the latest trial
    assert merged.differing_replies == 2
    assert [name.partition(".")[0] for name in merged.contradicted] == ["t", "u"]


def test_merge_names_what_one_judge_contradicted_and_what_was_judged_in_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = undecided_run(tmp_path / "run", "t")
    judged = {"verdict": {"judgeable": False}, "judge": JUDGE}
    second = rescored(first, tmp_path / "judged", ENDED + 10, outcome="passed", score=1.0, **judged)
    third = rescored(first, tmp_path / "again", ENDED + 20, outcome="failed", score=0.0, **judged)
    other = undecided_run(tmp_path / "other", "u")
    merge = ["runs", "merge", *map(str, (second, third, other)), "-o", str(tmp_path / "out")]
    assert main(merge) == 2
    assert "Judge each whole run with the same settings (pytest --rescore=RUN_DIR" in capsys.readouterr().err
    assert main([*merge, "--allow-mixed"]) == 0
    printed = capsys.readouterr().out
    assert f"contradicted: {RunDir(first).records()[0].key.folder}: one judge gave two verdicts" in printed
    assert f"to judge all trials alike: pytest --rescore={tmp_path / 'out'} --judge=MODEL" in printed
    assert (
        merge_runs(
            [second, rescored(first, tmp_path / "same", ENDED + 30, outcome="passed", score=1.0, **judged)],
            tmp_path / "agreed",
        ).contradicted
        == ()
    )


@pytest.mark.parametrize(("change", "what"), [("verdict", "verdicts"), ("evidence", "evidence")])
def test_merge_refuses_conflicting_copies_of_the_same_time(tmp_path: Path, change: str, what: str) -> None:
    first = undecided_run(tmp_path / "run", "t")
    shutil.copytree(first, tmp_path / "copy")
    [record] = RunDir(tmp_path / "copy").records()
    folder = RunDir(tmp_path / "copy").folder(record.key)
    if change == "verdict":
        folder.finish(replace(record, outcome="passed", score=1.0))
    else:
        (folder.path / "attempt-1" / "evidence.json").write_text("{}")
    with pytest.raises(UsageError, match=f"different ones of the same time:\n.*: {what} in run and copy"):
        merge_runs([first, tmp_path / "copy"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_edited_tasks_are_refused_and_not_taken_for_a_later_judging(tmp_path: Path) -> None:
    first = undecided_run(tmp_path / "run", "t")
    second = rescored(first, tmp_path / "edited", ENDED + 10, task_digest="e")
    with pytest.raises(UsageError, match="digest of the task t: d in run and e in edited"):
        merge_runs([first, second], tmp_path / "out")
