"""A measurement of a judge's points as text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pytest_webarena.llm_judge.agreement import Share
from pytest_webarena.llm_judge.point_agreement import Mark, Marks
from pytest_webarena.llm_judge.rubric_measuring import RubricMeasurement
from pytest_webarena.results.wording import seconds_words, usage_words
from pytest_webarena.text import printable

__all__ = ["render_rubrics"]

_WIDTH = 80
_SHOWN = 12
_ARB = (
    "ARB reports correlations of 0.78 to 0.91 between people and GPT-4, with points for partial work still given too "
    "freely and too sparingly (Sawada et al., arXiv 2307.13692; transcribed from a summary of the paper)."
)


def render_rubrics(measurement: RubricMeasurement, *, bar: float, people: bool = False) -> str:
    """Return all figures, followed by the judge's largest errors.

    ``people``: whether the points are from a comparison with people, not from the labelled set.
    """
    return "\n".join(_lines(measurement, bar, people))


def _lines(found: RubricMeasurement, bar: float, people: bool) -> Iterator[str]:
    marks = found.marks
    yield from _wrapped(f"judge {found.judge}, fingerprint {found.judge.fingerprint}")
    used = ", ".join([seconds_words(found.seconds), *usage_words(found.usage)]) if found.usage.calls else ""
    what = f"{marks.answers} answers, {len(marks.marks)} items ({found.answers})"
    yield from _wrapped(", ".join(filter(None, [what, used])))
    yield ""
    low, high = marks.kappa_interval
    kappa = marks.kappa
    kappa_text = "not defined: all points are the same" if kappa is None else f"{kappa:.3f} ({low:.3f} to {high:.3f})"
    reached = kappa is not None and kappa >= bar
    yield f"{'kappa':<12}{kappa_text}, bar {bar:g}: {'reached' if reached else 'NOT reached'}"
    yield f"{'':<12}of items, weighted by squared distance"
    yield f"{'Pearson':<12}{_figure(marks.pearson)} of totals, n = {marks.answers}"
    yield f"{'Spearman':<12}{_figure(marks.spearman)} of totals, n = {marks.answers}"
    yield f"{'same points':<12}{_share(marks.exact, len(marks.marks))} of items"
    yield f"{'too many':<12}{_share(len(marks.over), len(marks.marks))} of items, {_points(marks.over)}"
    yield f"{'too few':<12}{_share(len(marks.under), len(marks.marks))} of items, {_points(marks.under)}"
    partial = marks.partial
    if partial.marks:
        yield (
            f"{'partial':<12}same {partial.exact}, too many {len(partial.over)}, too few {len(partial.under)} "
            f"of {len(partial.marks)} items in part right"
        )
    if marks.bias is not None and marks.distance is not None:
        yield f"{'totals':<12}{marks.bias:+.1%} on average, {marks.distance:.1%} apart"
    if not people:
        yield f"{'unreadable':<12}{len(found.unreadable)} answers"
        yield f"{'no quote':<12}{found.unfounded} items whose points did not count"
    yield from _wrapped(_ARB)
    yield ""
    by = "by task" if people else "by what makes the answer hard"
    yield f"{by:<44}{'items':>7}{'same':>7}{'more':>7}{'fewer':>7}"
    yield from _groups(found.by_about())
    yield "… by item"
    yield from _groups(marks.by_item())
    wrong = sorted((*marks.over, *marks.under), key=lambda mark: -abs(mark.judge - mark.human) / mark.of)
    if wrong:
        yield ""
        yield f"furthest off{f', {_SHOWN} of {len(wrong)}' if len(wrong) > _SHOWN else ''}:"
        for mark in wrong[:_SHOWN]:
            about = f"{found.subjects[mark.answer]}: " if not people else ""
            text = f"- {about}answer {mark.answer}, {mark.item}: {mark.judge:g} of {mark.of:g}, people {mark.human:g}"
            yield from textwrap.wrap(printable(text), _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _groups(groups: dict[str, Marks]) -> Iterator[str]:
    for name, marks in groups.items():
        *above, last = textwrap.wrap(printable(name), 40, break_on_hyphens=False) or [""]
        yield from (f"  {line}" for line in above)
        yield f"  {last:<42}{len(marks.marks):>7}{marks.exact:>7}{len(marks.over):>7}{len(marks.under):>7}"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _points(marks: Sequence[Mark]) -> str:
    if not marks:
        return "0 points"
    return f"{sum(abs(mark.judge - mark.human) for mark in marks) / len(marks):.2g} points each"


def _share(some: int, of: int) -> str:
    share = Share(some=some, of=of)
    return f"{some}/{of} = {share.value:.1%}" if share.value is not None else "0/0"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_on_hyphens=False)
