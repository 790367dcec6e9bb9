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


def as_older(folder: Path, *, version: int = 11) -> None:
    """Rewrite a trial as versions wrote it that had no digests."""
    file = folder / "trial.json"
    data = json.loads(file.read_text())
    for name in (SEAL, "manifests", "accepted", "signed_in"):
        data.pop(name, None)
    file.write_text(json.dumps({**data, "schema_version": version}))
    for manifest in folder.glob("attempt-*/manifest.json"):
        manifest.unlink()
