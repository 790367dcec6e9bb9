"""What the controlling process tells every worker of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["RunInfo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What the controller tells every worker. Plain values only: it travels through xdist."""

    run_dir: Path
    broker: str
    """Address of the broker's Unix socket."""
    temp_dir: Path
    """The run's temporary directory; the reaper removes it however the run ends."""
    agents_dir: Path | None = None
    """For the working directories of agents, apart from all others; None: below `temp_dir`."""
    controller: str = ""
    """The process that the run ends with (`reaper.identity`); empty: whichever has this."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """For ``run.json``."""
    finished: tuple[tuple[str, str, int, str, str, str], ...] = ()
    """Of a resumed run: task, agent, trial, browser, task digest and agent digest of every trial that has a verdict.
    Read once, by the controller: a worker that starts late must leave out the same items as the others."""

    def to_plain(self) -> dict[str, Any]:
        """For xdist's ``workerinput``."""
        return {
            **asdict(self),
            "run_dir": str(self.run_dir),
            "temp_dir": str(self.temp_dir),
            "agents_dir": str(self.agents_dir) if self.agents_dir is not None else None,
        }

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> RunInfo:
        """What `to_plain` made."""
        finished = tuple(map(tuple, data["finished"]))
        paths = {name: Path(data[name]) for name in ("run_dir", "temp_dir", "agents_dir") if data[name] is not None}
        return cls(**{**data, **paths, "finished": finished})
