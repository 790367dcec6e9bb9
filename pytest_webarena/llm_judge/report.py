"""A judge's measurement as text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import get_args

from pytest_webarena.checks.asking import Decision
from pytest_webarena.llm_judge.agreement import Agreement, Share
from pytest_webarena.llm_judge.measuring import Graded, Measurement
from pytest_webarena.results.wording import printable, seconds_words, usage_words

__all__ = ["render"]

_WIDTH = 80
_SHOWN = 12
"""Disagreements that are told."""

_COLUMNS: Sequence[tuple[str, Decision | None]] = (
    *((grade.replace("_", " "), grade) for grade in get_args(Decision)),
    ("unreadable", None),
)


def render(measurement: Measurement, *, bar: float) -> str:
    """All figures, then what the judge got wrong."""
    return "\n".join(_lines(measurement, bar))


def _lines(measurement: Measurement, bar: float) -> Iterator[str]:
    agreement = measurement.agreement
    yield from _wrapped(f"judge {measurement.judge}, fingerprint {measurement.judge.fingerprint}")
    used = ", ".join([seconds_words(measurement.seconds), *usage_words(measurement.usage)])
    yield from _wrapped(f"{len(measurement.graded)} labelled answers ({measurement.answers}), {used}")
    yield ""
    low, high = agreement.kappa_interval
    kappa = agreement.kappa
    told = "not defined: all grades are the same" if kappa is None else f"{kappa:.3f} ({low:.3f} to {high:.3f})"
    reached = kappa is not None and kappa >= bar
    yield f"{'kappa':<12}{told}, bar {bar:g}: {'reached' if reached else 'NOT reached'}"
    yield f"{'accuracy':<12}{_share(agreement.accuracy)}"
    yield f"{'precision':<12}{_share(agreement.precision)} of what it passes should pass"
    yield f"{'recall':<12}{_share(agreement.recall)} of what should pass it passes"
    yield f"{'unreadable':<12}{agreement.unreadable}"
    yield ""
    yield from _confusion(agreement)
    yield ""
    yield f"{'passed and failed rightly, by question':<52}{'agree':>8}"
    yield from _groups(measurement.by(lambda case: case.question.kind))
    yield f"{'… by what makes the answer hard':<52}{'agree':>8}"
    yield from _groups(measurement.by(lambda case: case.about))
    wrong = [each for each in measurement.graded if each.told != each.case.grade]
    if wrong:
        yield ""
        some = f"; {_SHOWN} of them, all with --format=json" if len(wrong) > _SHOWN else ""
        yield f"{'a grade is' if len(wrong) == 1 else f'{len(wrong)} grades are'} wrong{some}:"
        # What turns a fail into a pass, or the other way round, first.
        wrong.sort(key=lambda each: (each.told == "correct") == (each.case.grade == "correct"))
        for each in wrong[:_SHOWN]:
            yield from _wrong(each)


def _confusion(agreement: Agreement) -> Iterator[str]:
    counts = agreement.confusion
    yield f"{'right grade':<20}" + "".join(f"{name:>19}" if " " in name else f"{name:>13}" for name, _ in _COLUMNS)
    for name, right in _COLUMNS[:-1]:
        assert right is not None
        cells = (
            f"{counts[(right, told)]:>19}" if " " in column else f"{counts[(right, told)]:>13}"
            for column, told in _COLUMNS
        )
        yield f"{name:<20}" + "".join(cells)


def _groups(groups: dict[str, Agreement]) -> Iterator[str]:
    for name, agreement in groups.items():
        share = agreement.accuracy
        yield f"  {name:<50}{f'{share.some}/{share.of}':>8} {share.value or 0:>6.0%}"


def _wrong(graded: Graded) -> Iterator[str]:
    case = graded.case
    told = graded.told.replace("_", " ") if graded.told else "unreadable"
    text = f"{case.about}: {case.question.answer!r} for {case.question.reference!r}"
    yield from _wrapped(f"- {printable(text)}: {case.grade.replace('_', ' ')}, it said {told}", indent="  ")


def _share(share: Share) -> str:
    if share.value is None:
        return "0/0"
    low, high = share.interval
    return f"{share.some}/{share.of} = {share.value:.1%} ({low:.1%} to {high:.1%})"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
