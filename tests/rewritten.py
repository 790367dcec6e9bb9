"""Rewrites parts of a run as the run itself would have written them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_webarena.file_digests import SEAL, seal
from pytest_webarena.results.plan import read_plan, write_plan

__all__ = ["as_older", "forget_trial", "rewrite"]


def forget_trial(folder: Path) -> None:
    """Delete a trial from its run, as if it had been planned and had not started."""
    shutil.rmtree(folder)
    run = folder.parents[1]
    plan = read_plan(run)
    write_plan(
        run, {key: replace(each, recorded=each.recorded and key.folder != folder.name) for key, each in plan.items()}
    )


def rewrite(file: Path, **changes: Any) -> None:
    """Change keys of a record and write it with its digest."""
    file.write_text(seal({**json.loads(file.read_text()), **changes}))


def as_older(folder: Path, *, version: int = 11, whole_run: bool = True) -> None:
    """Rewrite a trial, and its run unless ``whole_run`` is false, as versions wrote them that had no digests."""
    conditions = folder.parents[1] / "run.json"
    if whole_run and conditions.exists():
        facts = {name: value for name, value in json.loads(conditions.read_text()).items() if name not in (SEAL, "id")}
        conditions.write_text(json.dumps({**facts, "schema_version": 1}))
    file = folder / "trial.json"
    data = json.loads(file.read_text())
    for name in (SEAL, "run", "manifests", "accepted", "signed_in"):
        data.pop(name, None)
    file.write_text(json.dumps({**data, "schema_version": version}))
    for manifest in folder.glob("attempt-*/manifest.json"):
        manifest.unlink()
