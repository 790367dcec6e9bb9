"""Detects full disks of a container by its own ``df``."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["PROGRAM", "full_disks"]

PROGRAM = ("df", "-P", "-k")
"""Command that works in every image with a shell. ``-P`` prints one line per disk."""
_COLUMNS = 6
_LEAST = 1024
"""Free KiB below which a disk larger than `_SMALL` counts as full, because larger data could not be saved."""
_SMALL = 4 * 1024
_ENGINES = ("/proc", "/sys", "/dev", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
"""Mounts of the engine itself, except for shared memory, whose path apps use."""
_SHARED = "/dev/shm"


def full_disks(df_output: str, *, read_only: Collection[str] = ()) -> str:
    """Returns which disks are full according to the output of ``df``; empty: none. Mounts in ``read_only`` may be full.

    >>> said = '''Filesystem     1024-blocks     Used Available Capacity Mounted on
    ... overlay          263084720 34019748  73340000      32% /
    ... tmpfs                65536        0     65536       0% /dev
    ... tmpfs               204800   204800         0     100% /var/lib/mysql'''
    >>> full_disks(said)
    'the disk at /var/lib/mysql is full (0 of 204,800 kB are free)'
    >>> full_disks(said, read_only=["/var/lib/mysql"])
    ''
    """
    return "; ".join(
        f"the disk at {path} is full ({free:,} of {size:,} kB are free)"
        for path, size, free in _disks(df_output)
        if _is_full(size, free) and path not in read_only and not _is_the_engines(path)
    )


def _disks(df_output: str) -> list[tuple[str, int, int]]:
    """Returns path, size and free space in KiB; other lines are skipped."""
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
