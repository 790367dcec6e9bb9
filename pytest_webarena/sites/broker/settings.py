"""Settings that a run's launcher passes to its broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_webarena.sites.catalogues.running import Pulls

__all__ = ["BrokerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Settings that the launcher passes to its broker."""

    catalogue: str
    """Name or absolute path of the catalogue."""
    site_urls: Mapping[str, str]
    """Addresses of sites that run elsewhere, by name."""
    directory: Path
    """Private directory, below which everything is written."""
    log: Path
    max_replicas: int
    spares: int | None
    memory: int | None
    pulls: Pulls
    """Which missing images are pulled."""
    lease_timeout: float
    """Time limit in seconds for requests without one."""
    python_path: str | None
    """PYTHONPATH before the launcher set it."""
    allow_unreset: bool = False
    """Whether sites that run elsewhere may be left changed."""
    protect_unreset: bool = False
    """Whether a site that runs elsewhere and has no reset is withdrawn once a trial may have changed it."""
    record: str = ""
    """File for a new archive of all sites' responses; empty: none."""
    reset_proofs: str = ""
    """File that keeps the proofs of resets for later brokers of the run; empty: none."""
