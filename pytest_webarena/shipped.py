"""Where the task files and agent definitions that come with the package are: in a wheel or in a source tree."""

from __future__ import annotations

from pathlib import Path

__all__ = ["agent_directories", "task_directories"]


def agent_directories() -> tuple[Path, ...]:
    """Directories of shipped agent definitions; the user's own come before them."""
    return _found("agents")


def task_directories() -> tuple[Path, ...]:
    """Directories of shipped task files."""
    return _found("tasks")


def _found(name: str) -> tuple[Path, ...]:
    package = Path(__file__).parent
    return tuple(path for path in (package / "_shipped" / name, package.parent / name) if path.is_dir())
