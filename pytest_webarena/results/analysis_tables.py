"""The analyses of WebArena's paper as tables: consistency within templates, lengths, causes of failure, people.

After Zhou et al., arXiv 2307.13854: section 5.1 and table 3 (templates), its appendix on errors (classes of failures)
and section 3.2 (five people, one task of each template, 110 s a task).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_webarena.results.failure_classes import CLASSES
from pytest_webarena.results.failure_labels import Failures
from pytest_webarena.results.metrics import BUCKETS, Metrics
from pytest_webarena.results.published import published_people, published_templates
from pytest_webarena.results.statistics import Rate, TemplateKey
from pytest_webarena.results.table_forms import Table
from pytest_webarena.results.wording import passed_words

__all__ = ["Analysed", "each_template", "failures", "lengths", "people", "percent", "templates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """One agent's figures."""

    name: str
    metrics: Metrics
    failures: Failures | None = None
    """The agent's failures by class; None when nothing failed."""
    participants: Mapping[str, Metrics]
    """The figures of each participant of a study with people, by name."""


def percent(value: float | None) -> str:
    """Return a share as tables show it, in per cent."""
    return "–" if value is None else f"{100 * value:.1f}%"


def templates(rows: Sequence[Analysed], key: TemplateKey, suite: str) -> Table:
    """Return the success rates of templates, the numbers solved once and always, and published values."""
    by = "text" if key == "text" else "number"
    cells = [
        (
            row.name,
            str(row.metrics.templates.count),
            percent(row.metrics.templates.mean),
            *(str(row.metrics.templates.buckets[name]) for name in BUCKETS),
            str(row.metrics.templates.solved_once),
        )
        for row in rows
    ]
    notes = [
        "The mean counts every template the same, whatever the number of its instances. once: templates with a "
        "success; those in the column 100 passed always.",
    ]
    for row in rows:
        several = [rate for rate in row.metrics.by_template.values() if rate.judged > 1]
        solved_once = [rate for rate in several if rate.passed]
        if solved_once:
            always = sum(rate.passed == rate.judged for rate in solved_once)
            stability = (
                f"of {len(solved_once)} templates with a success and several judged trials, {always} passed always"
            )
            notes.append(f"{row.name}: {stability}.")
    for each in published_templates(suite):
        cells.append((each.name, "–", "–", *("–" for _ in BUCKETS[:-1]), str(each.always), _known(each.solved)))
        notes.append(f"{each.name}: {each.cited}; {each.note}.")
    title = f"Templates (by {by}) by their success rate in per cent"
    columns = ("agent", "templates", "mean", *BUCKETS, "once")
    return Table(title=title, columns=columns, rows=tuple(cells), notes=tuple(dict.fromkeys(notes)))


def _known(value: int | None) -> str:
    return "–" if value is None else str(value)


def each_template(rows: Sequence[Analysed]) -> Iterator[Table]:
    """Yield the number of instances of each template that each agent solved, the most inconsistent templates first."""
    names = list(dict.fromkeys(name for row in rows for name in row.metrics.by_template))
    if not names:
        return

    def unlike(name: str) -> float:
        rates = [rate.value for row in rows if (rate := row.metrics.by_template.get(name)) and rate.value is not None]
        return min((abs(value - 0.5) for value in rates), default=1.0)

    yield Table(
        title="Templates one by one: passed of judged trials",
        columns=("template", *(row.name for row in rows)),
        rows=tuple(
            (name, *(_of(row.metrics.by_template.get(name)) for row in rows)) for name in sorted(names, key=unlike)
        ),
    )


def _of(rate: Rate | None) -> str:
    return "–" if rate is None else passed_words(rate) + (f"+{rate.errors}E" if rate.errors else "")


_LENGTHS = (("passed", "passed"), ("failed", "failed"), ("cut", "cut off by a limit"))


def lengths(rows: Sequence[Analysed]) -> Iterator[Table]:
    """Yield the numbers of steps that trials took."""
    cells = [
        (
            f"{row.name}, {what}",
            str(len(steps)),
            f"{statistics.fmean(steps):.1f}",
            f"{statistics.median(steps):g}",
            f"{_quantile(steps, 0.9):g}",
            f"{steps[0]} to {steps[-1]}",
        )
        for row in rows
        for name, what in _LENGTHS
        if (steps := row.metrics.lengths[name])
    ]
    if cells:
        yield Table(
            title="Steps of trials",
            columns=("trials of", "trials", "mean", "median", "90%", "range"),
            rows=tuple(cells),
            notes=("90%: nine of ten took no more. Those that a limit cut off are among the others, too.",),
        )


def _quantile(values: Sequence[int], share: float) -> int:
    """The smallest value that ``share`` of all ``values`` (ascending) do not exceed."""
    return values[max(0, -int(-share * len(values) // 1) - 1)]


def failures(rows: Sequence[Analysed]) -> Iterator[Table]:
    """Yield the causes of failure, as labelled by people and as proposed by rules."""
    found = [(row.name, row.failures) for row in rows if row.failures is not None and row.failures.failed]
    if not found:
        return
    cells = [
        (
            name,
            agent,
            str(each.by_people.get(name, 0)) if each.labelled else "–",
            str(each.by_rule.get(name, 0)) if CLASSES[name].rule else "–",
            f"{each.both.get(name, 0)} of {each.proposed.get(name, 0)}"
            if each.labelled and CLASSES[name].rule
            else "–",
        )
        for name in CLASSES
        for agent, each in found
        if each.by_people.get(name) or each.by_rule.get(name)
    ]
    notes = []
    for agent, each in found:
        text = f"{agent}: {each.failed} failed {'trial' if each.failed == 1 else 'trials'}, {each.labelled} labelled"
        text += (
            f" by {', '.join(each.people)}"
            if each.people
            else " by people (webarena view, webarena judge annotate add)"
        )
        if each.several:
            text += f"; {each.several} of them by several, {each.alike} alike"
        notes.append(f"{text}.")
    notes.append(
        "A trial can be of several classes. people: labelled trials that people put in it; rule: failed trials "
        "that a rule of this package, not the paper's, proposes for it; upheld: proposals for labelled trials "
        "that people confirm."
    )
    shown = dict.fromkeys(name for name, *_ in cells)
    notes += [f"{name}: {CLASSES[name].about}." for name in shown]
    yield Table(
        title="Why trials failed",
        columns=("class", "agent", "people", "rule", "upheld"),
        rows=tuple(cells),
        notes=tuple(notes),
    )


def people(rows: Sequence[Analysed], suite: str) -> Iterator[Table]:
    """Yield people's success rates, for each person and for all, as in the paper's study."""
    studies = [row for row in rows if row.participants]
    if not studies:
        return
    cells: list[tuple[str, ...]] = []
    for row in studies:
        several = len(row.participants) > 1
        cells += [_person(name, metrics) for name, metrics in row.participants.items()]
        cells += [_person(f"{row.name}: {len(row.participants)} people", row.metrics)] if several else []
    notes = [
        "time: mean seconds from the first page to the answer; info and others: success rates on tasks that ask for "
        "information, and on all others, unachievable ones included."
    ]
    for each in published_people(suite):
        rates = (each.information, each.others, each.rate)
        cells.append((each.name, str(each.tasks), f"{each.seconds:g}", *(f"{rate:g}%" for rate in rates)))
        notes.append(f"{each.name}: {each.cited}; {each.note}.")
    columns = ("who", "tasks", "time", "info", "others", "SR")
    yield Table(title="People", columns=columns, rows=tuple(cells), notes=tuple(notes))


def _person(name: str, metrics: Metrics) -> tuple[str, ...]:
    rest = (metrics.rate.passed - metrics.information.passed, metrics.rate.judged - metrics.information.judged)
    time = "–" if metrics.episode is None else f"{metrics.episode:.0f}"
    rates = (metrics.information.value, rest[0] / rest[1] if rest[1] else None, metrics.rate.value)
    return (name, str(metrics.rate.judged), time, *map(percent, rates))
