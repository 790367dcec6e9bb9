"""A recorded run to export, and edits of its package by their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pytest_webarena.actions import Stop
from pytest_webarena.file_digests import seal
from pytest_webarena.results import RunDir
from pytest_webarena.results.export import export
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.run_file import MANIFEST
from pytest_webarena.tasks import parse_tasks
from tests.recordings import record_trial

TASKS = "tasks: [{id: buy, sites: [], intent: Say x., checks: [{answer: x}]}]"
DIGEST = parse_tasks(TASKS)[0].digest
Change = Callable[[dict[str, bytes]], None]


def make_run(path: Path, *, answers: dict[str, str], **more: object) -> None:
    """Record a finished trial per task and answer; those other than ``x`` fail."""
    for task, answer in answers.items():
        attempt = record_trial(
            path, task, [("[1] link 'Home'", Stop(answer), None)], answer=answer, started=1.8e9, argv=["a.tasks.yaml"]
        )
        (attempt / "screenshots").mkdir(exist_ok=True)
        folder = RunDir(path).folder(RunDir(path).records()[0].key)
        (record,) = [each for each in RunDir(path).records() if each.key.task == task]
        outcome = "passed" if answer == "x" else "failed"
        folder = RunDir(path).folder(record.key)
        folder.update(replace(record, outcome=outcome, node_id="a.tasks.yaml::" + task, **more))  # type: ignore[arg-type]
    run = RunDir(path)
    extend_plan(path, [PlannedTrial(key=record.key) for record in run.records()])
    export(run)


def remove_trial(entries: dict[str, bytes]) -> None:
    for name in [name for name in entries if name.startswith("trials/sell")]:
        del entries[name]


def pass_all(entries: dict[str, bytes]) -> None:
    for name in [name for name in entries if name.endswith("/trial.json")]:
        entries[name] = entries[name].replace(b'"outcome": "failed"', b'"outcome": "passed"')


def edit_evidence(entries: dict[str, bytes]) -> None:
    name = next(name for name in entries if name.endswith("/evidence.json"))
    entries[name] = entries[name].replace(b"answered", b"answered ")


def edit_csv(entries: dict[str, bytes]) -> None:
    entries["results.csv"] = entries["results.csv"].replace(b"failed", b"passed")


def edit_summary(entries: dict[str, bytes]) -> None:
    entries["summary.json"] = entries["summary.json"].replace(b'"passed": 1', b'"passed": 2')


def edit_sealed_summary(entries: dict[str, bytes]) -> None:
    edit_summary(entries)
    entries["summary.json"] = seal(json.loads(entries["summary.json"])).encode()


def break_tasks(entries: dict[str, bytes]) -> None:
    entries["tasks/a.tasks.yaml"] = b"tasks: 3"


def rename_task(entries: dict[str, bytes]) -> None:
    entries["tasks/a.tasks.yaml"] = entries["tasks/a.tasks.yaml"].replace(b"id: buy", b"id: hire")


def claim_more(entries: dict[str, bytes]) -> None:
    manifest = json.loads(entries[MANIFEST])
    manifest["figures"][0]["passed"] = 2
    entries[MANIFEST] = json.dumps(manifest).encode()


def edit_readme(entries: dict[str, bytes]) -> None:
    entries["README.md"] = entries["README.md"].replace(b"50.0%", b"90.0%")


def edit_tasks(entries: dict[str, bytes]) -> None:
    entries["tasks/a.tasks.yaml"] = entries["tasks/a.tasks.yaml"].replace(b"Say x.", b"Say y.")


def drop(name: str) -> Change:
    return lambda entries: entries.__delitem__(name)


def add(name: str) -> Change:
    return lambda entries: entries.update({name: b"x"})
