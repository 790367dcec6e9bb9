"""Programs that are sent into containers: standard library only, any Python from 3.7 on.

Nothing here is imported by the rest of the package; `program` reads the source. The digest of files is the one that
replicas without a container have.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["program"]


_SHARED = ("digest",)


@cache
def program(name: str) -> tuple[str, ...]:
    """The beginning of an argument list that runs the program ``name`` with the container's own Python."""
    folder = Path(__file__).parents[2 if name in _SHARED else 0]
    return ("python3", "-I", "-S", "-c", (folder / f"{name}.py").read_text(encoding="utf-8"))
