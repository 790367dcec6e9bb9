"""Copies traces, videos and last pages of trials below ``--output``, where pytest-playwright puts those of tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.results.attempts import TRACE, VIDEOS

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.results import TrialRecord

__all__ = ["link_artifacts"]


def link_artifacts(item: pytest.Item, folder: Path, record: TrialRecord) -> None:
    """Link or copy the files of a trial that ``--tracing``, ``--video`` and ``--screenshot`` request.

    ``folder`` is the trial's. This plugin's ini keys request nothing here, because their files are in the records.
    """
    output = item.config.getoption("--output", default=None)
    modes = {what: item.config.getoption(f"--{what}", default="off") for what in ("tracing", "video", "screenshot")}
    failed = record.outcome != "passed"
    if modes["screenshot"] == "only-on-failure":
        modes["screenshot"] = "on" if failed else "off"
    wanted = [what for what, when in modes.items() if when != "off"]
    if output is None or not wanted:
        return
    place = Path(output) / folder.name
    try:
        for source, name in _files(folder, record.attempt, wanted, "test-failed" if failed else "test-finished"):
            place.mkdir(parents=True, exist_ok=True)
            _put(source, place / name)
    except OSError as error:
        import pytest

        item.warn(pytest.PytestWarning(f"--output: {place} can't be written: {error}; the records have it all"))


def _files(folder: Path, counts: int, wanted: list[str], picture: str) -> Iterator[tuple[Path, str]]:
    """The existing files with their names; names of attempts other than the final one contain the attempt."""
    for attempt in sorted(folder.glob("attempt-*")):
        earlier = "" if attempt.name == f"attempt-{counts}" else f"-{attempt.name}"
        if "tracing" in wanted and (trace := attempt / TRACE).is_file():
            yield trace, f"trace{earlier}.zip"
        videos = sorted((attempt / VIDEOS).glob("*.webm")) if "video" in wanted else []
        for number, video in enumerate(videos, start=1):
            yield video, f"video{earlier}{f'-{number}' if len(videos) > 1 else ''}.webm"
        for shot in (attempt / "screenshots").glob("final.*") if "screenshot" in wanted else ():
            yield shot, f"{picture}-1{earlier}{shot.suffix}"


def _put(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)
