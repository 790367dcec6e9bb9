"""``webarena gate``: thresholds held by a run that is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.gate import BELOW_THRESHOLD, STOPPED_EARLY, TOO_MANY_ERRORS
from pytest_webarena.results.plan import PlannedTrial, extend_plan


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three trials passed, one failed, one erred, one was planned and never begun."""
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
    ("options", "code", "said"),
    [
        (("--min-pass-rate=0.7", "--max-errors=2"), 0, "the thresholds hold"),
        (("--min-pass-rate=0.8", "--max-errors=2"), BELOW_THRESHOLD, "75.0% passed"),
        (("--min-pass-rate=0.7", "--max-errors=1"), TOO_MANY_ERRORS, "1 of 6 planned trials have no result"),
        (("--min-pass-rate=0.7",), TOO_MANY_ERRORS, "without --max-errors there may be none"),
        (("--min-pass-rate=0.7", "--max-errors=2", "--min-pass-rate-end=low"), BELOW_THRESHOLD, "lower end"),
    ],
)
def test_thresholds_are_held_as_pytest_holds_them(
    run: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], code: int, said: str
) -> None:
    assert main(["gate", str(run), *options]) == code
    assert said in capsys.readouterr().out


def test_what_can_not_be_trusted_passes_no_gate(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "trials" / TrialKey("a", "mine", 1).folder / "trial.json").write_text("{")
    assert main(["gate", str(run), "--min-pass-rate=0.1", "--max-errors=3"]) == TOO_MANY_ERRORS
    assert "1 trials have a record that can't be read" in capsys.readouterr().out


def test_a_run_that_was_stopped_is_not_at_its_end(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = TrialKey("f", "mine", 1)
    extend_plan(run, [PlannedTrial(key=key, sites=(), node_id="", stopped="five errors in a row")])
    assert main(["gate", str(run), "--min-pass-rate=0.1", "--max-errors=3"]) == STOPPED_EARLY
    assert "pytest --resume=" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"), [((), "expected a threshold"), (("--min-pass-rate=2",), "expected a share from 0 to 1")]
)
def test_what_is_wrong_is_said(
    run: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    try:
        code: object = main(["gate", str(run), *arguments])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert said in capsys.readouterr().err


def test_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", str(tmp_path), "--min-pass-rate=0.5"]) == 2
    assert "expected a run directory" in capsys.readouterr().err
