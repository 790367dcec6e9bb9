"""``webarena runs gate``: thresholds checked on a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.conditions import RESUMED, add_note
from pytest_webarena.results.gate import BELOW_THRESHOLD, STOPPED_EARLY, TOO_MANY_ERRORS, WORSE
from pytest_webarena.results.merge import merge_runs
from pytest_webarena.results.plan import PlannedTrial, extend_plan, write_plan
from tests.rewritten import rewrite


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three trials passed, one failed, one has an error, one never started."""
    run = RunDir(tmp_path / "run")
    run.describe({"agents": ["mine"], "trials": 1})
    for task, outcome in {"a": "passed", "b": "passed", "c": "passed", "d": "failed", "e": "error"}.items():
        folder = run.folder(TrialKey(task, "mine", 1))
        writer = folder.begin(worker="main", node_id="")
        cause = "site" if outcome == "error" else None
        folder.finish(TrialRecord(key=folder.key, outcome=outcome, cause=cause, attempt=writer.number))  # type: ignore[arg-type]
    planned = [PlannedTrial(key=TrialKey(task, "mine", 1), sites=(), node_id="") for task in "abcdef"]
    extend_plan(run.path, planned)
    return run.path


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--min-pass-rate=0.7", "--max-errors=2"), 0, "the thresholds are met"),
        (("--min-pass-rate=0.8", "--max-errors=2"), BELOW_THRESHOLD, "75.0% passed"),
        (("--min-pass-rate=0.7", "--max-errors=1"), TOO_MANY_ERRORS, "1 of 6 planned trials have no result"),
        (("--min-pass-rate=0.7",), TOO_MANY_ERRORS, "without --max-errors there may be none"),
        (("--min-pass-rate=0.7", "--max-errors=2", "--min-pass-rate-end=low"), BELOW_THRESHOLD, "lower end"),
    ],
)
def test_gate_checks_thresholds_as_pytest_does(
    run: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], code: int, message: str
) -> None:
    assert main(["runs", "gate", str(run), *options]) == code
    assert message in capsys.readouterr().out


def test_unreadable_record_fails_the_gate(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "trials" / TrialKey("a", "mine", 1).folder / "trial.json").write_text("{")
    assert main(["runs", "gate", str(run), "--min-pass-rate=0.1", "--max-errors=3"]) == TOO_MANY_ERRORS
    assert "1 trial has a record or evidence that was changed, removed or can't be read" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fact", "message"), [({"on_record": "runs/main"}, "--replay-run"), ({"audit": True}, "found an audit of tasks")]
)
def test_replays_and_audits_cannot_be_gated(
    run: Path, fact: dict[str, object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(run / "run.json", **fact)
    assert main(["runs", "gate", str(run), "--max-errors=9"]) == 2
    assert message in capsys.readouterr().err


def test_stopped_run_fails_the_gate(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = TrialKey("f", "mine", 1)
    extend_plan(run, [PlannedTrial(key=key, sites=(), node_id="", stopped="five errors in a row")])
    assert main(["runs", "gate", str(run), "--min-pass-rate=0.1", "--max-errors=3"]) == STOPPED_EARLY
    assert "pytest --resume=" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"), [((), "expected a threshold"), (("--min-pass-rate=2",), "expected a share from 0 to 1")]
)
def test_invalid_gate_options_are_usage_errors(
    run: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    try:
        code: object = main(["runs", "gate", str(run), *arguments])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert message in capsys.readouterr().err


def test_folder_without_a_run_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "gate", str(tmp_path), "--min-pass-rate=0.5"]) == 2
    assert "expected a run directory" in capsys.readouterr().err


def part(folder: Path, number: int, count: int, *tasks: str, tests: str = "tasks") -> Path:
    """Return the run of one shard in which these tasks passed."""
    run = RunDir(folder / f"part-{number}-of-{count}")
    run.describe({"agents": ["mine"], "asked": {"options": {"--shard": f"{number}/{count}"}, "tests": [tests]}})
    write_plan(run.path, {})
    for task in tasks:
        trial = run.folder(TrialKey(task, "mine", 1))
        number = trial.begin(worker="main", node_id="").number
        trial.finish(TrialRecord(key=trial.key, outcome="passed", attempt=number))
    extend_plan(run.path, [PlannedTrial(key=TrialKey(task, "mine", 1)) for task in tasks])
    return run.path


def gated(whole: Path) -> int:
    return main(["runs", "gate", str(whole), "--min-pass-rate=0.5"])


def test_all_shards_pass_the_gate_even_if_one_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merge_runs([part(tmp_path, 1, 3, "a"), part(tmp_path, 2, 3), part(tmp_path, 3, 3, "b")], tmp_path / "whole")
    assert gated(tmp_path / "whole") == 0, capsys.readouterr().out
    merge_runs([part(tmp_path / "x", 1, 1)], tmp_path / "nothing")
    assert gated(tmp_path / "nothing") == TOO_MANY_ERRORS
    assert "no trial was run" in capsys.readouterr().out


def test_missing_shards_fail_the_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [part(tmp_path, number, 4, f"t{number}") for number in (1, 2, 3, 4)]
    merge_runs(parts[:2], tmp_path / "half")
    assert gated(tmp_path / "half") == TOO_MANY_ERRORS
    assert (
        "gate: parts 3, 4 of 4 (--shard) are missing: the results of their trials are unknown"
        in capsys.readouterr().out
    )
    assert gated(parts[0]) == TOO_MANY_ERRORS
    merge_runs([tmp_path / "half", parts[2], parts[2]], tmp_path / "more")  # one of them twice
    assert gated(tmp_path / "more") == TOO_MANY_ERRORS
    assert "gate: part 4 of 4 (--shard) is missing" in capsys.readouterr().out
    merge_runs([tmp_path / "more", parts[3]], tmp_path / "whole")
    assert gated(tmp_path / "whole") == 0


def test_shards_of_different_runs_fail_the_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merge_runs([part(tmp_path, 1, 2, "a"), part(tmp_path, 2, 3, "b")], tmp_path / "numbers")
    assert gated(tmp_path / "numbers") == TOO_MANY_ERRORS
    assert "expected parts of one number and of the same --shard-durations, found 1/2, 2/3" in capsys.readouterr().out
    merge_runs([part(tmp_path, 1, 4, "a"), *(part(tmp_path / "x", n, 4, f"t{n}", tests="few") for n in (2, 3, 4))],
               tmp_path / "tests")  # fmt: skip
    assert gated(tmp_path / "tests") == TOO_MANY_ERRORS
    assert "(parts of different tests, agents, trials or browsers)" in capsys.readouterr().out


def test_resumed_merged_run_is_complete(tmp_path: Path) -> None:
    merge_runs([part(tmp_path, 1, 2, "a")], whole := tmp_path / "whole")
    add_note(whole / RESUMED, {"agents": ["mine"], "asked": {"options": {"-k": "a"}, "tests": ["tasks"]}})
    assert gated(whole) == TOO_MANY_ERRORS  # of a part of it
    add_note(whole / RESUMED, {"agents": ["mine"], "asked": {"options": {}, "tests": ["tasks"]}})
    assert gated(whole) == 0


@pytest.mark.parametrize("plan", [None, '{"trials": [{"ke'])
def test_missing_plan_fails_the_gate(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], plan: str | None
) -> None:
    if plan is None:
        (run / "plan.json").unlink()
    else:
        (run / "plan.json").write_text(plan)
    thresholds = ("--min-pass-rate=0.5", "--max-errors=2")
    assert main(["runs", "gate", str(run), *thresholds]) == TOO_MANY_ERRORS
    assert "plan.json is missing, unreadable or changed" in capsys.readouterr().out
    merge_runs([run, part(tmp_path, 1, 1, "z")], tmp_path / "whole", allow_mixed=True)
    assert main(["runs", "gate", str(tmp_path / "whole"), *thresholds]) == TOO_MANY_ERRORS
    assert "1 of 2 merged runs had no readable plan.json" in capsys.readouterr().out


def eight_tasks(path: Path, outcome: Any) -> Path:
    run = RunDir(path)
    run.describe({"agents": ["mine"], "trials": 1})
    keys = [TrialKey(f"t{number}", "mine", 1) for number in range(8)]
    for key in keys:
        folder = run.folder(key)
        writer = folder.begin(worker="main", node_id="")
        folder.finish(TrialRecord(key=key, outcome=outcome, template=key.task, attempt=writer.number))
    extend_plan(run.path, [PlannedTrial(key=key) for key in keys])
    return path


def test_gate_compares_a_finished_run_with_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (eight_tasks(tmp_path / name, name) for name in ("passed", "failed"))
    assert main(["runs", "gate", str(after), f"--baseline={before}"]) == WORSE
    assert "mine in failed is worse than mine in passed: −100.0 points" in capsys.readouterr().out
    assert main(["runs", "gate", str(before), f"--baseline={before}"]) == 0
    assert main(["runs", "gate", str(before), f"--baseline={tmp_path / 'none'}"]) == TOO_MANY_ERRORS
    assert "expected a run directory with a run.json, found none" in capsys.readouterr().out
    assert main(["runs", "gate", str(before), "--max-errors=1", "--fail-unsettled"]) == 2
    assert "--fail-unsettled: expected --baseline, found none" in capsys.readouterr().err
