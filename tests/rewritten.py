"""Rewrites a stored record as the trial itself would have written it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_webarena.file_digests import SEAL, seal

__all__ = ["as_older", "rewrite"]


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
