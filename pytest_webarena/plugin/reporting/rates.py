"""Summary of each agent's figures, in each browser."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_webarena.plugin.reporting.summary_lines import LABEL, WIDTH, Line, plural, row
from pytest_webarena.results import Rate, Summary
from pytest_webarena.results.comparing.uncertainty import bounds
from pytest_webarena.results.wording import (
    PRIVILEGED,
    cost_words,
    dollars,
    errors_failed_words,
    if_met_words,
    passed_words,
    seconds_words,
    undecided_remedy,
    usage_words,
)

if TYPE_CHECKING:
    from pytest_webarena.results.conditions import Difference
    from pytest_webarena.results.key_node_scores import KeyNodeScores

__all__ = ["summary_lines"]

_SLOWEST = 3
_FLAKY = 4
"""Maximum number of flaky tasks that are named."""


def summary_lines(
    summaries: Iterable[Summary],
    differing: Mapping[str, Sequence[Difference]] = MappingProxyType({}),
    originals: Mapping[str, Rate] = MappingProxyType({}),
) -> Iterator[Line]:
    """Yield the figures of each agent in each browser. Errors are next to the rate, not in it.

    Args:
        differing: Differences between an agent's trials that make its rate meaningless.
        originals: Rates by the original evaluators of a suite with published rates, which come first.
    """
    for summary in summaries:
        if (original := originals.get(summary.name)) is not None and original.value is not None:
            rate = f"original {original.passed}/{original.judged} passed = {original.value:.1%}"
            yield Line(f"{summary.name}: {rate}: comparable with published rates", "bold")
        yield from _rate_lines(summary)
        if found := differing.get(summary.name):
            yield from row("mixed", ["no one rate: its trials differ", *(each.short for each in found)], mark="red")
        if summary.privileged:
            yield Line(f"  {'note':<{LABEL - 2}}{PRIVILEGED}")
        if summary.memory:
            shared = f"trials remember earlier ones (memory: {' or '.join(summary.memory)})"
            yield from row("note", [shared, "the interval takes them for independent"])
        for title, groups in (("by site", summary.by_site), ("by category", summary.by_category)):
            if len(groups) > 1:
                yield from row(title, (f"{name} {_short(rate)}" for name, rate in groups.items()))
        yield from _repeat_rows(summary)
        if summary.mean_score is not None and abs(summary.mean_score - (summary.rate.value or 0.0)) >= 0.001:
            yield from row("score", [f"{summary.mean_score:.3f} on average, parts of tasks counted"])
        if summary.key_nodes is not None:
            yield from row("key nodes", _key_nodes(summary.key_nodes))
        if summary.stop_reasons:
            yield from row("stopped", _counts(summary.stop_reasons))
        if summary.error_causes:
            yield from row("errors by", [*_counts(summary.error_causes), "not counted in the rate"], mark="yellow")
        if text := errors_failed_words(summary.rate):
            yield from row("", [text], mark="yellow")
        if summary.rate.excluded and summary.rate.judged:
            low, high = bounds(summary.rate.passed, summary.rate.judged, summary.rate.excluded)
            yield from row("", [f"bounds if errors had failed / passed: {low:.1%} to {high:.1%}"], mark="yellow")
        if summary.undecided:
            high = summary.rate.upper.interval[1]
            upper = f"{plural(summary.undecided, 'trial')}; if met, the 95% interval ends at {high:.1%}"
            yield from row("undecided", [upper, undecided_remedy(summary)], mark="yellow")
        yield from _judge_rows(summary)
        if summary.retried:
            yield from row("retried", [f"{plural(summary.retried, 'trial')} after an error of the environment"])
        if passed := summary.passed_after_own_error:
            text = f"{plural(passed, 'trial')} passed on a later attempt, which does not count"
            yield from row("", [text], mark="yellow")
        if summary.rerun:
            rerun_text = f"{plural(summary.rerun, 'trial')} after the verdict, which is kept"
            yield from row("rerun", [rerun_text, f"{summary.rerun_passed} failed and passed later"], mark="yellow")
        yield from _cost_rows(summary)
        trials = summary.rate.judged + summary.rate.errors
        yield from row("per trial", [f"{summary.steps / trials:.1f} steps", seconds_words(summary.seconds / trials)])
        if trials > _SLOWEST and summary.slowest[0][1] >= max(1.0, 2 * summary.seconds / trials):
            yield from row("slowest", (f"{task} {seconds_words(took)}" for task, took in summary.slowest[:_SLOWEST]))


def _repeat_rows(summary: Summary) -> Iterator[Line]:
    if (whole := summary.rate.whole) is not None:
        interval = "{:.1%} to {:.1%}".format(*whole)
        yield from row("interval", [f"{interval} if these tasks are all there are, and no sample"])
    if summary.tries > 1:
        parts = [f"{summary.solved_once}/{summary.tasks} tasks solved at least once", f"{summary.solved_always} always"]
        if summary.pass_any is not None and summary.pass_all is not None:
            of = f" on {summary.most_tasks} of {summary.tasks} tasks" if summary.most_tasks < summary.tasks else ""
            parts += [f"pass@{summary.most} {summary.pass_any:.1%}{of}", f"pass^{summary.most} {summary.pass_all:.1%}"]
        if summary.chance_share is not None:
            parts.append(f"{summary.chance_share:.0%} of the spread is chance")
        yield from row(f"of {summary.tries} tries", parts)
    if summary.flaky:
        named = [f"{task} {passed}/{judged}" for task, (passed, judged) in list(summary.flaky.items())[:_FLAKY]]
        more = [f"{len(summary.flaky) - _FLAKY} more"] if len(summary.flaky) > _FLAKY else []
        yield from row("flaky", [*named, *more])


def _key_nodes(scores: KeyNodeScores) -> Iterator[str]:
    if scores.completion is None:
        yield f"none of {plural(scores.open, 'trial')} could be judged"
        return
    above = "" if not scores.free or scores.above_free is None else f", {scores.above_free:.1%} above the free ones"
    yield f"{scores.completion:.1%} reached{above}"
    if scores.near:
        yield f"{scores.near:.1%} of trials missed one"
    if scores.efficiency_total is not None:
        yield f"{scores.efficiency_total:.1f} steps each"
    if scores.open:
        yield f"{plural(scores.open, 'trial')} excluded for lack of evidence"


def _judge_rows(summary: Summary) -> Iterator[Line]:
    if (used := summary.judge_usage) is not None:
        cached = f", {summary.judge_cached} from the cache" if summary.judge_cached else ""
        questions = f"{plural(summary.judge_questions, 'question')} on {plural(summary.judged, 'trial')}{cached}"
        yield from row("judge", [*summary.judges, questions, cost_words(used), f"{used.input_tokens:,} tokens in"])
    if (found := summary.rate.corrected) is not None:
        interval = "{:.1%} to {:.1%}".format(*found.interval)
        yield from row("", [f"if the judge never erred: {found.value:.1%} (95% {interval})"])
    elif summary.rate.by_judge:
        yield from row("", ["its errors are not in the interval", "it was not measured or says nothing"], mark="yellow")
    for reason, count in summary.unjudged.items():
        of = plural(summary.rate.judged + summary.rate.errors, "trial")
        entry = f"{count} of {of}: {reason}"
        for text in textwrap.wrap(entry, WIDTH - LABEL, break_on_hyphens=False, break_long_words=False):
            yield Line(f"{'  not judged' if entry.startswith(text) else '':<{LABEL}}{text}", "yellow")


def _cost_rows(summary: Summary) -> Iterator[Line]:
    used = summary.usage
    if used is None:
        return
    yield from row("cost", usage_words(used), mark="" if used.complete and used.cost is not None else "yellow")
    if used.cost is None:
        known = [f"{dollars(summary.known_cost)} known of {plural(summary.priced, 'trial')}"] if summary.priced else []
        models = " or ".join(summary.unpriced) or ("the model" if used.complete else "")
        why = [f"no price for {models} (--prices)"] if models else []
        yield from row("", [*known, *why], mark="yellow")
    elif unknown := (trials := summary.rate.judged + summary.rate.errors - summary.unbegun) - summary.priced:
        yield from row("", [f"not known of {unknown} of {plural(trials, 'trial')}, which are not in it"], mark="yellow")


def _rate_lines(summary: Summary) -> Iterator[Line]:
    rate = summary.rate
    errors = f", {plural(rate.errors, 'error')} excluded" if rate.errors else ""
    if rate.value is None:
        yield Line(f"{summary.name}: no trial was judged{errors}", "bold")
        return
    low, high = rate.interval
    graded = f", grading {' and '.join(summary.gradings)}" if summary.gradings else ""
    first = f"{summary.name}: {rate.passed}/{rate.judged} passed = {rate.value:.1%}{if_met_words(rate)}{graded}"
    rule = "clustered interval" if rate.clusters < rate.judged else "interval"
    second = f"(95% {rule} {low:.1%} to {high:.1%}){errors}"
    if rate.chance is not None:
        some = f" on {rate.guessable} of them" if rate.guessable < rate.judged else ""
        second += f", guessing gets {rate.chance:.1%}{some}"
    if len(first) + 1 + len(second) <= WIDTH:
        yield Line(f"{first} {second}", "bold")
    else:
        yield Line(first, "bold")
        yield Line(f"  {second}", "bold")


def _short(rate: Rate) -> str:
    return passed_words(rate) + (f"+{rate.errors}E" if rate.errors else "")


def _counts(counts: Mapping[str, int]) -> list[str]:
    return [f"{name} {count}" for name, count in counts.items()]
