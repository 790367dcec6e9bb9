"""What the terminal says: one line at the top, a summary at the end, both fit for 80 columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.results import Rate, Summary, summarise
from pytest_webarena.stash import SETTINGS

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from pytest_webarena.controller import Controller

__all__ = ["header", "summary_lines", "write_summary"]


def header(config: pytest.Config) -> str | None:
    """Which agents on which sites; only when asked for by an option, so that other projects see nothing."""
    settings = config.stash[SETTINGS]
    if settings.audit:
        return f"webarena: audit of tasks · sites {settings.catalogue}"
    if not settings.agents_given:
        return None
    return f"webarena: agent {', '.join(settings.agents)} · trials {settings.trials} · sites {settings.catalogue}"


def write_summary(reporter: TerminalReporter, controller: Controller) -> None:
    """The run's figures, from its records."""
    run = controller.run_dir
    if run is None:
        return
    reporter.section("webarena")
    for line in summary_lines(summarise(run.records()).values()):
        reporter.write_line(line)
    if controller.ruling is not None:
        reporter.write_line(f"gate: {controller.ruling.message}", red=controller.ruling.exit_code != 0)
    reporter.write_line(f"records: {os.path.relpath(run.path)}")


def summary_lines(summaries: Iterable[Summary]) -> Iterator[str]:
    """The figures of each agent, errors beside the rate and never inside it."""
    for summary in summaries:
        yield f"{summary.agent}: {_rate(summary.rate)}" + ("  (sees the solutions)" if summary.privileged else "")
        for title, groups in (("site", summary.by_site), ("category", summary.by_category)):
            if len(groups) > 1:
                yield f"  by {title:<9} " + _wrapped(f"{name} {_short(rate)}" for name, rate in groups.items())
        if summary.stop_reasons:
            yield "  stopped      " + _counts(summary.stop_reasons)
        if summary.error_causes:
            yield "  errors by    " + _counts(summary.error_causes) + " (not counted in the rate)"
        if summary.retried:
            yield f"  retried      {summary.retried} trials after an error of the environment"
        trials = summary.rate.judged + summary.rate.errors
        yield f"  steps        {summary.steps / trials:.1f} per trial, {summary.seconds / trials:.1f} s per trial"


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return f"no trial was judged, {rate.errors} errors"
    low, high = rate.interval
    errors = f", {rate.errors} error{'s' * (rate.errors != 1)} beside" if rate.errors else ""
    return f"{rate.passed}/{rate.judged} passed = {rate.value:.1%} (95 % interval {low:.1%} to {high:.1%}){errors}"


def _short(rate: Rate) -> str:
    return f"{rate.passed}/{rate.judged}" + (f"+{rate.errors}E" if rate.errors else "")


def _counts(counts: Mapping[str, int]) -> str:
    return _wrapped(f"{name} {count}" for name, count in counts.items())


def _wrapped(parts: Iterable[str], *, width: int = 64) -> str:
    """Parts joined by commas, broken into lines of at most ``width`` below each other."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) + 2 > width:
            lines.append("")
        lines[-1] += f", {part}" if lines[-1] else part
    return (",\n" + " " * 15).join(lines)
