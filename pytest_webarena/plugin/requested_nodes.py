"""Which node ids the run's arguments ask for: files, folders and node ids that the user named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.results.comparing.sides import SideTask

__all__ = ["not_asked_for"]


def not_asked_for(config: pytest.Config, tasks: Iterable[SideTask]) -> set[str]:
    """Ids of those of ``tasks`` that the arguments of this run would not have collected where their file is unchanged.

    A task of a file that is gone is not among them, for then nobody knows what was asked for; nor is one whose
    baseline does not know its file.
    """
    asked = [_split(config.invocation_params.dir, each) for each in config.args]
    return {task.task for task in tasks if task.node and not _collects(asked, *_split(config.rootpath, task.node))}


def _split(folder: Path, node: str) -> tuple[Path, str]:
    """The file of a node id, and the names within it."""
    file, _, names = node.partition("::")
    return (folder / file).resolve(), names


def _collects(asked: Iterable[tuple[Path, str]], file: Path, names: str) -> bool:
    """Whether one of ``asked`` leads to ``names`` of ``file``, or might: any might where a file is not there."""
    return not file.is_file() or any(
        not there.exists()
        or (file.is_relative_to(there) and (not inner or f"{names}::".startswith(f"{inner.partition('[')[0]}::")))
        for there, inner in asked
    )
