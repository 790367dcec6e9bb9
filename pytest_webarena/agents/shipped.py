"""Directories of the agent definitions shipped with the package."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.shipped import shipped

__all__ = ["agent_directories"]


def agent_directories() -> tuple[Path, ...]:
    """Directories of shipped agent definitions; the user's own come before them."""
    folder = shipped("agents")
    return (folder,) if folder is not None else ()
