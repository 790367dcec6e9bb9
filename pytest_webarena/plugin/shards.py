"""Parts of a run (``--shard``): which tasks belong to one, by their ids or by the durations of a recorded run."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pytest_webarena.errors import UsageError
from pytest_webarena.results import RunDir

__all__ = ["Shard", "read_shard"]


@dataclass(frozen=True)
class Shard:
    """One part of a run that is split over machines."""

    index: int
    """Number of the part, from 1."""
    count: int
    durations: Mapping[str, float] = field(default_factory=dict)
    """Seconds that each task took in a recorded run, by id. They are all that parts depend on, so that jobs which
    collect different tasks agree where each task belongs."""

    def holds(self, task_id: str) -> bool:
        """Return whether the task belongs to this shard. All trials, agents and browsers of a task stay together."""
        return self._parts.get(task_id, _number(task_id) % self.count) == self.index - 1

    @property
    def digest(self) -> str:
        """Digest of the durations; empty without them. Parts with different digests are not parts of one run."""
        if not self.durations:
            return ""
        return hashlib.sha256(json.dumps(sorted(self.durations.items())).encode()).hexdigest()[:16]

    @cached_property
    def _parts(self) -> dict[str, int]:
        """The part of each task with a duration, from 0: the longest tasks first, each to the part with least time."""
        sums, parts = [0.0] * self.count, {}
        for task_id, seconds in sorted(self.durations.items(), key=lambda entry: (-entry[1], entry[0])):
            parts[task_id] = shortest = sums.index(min(sums))
            sums[shortest] += seconds
        return parts


def read_shard(text: str, durations: str | None) -> Shard | None:
    """Read the values of ``--shard`` and ``--shard-durations``.

    >>> read_shard("2/5", None)
    Shard(index=2, count=5, durations={})
    """
    if not text:
        if durations:
            raise UsageError("--shard-durations: expected --shard=I/N, whose parts it balances, found none")
        return None
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard: expected I/N with 1 <= I <= N, e.g. 2/5, found {text!r}")
    return Shard(int(match[1]), int(match[2]), _read_durations(Path(durations)) if durations else {})


def _read_durations(path: Path) -> dict[str, float]:
    """Return the seconds that each task of a recorded run took, all its trials together."""
    seconds: dict[str, float] = defaultdict(float)
    for record in RunDir(path).records() if path.is_dir() else ():
        seconds[record.key.task] += record.seconds.get("total", 0.0)
    if not any(seconds.values()):
        raise UsageError(f"--shard-durations: expected a run directory with finished trials, found none in {path}")
    return {task_id: round(total, 3) for task_id, total in seconds.items()}


def _number(task_id: str) -> int:
    return int.from_bytes(hashlib.sha256(task_id.encode()).digest()[:8], "big")
