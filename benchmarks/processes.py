"""Finds all processes that a benchmark started, directly or not, by a variable in their environment."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

__all__ = ["carrying"]


def carrying(variable: str, value: str) -> list[int]:
    """Returns the processes whose environment has this value, and all their descendants; Linux only.

    Descendants are looked up because Chromium overwrites the environment of its renderers with their names.
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
    for pid in found:  # the list grows while it is read
        more = [child for child in children[pid] if child not in seen]
        seen.update(more)
        found.extend(more)
    return found


def _parent(entry: Path) -> int:
    """Returns the parent of a process, whose name may contain brackets and blanks."""
    return int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
