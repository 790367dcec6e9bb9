"""Detects disks of a container on which nothing can be saved, through its process here or by its own ``df``."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["PROGRAM", "Disk", "disks_of_process", "disks_of_program", "full_disks"]


class Disk(NamedTuple):
    """A disk, with its size and free space in KiB."""

    path: str
    size: int
    free: int
    read_only: bool = False
    """Whether it is mounted read-only; False where that is unknown."""


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
    """Returns which disks are full or have become read-only; empty: none. Mounts in ``read_only`` may be both.

    >>> said = '''Filesystem     1024-blocks     Used Available Capacity Mounted on
    ... overlay          263084720 34019748  73340000      32% /
    ... tmpfs                65536        0     65536       0% /dev
    ... tmpfs               204800   204800         0     100% /var/lib/mysql'''
    >>> full_disks(disks_of_program(said))
    'the disk at /var/lib/mysql is full (0 of 204,800 kB are free)'
    >>> full_disks(disks_of_program(said), read_only=["/var/lib/mysql"])
    ''
    >>> full_disks([Disk("/data", 900, 500, read_only=True)])
    'the disk at /data is read-only'
    """
    return "; ".join(
        f"the disk at {disk.path} {why}"
        for disk in disks
        if (why := _unusable(disk)) and disk.path not in read_only and not _is_the_engines(disk.path)
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
                found.append(Disk(path, size, free, read_only=bool(state.f_flag & os.ST_RDONLY)))
    except OSError:
        return None
    return found


def disks_of_program(df_output: str) -> list[Disk]:
    """Returns the disks in the output of ``df``; other lines are skipped."""
    found = []
    for line in df_output.splitlines():
        columns = line.split(maxsplit=_COLUMNS - 1)
        if len(columns) == _COLUMNS and columns[1].isdigit() and columns[3].lstrip("-").isdigit():
            found.append(Disk(columns[5], int(columns[1]), int(columns[3])))
    return found


def _unusable(disk: Disk) -> str:
    """Why nothing can be saved on it."""
    if disk.read_only:
        return "is read-only"
    full = disk.size > 0 and (disk.free <= 0 or (disk.size > _SMALL and disk.free < _LEAST))
    return f"is full ({disk.free:,} of {disk.size:,} kB are free)" if full else ""


def _is_the_engines(path: str) -> bool:
    return path != _SHARED and any(path == own or path.startswith(f"{own}/") for own in _ENGINES)
