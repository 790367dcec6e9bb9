"""Writes a finished trial into its Allure result: one step per action, the checks, the files.

Steps are added after the fact with the times they really took, through allure-pytest's own reporter; that keeps
the trial itself free of any report, and the same code serves a re-scored run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from pytest_webarena.results.rundir import read_evidence

if TYPE_CHECKING:
    from allure_commons.reporter import AllureReporter

    from pytest_webarena.evidence import Evidence, StepRecord
    from pytest_webarena.results import TrialRecord

__all__ = ["report_trial"]


def report_trial(config: pytest.Config, record: TrialRecord, folder: Path) -> None:
    """Describe the trial in the Allure result of the test that is running. Does nothing without ``--alluredir``."""
    listener = config.pluginmanager.get_plugin("allure_listener")
    if listener is None:
        return
    import allure

    allure.dynamic.title(record.intent or record.key.task)
    allure.dynamic.parameter("agent", record.key.agent)
    allure.dynamic.description(_description(record))
    _TrialReport(listener.allure_logger, record, folder / f"attempt-{record.attempt}").write()


class _TrialReport:
    def __init__(self, reporter: AllureReporter, record: TrialRecord, attempt: Path) -> None:
        self._reporter = reporter
        self._record = record
        self._attempt = attempt
        self._now = record.started

    def write(self) -> None:
        try:
            evidence = read_evidence(self._attempt)
        except ValueError:
            evidence = None
        for name in ("lease", "session", "setup"):
            self._phase(name)
        if evidence is not None:
            episode = self._now
            for step in evidence.steps:
                self._action(step, episode)
            self._now = episode + self._record.seconds.get("episode", 0.0)
        self._phase("collect")
        for check in (self._record.verdict or {}).get("results", ()):
            self._check(check)
        if evidence is not None:
            self._evidence(evidence)
        if (traceback := self._attempt / "traceback.txt").exists():
            self._attach_file("traceback", traceback, "text/plain")

    def _phase(self, name: str) -> None:
        if name in self._record.seconds:
            began = self._now
            self._now += self._record.seconds[name]
            self._step(name, began, self._now)

    def _action(self, step: StepRecord, episode: float) -> None:
        from pytest_webarena.results.wording import action_words

        began = episode + step.started
        uuid = self._open(f"{step.index + 1}. {action_words(step)}", began)
        if step.screenshot:
            kind = "image/png" if step.screenshot.endswith("png") else "image/jpeg"
            self._attach_file("what the agent saw", self._attempt / step.screenshot, kind)
        if step.observation:
            self._attach_file("observation", self._attempt / step.observation, "text/plain")
        self._attach("reply", step.raw, "text/plain")
        if step.error:
            self._attach("no effect", step.error, "text/plain")
        self._close(uuid, began + sum(step.seconds.values()), "failed" if step.error else "passed")

    def _check(self, check: Mapping[str, Any]) -> None:
        status = {True: "passed", False: "failed"}.get(check.get("passed"), "broken")
        uuid = self._open(f"check {check.get('path')}: {check.get('kind')}", self._now)
        for name in ("expected", "actual", "why"):
            if check.get(name):
                self._attach(name, str(check[name]), "text/plain")
        for child in check.get("children", ()):
            self._check(child)
        self._close(uuid, self._now, status)

    def _evidence(self, evidence: Evidence) -> None:
        self._attach("answer", evidence.answer if evidence.answer is not None else "(none)", "text/plain")
        for shot in sorted((self._attempt / "shots").glob("final.*")):
            self._attach_file("final page", shot, "image/png" if shot.suffix == ".png" else "image/jpeg")
        network = [f"{request.status or '---'} {request.method} {request.url} {request.refused}".rstrip() for request in evidence.requests]
        self._attach("network log", "\n".join(network) or "(no requests)", "text/plain")
        self._attach("record", json.dumps(self._record.to_json(), indent=1, default=str), "application/json")

    def _step(self, title: str, began: float, ended: float, status: str = "passed") -> None:
        self._close(self._open(title, began), ended, status)

    def _open(self, title: str, began: float) -> str:
        from allure_commons.model2 import TestStepResult

        uuid = str(uuid4())
        self._reporter.start_step(None, uuid, TestStepResult(name=title, start=round(began * 1000), parameters=[]))
        return uuid

    def _close(self, uuid: str, ended: float, status: str) -> None:
        self._reporter.stop_step(uuid, stop=round(ended * 1000), status=status)

    def _attach(self, name: str, text: str, kind: str) -> None:
        self._reporter.attach_data(uuid4(), text, name=name, attachment_type=kind)

    def _attach_file(self, name: str, path: Path, kind: str) -> None:
        if path.exists():
            self._reporter.attach_file(uuid4(), str(path), name=name, attachment_type=kind, extension=path.suffix.lstrip("."))


def _description(record: TrialRecord) -> str:
    lines = [f"**{record.key.task}** · agent `{record.key.agent}` · trial {record.key.trial}"]
    if record.stop_reason:
        lines.append(f"Stopped: {record.stop_reason} ({record.stop_detail}) after {record.steps} steps")
    if record.score is not None:
        lines.append(f"Score: {record.score:g}")
    if record.cause:
        lines.append(f"Error caused by: {record.cause}")
    return "\n\n".join(lines)

