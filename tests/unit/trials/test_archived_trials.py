"""Trials on archives that lack something: the outcome is an error of the site, and the record names what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.errors import TaskError
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.results import TrialRecord
from pytest_webarena.testing import ScriptedAgent

from .owner_events import PAGE, FaultySite, run
from .test_fault_attribution import HalfDownSite

MISS = RequestRecord(time=0, method="GET", url=PAGE, status=404, lacks="page")
MISSING = {"not_archived": {f"GET {PAGE}": "page"}}


def answered(tmp_path: Path, answer: str) -> TrialRecord:
    agent = ScriptedAgent(Goto(PAGE), Stop(answer))
    return run(tmp_path, HalfDownSite(), make=lambda assignment: agent, kind="built-in")


def no_button() -> TaskError:
    return TaskError("no such button")


@pytest.fixture
def missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every visit of a site request a page that its archive lacks."""
    monkeypatch.setattr(HalfDownSite, "requests", lambda site: (MISS,))


@pytest.mark.usefixtures("missed")
def test_wrong_answer_after_a_miss_is_a_site_error_and_a_right_one_passes(tmp_path: Path) -> None:
    wrong, right = answered(tmp_path / "wrong", "41"), answered(tmp_path / "right", "42")
    assert (wrong.outcome, wrong.cause, wrong.event) == ("error", "site", "archive")
    assert right.outcome == "passed"
    for record in (wrong, right):
        assert record.environment.items() >= MISSING.items()


@pytest.mark.usefixtures("missed")
def test_solution_that_fails_after_a_miss_is_a_site_error(tmp_path: Path) -> None:
    at_start, later = FaultySite(no_button, 1, everywhere=1), FaultySite(no_button, 1)
    for name, site in {"before_agent": at_start, "archive": later}.items():
        record = run(tmp_path / name, site, kind="built-in")
        assert (record.outcome, record.cause, record.event) == ("error", "site", name)
        assert record.environment.items() >= MISSING.items()
        assert f"not archived: GET {PAGE}" in record.message
        assert "no such button" in record.message


def test_wrong_answer_without_a_miss_fails(tmp_path: Path) -> None:
    assert answered(tmp_path, "41").outcome == "failed"
