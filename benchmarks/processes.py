"""Finds the processes that a benchmark started, however far down: they inherit a variable of its environment."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

__all__ = ["carrying"]


def carrying(variable: str, value: str) -> list[int]:
    """Processes whose environment has this, and all that they have started; Linux only.

    Chromium writes the names of its renderers over their environment: it tells nothing of them.
    """
    needle = f"{variable}={value}".encode()
    found, children = [], defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                children[_parent(entry)].append(int(entry.name))
                if needle in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    seen = set(found)
    for pid in found:  # which grows meanwhile
        more = [child for child in children[pid] if child not in seen]
        seen.update(more)
        found.extend(more)
    return found


def _parent(entry: Path) -> int:
    """The parent of a process; its name may have brackets and blanks in it."""
    return int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
