"""What a run's launcher tells its broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_webarena.sites.catalogues.running import Pulls

__all__ = ["BrokerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """What the launcher tells its broker."""

    catalogue: str
    """Name, or absolute path."""
    site_urls: Mapping[str, str]
    """Sites that run elsewhere."""
    directory: Path
    """Private; everything on disk goes below it."""
    log: Path
    max_replicas: int
    spares: int | None
    memory: int | None
    pulls: Pulls
    """Which missing images are pulled."""
    lease_timeout: float
    """Seconds, for requests that name none."""
    python_path: str | None
    """PYTHONPATH as it was before the launcher set it."""
    allow_unreset: bool = False
    """Whether sites that run elsewhere may be left changed."""
    record: str = ""
    """A new archive of all that sites answer; empty: there is none."""
