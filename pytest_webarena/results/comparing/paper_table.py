"""Comparisons as a table for papers, and as CSV for programs: one line per comparison, site, category and tag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_webarena.csv_text import csv_text
from pytest_webarena.results.comparing.comparison import Comparison
from pytest_webarena.results.comparing.difference import Difference
from pytest_webarena.results.comparing.wording import group_words, headline, interval_words, p_words, points, titled
from pytest_webarena.results.table_forms import Table

__all__ = ["comparison_csv", "comparison_table"]

_COLUMNS = (
    "first", "first_run", "first_browser", "second", "second_run", "second_browser", "group", "tasks", "trials",
    "rate_first", "rate_second", "difference", "low", "high", "confidence", "p_adjusted", "verdict",
)  # fmt: skip


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """Return the differences of success rates in points, with each comparison's result in words as a note."""
    rows = tuple(
        (name, *_cells(difference), p_words(adjusted), verdict)
        for each in comparisons
        for name, difference, adjusted, verdict in (
            (" → ".join(titled(each)), each.difference, each.adjusted, str(each.verdict)),
            *((f"{group.kind} {group.name}", group.difference, group.adjusted, group_words(group))
              for group in each.groups),
        )
    )  # fmt: skip
    levels = {f"{100 * each.difference.confidence:.4g}%" for each in comparisons}
    return Table(
        title="Differences of success rates",
        columns=("first → second", "tasks", "SR first", "SR second", "points", f"{' / '.join(sorted(levels))} interval",
                 "p", "verdict"),
        rows=rows,
        notes=("p-values are adjusted by Holm's method; tasks are a sample.", *map(headline, comparisons)),
    )  # fmt: skip


def _cells(found: Difference) -> tuple[str, ...]:
    if found.value is None:
        return (str(found.tasks), "–", "–", "–", "–")
    rates = (f"{100 * rate:.1f}%" for rate in found.rates)
    return (str(found.tasks), *rates, points(found.value), interval_words(found.sample))


def comparison_csv(comparisons: Sequence[Comparison]) -> str:
    """Return the same in numbers, rates from 0 to 1."""
    return csv_text([_COLUMNS, *(row for each in comparisons for row in _lines(each))])


def _lines(each: Comparison) -> Iterator[tuple[object, ...]]:
    sides = [cell for side in (each.first, each.second) for cell in (side.agent, side.run, side.browser)]
    yield (*sides, "all", *_numbers(each.difference), f"{each.adjusted:.6g}", each.verdict)
    for group in each.groups:
        name = f"{group.kind}:{group.name}"
        yield (*sides, name, *_numbers(group.difference), f"{group.adjusted:.6g}", group.verdict)


def _numbers(found: Difference) -> tuple[object, ...]:
    known = found.value is not None
    numbers = (*found.rates, found.value or 0.0, *found.sample)
    return (found.tasks, found.trials, *(f"{each:.6f}" if known else "" for each in numbers), found.confidence)
