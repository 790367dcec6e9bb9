"""Removes files of a trial that the run's options do not keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_webarena.results.attempts import TRACE, VIDEOS

if TYPE_CHECKING:
    from pytest_webarena.results import RunDir, TrialRecord
    from pytest_webarena.trials.runtime import RuntimeConfig

__all__ = ["prune"]


def prune(run: RunDir, record: TrialRecord, config: RuntimeConfig) -> None:
    """Delete what ``--record`` does not keep, before reports copy the rest."""
    folder = run.folder(record.key)
    if record.outcome == "passed":
        options = config.options
        films = {TRACE: options.tracing, VIDEOS: options.video}
        folder.drop_films(*(name for name, what in films.items() if what == "retain-on-failure"))
    keep = config.record
    if keep == "all" or (keep == "failures" and record.outcome != "passed"):
        return
    if not callable(keep) or not keep(record):
        folder.drop_pictures()
