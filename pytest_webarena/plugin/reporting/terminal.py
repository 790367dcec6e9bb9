"""What the terminal says: one line at the top, a summary at the end, both fit for 80 columns."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_webarena.llm.ledger import LEDGER, read_ledger
from pytest_webarena.llm_judge import standing
from pytest_webarena.plugin.stash import SETTINGS
from pytest_webarena.results import Rate, Summary, summarise
from pytest_webarena.results.conditions import mixed, source_of
from pytest_webarena.results.gradings import compare
from pytest_webarena.results.wording import dollars, seconds_words, shortfall_words, size_words, usage_words
from pytest_webarena.sites.catalogues.external import EXTERNAL

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from pytest_webarena.checks.asking import QuestionKind
    from pytest_webarena.llm.config import ModelSettings
    from pytest_webarena.llm.ledger import LedgerLine
    from pytest_webarena.llm_judge import JudgeSettings
    from pytest_webarena.plugin.controller import Controller
    from pytest_webarena.plugin.selection import LeftOut
    from pytest_webarena.plugin.settings import Settings
    from pytest_webarena.results import TrialRecord
    from pytest_webarena.results.conditions import Difference
    from pytest_webarena.results.gate import Ruling
    from pytest_webarena.results.plan import Coverage
    from pytest_webarena.results.rundir import Unreadable
    from pytest_webarena.sites.protocol.report import AppReport, BrokerReport, Durations

__all__ = [
    "Line",
    "budget_lines",
    "coverage_lines",
    "cut_off_lines",
    "grading_lines",
    "header",
    "judge_lines",
    "left_out_lines",
    "rescored_lines",
    "site_lines",
    "skipped_lines",
    "stopped_lines",
    "summary_lines",
    "unreadable_lines",
    "write_summary",
]

_WIDTH = 80
_LABEL = 15
_SLOWEST = 3


class Line(NamedTuple):
    """A line of the summary and how it is marked: as pytest marks what is good, bad, or worth a look."""

    text: str
    mark: str = ""
    """``bold``, ``red``, ``yellow`` or nothing."""


def header(config: pytest.Config) -> str | None:
    """Which agents on which sites; only when asked for by an option, so that other projects see nothing."""
    settings = config.stash[SETTINGS]
    if settings.audit:
        return f"webarena: audit of tasks · sites {settings.catalogue}"
    if settings.rescore is not None:
        line = f"webarena: judging {_shorter(settings.rescore)} again · grading {settings.options.grading}"
        return "\n".join([line, *(f"webarena: {line.text}" for line in judge_lines(settings.judge))])
    if not settings.agents_given:
        return None
    agents = ", ".join(settings.agents)
    graded = settings.options.grading
    several = f" · browsers {', '.join(settings.browsers)}" if len(settings.browsers) > 1 else ""
    line = (
        f"webarena: agent {agents} · trials {settings.trials}{several} · sites {settings.catalogue} · grading {graded}"
    )
    return "\n".join(
        [line, *_film_lines(settings), *(f"webarena: {line.text}" for line in judge_lines(settings.judge))]
    )


def _film_lines(settings: Settings) -> Iterator[str]:
    """Whom neither traces nor videos can be made of, if any are asked for."""
    if settings.options.tracing == settings.options.video == "off":
        return
    from pytest_webarena.agents import resolve_agent

    for name in settings.agents:
        if resolve_agent(name, settings.agent_directories, settings.overrides).self_driving:
            yield f"webarena: no traces or videos of {name}, which drives its browser itself"


def write_summary(reporter: TerminalReporter, controller: Controller) -> None:
    """The run's figures, from its records."""
    if controller.refusal:
        reporter.write_line(f"ERROR: {controller.refusal}", red=True)
    run = controller.run_dir
    if run is None:
        lines = [
            *stopped_lines(controller.stopped),
            *skipped_lines(controller.skipped),
            *_gate_lines(controller.ruling),
        ]
        if lines:
            reporter.write_sep("=", "webarena")
            _write(reporter, [*coverage_lines(controller.coverages.values()), *lines])
        return
    reporter.write_sep("=", "webarena")
    differing = mixed(source_of(run.path, run.facts(), controller.records))
    lines = list(summary_lines(summarise(controller.records).values(), differing))
    lines += coverage_lines(controller.coverages.values())
    lines += stopped_lines(controller.stopped, f"pytest --resume={shlex.quote(_shorter(run.path))}")
    lines += unreadable_lines(controller.unreadable)
    lines += grading_lines(controller.records, run.path)
    if controller.broker_report is not None:
        lines += site_lines(controller.broker_report)
    lines += budget_lines(read_ledger(run.path / LEDGER), reporter.config.stash[SETTINGS].options.models)
    asked = " ".join(record.judge.prompt for record in controller.records if record.judge is not None)
    lines += judge_lines(reporter.config.stash[SETTINGS].judge, asked)
    if reporter.config.stash[SETTINGS].rescore is not None:
        lines += rescored_lines(controller.records, since=controller.started)
    lines += cut_off_lines(sum(map(run.cut_off, controller.records)))
    lines += left_out_lines(controller.left_out, failed=controller.failed_before)
    lines += skipped_lines(controller.skipped)
    lines += _gate_lines(controller.ruling)
    lines.append(Line(f"records: {_shorter(run.path)} ({size_words(run.size())})"))
    _write(reporter, lines)


def _write(reporter: TerminalReporter, lines: Iterable[Line]) -> None:
    for line in lines:
        reporter.write_line(line.text, **({line.mark: True} if line.mark else {}))


def unreadable_lines(unreadable: Sequence[Unreadable]) -> Iterator[Line]:
    """Trials that are in no figure, for there is nothing to count; each with its file, which is never broken."""
    if unreadable:
        yield Line(f"unreadable     {_plural(len(unreadable), 'trial')}, in none of the figures:", "red")
        yield from (Line(f"  {each}", "red") for each in unreadable)


def summary_lines(
    summaries: Iterable[Summary], differing: Mapping[str, Sequence[Difference]] = MappingProxyType({})
) -> Iterator[Line]:
    """The figures of each agent in each browser, errors beside the rate, never inside; what makes it no one rate."""
    for summary in summaries:
        yield from _rate_lines(summary)
        if found := differing.get(summary.name):
            yield from _row("mixed", ["no one rate: its trials differ", *(each.short for each in found)], mark="red")
        if summary.privileged:
            yield Line(f"  {'note':<{_LABEL - 2}}sees the solutions: its rate says nothing about agents")
        if summary.memory:
            shared = f"trials remember earlier ones (memory: {' or '.join(summary.memory)})"
            yield from _row("note", [shared, "the interval takes them for independent"])
        for title, groups in (("by site", summary.by_site), ("by category", summary.by_category)):
            if len(groups) > 1:
                yield from _row(title, (f"{name} {_short(rate)}" for name, rate in groups.items()))
        if summary.tries > 1:
            once = f"{summary.solved_once}/{summary.tasks} tasks solved at least once"
            yield from _row(f"of {summary.tries} tries", [once, f"{summary.solved_always} always"])
        if summary.mean_score is not None and abs(summary.mean_score - (summary.rate.value or 0.0)) >= 0.001:
            yield from _row("score", [f"{summary.mean_score:.3f} on average, parts of tasks counted"])
        if summary.stop_reasons:
            yield from _row("stopped", _counts(summary.stop_reasons))
        if summary.error_causes:
            yield from _row("errors by", [*_counts(summary.error_causes), "not counted in the rate"], mark="yellow")
        if summary.shortfalls:
            yield from _row("", [f"{shortfall_words(summary.shortfalls)}: not passed in a gate's rate"], mark="yellow")
        if summary.unsure:
            beyond = f"{_plural(summary.unsure, 'answer')} beyond the rules, not met"
            yield from _row("unsure", [beyond, "give to a judge (--judge, --rescore), or look"], mark="yellow")
        yield from _judge_rows(summary)
        if summary.retried:
            yield from _row("retried", [f"{_plural(summary.retried, 'trial')} after an error of the environment"])
        if summary.rerun:
            told = f"{_plural(summary.rerun, 'trial')} after the verdict, which stands"
            yield from _row("rerun", [told, f"{summary.rerun_passed} failed and passed later"], mark="yellow")
        yield from _cost_rows(summary)
        trials = summary.rate.judged + summary.rate.errors
        yield from _row("per trial", [f"{summary.steps / trials:.1f} steps", seconds_words(summary.seconds / trials)])
        if trials > _SLOWEST and summary.slowest[0][1] >= max(1.0, 2 * summary.seconds / trials):
            yield from _row("slowest", (f"{task} {seconds_words(took)}" for task, took in summary.slowest[:_SLOWEST]))


def grading_lines(records: Sequence[TrialRecord], run_dir: Path) -> Iterator[Line]:
    """What each grading says, where there are several: the rates side by side, and how many verdicts are disputed."""
    found = [each for each in compare(records).values() if each.compared]
    disputed = 0
    for each in found:
        whose = f"{each.name}: " if len(found) > 1 else ""
        rates = [
            f"{name} {rate.passed}/{rate.judged}" + (f" ({rate.errors} not computed)" if rate.errors else "")
            for name, rate in each.rates.items()
        ]
        yield from _row("gradings" if each is found[0] else "", [whose + rates[0], *rates[1:]], indent=0)
        disputed += len(each.disagreements)
    if disputed:
        told = f"{_plural(disputed, 'trial')} judged differently"
        yield from _row("", [told, f"see webarena gradings {_shorter(run_dir)}"], indent=0, mark="yellow")


def site_lines(report: BrokerReport) -> Iterator[Line]:
    """What the sites did: how long trials waited for them, how fast they were handed over and reset."""
    for app in report.apps.values():
        yield from _row(app.app, _app(app), indent=0)
    for problem in report.problems:
        yield Line(f"sites: {problem}", "red")
    for note in report.notes:
        yield Line(f"sites: {note}", "yellow")


def rescored_lines(records: Sequence[TrialRecord], *, since: float) -> Iterator[Line]:
    """What judging a run again (from this Unix time on) changed: verdicts, and tasks that are others by now."""
    changed = [record for record in records if record.history and record.history[-1]["until"] >= since]
    moves = Counter(
        f"{before} → {record.outcome}"
        for record in changed
        if (before := record.history[-1]["outcome"]) != record.outcome
    )
    parts = [f"{count} {move}" for move, count in moves.most_common()] or ["no outcome changed"]
    if same := len(changed) - sum(moves.values()):
        parts.append(f"{same} with the same outcome, put otherwise")
    yield from _row("judged again", parts, indent=0)
    if edited := sum(record.history[-1]["task_digest"] != record.task_digest for record in changed):
        told = f"{_plural(edited, 'trial')} of tasks that were edited since"
        yield from _row("edited", [told, "judged by their new text"], indent=0, mark="yellow")


def cut_off_lines(attempts: int) -> Iterator[Line]:
    """Crashes that the figures don't show, for the trials were tried again."""
    if attempts:
        ended = f"{_plural(attempts, 'attempt')} ended with {'its' if attempts == 1 else 'their'} process"
        yield from _row("cut off", [ended, "tried again"], indent=0, mark="yellow")


def coverage_lines(coverages: Iterable[Coverage]) -> Iterator[Line]:
    """What became of the planned trials of all agents, each counted once."""
    found = list(coverages)

    def total(name: str) -> int:
        return sum(getattr(each, name) for each in found)

    if not (planned := total("planned")):
        return
    ways = [f"{total('judged')} judged"]
    ways += [_plural(total("errors"), "error")] * bool(total("errors"))
    ways += [f"{total('declared')} declared an error by the agent"] * bool(total("declared"))
    ways += [f"{total('lost')} lost"] * bool(total("lost"))
    parts = [f"{planned} planned", f"{total('run')} run ({', '.join(ways)})"]
    rest = {"skipped": "skipped", "allowed": "skipped (--allow-skipped)", "not_run": "not run"}
    parts += [f"{count} {words}" for name, words in rest.items() if (count := total(name))]
    yield from _row("trials", parts, indent=0, mark="yellow" if total("missing") else "")


def stopped_lines(stopped: Mapping[str, int], way_on: str = "") -> Iterator[Line]:
    """Trials that were left out after too many equal errors, each reason once, and how to go on when it is mended."""
    label = "not run"
    for reason, count in stopped.items():
        told = f"{_plural(count, 'trial')}; {reason}"
        for text in textwrap.wrap(told, _WIDTH - _LABEL, break_on_hyphens=False, break_long_words=False):
            yield Line(f"{label:<{_LABEL}}{text}", "red")
            label = ""
    if stopped and way_on:
        yield Line(f"  go on with: {way_on}", "red")


def _gate_lines(ruling: Ruling | None) -> Iterator[Line]:
    if ruling is not None:
        mark = "red" if ruling.exit_code else ""
        yield from (
            Line(text, mark) for text in textwrap.wrap(f"gate: {ruling.message}", _WIDTH, break_on_hyphens=False)
        )


def left_out_lines(left_out: LeftOut, *, failed: int = 0) -> Iterator[Line]:
    """Which trials were not run, and why; ``failed`` of the finished ones did not pass."""
    parts = []
    if left_out.finished:
        unsuccessful = f", {failed} of them without success" if failed else ""
        parts.append(f"{_plural(left_out.finished, 'trial')} finished before (--resume){unsuccessful}")
    if left_out.elsewhere:
        parts.append(f"{_plural(left_out.elsewhere, 'trial')} of other shards (--shard)")
    if left_out.unrecorded:
        parts.append(f"{_plural(left_out.unrecorded, 'item')} that the run has no record of")
    if left_out.stored:
        parts.append(f"{_plural(left_out.stored, 'record')} kept as before: no such item selected")
    if parts:
        yield from _row("left out", parts, indent=0)


_JUDGED: tuple[QuestionKind, ...] = ("equivalent", "formula", "rubric")
"""Kinds of question that judges are measured for, each by itself."""


def judge_lines(settings: JudgeSettings, asked: str = "") -> Iterator[Line]:
    """How far the run's judge is to be trusted; nothing without one.

    ``asked``: the prompts that it was asked with. Of formulas and rubrics is told where they were, or it was measured.
    """
    if not settings.model:
        return
    for kind in _JUDGED:
        state = standing(settings, kind)
        if kind == "equivalent" or state.known is not None or f"{kind}@" in asked:
            mark = "red" if state.off else "" if state.known is not None else "yellow"
            yield from (Line(text, mark) for text in textwrap.wrap(f"judge {state.told}", _WIDTH - 10))


def _judge_rows(summary: Summary) -> Iterator[Line]:
    if (used := summary.judge_usage) is not None:
        cached = f", {summary.judge_cached} from the cache" if summary.judge_cached else ""
        asked = f"{_plural(summary.judge_questions, 'question')} on {_plural(summary.judged, 'trial')}{cached}"
        yield from _row("judge", [*summary.judges, asked, dollars(used.cost), f"{used.input_tokens:,} tokens in"])
    for reason, count in summary.unjudged.items():
        of = _plural(summary.rate.judged + summary.rate.errors, "trial")
        told = f"{count} of {of}: {reason}"
        for text in textwrap.wrap(told, _WIDTH - _LABEL, break_on_hyphens=False, break_long_words=False):
            yield Line(f"{'  not judged' if told.startswith(text) else '':<{_LABEL}}{text}", "yellow")


def skipped_lines(skipped: Mapping[str, int]) -> Iterator[Line]:
    """Why trials were skipped, each reason once; commands in it stay whole, so that they can be copied."""
    for reason, count in skipped.items():
        head = f"{'skipped':<{_LABEL}}"
        for line in f"{_plural(count, 'trial')}: {reason}".splitlines():
            whole = line.startswith(" ") or len(line) <= _WIDTH - _LABEL
            for part in [line] if whole else textwrap.wrap(line, _WIDTH - _LABEL, break_long_words=False):
                yield Line(f"{head}{part}", "yellow" if head.strip() else "")
                head = " " * _LABEL


def _cost_rows(summary: Summary) -> Iterator[Line]:
    used = summary.usage
    if used is None:
        return
    yield from _row("cost", usage_words(used), mark="yellow" if used.cost is None else "")
    if used.cost is None:
        known = [f"{dollars(summary.known_cost)} known of {_plural(summary.priced, 'trial')}"] if summary.priced else []
        models = " or ".join(summary.unpriced) or "the model"
        yield from _row("", [*known, f"no price for {models} (--prices)"], mark="yellow")


def budget_lines(ledger: Sequence[LedgerLine], settings: ModelSettings) -> Iterator[Line]:
    """What the whole run spent on models, where that is more than the sum of its trials or bounded."""
    if not ledger:
        return
    parts = []
    spent = sum(line.usage.cost or 0.0 for line in ledger)
    judges = [line for line in ledger if line.purpose == "judge"]
    limit = f" of {dollars(settings.max_cost)} (--max-cost)" if settings.max_cost is not None else ""
    if limit or judges:
        parts.append(f"{dollars(spent)} spent{limit}")
    if judges:
        parts.append(f"{dollars(sum(line.usage.cost or 0.0 for line in judges))} of it by judges")
    if unknown := sum(line.unknown for line in ledger):
        assumed = sum(line.assumed for line in ledger)
        taken = f", taken for {dollars(assumed)}" if assumed and settings.max_cost is not None else ""
        parts.append(f"{_plural(unknown, 'call')} of unknown cost{taken}")
    if lost := sum(line.open for line in ledger):
        parts.append(f"{_plural(lost, 'request')} cut off, cost not told")
    if settings.cache is not None:
        hits = sum(line.usage.cached_calls for line in ledger)
        misses = sum(line.usage.calls for line in ledger) - hits
        parts.append(f"cache: {_plural(hits, 'hit')}, {misses} missed")
    if parts:
        yield from _row("models", parts, indent=0)


def _rate_lines(summary: Summary) -> Iterator[Line]:
    rate = summary.rate
    errors = f", {_plural(rate.errors, 'error')} beside" if rate.errors else ""
    if rate.value is None:
        yield Line(f"{summary.name}: no trial was judged{errors}", "bold")
        return
    low, high = rate.interval
    graded = f", grading {' and '.join(summary.gradings)}" if summary.gradings else ""
    first = f"{summary.name}: {rate.passed}/{rate.judged} passed = {rate.value:.1%}{graded}"
    rule = "clustered interval" if rate.clusters < rate.judged else "interval"
    second = f"(95% {rule} {low:.1%} to {high:.1%}){errors}"
    if rate.chance is not None:
        some = f" on {rate.guessable} of them" if rate.guessable < rate.judged else ""
        second += f", guessing gets {rate.chance:.1%}{some}"
    if len(first) + 1 + len(second) <= _WIDTH:
        yield Line(f"{first} {second}", "bold")
    else:
        yield Line(first, "bold")
        yield Line(f"  {second}", "bold")


def _app(app: AppReport) -> Iterator[str]:
    yield f"{_plural(app.leases, 'lease')}"
    if app.waits.count:
        yield f"{app.waits.count} waited {_times(app.waits)}"
    if app.handovers.count:
        yield f"hand-over {_times(app.handovers)}"
    if app.backend == EXTERNAL:
        yield "never reset"
        return
    if app.resets.count:
        yield f"{_plural(app.resets.count, 'reset')} {_times(app.resets)}"
    if app.clean_hand_ons:
        yield f"{app.clean_hand_ons} handed on clean"
    if app.broken:
        yield f"{app.broken} broken"
    if app.failed_starts:
        yield f"{_plural(app.failed_starts, 'failed start')}"
    if app.most_replicas:
        yield f"{_plural(app.most_replicas, 'replica')} at most"


def _times(times: Durations) -> str:
    """The median, and the longest where that is much longer."""
    longest = f" (max {_milliseconds(times.max)})" if times.max >= 2 * times.median and times.count > 1 else ""
    return _milliseconds(times.median) + longest


def _milliseconds(value: float) -> str:
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _short(rate: Rate) -> str:
    return f"{rate.passed}/{rate.judged}" + (f"+{rate.errors}E" if rate.errors else "")


def _counts(counts: Mapping[str, int]) -> list[str]:
    return [f"{name} {count}" for name, count in counts.items()]


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _row(label: str, parts: Iterable[str], *, indent: int = 2, mark: str = "") -> Iterator[Line]:
    """A label and its parts, broken between parts into lines of at most 80 columns below each other."""
    glued = ", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)  # no break inside a part
    pad = " " * indent
    wrapped = textwrap.wrap(glued, _WIDTH - _LABEL, break_on_hyphens=False, break_long_words=False) or [""]
    for number, text in enumerate(wrapped):
        head = f"{pad}{label}" if number == 0 else ""
        gap = "" if len(head) < _LABEL else " "
        yield Line(f"{head:<{_LABEL}}{gap}{text}".replace("\N{NO-BREAK SPACE}", " "), mark)


def _shorter(path: Path) -> str:
    """Relative to here, unless that is the longer way to say it."""
    return min(str(path), os.path.relpath(path), key=len)
