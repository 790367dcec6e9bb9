"""Trials recorded in November 2026, whose stored evidence is judged again with the checks of today.

The corpus shows what a change of the checks does to verdicts. `trials.tar.xz` holds the run folders as they were
recorded; `verdicts.json` holds the verdict that each trial has by now. A change that alters a verdict on purpose
accepts it with ``python -m tests.recorded_corpus accept``, so that the difference is part of its diff.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.checks import REPAIRED, judge_all
from pytest_webarena.errors import TrialError
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.shipped import shipped
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks
from pytest_webarena.tasks import Task, load_tasks
from pytest_webarena.trials.outcome import decide

__all__ = ["ARCHIVE", "VERDICTS", "differences", "judged", "pack", "stored_verdicts", "unpack"]

ARCHIVE = Path(__file__).with_name("trials.tar.xz")
VERDICTS = Path(__file__).with_name("verdicts.json")

Verdicts = Mapping[str, Mapping[str, Any]]
"""By trial, ``task agent trial``: its outcome, cause, score, and the score and reason of each check."""


def pack(runs: list[Path]) -> None:
    """Write `ARCHIVE` from the finished trials of ``runs``: their records and evidence, without screenshots."""
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for number, run in enumerate(sorted(runs)):
            for file in sorted(file for file in run.rglob("*") if file.is_file()):
                place = file.relative_to(run)
                if place.parts[0] == "trials" and not {"observations", "screenshots", "shots"} & {*place.parts}:
                    member = tarfile.TarInfo(f"run-{number}/{place.as_posix()}")
                    member.size = file.stat().st_size
                    with file.open("rb") as data:
                        archive.addfile(member, data)


def unpack(folder: Path) -> list[Path]:
    """The run folders of the corpus, extracted into ``folder``."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return sorted(folder.glob("run-*"))


def judged(runs: list[Path]) -> Verdicts:
    """The verdict that each trial of ``runs`` gets from the shipped tasks and the checks of today, without a judge."""
    tasks = _shipped_tasks()
    return {
        f"{record.key.task} {record.key.agent} {record.key.trial}": _judge(tasks[record.key.task], record, attempt)
        for run in runs
        for record, attempt in _attempts(run)
        if record.key.task in tasks
    }


def stored_verdicts() -> Verdicts:
    """The accepted verdicts."""
    found: Verdicts = json.loads(VERDICTS.read_text(encoding="utf-8"))
    return found


def differences(before: Verdicts, now: Verdicts) -> list[str]:
    """One line for each trial whose verdict differs: what it was, what it is, and the reason of the check."""
    return [
        f"{trial}: {_line(before.get(trial))} -> {_line(now.get(trial))}"
        for trial in sorted({*before, *now})
        if before.get(trial) != now.get(trial)
    ]


def _line(verdict: Mapping[str, Any] | None) -> str:
    if verdict is None:
        return "not in the corpus"
    checks = "; ".join(f"{path} {score} {why}".strip() for path, (score, why) in verdict["checks"].items())
    cause = f" ({verdict['cause']})" if verdict["cause"] else ""
    return f"{verdict['outcome']}{cause} [{checks}]"


def _judge(task: Task, record: TrialRecord, attempt: Path) -> Mapping[str, Any]:
    evidence = read_evidence(attempt)
    try:
        verdict = next(iter(judge_all(task, evidence, headline=REPAIRED).values()))
    except TrialError as error:
        return {"outcome": "error", "cause": error.cause, "score": None, "checks": {}}
    decided = decide(verdict, stop_reason=evidence.stop_reason, stop_detail=record.stop_detail)
    checks = {result.path: [result.score, result.why] for each in verdict.results for _, result in each.walk()}
    return {"outcome": decided.outcome, "cause": decided.cause, "score": verdict.score, "checks": checks}


def _attempts(run: Path) -> Iterator[tuple[TrialRecord, Path]]:
    """The judged trials of a run, each with the folder of the attempt that counts."""
    stored = RunDir(run)
    for record in stored.records():
        attempt = stored.folder(record.key).path / f"attempt-{record.attempt}"
        if record.verdict and (attempt / "evidence.json").is_file():
            yield record, attempt


def _shipped_tasks() -> Mapping[str, Task]:
    folder = shipped("tasks")
    assert folder is not None, "the corpus is judged with the tasks of this source tree"
    known = sites_for_tasks(load_catalogue("embedded"))
    return {task.id: task for file in sorted(folder.rglob("*.yaml")) for task in load_tasks(file, sites=known)}
