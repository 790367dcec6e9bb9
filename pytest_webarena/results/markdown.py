"""Markdown of runs, for summaries of CI jobs and comments on pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pytest_webarena.results.wording import cost_words, errors_failed_words, if_met_words, mixed_words, passed_words
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.results import Summary
    from pytest_webarena.results.gate import Ruling
    from pytest_webarena.results.plan import Coverage

__all__ = ["RATE_HEAD", "gate_line", "plain_markdown", "rate_rows", "safe", "table_row"]

RATE_HEAD = ("| agent | passed | rate | 95 % interval | errors | not run | cost |", "|---|--:|--:|--:|--:|--:|--:|")
"""First lines of the table of `rate_rows`."""

_WIDTH = 200
_JOINER = "&#8288;"
"""An invisible character between letters that hosts would take for a reference."""
_MARKS = re.compile(r"(?i)[\\`*_\[\]<>&#!|~@$]|:(?=\S)|\b(?:www|gh)(?=[.-])")
"""Characters with a meaning in Markdown, and beginnings of references that have none."""


def plain_markdown(text: str) -> str:
    """Return ``text`` on one line and without effect in Markdown, because agents and sites have written some of it.

    Hosts look for mentions and references in the finished page, where entities are characters again, so these are
    broken by an invisible character.

    >>> plain_markdown("<b> @all #1: a")
    '&lt;b&gt; &#64;&#8288;all &#35;&#8288;1: a'
    """
    return _MARKS.sub(lambda found: _marked(found[0]), " ".join(text.split()))


def _marked(found: str) -> str:
    if len(found) > 1:
        return found + _JOINER
    entity = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(found, f"&#{ord(found)};")
    return entity + _JOINER if found in "@#!~" else entity


def safe(text: str, width: int = _WIDTH) -> str:
    """Return the beginning of ``text`` without effect in Markdown."""
    return plain_markdown(clip(text, width))


def rate_rows(summaries: Mapping[str, Summary], coverages: Mapping[str, Coverage]) -> Iterator[str]:
    """Yield a table row for each agent: its rate with interval, errors, trials that were not run, cost."""
    for name in dict.fromkeys([*summaries, *coverages]):
        yield table_row(_rate_cells(name, summaries.get(name), coverages.get(name)))


def gate_line(ruling: Ruling, width: int = _WIDTH) -> str:
    """Return the gate's result in one line."""
    return f"{'❌' if ruling.exit_code else '✅'} gate: {safe(ruling.message, width)}"


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a table, whose cells are Markdown."""
    return f"| {' | '.join(cells)} |"


def _rate_cells(name: str, found: Summary | None, coverage: Coverage | None) -> Iterator[str]:
    missing = str(coverage.missing) if coverage is not None and coverage.missing else ""
    yield f"**{safe(name)}**"
    if found is None or found.rate.value is None:
        errors = found.rate.errors if found is not None else 0
        yield from ("0/0", "", "", str(errors or ""), missing, "")
        return
    rate = found.rate
    yield passed_words(rate)
    yield (
        f"{rate.value:.1%}{if_met_words(rate)}"
        + (" (sees the solutions)" if found.privileged else "")
        + (f" ({safe(mixed_words(found.mixed))})" if found.mixed else "")
    )
    judged = rate.corrected
    known = "" if judged is None else "; with the judge's errors {:.1%} to {:.1%}".format(*judged.interval)
    failed = f"; {errors_failed_words(rate)}" if rate.excluded else ""
    yield "{:.1%} to {:.1%}".format(*rate.interval) + known + failed
    yield str(rate.errors or "")
    yield missing
    yield "" if found.usage is None or found.usage.cost is None else cost_words(found.usage)
