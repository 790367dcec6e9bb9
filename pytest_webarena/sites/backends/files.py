"""Digests of replicas' data directories. Fork servers import it, so it imports little."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.sites.backends.digest import TooMuch, digest, entries

__all__ = ["files_digest", "state_digest", "state_listing"]

_CHEAP = 64 * 1024 * 1024
"""Bytes up to which reading everything is cheap."""


def files_digest(directory: Path) -> str | None:
    """Digest of what all files below ``directory`` hold, the same on every machine; None when that is not cheap."""
    return _digest(directory, exact=False)


def state_digest(directory: Path) -> str | None:
    """Digest of all that can be seen below ``directory`` (`digest.entries`); None when reading it is not cheap."""
    return _digest(directory, exact=True)


def state_listing(directory: Path) -> tuple[str, ...]:
    """What `state_digest` is the digest of."""
    return tuple(entries(str(directory), True))


def _digest(directory: Path, *, exact: bool) -> str | None:
    try:
        return digest(str(directory), exact, _CHEAP)
    except TooMuch:
        return None
