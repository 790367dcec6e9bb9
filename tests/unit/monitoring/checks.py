"""Helpers for tests of monitoring: checks of tasks without a browser."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_webarena.checks import judge
from pytest_webarena.evidence import Evidence, RequestRecord, TabState
from pytest_webarena.monitoring.alternatives import KnownElements
from pytest_webarena.monitoring.findings import TaskFinding, find
from pytest_webarena.monitoring.replaying import TriedAction
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.results.records import NO_VERDICT
from pytest_webarena.signals import TargetRecord
from pytest_webarena.tasks import Task
from pytest_webarena.testing import make_task

SHOP = "http://shopping.test"

BUY = """
intent: Buy it
sites: [shopping]
checks:
  - key_nodes:
      - {url: {includes: /catalogue/kettle_7}, name: kettle}
      - {element: "#buy", name: bought}
solution: [{click: "css=a.kettle"}, {click: css=#buy}]
"""
BUTTON = TargetRecord(selector="main > button", role="button", name="Buy now", tag="button", text="Buy now")


def buy(**more: Any) -> Task:
    return replace(make_task(textwrap.dedent(BUY)), **more)


def known(task: Task) -> KnownElements:
    """Return the known targets of the two steps of `BUY` and its nodes."""
    link = TargetRecord(selector="main > a", role="link", name="Kettle", tag="a", text="Kettle")
    nodes = {"checks[0]#0": 0, "checks[0]#1": 1}
    return KnownElements(task=task.id, digest=task.digest, at=1.0, steps=(link, BUTTON, None), nodes=nodes)


def did(number: int, *, how: str = "", found: bool = True, error: str = "") -> TriedAction:
    """Return the result of a step; a step found by another selector has an error."""
    error_text = error or ("No element matches it." if how or not found else "")
    return TriedAction(
        kind="step", number=number, found=found, how=how, step=number, what="click it", url=SHOP, error=error_text
    )


def checked(
    task: Task,
    recorded: Evidence | None,
    tried: Sequence[TriedAction],
    before: KnownElements | None = None,
    **record: Any,
) -> TaskFinding:
    """Return the finding on a task with this evidence."""
    values: dict[str, Any] = {"outcome": "error", "cause": "site", "message": "it is gone"}
    if recorded is not None:
        verdict = judge(task, recorded)
        outcome = "error" if verdict.passed is None else "passed" if verdict.passed else "failed"
        message = f"{NO_VERDICT}{verdict.open_because}" if outcome == "error" else verdict.render()
        values = {"outcome": outcome, "verdict": verdict.to_json(), "message": message, "cause": None}
    key = TrialKey(task.id, "monitor", 1)
    return find(task, TrialRecord(**{"key": key, **values, **record}), recorded, tried, before)


def statuses(found: TaskFinding) -> list[str]:
    return [part.status for part in found.parts]


def ended_at(recorded: Evidence, url: str, status: int | None = 200, *, html: str = "", title: str = "") -> Evidence:
    """Return the evidence with a last page added."""
    page = RequestRecord(time=1.0, method="GET", url=url, status=status, request_headers=(("Accept", "text/html,*/*"),))
    tab = TabState(url=url, title=title, html=html, active=True)
    return replace(recorded, tabs=(tab,), requests=(*recorded.requests, page))
