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
    if (installed := package / "_shipped" / name).is_dir():
        return (installed,)
    source = package.parent
    # Beside an installed package there may be somebody else's folder of that name; only a source tree has this file.
    return (source / name,) if (source / "pyproject.toml").is_file() and (source / name).is_dir() else ()
