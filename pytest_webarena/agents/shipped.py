"""Where the agent definitions that come with the package are: in a wheel or in a source tree."""

from __future__ import annotations

from pathlib import Path

__all__ = ["agent_directories"]


def agent_directories() -> tuple[Path, ...]:
    """Directories of shipped agent definitions; the user's own come before them."""
    package = Path(__file__).parents[1]
    if (installed := package / "_shipped" / "agents").is_dir():
        return (installed,)
    source = package.parent
    # Beside an installed package there may be somebody else's folder of that name; only a source tree has this file.
    return (source / "agents",) if (source / "pyproject.toml").is_file() and (source / "agents").is_dir() else ()
