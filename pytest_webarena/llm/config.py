"""Settings that all model calls of a run share: budget, request rate, account, cache, prices."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ModelSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The run's settings for model calls, the same in every worker."""

    calls: Path | None = None
    """File of the run's model calls; None: calls are neither counted nor limited."""
    max_cost: float | None = None
    """US dollars that the run may spend."""
    requests_per_minute: int | None = None
    """Requests that all workers together may start in any 60 seconds."""
    cache: Path | None = None
    """Directory of the response cache; None: no cache."""
    prices: Path | None = None
    """The user's price table, which overrides the shipped one."""
