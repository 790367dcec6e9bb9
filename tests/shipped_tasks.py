"""The tasks of shipped files, each read once per process: several modules look at them when they are imported."""

from __future__ import annotations

import functools
from pathlib import Path

from pytest_webarena.tasks import Task, load_tasks

__all__ = ["shipped_tasks"]


@functools.cache
def shipped_tasks(path: Path) -> tuple[Task, ...]:
    """The tasks of a file, as `load_tasks` reads it."""
    return tuple(load_tasks(path))
