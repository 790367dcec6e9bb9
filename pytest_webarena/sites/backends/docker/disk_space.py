"""Detects full disks of a container, through its process on this machine or by its own ``df``."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path

__all__ = ["PROGRAM", "Disk", "disks_of_process", "disks_of_program", "full_disks"]

Disk = tuple[str, int, int]
"""Path, size and free space in KiB."""

PROGRAM = ("df", "-P", "-k")
"""Command that works in every image with a shell. ``-P`` prints one line per disk."""
_COLUMNS = 6
_LEAST = 1024
"""Free KiB below which a disk larger than `_SMALL` counts as full, because larger data could not be saved."""
_SMALL = 4 * 1024
_ENGINES = ("/proc", "/sys", "/dev", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/sbin/docker-init")
"""Mounts of the engine itself, except for shared memory, whose path apps use."""
_OCTAL = re.compile(r"\\([0-7]{3})")
"""How the kernel writes spaces and similar characters of paths."""
_SHARED = "/dev/shm"


def full_disks(disks: Iterable[Disk], *, read_only: Collection[str] = ()) -> str:
    """Returns which disks are full; empty: none. Mounts in ``read_only`` may be full.

    >>> said = '''Filesystem     1024-blocks     Used Available Capacity Mounted on
    ... overlay          263084720 34019748  73340000      32% /
    ... tmpfs                65536        0     65536       0% /dev
    ... tmpfs               204800   204800         0     100% /var/lib/mysql'''
    >>> full_disks(disks_of_program(said))
    'the disk at /var/lib/mysql is full (0 of 204,800 kB are free)'
    >>> full_disks(disks_of_program(said), read_only=["/var/lib/mysql"])
    ''
    """
    return "; ".join(
        f"the disk at {path} is full ({free:,} of {size:,} kB are free)"
        for path, size, free in disks
        if _is_full(size, free) and path not in read_only and not _is_the_engines(path)
    )


def disks_of_process(pid: int, container: str) -> list[Disk] | None:
    """Returns the disks of a container whose first process is ``pid``.

    None if this process may not see them, or the container runs on another machine. A program inside costs 0.1 s.
    """
    process = Path("/proc", str(pid))
    try:
        if pid <= 0 or container not in (process / "cgroup").read_text(encoding="utf-8"):
            return None  # the number belongs to another process
        mounts = [line.split()[4] for line in (process / "mountinfo").read_text(encoding="utf-8").splitlines()]
        found = []
        for path in (_OCTAL.sub(lambda code: chr(int(code[1], 8)), each) for each in mounts):
            if not _is_the_engines(path):
                state = os.statvfs(f"{process}/root{path}")
                size, free = (blocks * state.f_frsize // 1024 for blocks in (state.f_blocks, state.f_bavail))
                found.append((path, size, free))
    except OSError:
        return None
    return found


def disks_of_program(df_output: str) -> list[Disk]:
    """Returns the disks in the output of ``df``; other lines are skipped."""
    found = []
    for line in df_output.splitlines():
        columns = line.split(maxsplit=_COLUMNS - 1)
        if len(columns) == _COLUMNS and columns[1].isdigit() and columns[3].lstrip("-").isdigit():
            found.append((columns[5], int(columns[1]), int(columns[3])))
    return found


def _is_full(size: int, free: int) -> bool:
    return size > 0 and (free <= 0 or (size > _SMALL and free < _LEAST))


def _is_the_engines(path: str) -> bool:
    return path != _SHARED and any(path == own or path.startswith(f"{own}/") for own in _ENGINES)
