"""Compares the verdicts of a run's gradings, and finds the trials on which they disagree."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_webarena.csv_text import csv_text
from pytest_webarena.results.records import Outcome, TrialKey, TrialRecord, is_undecided
from pytest_webarena.results.statistics import Rate, cluster_of, grouped, rate_of
from pytest_webarena.results.table_forms import Table
from pytest_webarena.results.wording import mixed_words

__all__ = [
    "WORDS",
    "Comparison",
    "Disagreement",
    "compare",
    "rate_csv",
    "rate_table",
    "render",
    "verdicts_of",
    "words_of",
]

WORDS = {True: "passed", False: "failed", None: "not computed"}
"""Verdicts as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A trial that some gradings pass and others fail."""

    key: TrialKey
    passed: Mapping[str, bool | None]
    """Verdicts by grading, with the one that counts first."""
    reasons: Mapping[str, str]
    """The reason of each grading that did not pass the trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The verdicts of all gradings on one agent's trials in one browser."""

    name: str
    """The agent, with its browser where the run has several."""
    agent: str
    browser: str
    headline: str
    """The grading that counts; empty when it differs between trials."""
    rates: Mapping[str, Rate]
    """Rates by grading. Verdicts that could not be computed are errors."""
    disagreements: tuple[Disagreement, ...]
    undecided: tuple[tuple[TrialKey, str], ...] = ()
    """Trials that the named grading can't decide, and a person or a judge model could."""

    @property
    def compared(self) -> bool:
        """Whether there are several gradings to compare."""
        return len(self.rates) > 1


def verdicts_of(record: TrialRecord) -> dict[str, bool | None]:
    """Return whether a trial passed, by grading; None where it is undecided or could not be computed.

    Empty for tasks without gradings.
    """
    return {
        name: None if is_undecided(verdict) else verdict.get("passed")
        for name, verdict in record.verdicts.items()
        if verdict.get("grading")
    }


def words_of(record: TrialRecord) -> dict[str, str]:
    """Return the verdicts of `verdicts_of` as words: passed, failed, undecided, or not computed."""
    return {
        name: "undecided" if is_undecided(record.verdicts[name]) else WORDS[passed]
        for name, passed in verdicts_of(record).items()
    }


def compare(records: Iterable[TrialRecord]) -> dict[str, Comparison]:
    """Return one comparison per agent and browser, in order of appearance; tasks without gradings are ignored."""
    records = list(records)
    groups = grouped(filter(verdicts_of, records), named_with=[record.key for record in records])
    return {name: _comparison(name, group) for name, group in groups.items()}


def _comparison(name: str, records: Sequence[TrialRecord]) -> Comparison:
    counts: dict[str, list[tuple[object, Outcome]]] = {}
    undecided: dict[str, list[bool]] = {}
    for record in records:
        for grading, word in words_of(record).items():
            outcome: Outcome = "passed" if word == "passed" else "error" if word == WORDS[None] else "failed"
            counts.setdefault(grading, []).append((cluster_of(record), outcome))
            undecided.setdefault(grading, []).append(word == "undecided")
    headlines = {record.grading for record in records}
    return Comparison(
        name=name,
        **records[0].key.entrant._asdict(),
        headline=headlines.pop() if len(headlines) == 1 else "",
        rates={grading: rate_of(each, undecided[grading]) for grading, each in counts.items()},
        disagreements=tuple(found for record in records if (found := _disagreement(record)) is not None),
        undecided=tuple(
            (record.key, grading)
            for record in records
            for grading, word in words_of(record).items()
            if word == "undecided"
        ),
    )


def _disagreement(record: TrialRecord) -> Disagreement | None:
    passed = verdicts_of(record)
    if not {True, False} <= set(passed.values()):
        return None
    reasons = {name: _reason(record.verdicts[name]) for name, passes in passed.items() if passes is not True}
    return Disagreement(key=record.key, passed=passed, reasons=reasons)


def _reason(verdict: Mapping[str, Any]) -> str:
    """Return the first check that fails, and its reason; empty if none fails."""
    failed = (leaf for result in verdict.get("results", ()) for leaf in _failed_leaves(result))
    first = next(failed, None)
    if first is None:
        return ""
    return f"{first.get('kind', '')}: {first.get('why') or first.get('expected') or 'failed'}"


def _failed_leaves(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the failed checks of a result without failed parts of their own."""
    score = result.get("score")
    if score is not None and score >= 1:
        return
    parts = [each for child in result.get("children", ()) for each in _failed_leaves(child)]
    yield from parts or [result]


def rate_table(found: Mapping[str, Comparison], differing: Mapping[str, Sequence[str]]) -> Table:
    """Return each agent's rate by each grading. ``differing`` says of agents why their rate is none (`mixed_words`)."""
    return Table(
        title="Success rates by grading",
        columns=("agent", "grading", "SR", "95% interval", "passed", "judged", "undecided", "not computed", "disputed"),
        rows=tuple(
            (
                each.name,
                f"{name}{' (counts)' if name == each.headline and each.compared else ''}",
                "–" if rate.value is None else f"{rate.value:.1%}",
                "–" if rate.value is None else "–".join(f"{100 * bound:.1f}" for bound in rate.interval),
                *map(str, (rate.passed, rate.judged, rate.undecided, rate.errors, len(each.disagreements))),
            )
            for each in found.values()
            for name, rate in each.rates.items()
        ),
        notes=(
            "undecided: counted as not met; disputed: trials that some gradings pass and others fail.",
            *(f"{name} is {mixed_words(reasons)}." for name, reasons in differing.items() if name in found),
        ),
    )


def rate_csv(found: Mapping[str, Comparison]) -> str:
    """Return the same in numbers, rates from 0 to 1."""
    counts = ("passed", "judged", "undecided", "not_computed", "disputed")
    rows: list[Sequence[object]] = [("agent", "browser", "grading", "counts", "rate", "low", "high", *counts)]
    for each in found.values():
        for name, rate in each.rates.items():
            known = "" if rate.value is None else f"{rate.value:.6f}"
            bounds = (f"{bound:.6f}" if known else "" for bound in rate.interval)
            cells = (rate.passed, rate.judged, rate.undecided, rate.errors, len(each.disagreements))
            rows.append((each.agent, each.browser, name, int(name == each.headline), known, *bounds, *cells))
    return csv_text(rows)


def render(comparison: Comparison, width: int = 80) -> Iterator[str]:
    """Yield the comparison as text: a line per grading, then every disagreement with its reasons."""
    names = max(len(name) for name in comparison.rates)
    yield f"{comparison.name}:"
    for name, rate in comparison.rates.items():
        value = "     –" if rate.value is None else f"{rate.value:6.1%}"
        more = f", {rate.undecided} undecided" if rate.undecided else ""
        more += f", {rate.errors} not computed" if rate.errors else ""
        counts = "  (counts)" if name == comparison.headline and comparison.compared else ""
        yield f"  {name:<{names}}  {value}  {rate.passed}/{rate.judged} passed{more}{counts}"
    if comparison.undecided:
        count = len(comparison.undecided)
        beyond = f"{count} verdict{'s are' if count != 1 else ' is'} undecided"
        yield from _wrapped(f"{beyond}; a judge can decide (--rescore RUN --judge MODEL):", width, "  ", "  ")
        for key, grading in comparison.undecided:
            yield from _wrapped(f"{key.task}, trial {key.trial} ({grading})", width, "    ", "      ")
    if not comparison.compared:
        yield "  one grading only: nothing to compare"
        return
    found = comparison.disagreements
    yield f"  {len(found)} trial{'s' * (len(found) != 1)} judged differently" + (":" if found else "")
    for each in found:
        yield ""
        yield from _wrapped(f"{each.key.task}, trial {each.key.trial}", width, "  ", "    ")
        for name, passed in each.passed.items():
            reason = each.reasons.get(name, "")
            word = "undecided" if (each.key, name) in comparison.undecided else WORDS[passed]
            line = f"{name:<{names}}  {word}" + (f": {reason}" if reason else "")
            yield from _wrapped(line, width, "    ", " " * (names + 6))


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
