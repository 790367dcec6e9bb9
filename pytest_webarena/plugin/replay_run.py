"""``pytest --replay-run``: the finished run whose trials are replayed, and the items that belong to its trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.results import RunDir
from pytest_webarena.results.conditions import check_rates

if TYPE_CHECKING:
    import pytest

__all__ = ["ReplayRunSettings", "read_on_record", "unrecorded"]

_ALONE = ("--rescore", "--resume", "--audit", "--stop-when-settled", "--baseline", "--min-pass-rate", "--shard")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRunSettings:
    """Values of ``--replay-run`` and ``--replay-of``."""

    run: Path
    of: str = ""
    """Agent whose trials are followed; empty: the agent of the same name, else the only one that tried the task."""


def read_on_record(config: pytest.Config, agents: Sequence[str]) -> ReplayRunSettings | None:
    """Return the values of the options; None without ``--replay-run``.

    Raises `UsageError` for options that exclude it, and for runs without trials of agents.
    """
    name, of = config.getoption("--replay-run"), config.getoption("--replay-of")
    if not name:
        if of:
            raise UsageError("--replay-of: expected --replay-run, found none")
        return None
    for other in _ALONE:
        if config.getoption(other):
            raise UsageError(f"--replay-run: expected no {other}; staying on a record is no success, and no rate of it")
    if not agents:
        raise UsageError("--replay-run: expected an agent to run on the record, found none; name it with --agent")
    run = Path(name).absolute()
    facts = RunDir(run).facts()
    check_rates(run, facts)
    stored = RunDir(run).read()
    if stored.unreadable:
        lines = "".join(f"\n  {each}" for each in stored.unreadable)
        raise UsageError(f"--replay-run: expected records as their trials wrote them, found others:{lines}")
    tried = sorted({record.key.agent for record in stored.records}) if of else []
    if of and of not in tried:
        raise UsageError(f"--replay-of: expected an agent of {run} ({', '.join(tried) or 'none'}), found {of!r}")
    return ReplayRunSettings(run=run, of=of)


def unrecorded(items: Iterable[pytest.Item], settings: ReplayRunSettings) -> list[pytest.Item]:
    """Return the items of tasks of which the run has no trial."""
    known = {record.key.task for record in RunDir(settings.run).records() if settings.of in ("", record.key.agent)}
    return [item for item in items if not isinstance(item, TaskItem) or item.task.id not in known]
