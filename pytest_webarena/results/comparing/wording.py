"""Comparisons as text: lines of at most 80 columns, and Markdown."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pytest_webarena.results.comparing.comparison import Comparison, Fate, TaskFate
from pytest_webarena.results.comparing.difference import Difference
from pytest_webarena.results.comparing.effort import MEASURES, Effort, Growth, Measure
from pytest_webarena.results.comparing.first_difference import FirstDifference, parting_of, walk_of
from pytest_webarena.results.comparing.groups import Group
from pytest_webarena.results.comparing.repeats import about
from pytest_webarena.results.markdown import plain_markdown
from pytest_webarena.results.wording import DECIDE, dollars, errors_failed_words, mixed_words, rate_words, seconds_words
from pytest_webarena.text import clip

__all__ = [
    "MarkedLine",
    "amount",
    "errors_failed_rows",
    "group_words",
    "headline",
    "in_markdown",
    "in_words",
    "judge_words",
    "open_words",
    "p_words",
    "points",
    "saved_words",
    "titled",
    "undecided_words",
    "unpaired_words",
]

_WIDTH = 80
_SHOWN = 5
_FATES: dict[Fate, str] = {"won": "won", "lost": "lost", "unsettled": "unsettled"}


class MarkedLine(NamedTuple):
    """A line and its mark: ``bold``, ``red``, ``green``, ``yellow`` or none."""

    text: str
    mark: str = ""


def points(value: float) -> str:
    """Return a difference of rates in percentage points.

    >>> points(0.1234), points(-0.05)
    ('+12.3', '−5.0')
    """
    shown = f"{abs(value) * 100:.1f}"
    return f"{'−' if value < 0 and float(shown) else '+' if float(shown) else ''}{shown}"


def p_words(p: float) -> str:
    """Return a p-value with its significant digits.

    >>> p_words(0.0312), p_words(1e-7), p_words(0.4)
    ('p = 0.031', 'p < 0.001', 'p = 0.40')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def interval_words(bounds: tuple[float, float]) -> str:
    """Return both ends of an interval, in points."""
    return f"{points(bounds[0])} to {points(bounds[1])}"


def amount(measure: Measure, value: float | None) -> str:
    """Return a value of a measure with its unit."""
    if value is None:
        return "–"
    if measure == "cost":
        return dollars(value)
    if measure == "seconds":
        return seconds_words(value)
    return f"{value:,.0f} tokens" if measure == "tokens" else f"{value:.1f} steps"


def titled(each: Comparison) -> tuple[str, str]:
    """Return both sides' names, as short as distinguishes them."""
    first, second = each.first, each.second
    if first.run == second.run:
        return first.name, second.name
    if (first.agent, first.browser) == (second.agent, second.browser):
        return f"{first.name} in {first.run}", f"{second.name} in {second.run}"
    return f"{first.name} ({first.run})", f"{second.name} ({second.run})"


def headline(each: Comparison) -> str:
    """Return the result of a comparison in one sentence, including its uncertainty."""
    one, other = titled(each)
    found = each.difference
    level = f"{_level(found)}% interval {interval_words(found.sample)}"
    value = found.value or 0.0
    begin = f"{other} is {each.verdict} than {one}"
    if each.verdict == "unsettled":
        begin = f"Unsettled whether {other} is {'worse' if value < 0 else 'better'} than {one}"
    judged = (
        f", {interval_words(each.corrected.interval)} with the judge's errors" if each.corrected is not None else ""
    )
    sentence = f"{begin}: {points(value)} points ({level}{judged}, {p_words(each.adjusted)})."
    if each.worst is not None and each.verdict != each.verdict_of_judged:
        alone, others = "By judged trials alone:", "excluded ones"
        if undecided_words(each):
            alone, others = "With undecided trials not met:", "undecided or excluded ones"
        sentence += (
            f" {alone} {each.verdict_of_judged!r}; {others} could reverse it: "
            f"{interval_words(each.bounds)}, {p_words(each.worst.p)} at worst."
        )
    if (failed := each.errors_failed) is not None and each.verdict != each.verdict_of_judged:
        value = failed.difference.value or 0.0
        sentence += f" With errors as failures: {points(value)} points ({interval_words(failed.difference.sample)})."
    if each.depends_on_undecided and each.verdicts_if_decided is not None:
        low, high = each.verdicts_if_decided
        sentence += f" It depends on undecided trials: {low} if they count against {other}, {high} if for it; {DECIDE}."
    if each.first.looked or each.second.looked:
        sentence += (
            " The run ended early because it was looked at (--stop-when-settled), which this interval does not know."
        )
    for side, name in zip((each.first, each.second), (one, other), strict=True):
        if side.mixed:
            sentence += f" {name} is {mixed_words(side.mixed)}."
    if each.forced:
        sentence += f" No comparison, since conditions differ: {'; '.join(each.forced)}."
    return sentence


def undecided_words(each: Comparison) -> list[str]:
    """Return the numbers of undecided trials, and the differences that they leave possible."""
    counts = each.first.undecided, each.second.undecided
    if not any(counts):
        return []
    return [
        f"{counts[0]} and {counts[1]} trials, not met in the rates",
        f"bounds if undecided ones were not met / met: {interval_words(each.undecided_bounds)} points",
    ]


def open_words(each: Comparison) -> list[str]:
    """Return what is unknown because of trials without a verdict."""
    missing = [sum(side.missing.values()) for side in (each.first, each.second)]
    parts = [f"{each.first.errors} and {each.second.errors} trials excluded from the rates"]
    if any(missing):
        parts.append(f"{missing[0]} and {missing[1]} planned ones without a result")
    return [*parts, f"bounds if errors had failed / passed: {interval_words(each.error_bounds)} points"]


def errors_failed_rows(each: Comparison) -> list[str]:
    """Return both sides' rates of all trials without errors and with errors as failures, and the difference then.

    Empty without errors.
    """
    if (failed := each.errors_failed) is None and not any(side.rate.excluded for side in (each.first, each.second)):
        return []
    rows = []
    for side, name in zip((each.first, each.second), titled(each), strict=True):
        rows.append(f"{name}: {rate_words(side.rate)}")
        if side.rate.excluded:
            rows.append(f"{name}: {errors_failed_words(side.rate)}")
    if failed is not None:
        found = failed.difference
        change = f"{points(found.value or 0.0)} points ({interval_words(found.sample)}), {p_words(failed.p)}"
        rows.append(f"difference with errors as failures: {change}")
    return rows


def unpaired_words(each: Comparison) -> list[str]:
    """Return the numbers of trials in the rates if some have no counterpart of the same number; else nothing."""
    paired = sum(each.transitions.values())
    sizes = [sum(of.judged for of in sides) for sides in zip(*((f.first, f.second) for f in each.fates), strict=True)]
    return [] if sizes == [paired, paired] else [f"of {sizes[0]:,} and {sizes[1]:,} trials in the rates"]


def judge_words(each: Comparison) -> list[str]:
    """Return the effect of the judge's errors on the difference, or that it is unknown; empty without a judge."""
    if not any(each.by_judge):
        return []
    judge_use = f"asked about {each.by_judge[0]:,} and {each.by_judge[1]:,} trials"
    if (found := each.corrected) is not None:
        return [judge_use, f"if it never erred: {points(found.value)} ({interval_words(found.interval)}) points"]
    why = "it was not measured (webarena judge measure)"
    if each.judge_is_uninformative:
        why = "its verdicts are uninformative: it accepts wrong answers as often as right ones"
    return [judge_use, f"no interval includes its errors: {why}"]


def group_words(group: Group) -> str:
    """Return the verdict on a group of tasks, with the bounds that undecided trials and errors leave."""
    low, high = group.bounds
    open_ends = f", bounds of all outcomes: {interval_words(group.bounds)}" if high - low > 1e-12 else ""
    return f"{group.verdict}{open_ends}"


def _level(found: Difference) -> str:
    return f"{100 * found.confidence:.4g}"


def in_words(each: Comparison, *, shown: int = _SHOWN, partings: bool = True) -> Iterator[MarkedLine]:
    """Yield the lines for a terminal, with ``shown`` task names in each list.

    ``partings``: whether to show the step at which their trials differ.
    """
    found = each.difference
    mark = {"better": "green", "worse": "red"}.get(each.verdict, "yellow")
    yield from (MarkedLine(line, mark) for line in _wrapped(headline(each), ""))
    rates = f"{found.rates[0]:.1%} → {found.rates[1]:.1%} on {_count(found.tasks, 'task')}"
    yield from _row(
        "rates", [rates, f"{_count(found.clusters, 'template')}", f"{_count(found.trials, 'pair')} of trials"]
    )
    yield from _row("if tasks are…", [f"a sample: {interval_words(found.sample)} points ({each.verdict})"])
    if found.repeated:
        yield from _row("", [f"the whole set: {interval_words(found.whole)} points ({each.verdict_here})"])
    else:
        yield from _row("", ["the whole set: the same, since a single trial can't separate chance from tasks"])
    parts = [each.test, p_words(each.p)]
    if each.adjusted != each.p:
        parts.append(f"{p_words(each.adjusted)} among all comparisons (Holm)")
    yield from _row("test", parts)
    moved = each.transitions
    yield from _row(
        "pairs",
        [f"{moved[True, True]} both passed", f"{moved[False, True]} gained", f"{moved[True, False]} lost",
         f"{moved[False, False]} both failed", *unpaired_words(each)],
    )  # fmt: skip
    if judged := judge_words(each):
        yield from _row("judge", judged, "" if each.corrected is not None else "yellow")
    if any(each.open_trials):
        yield from _row("errors", open_words(each), "yellow")
        for line in errors_failed_rows(each):
            yield from _row("", [line], "yellow")
    if undecided := undecided_words(each):
        yield from _row("undecided", undecided, "yellow")
    yield from _group_rows(each.groups)
    for fate in _FATES:
        yield from _task_rows(each, fate, shown, partings=partings)
    yield from _repeat_rows(each)
    for measure in MEASURES:
        yield from _effort_rows(each, measure)
    for reason, names in each.left_out.items():
        yield from _row("left out", [f"{_count(len(names), 'task')} {reason}", *_some(names, 3)], "yellow")
    for label, lines in (("compared", each.changed), ("differs too", each.differing)):
        for number, line in enumerate(lines):
            yield from _row(label * (not number), [line], "yellow" if label == "differs too" else "")
    for line in each.forced:
        yield from _row("NO COMPARISON", [line], "red")


def _group_rows(groups: Sequence[Group]) -> Iterator[MarkedLine]:
    for kind in ("site", "category", "tag"):
        some = [group for group in groups if group.kind == kind]
        for number, group in enumerate(some):
            line = (
                f"{group.name}: {points(group.difference.value or 0.0)} ({interval_words(group.difference.sample)}), "
                f"{_count(group.difference.tasks, 'task')}, {p_words(group.adjusted)}: {group_words(group)}"
            )
            mark = {"better": "green", "worse": "red"}.get(group.verdict, "")
            yield from _row(f"by {kind}" * (not number), [line], mark)


def _task_rows(each: Comparison, fate: Fate, shown: int, *, partings: bool) -> Iterator[MarkedLine]:
    some = each.of(fate)
    if not some:
        return
    yield from _row(
        _FATES[fate], [_count(len(some), "task")], "green" if fate == "won" else "red" if fate == "lost" else ""
    )
    for task in some[:shown]:
        yield MarkedLine(f"    {clip(f'{task.task}  {_tally(task)}', _WIDTH - 4)}")
        if partings and (parted := parted_at(each, task)) is not None:
            yield MarkedLine(f"      {clip(f'step {parted.step}: {parted.first} | {parted.second}', _WIDTH - 6)}")
        if partings and shown:
            for side, one in zip((each.first, each.second), task.pair, strict=True):
                if side.path is not None and one.folder:
                    yield MarkedLine(f"      {side.path / 'trials' / one.folder}")
    if len(some) > shown:
        yield MarkedLine(f"    and {len(some) - shown} more (--all)")


def _tally(task: TaskFate) -> str:
    return f"{task.first.passed}/{task.first.judged} → {task.second.passed}/{task.second.judged}"


def parted_at(each: Comparison, task: TaskFate) -> FirstDifference | None:
    """Return the first difference between the two trials that exemplify a task's result."""
    one, other = task.pair
    return parting_of(walk_of(each.first, one), walk_of(each.second, other))


def _repeat_rows(each: Comparison) -> Iterator[MarkedLine]:
    sides = [(side, about(side)) for side in (each.first, each.second)]
    # The same k for both sides, as far as both have this many trials.
    most = min((max(figures["tasks"]) for _, figures in sides if max(figures["tasks"]) > 1), default=1)  # type: ignore[call-overload]
    for number, ((_, figures), name) in enumerate(zip(sides, titled(each), strict=True)):
        some: dict[int, float | None] = figures["pass_any"]  # type: ignore[assignment]
        every: dict[int, float | None] = figures["pass_all"]  # type: ignore[assignment]
        of: dict[int, int] = figures["tasks"]  # type: ignore[assignment]
        k = min(most, max(some))
        if k == 1:
            continue
        all_of_them = f" on {of[k]} of {of[1]} tasks" if of[k] < of[1] else ""
        parts = [f"pass@{k} {_percent(some[k])}{all_of_them}", f"pass^{k} {_percent(every[k])}"]
        share = figures["chance_share"]
        if isinstance(share, float):
            parts.append(f"{share:.0%} of the spread is chance")
        unsure: dict[str, tuple[int, int]] = figures["flaky"]  # type: ignore[assignment]
        some_of = [f"{task} {passes}/{of}" for task, (passes, of) in list(unsure.items())[:3]]
        more = ["…"] if len(unsure) > len(some_of) else []
        parts.append(f"{_count(len(unsure), 'flaky task')}{': ' * bool(unsure)}{', '.join([*some_of, *more])}")
        yield from _row("repeats" * (not number), [name, *parts])


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _effort_rows(each: Comparison, measure: Measure) -> Iterator[MarkedLine]:
    first, second = (side.get(measure) for side in each.efforts)
    if first is None or second is None:
        return
    parts = [f"{amount(measure, first.per_trial)} → {amount(measure, second.per_trial)} a trial"]
    if first.per_success is not None and second.per_success is not None:
        parts.append(f"{amount(measure, first.per_success)} → {amount(measure, second.per_success)} a success")
    growth = each.growth.get(measure)
    if growth is not None:
        parts.append(growth_words(growth))
    if first.saved or second.saved:
        parts.append(f"the cache saved {saved_words(first)} and {saved_words(second)}")
    if first.unknown or second.unknown:
        parts.append(f"not known of {first.unknown} and {second.unknown} trials")
    yield from _row(measure, parts)


def saved_words(effort: Effort) -> str:
    """Return how much the response cache saved, and of which total."""
    return f"{dollars(effort.saved)} of {dollars(effort.total)}" if effort.saved else "nothing"


def growth_words(growth: Growth) -> str:
    """Return a ratio as a change in per cent, with its interval."""
    low, high = growth.interval
    ends = f"{_change(low)} to {_change(high)}" if math.isfinite(high) else "unknown"
    return f"{_change(growth.ratio)} ({ends})"


def _change(ratio: float) -> str:
    shown = f"{abs(ratio - 1) * 100:.0f}"
    return f"{'−' if ratio < 1 and shown != '0' else '+' if shown != '0' else ''}{shown}%"


def _row(label: str, parts: Iterable[str], mark: str = "") -> Iterator[MarkedLine]:
    """A label with its text, wrapped between words; words longer than a line are broken."""
    text = ", ".join(parts)
    for number, line in enumerate(textwrap.wrap(text, _WIDTH - 17, break_on_hyphens=False) or [""]):
        yield MarkedLine(f"  {label if number == 0 else '':<14} {line}".rstrip(), mark)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _some(names: Sequence[str], most: int) -> list[str]:
    return [*names[:most], *(["…"] if len(names) > most else [])]


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def in_markdown(comparisons: Sequence[Comparison], *, shown: int = 20) -> Iterator[str]:
    """Yield Markdown lines for ``$GITHUB_STEP_SUMMARY``, issues and similar places."""
    for each in comparisons:
        one, other = titled(each)
        found = each.difference
        sign = {"better": "🟢", "worse": "🔴"}.get(each.verdict, "⚪")
        yield from (f"### {sign} {plain_markdown(headline(each))}", "")
        yield from ("| | first | second | difference | interval |", "|---|--:|--:|--:|:-:|")
        level = _level(found)
        yield (
            f"| success rate, tasks are a sample | {found.rates[0]:.1%} | {found.rates[1]:.1%} | "
            f"{points(found.value or 0.0)} | {interval_words(found.sample)} ({level}%) |"
        )
        if found.repeated:
            yield f"| … tasks are the whole set | | | | {interval_words(found.whole)} ({level}%) |"
        if each.corrected is not None:
            yield (
                f"| … if the judge never erred | | | {points(each.corrected.value)} | "
                f"{interval_words(each.corrected.interval)} ({level}%) |"
            )
        for group in each.groups:
            yield (
                f"| {group.kind} {plain_markdown(group.name)} ({_count(group.difference.tasks, 'task')}) | "
                f"{group.difference.rates[0]:.1%} | {group.difference.rates[1]:.1%} | "
                f"{points(group.difference.value or 0.0)} | {interval_words(group.difference.sample)}; "
                f"{p_words(group.adjusted)}: {group_words(group)} |"
            )
        for measure in MEASURES:
            first, second = (side.get(measure) for side in each.efforts)
            if first is not None and second is not None:
                growth = each.growth.get(measure)
                yield (
                    f"| {measure} a trial | {amount(measure, first.per_trial)} | {amount(measure, second.per_trial)} | "
                    f"{growth_words(growth).replace(' (', ' | ').rstrip(')') if growth else ' | '} |"
                )
                if first.saved or second.saved:
                    yield f"| … saved by the cache | {saved_words(first)} | {saved_words(second)} | | |"
        moved = each.transitions
        yield from (
            "",
            f"first: {plain_markdown(one)}; second: {plain_markdown(other)}. {each.test}, {p_words(each.p)}.",
            "",
        )
        yield from ("| pairs of trials | second passed | second failed |", "|---|--:|--:|")
        yield f"| first passed | {moved[True, True]} | {moved[True, False]} |"
        yield f"| first failed | {moved[False, True]} | {moved[False, False]} |"
        for fate in _FATES:
            some = each.of(fate)
            if some:
                yield from ("", f"<details><summary>{_FATES[fate]}: {_count(len(some), 'task')}</summary>", "")
                yield from ("| task | first | second | they part at |", "|---|--:|--:|---|")
                for task in some[:shown]:
                    parted = parted_at(each, task)
                    where = f"step {parted.step}: {parted.first} / {parted.second}" if parted else ""
                    yield (
                        f"| {plain_markdown(task.task)} | {task.first.passed}/{task.first.judged} | "
                        f"{task.second.passed}/{task.second.judged} | {plain_markdown(where)} |"
                    )
                if len(some) > shown:
                    yield f"| and {len(some) - shown} more | | | |"
                yield from ("", "</details>")
        notes = [
            *(f"{_count(len(names), 'task')} {reason}, left out" for reason, names in each.left_out.items()),
            *([f"without a verdict: {', '.join(open_words(each))}"] if any(each.open_trials) else []),
            *errors_failed_rows(each),
            *([f"undecided: {', '.join(undecided_words(each))}"] if undecided_words(each) else []),
            *([f"pairs: {unpaired_words(each)[0]}"] if unpaired_words(each) else []),
            *([f"the judge was {', '.join(judge_words(each))}"] if any(each.by_judge) else []),
            *(f"differs too: {line}" for line in each.differing),
        ]
        lines = [*map(plain_markdown, notes), *(f"**no comparison**: {plain_markdown(line)}" for line in each.forced)]
        yield from ("", *(f"- {line}" for line in lines), *([""] if lines else []))
