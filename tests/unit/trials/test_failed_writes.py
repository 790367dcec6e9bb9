"""Writes that a site answered with an error of its own: messages of failures name them, and outcomes stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.results import RunDir, TrialRecord
from pytest_webarena.testing import ScriptedAgent
from pytest_webarena.trials.failed_writes import failed_writes, noting_failed_writes, with_failed_writes
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.outcome import Decided
from pytest_webarena.trials.rescoring import Rescorer

from .owner_events import PAGE, FaultySite, run
from .test_fault_attribution import TASK, HalfDownSite


def request(status: int | None = 500, method: str = "POST", url: str = PAGE, refused: str = "") -> RequestRecord:
    return RequestRecord(time=0, method=method, url=url, status=status, refused=refused)


LINE = f"a site answered writes with an error: POST {PAGE} (status 500)"


def answered(tmp_path: Path, answer: str) -> TrialRecord:
    agent = ScriptedAgent(Goto(PAGE), Stop(answer))
    return run(tmp_path, HalfDownSite(), make=lambda assignment: agent, kind="built-in")


def test_failure_names_the_failed_write_and_a_pass_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answered(tmp_path / "before", "41")
    monkeypatch.setattr(HalfDownSite, "requests", lambda site: (request(), request()))
    wrong, right = answered(tmp_path / "wrong", "41"), answered(tmp_path / "right", "42")
    assert (wrong.outcome, wrong.score, wrong.event) == (before.outcome, before.score, before.event)
    assert wrong.message == f"{before.message}\n{LINE}"
    assert (right.outcome, right.message) == ("passed", "")
    rescorer = Rescorer(
        RunDir(tmp_path / "wrong"), options=TrialOptions(), judge=Judge(JudgeSettings()), agents={"a": "a"}
    )
    again = rescorer.run(TASK, "a", 1, browser="chromium", node_id="")
    assert (again.outcome, again.message) == (wrong.outcome, wrong.message)
    assert wrong.environment["failed_writes"] == right.environment["failed_writes"] == [f"POST {PAGE} (status 500)"]


def test_error_of_a_solution_names_the_failed_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HalfDownSite, "requests", lambda site: (request(),))
    site = FaultySite(lambda: TaskError("no such button"), 1)
    record = run(tmp_path, site, kind="built-in")
    assert (record.outcome, record.cause) == ("error", "task")
    assert record.message.splitlines()[0] == "no such button"
    assert record.message.splitlines().count(LINE) == 1


def test_only_writes_with_a_status_of_the_sites_own_errors_count() -> None:
    others = [
        request(499), request(None), request(method="GET"), request(method="CONNECT"), request(503, refused="elsewhere")
    ]  # fmt: skip
    assert failed_writes(others) == {}
    found = failed_writes([request(503, "PUT", f"{PAGE}/{number}") for number in range(4)])
    decided = with_failed_writes(Decided("failed", None, "why"), found)
    assert decided.message.endswith(f"PUT {PAGE}/0 (status 503), PUT {PAGE}/1 (status 503) and 2 more")


def test_lost_lease_hides_no_error() -> None:
    def requests() -> tuple[RequestRecord, ...]:
        raise SiteError("the lease is lost")

    with pytest.raises(TaskError, match="no such button"), noting_failed_writes(requests, {}):
        raise TaskError("no such button")
