"""A judge's measurement as text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import get_args

from pytest_webarena.checks.judge_protocol import Decision
from pytest_webarena.llm_judge.agreement import Agreement, Share
from pytest_webarena.llm_judge.measuring import Graded, Measurement
from pytest_webarena.llm_judge.replies import WORDS
from pytest_webarena.results.wording import seconds_words, usage_words
from pytest_webarena.text import printable

__all__ = ["render"]

_WIDTH = 80
_SHOWN = 12
"""Number of disagreements that are printed."""

_Columns = Sequence[tuple[str, Decision | None]]

_COLUMNS: _Columns = (
    *((grade.replace("_", " "), grade) for grade in get_args(Decision)),
    ("unreadable", None),
)
_FORMULA_COLUMNS: _Columns = (*((word, grade) for word, grade in WORDS["formula"].items()), ("unreadable", None))

_ARB = (("math, gpt-3.5-turbo in ARB", 4, 0, 22, 8), ("physics, gpt-3.5-turbo in ARB", 3, 0, 9, 6))
"""Results of the paper's judge, with another prompt on other formulas: TP, FP, TN, FN."""
_ARB_SOURCE = (
    "ARB: Sawada et al., arXiv 2307.13692, Table 8. Copies scramble its column labels; this order fits its "
    "accuracies. Such a judge is reliable when it passes an answer, and unreliable when it fails one."
)


def render(measurement: Measurement, *, bar: float) -> str:
    """Return all figures, followed by the judge's wrong grades. ``bar`` is the required kappa."""
    return "\n".join(_lines(measurement, bar))


def _lines(measurement: Measurement, bar: float) -> Iterator[str]:
    agreement = measurement.agreement
    yield from _wrapped(f"judge {measurement.judge}, fingerprint {measurement.judge.fingerprint}")
    used = ", ".join([seconds_words(measurement.seconds), *usage_words(measurement.usage)])
    yield from _wrapped(f"{len(measurement.graded)} labelled answers ({measurement.answers}), {used}")
    yield ""
    low, high = agreement.kappa_interval
    kappa = agreement.kappa
    text = "not defined: all grades are the same" if kappa is None else f"{kappa:.3f} ({low:.3f} to {high:.3f})"
    reached = kappa is not None and kappa >= bar
    yield f"{'kappa':<12}{text}, bar {bar:g}: {'reached' if reached else 'NOT reached'}"
    yield f"{'accuracy':<12}{_share(agreement.accuracy)}"
    yield f"{'precision':<12}{_share(agreement.precision)} of passed answers are right"
    yield f"{'recall':<12}{_share(agreement.recall)} of right answers are passed"
    yield f"{'unreadable':<12}{agreement.unreadable}"
    yield ""
    formulas = any(each.case.question.kind == "formula" for each in measurement.graded)
    yield from _confusion(agreement, _FORMULA_COLUMNS if formulas else _COLUMNS)
    yield ""
    if formulas:
        yield from _passing(measurement)
        yield ""
    yield f"{'agreement on passing, by question':<52}{'agree':>8}"
    yield from _groups(measurement.by(lambda case: case.question.kind))
    yield f"{'… by difficulty of the answer':<52}{'agree':>8}"
    yield from _groups(measurement.by(lambda case: case.about))
    wrong = [each for each in measurement.graded if each.judge_grade != each.case.grade]
    if wrong:
        yield ""
        limit = f"; the first {_SHOWN}, all with --format=json" if len(wrong) > _SHOWN else ""
        yield f"{len(wrong)} wrong grade{'s' * (len(wrong) != 1)}{limit}:"
        # Errors that change the verdict come first.
        wrong.sort(key=lambda each: (each.judge_grade == "correct") == (each.case.grade == "correct"))
        for each in wrong[:_SHOWN]:
            yield from _wrong(each)


def _confusion(agreement: Agreement, columns: _Columns) -> Iterator[str]:
    counts = agreement.confusion
    widths = [19 if " " in name else 13 for name, _ in columns]
    yield f"{'right grade':<20}" + "".join(f"{name:>{width}}" for (name, _), width in zip(columns, widths, strict=True))
    for name, right in columns[:-1]:
        assert right is not None
        cells = (f"{counts[(right, grade)]:>{width}}" for (_, grade), width in zip(columns, widths, strict=True))
        yield f"{name:<20}" + "".join(cells)


def _passing(measurement: Measurement) -> Iterator[str]:
    """Yield the table of ARB's appendix: for each subject, true and false passes (a grade of 1) and fails."""
    yield f"{'a grade of 1, by subject':<32}{'n':>6}{'TP':>6}{'FP':>6}{'TN':>6}{'FN':>6}{'accuracy':>10}"
    for name, each in measurement.by(lambda case: case.subject or "(none)").items():
        found = each.passing
        yield _row(name, found.tp, found.fp, found.tn, found.fn)
    for row in _ARB:
        yield _row(*row)
    yield from _wrapped(_ARB_SOURCE)


def _row(name: str, tp: int, fp: int, tn: int, fn: int) -> str:
    count = tp + fp + tn + fn
    return f"{name:<32}{count:>6}{tp:>6}{fp:>6}{tn:>6}{fn:>6}{(tp + tn) / count:>10.2f}"


def _groups(groups: dict[str, Agreement]) -> Iterator[str]:
    for name, agreement in groups.items():
        share = agreement.accuracy
        yield f"  {name:<50}{f'{share.some}/{share.of}':>8} {share.value or 0:>6.0%}"


def _wrong(graded: Graded) -> Iterator[str]:
    case = graded.case
    names = {grade: word for word, grade in WORDS["formula"].items()} if case.question.kind == "formula" else {}
    given = names.get(graded.judge_grade, graded.judge_grade.replace("_", " ")) if graded.judge_grade else "unreadable"
    right = names.get(case.grade, case.grade.replace("_", " "))
    text = f"{case.about}: {case.question.answer!r} for {case.question.reference!r}"
    yield from _wrapped(f"- {printable(text)}: {right}, graded {given}", indent="  ")


def _share(share: Share) -> str:
    if share.value is None:
        return "0/0"
    low, high = share.interval
    return f"{share.some}/{share.of} = {share.value:.1%} ({low:.1%} to {high:.1%})"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
