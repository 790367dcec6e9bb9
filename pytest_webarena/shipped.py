"""Locations of the task files and agent definitions that come with the package, in a wheel or in a source tree."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

__all__ = ["shipped"]


def shipped(what: Literal["agents", "tasks"]) -> Path | None:
    """Returns the folder; None if the installation has none."""
    package = Path(__file__).parent
    if (installed := package / "_shipped" / what).is_dir():
        return installed
    source = package.parent
    # Another project's folder of that name may be next to an installed package; only a source tree has pyproject.toml.
    return source / what if (source / "pyproject.toml").is_file() and (source / what).is_dir() else None
