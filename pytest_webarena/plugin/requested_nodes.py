"""Node ids that the run's arguments request: files, folders and node ids."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.results.comparing.sides import SideTask

__all__ = ["unrequested_tasks"]


def unrequested_tasks(config: pytest.Config, tasks: Iterable[SideTask]) -> set[str]:
    """Return the ids of those ``tasks`` that this run's arguments would not collect if their file were unchanged.

    A task of a deleted file is not included, because it is unknown whether it was requested; neither is one whose file
    the baseline does not contain.
    """
    requested = [_split(config.invocation_params.dir, each) for each in config.args]
    return {task.task for task in tasks if task.node and not _collects(requested, *_split(config.rootpath, task.node))}


def _split(folder: Path, node: str) -> tuple[Path, str]:
    """Return the file of a node id, and the names within it."""
    file, _, names = node.partition("::")
    return (folder / file).resolve(), names


def _collects(requested: Iterable[tuple[Path, str]], file: Path, names: str) -> bool:
    """Return whether one of ``requested`` collects ``names`` of ``file``, or may do so because it does not exist."""
    return not file.is_file() or any(
        not requested_path.exists()
        or (
            file.is_relative_to(requested_path)
            and (not inner or f"{names}::".startswith(f"{inner.partition('[')[0]}::"))
        )
        for requested_path, inner in requested
    )
