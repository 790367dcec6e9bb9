"""How much memory this machine has left."""

from __future__ import annotations

from pathlib import Path

__all__ = ["available_memory"]

_MEMINFO = Path("/proc/meminfo")


def available_memory() -> int | None:
    """Bytes that programs may still take without swapping; None where the system doesn't tell."""
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None
