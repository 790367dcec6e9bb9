"""How long a trial waited at its end for queued work of the sites; a part of `Evidence`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["QuietWait"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietWait:
    """The wait until an app with the key ``quiet`` had no queued work left."""

    app: str
    seconds: float
    """Time waited, in seconds; 0 if the app was quiet when it was first asked."""
    busy: str = ""
    """Why the app still had work when the wait ended; empty if it was quiet."""

    def __str__(self) -> str:
        return f"{self.app} still had work after {self.seconds:.3g} s: {self.busy}"
