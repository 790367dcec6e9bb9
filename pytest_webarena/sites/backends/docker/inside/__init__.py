"""Programs that run inside containers: standard library only, any Python from 3.7 on.

The rest of the package does not import them; `program` reads their source. The program `digest` is the one that
replicas without a container use, too.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["program"]


_SHARED = ("digest",)


@cache
def program(name: str) -> tuple[str, ...]:
    """Returns the beginning of an argument list that runs the program ``name`` with the container's own Python."""
    folder = Path(__file__).parents[2 if name in _SHARED else 0]
    return ("python3", "-I", "-S", "-c", (folder / f"{name}.py").read_text(encoding="utf-8"))
