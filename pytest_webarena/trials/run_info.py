"""The data that the controlling process passes to every worker of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["RunInfo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """The data that the controller passes to every worker. Plain values only, because xdist transfers it."""

    run_dir: Path
    broker: str
    """Address of the broker's Unix socket."""
    temp_dir: Path
    """The run's temporary directory; the reaper removes it however the run ends."""
    agents_dir: Path | None = None
    """Directory for the working directories of agents, separate from all others; None: below `temp_dir`."""
    controller: str = ""
    """Identity of the process with which the run ends (`reaper.identity`); empty: the process that holds this
    object."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts for ``run.json``."""
    finished: tuple[tuple[str, str, int, str, str, str], ...] = ()
    """For a resumed run: task, agent, trial, browser, task digest and agent digest of every trial that has a verdict.
    The controller reads them once, because a worker that starts late must skip the same items as the others."""

    def to_plain(self) -> dict[str, Any]:
        """Plain data for xdist's ``workerinput``."""
        return {
            **asdict(self),
            "run_dir": str(self.run_dir),
            "temp_dir": str(self.temp_dir),
            "agents_dir": str(self.agents_dir) if self.agents_dir is not None else None,
        }

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> RunInfo:
        """Read the output of `to_plain`."""
        finished = tuple(map(tuple, data["finished"]))
        paths = {name: Path(data[name]) for name in ("run_dir", "temp_dir", "agents_dir") if data[name] is not None}
        return cls(**{**data, **paths, "finished": finished})
