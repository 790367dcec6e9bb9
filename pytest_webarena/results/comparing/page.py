"""HTML page of comparisons: transition matrix, a dot per task, both trials side by side. It loads no other files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from string import Template
from urllib.parse import quote

from pytest_webarena.results.comparing.comparison import Comparison, Fate, TaskFate
from pytest_webarena.results.comparing.difference import Difference
from pytest_webarena.results.comparing.effort import MEASURES, frontier
from pytest_webarena.results.comparing.first_difference import Walk, parting_of, walk_of
from pytest_webarena.results.comparing.sides import Side, Try
from pytest_webarena.results.comparing.wording import (
    amount,
    errors_failed_rows,
    group_words,
    growth_words,
    headline,
    interval_words,
    judge_words,
    open_words,
    p_words,
    points,
    saved_words,
    titled,
    undecided_words,
    unpaired_words,
)

__all__ = ["write_page"]

_FATES: tuple[Fate, ...] = ("lost", "won", "unsettled")
_SIDE_BY_SIDE = 60
"""Number of tasks of each list whose trials are shown side by side; the others are only named."""


def write_page(comparisons: Sequence[Comparison], target: Path) -> None:
    """Write the page to ``target``; links to trials are relative to it."""
    package = files(__package__)
    page = Template((package / "page.html").read_text(encoding="utf-8"))
    body = "\n".join(
        "\n".join(_section(each, number, target.parent)) for number, each in enumerate(comparisons, start=1)
    )
    title = "; ".join(headline(each) for each in comparisons) if len(comparisons) == 1 else "Comparison of agents"
    target.parent.mkdir(parents=True, exist_ok=True)
    text = page.substitute(
        title=escape(title),
        style=(package / "page.css").read_text(encoding="utf-8"),
        body=body,
        pareto=_pareto(comparisons),
    )
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.write_text(text, encoding="utf-8", errors="replace")
    temporary.replace(target)


def _section(each: Comparison, number: int, base: Path) -> Iterator[str]:
    one, other = titled(each)
    yield f'<section id="c{number}"><h2 class="{each.verdict}">{escape(headline(each))}</h2>'
    found = each.difference
    yield f'<p class="key"><b>first</b> {escape(one)} &nbsp; <b>second</b> {escape(other)}</p>'
    for line in each.forced:
        yield f'<p class="refused">No comparison: {escape(line)}</p>'
    yield from _figures(each)
    yield from _matrix(each)
    yield from _dots(each, number)
    if each.groups:
        head = "<tr><th><th class=n>tasks<th>difference, in points<th class=n>p (Holm)<th>verdict"
        yield f"<h3>Where it is</h3><table>{head}"
        for group in each.groups:
            yield (
                f"<tr><td>{group.kind} {escape(group.name)}<td class=n>{group.difference.tasks}"
                f"<td>{_bar(group.difference)} {points(group.difference.value or 0.0)} "
                f"({interval_words(group.difference.sample)})<td class=n>{escape(p_words(group.adjusted))}"
                f"<td>{escape(group_words(group))}"
            )
        yield "</table>"
    yield from _efforts(each)
    for fate in _FATES:
        yield from _tasks(each, fate, number, base)
    notes = [
        f"{len(names)} tasks {reason}, left out: {', '.join(names[:20])}" for reason, names in each.left_out.items()
    ]
    notes += [f"differs too: {line}" for line in each.differing]
    notes += [f"compared: {line}" for line in each.changed]
    if notes:
        yield "<h3>How different the runs were</h3><ul>" + "".join(f"<li>{escape(note)}" for note in notes) + "</ul>"
    text = f"{found.tasks} tasks of {found.clusters} templates, {found.trials} pairs of trials"
    yield f"<p class=small>{text}.</p></section>"


def _figures(each: Comparison) -> Iterator[str]:
    found = each.difference
    yield "<table><tr><th><th class=n>first<th class=n>second<th>difference, in points<th>"
    yield (
        f"<tr><td>success rate, tasks are a sample<td class=n>{found.rates[0]:.1%}<td class=n>{found.rates[1]:.1%}"
        f"<td>{_bar(found)} {points(found.value or 0.0)} ({interval_words(found.sample)})<td>{escape(each.verdict)}"
    )
    if found.repeated:
        yield (
            f"<tr><td>… tasks are the whole set<td><td><td>{_bar(found, whole=True)} {points(found.value or 0.0)} "
            f"({interval_words(found.whole)})<td>{escape(each.verdict_here)}"
        )
    if each.corrected is not None:
        yield (
            f"<tr><td>… if the judge never erred<td><td><td>{_line(each.corrected.value, each.corrected.interval)} "
            f"{points(each.corrected.value)} ({interval_words(each.corrected.interval)})<td>"
        )
    yield f"</table><p class=small>{escape(each.test)}: {escape(p_words(each.p))}"
    if judged := judge_words(each):
        yield f". The judge was {escape(', '.join(judged))}"
    if each.adjusted != each.p:
        yield f", {escape(p_words(each.adjusted))} among all comparisons (Holm)"
    if undecided := undecided_words(each):
        yield f". Undecided: {escape(', '.join(undecided))}"
    if any(each.open_trials):
        yield f". Without a verdict: {escape(', '.join(open_words(each)))}"
    yield from (f"<br>{escape(line)}" for line in errors_failed_rows(each))
    yield "</p>"


def _bar(found: Difference, *, whole: bool = False) -> str:
    return _line(found.value or 0.0, found.whole if whole else found.sample)


def _line(value: float, interval: tuple[float, float]) -> str:
    """An interval as a line from -50 to 50 points, with the estimate as a dot."""

    def place(value: float) -> float:
        return 100 + 200 * max(-0.5, min(0.5, value))

    low, high = map(place, interval)
    return (
        '<svg class=bar viewBox="0 0 200 14" width=200 height=14 role=img aria-label="interval">'
        '<line x1=0 y1=7 x2=200 y2=7 class=axis /><line x1=100 y1=1 x2=100 y2=13 class=zero />'
        f"<line x1={low:.1f} y1=7 x2={high:.1f} y2=7 class=range />"
        f"<circle cx={place(value):.1f} cy=7 r=4 />"
        "</svg>"
    )  # fmt: skip


def _matrix(each: Comparison) -> Iterator[str]:
    moved = each.transitions
    yield (
        "<h3>Pairs of trials</h3><table class=matrix><tr><th><th>second passed<th>second failed"
        f"<tr><th>first passed<td>{moved[True, True]}<td class=lost>{moved[True, False]}"
        f"<tr><th>first failed<td class=won>{moved[False, True]}<td>{moved[False, False]}</table>"
    )
    for text in unpaired_words(each):
        yield f"<p class=small>{escape(text)}</p>"


def _dots(each: Comparison, number: int) -> Iterator[str]:
    """A dot per task, coloured by the change of its rate."""
    yield (
        "<h3>Tasks</h3><p class=small>A dot per task, in the order of templates: "
        "<span class='dot won'></span> second better, <span class='dot lost'></span> second worse, "
        "the fuller the further; <span class='dot same'></span> alike.</p><div class=dots>"
    )
    for task in sorted(each.fates, key=lambda task: (task.first.cluster, task.task)):
        rates = task.first.passed / task.first.judged, task.second.passed / task.second.judged
        moved = rates[1] - rates[0]
        name = "won" if moved > 0 else "lost" if moved < 0 else "same"
        tooltip = escape(
            f"{task.task}: {task.first.passed}/{task.first.judged} → {task.second.passed}/{task.second.judged}",
            quote=True,
        )
        style = f' style="opacity:{0.35 + 0.65 * abs(moved):.2f}"' if moved else ""
        where = f' href="#{_anchor(number, task)}"' if task.fate != "same" else ""
        yield f'<a class="dot {name}"{style}{where} title="{tooltip}"></a>'
    yield "</div>"


def _anchor(number: int, task: TaskFate) -> str:
    return f"c{number}-{quote(task.task, safe='')}"


def _efforts(each: Comparison) -> Iterator[str]:
    rows = []
    for measure in MEASURES:
        first, second = (side.get(measure) for side in each.efforts)
        if first is None or second is None:
            continue
        growth = each.growth.get(measure)
        for words, name in (
            ("a trial", "per_trial"),
            ("a success", "per_success"),
            ("of passed", "passed"),
            ("of failed", "failed"),
        ):
            shown = [amount(measure, getattr(effort, name)) for effort in (first, second)]
            change = escape(growth_words(growth)) if growth is not None and name == "per_trial" else ""
            rows.append(f"<tr><td>{measure} {words}<td class=n>{shown[0]}<td class=n>{shown[1]}<td>{change}")
        if first.saved or second.saved:
            rows.append(
                f"<tr><td>… saved by the cache<td class=n>{saved_words(first)}<td class=n>{saved_words(second)}<td>"
            )
        for place, words in enumerate(("median", "90%", "most")):
            shown = [amount(measure, effort.quantiles[place]) for effort in (first, second)]
            rows.append(f"<tr><td>{measure}, {words}<td class=n>{shown[0]}<td class=n>{shown[1]}<td>")
    if rows:
        yield (
            "<h3>What it takes</h3><table><tr><th><th class=n>first<th class=n>second<th>change"
            + "".join(rows)
            + "</table>"
        )


def _tasks(each: Comparison, fate: Fate, number: int, base: Path) -> Iterator[str]:
    some = each.of(fate)
    if not some:
        return
    yield f"<h3>{fate}: {len(some)} task{'s' * (len(some) != 1)}</h3>"
    for place, task in enumerate(some):
        tally = f"{task.first.passed}/{task.first.judged} → {task.second.passed}/{task.second.judged}"
        yield (
            f'<details id="{_anchor(number, task)}"><summary><span class="dot {fate}"></span> {escape(task.task)} '
            f"<span class=small>{tally}</span></summary>"
        )
        one, other = task.pair
        links = [
            _link(side, each_try, base) for side, each_try in zip((each.first, each.second), task.pair, strict=True)
        ]
        yield f"<p>first: {links[0]} &nbsp; second: {links[1]}</p>"
        if place < _SIDE_BY_SIDE:
            yield from _walks(walk_of(each.first, one), walk_of(each.second, other))
        yield "</details>"


def _link(side: Side, each: Try, base: Path) -> str:
    text = escape(f"{side.name}, trial {each.trial}: {each.outcome}")
    if side.path is None or not each.folder:
        return f"{text} <span class=small>(of a baseline: no records here)</span>"
    folder = os.path.relpath(side.path.resolve() / "trials" / each.folder, base.resolve())
    return f'<a href="{escape(quote(folder), quote=True)}/">{text}</a>'


def _walks(one: Walk | None, other: Walk | None) -> Iterator[str]:
    """Both trials' steps side by side, with the first difference marked."""
    if one is None or other is None:
        return
    parted = parting_of(one, other)
    yield "<table class=walks><tr><th><th>first<th>second"
    for index, (left, right) in enumerate(zip_longest(one.steps, other.steps, fillvalue=""), start=1):
        row_class = " class=parted" if parted is not None and parted.step == index else ""
        yield f"<tr{row_class}><td class=n>{index}<td>{escape(left)}<td>{escape(right)}"
    yield "</table>"
    if parted is None:
        yield "<p class=small>Their steps are the same.</p>"


def _pareto(comparisons: Sequence[Comparison]) -> str:
    """Dollars per trial against the success rate, one point per side; empty where costs are unknown."""
    points_of: dict[str, tuple[float, float]] = {}
    for each in comparisons:
        for name, effort, rate in zip(titled(each), each.efforts, each.difference.rates, strict=True):
            if "cost" in effort:
                points_of.setdefault(name, (effort["cost"].per_trial, rate))
    if len(points_of) < 2:
        return ""
    best = frontier(list(points_of.values()))
    most = max(cost for cost, _ in points_of.values()) or 1.0
    marks = []
    for (name, (cost, rate)), front in zip(points_of.items(), best, strict=True):
        x, y = 60 + 380 * cost / most, 210 - 190 * rate
        side = f'text-anchor="end" x="{x - 9:.1f}"' if x > 300 else f'x="{x + 9:.1f}"'
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" class="{"front" if front else "behind"}"/>'
            f'<text {side} y="{y + 4:.1f}">{escape(name)}</text>'
        )
    return (
        '<section><h3>Success and cost</h3><svg class=pareto viewBox="0 0 500 250" width=500 height=250 role=img '
        'aria-label="success rate against dollars a trial"><line x1=60 y1=210 x2=480 y2=210 class=axis />'
        '<line x1=60 y1=20 x2=60 y2=210 class=axis /><text x=10 y=24>100%</text><text x=28 y=214>0%</text>'
        f'<text x=60 y=230>$0</text><text x=440 y=230 text-anchor=middle>{escape(amount("cost", most))}</text>'
        f'<text x=250 y=246 text-anchor=middle>dollars a trial</text>{"".join(marks)}</svg>'
        "<p class=small>Filled: no other agent is both cheaper and better.</p></section>"
    )  # fmt: skip
