"""Where the files that come with the package are, tasks and agent definitions: in a wheel or in a source tree."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

__all__ = ["shipped"]


def shipped(what: Literal["agents", "tasks"]) -> Path | None:
    """The folder; None where an installation has none."""
    package = Path(__file__).parent
    if (installed := package / "_shipped" / what).is_dir():
        return installed
    source = package.parent
    # Beside an installed package there may be somebody else's folder of that name; only a source tree has this file.
    return source / what if (source / "pyproject.toml").is_file() and (source / what).is_dir() else None
