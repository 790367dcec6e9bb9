"""Digests of replicas' data directories. Fork servers import it, so it imports little."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.sites.backends.digest import TooMuch, digest, entries

__all__ = ["files_digest", "state_digest", "state_listing"]

_CHEAP = 64 * 1024 * 1024
"""Maximum number of bytes that are cheap to read."""


def files_digest(directory: Path) -> str | None:
    """Returns a digest of the contents of all files below ``directory``, the same on every machine; None when that is
    expensive."""
    return _digest(directory, exact=False)


def state_digest(directory: Path) -> str | None:
    """Returns a digest of everything visible below ``directory`` (`digest.entries`); None when reading it is
    expensive."""
    return _digest(directory, exact=True)


def state_listing(directory: Path) -> tuple[str, ...]:
    """Returns the entries behind the digest of `state_digest`."""
    return tuple(entries(str(directory), True))


def _digest(directory: Path, *, exact: bool) -> str | None:
    try:
        return digest(str(directory), exact, _CHEAP)
    except TooMuch:
        return None
