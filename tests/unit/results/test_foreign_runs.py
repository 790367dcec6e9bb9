"""Runs from third parties: links, paths outside the run, and their options and addresses."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_webarena.actions import Click, Element, Stop
from pytest_webarena.errors import UsageError
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.plugin.rescoring import read_stored_run
from pytest_webarena.plugin.resuming import restore_options
from pytest_webarena.record_files import is_record
from pytest_webarena.results import RunDir
from pytest_webarena.results.attempts import INTENT_IMAGES, TRACE, VIDEOS, read_evidence, read_steps
from pytest_webarena.results.merge import merge_runs
from tests.recordings import record_trial
from tests.rewritten import rewrite

SEEN = "[1] link 'Home'"
JUDGE = {
    "model": "m", "temperature": 0.0, "prompt_file": "/etc/passwd",
    "at": {"base_url": "http://elsewhere.test/v1", "key_env": "AWS_SECRET_ACCESS_KEY"},
}  # fmt: skip


@pytest.fixture
def attempt(tmp_path: Path) -> Path:
    """Return the attempt's folder of the only trial of a run."""
    return record_trial(
        tmp_path / "run", "buy", [(SEEN, Click(Element("1")), None), (SEEN, Stop("x"), None)], answer="x"
    )


@pytest.mark.parametrize(
    "place",
    ["", "trial.json", "attempt-1", "attempt-1/screenshots", "attempt-1/trace.zip", "attempt-1/observations/000.txt"],
)
def test_trial_with_a_link_among_its_records_is_unreadable(tmp_path: Path, attempt: Path, place: str) -> None:
    link = attempt.parent / place if place else attempt.parent
    if link.exists():
        link.rename(tmp_path / "aside")
    link.symlink_to(tmp_path / "aside")
    stored = RunDir(tmp_path / "run").read()
    assert not stored.records
    assert "found a link" in str(stored.unreadable[0])


def test_links_in_files_of_the_agent_are_allowed(tmp_path: Path, attempt: Path) -> None:
    (attempt / "profile").mkdir()
    (attempt / "profile" / "SingletonLock").symlink_to("host-1")
    assert len(RunDir(tmp_path / "run").records()) == 1


def test_steps_drop_file_names_outside_their_attempt(attempt: Path) -> None:
    lines = [json.loads(line) for line in (attempt / "steps.jsonl").read_text().splitlines()]
    lines[0] |= {"observation": "../../../secret", "screenshot": "/etc/passwd", "model_calls": "a\0b"}
    (attempt / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second = read_steps(attempt)
    assert (first.observation, first.screenshot, first.model_calls) == ("", "", "")
    assert second.observation == "observations/001.txt"


def test_evidence_with_file_names_outside_its_attempt_is_refused(attempt: Path) -> None:
    data = json.loads((attempt / "evidence.json").read_text())
    for outside in ({"files": {"../../../secret": "x"}}, {"pages": [{"html": "/etc/passwd"}]}):
        (attempt / "evidence.json").write_text(json.dumps(data | outside))
        with pytest.raises(ValueError, match="which is none of this attempt's"):
            read_evidence(attempt)


def test_is_record_knows_every_recorded_file(attempt: Path) -> None:
    names = [file.relative_to(attempt.parent).as_posix() for file in attempt.parent.rglob("*") if file.is_file()]
    names += [
        f"attempt-1/{name}"
        for name in (TRACE, f"{VIDEOS}/page@0a.webm", f"{INTENT_IMAGES}/0.jpg", "screenshots/final.png")
    ]
    assert [name for name in names if not is_record(name)] == []


def config(**options: str) -> Any:
    return cast("Any", SimpleNamespace(getoption=lambda name, default=None: options.get(name.strip("-")), option=None))


def test_imported_run_sets_neither_options_nor_judge_address(tmp_path: Path, attempt: Path) -> None:
    facts = tmp_path / "run" / "run.json"
    rewrite(facts, judge=JUDGE)
    own = read_stored_run(config(rescore=str(tmp_path / "run")))
    assert own is not None
    assert own.judge is not None
    rewrite(facts, imported=True)
    merge_runs([tmp_path / "run"], tmp_path / "merged")
    for run in ("run", "merged"):
        stored = read_stored_run(config(rescore=str(tmp_path / run)))
        assert stored is not None
        assert stored.judged_by(JudgeSettings(), none=False) == JudgeSettings()
        with pytest.raises(UsageError, match="found one with imported trials"):
            restore_options(config(resume=str(tmp_path / run)))
