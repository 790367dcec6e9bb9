"""Reports once, instead of for each task, which tasks of suites were skipped because their sites are missing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_webarena.plugin.collection import MISSING_SITES
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

__all__ = ["write_skips"]


def write_skips(reporter: TerminalReporter) -> None:
    """Write one line per reason, the most frequent first."""
    counts: Counter[str] = Counter()
    for report in reporter.stats.get("skipped", ()):
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        if reason.startswith(MISSING_SITES):
            counts[reason] += 1
    for reason, count in counts.most_common():
        reporter.write_line(printable(f"webarena: {count} skipped: {reason}"), yellow=True)
