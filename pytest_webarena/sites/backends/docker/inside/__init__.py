"""Programs that are sent into containers: standard library only, any Python from 3.7 on.

Nothing here is imported by the rest of the package; `program` reads the source.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["program"]


@cache
def program(name: str) -> tuple[str, ...]:
    """The beginning of an argument list that runs the program ``name`` with the container's own Python."""
    return ("python3", "-I", "-S", "-c", Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
