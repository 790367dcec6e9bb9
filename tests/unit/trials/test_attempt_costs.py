"""Model usage of attempts is recorded, however they ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.actions import Action, Noop, Stop
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.errors import BrowserError
from pytest_webarena.evidence import Usage

from .test_trial import FakeResources, FakeSession, run

CALL = Usage(calls=1, input_tokens=1000, cost=0.02)


def test_failed_attempt_keeps_usage_of_its_interrupted_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Agent:
        def act(self, observation: object) -> Reply:
            return Reply(next(turns), usage=CALL)

    def execute(session: FakeSession, action: object) -> None:
        raise BrowserError("it crashed")

    monkeypatch.setattr(FakeSession, "execute", execute, raising=False)
    turns: Iterator[Action] = iter([Noop(), Stop("42")])  # of the first attempt, then of the second
    faults = (BrowserError("it did not start"),)
    record = run(tmp_path, FakeResources(*faults), Agent, retries=2)
    assert [each.outcome for each in record.attempts] == ["error", "error", "passed"]
    assert [each.usage for each in record.attempts] == [Usage(), CALL, CALL]
    assert record.total_usage == CALL + CALL
