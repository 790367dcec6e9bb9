"""Terminal output: a header and a summary, both at most 80 columns wide."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.llm.model_calls import calls_of, read_model_calls
from pytest_webarena.plugin.reporting.ended_trials import cut_off_lines, unattributed_lines, unreadable_lines
from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.plugin.reporting.refused_hosts import refused_host_lines
from pytest_webarena.plugin.reporting.site_changes import site_change_lines
from pytest_webarena.plugin.reporting.summary_lines import LABEL, WIDTH, Line, plural, row, shorter, wrapped
from pytest_webarena.plugin.stash import SETTINGS
from pytest_webarena.results.conditions import mixed, source_of
from pytest_webarena.results.gradings import compare
from pytest_webarena.results.published import published
from pytest_webarena.results.statistics import grouped
from pytest_webarena.results.wording import dollars, passed_words, size_words
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from pytest_webarena.checks.judge_protocol import QuestionKind
    from pytest_webarena.llm.config import ModelSettings
    from pytest_webarena.llm.model_calls import CallTotals
    from pytest_webarena.llm_judge.config import JudgeSettings
    from pytest_webarena.plugin.controller import Controller
    from pytest_webarena.plugin.items import TaskItem
    from pytest_webarena.plugin.selection import LeftOut
    from pytest_webarena.plugin.settings import Settings
    from pytest_webarena.results import Rate, TrialRecord
    from pytest_webarena.results.gate import Ruling
    from pytest_webarena.results.plan import Coverage
    from pytest_webarena.sites.protocol.report import AppReport, BrokerReport, Durations

__all__ = [
    "budget_lines",
    "coverage_lines",
    "grading_lines",
    "header",
    "judge_lines",
    "left_out_lines",
    "on_record_lines",
    "rescored_lines",
    "resolution_lines",
    "site_lines",
    "skipped_lines",
    "stopped_lines",
    "write_summary",
]


def header(config: pytest.Config) -> str | None:
    """Return the header with agents and sites; None unless an option requests them.

    Projects without this plugin's options see no header.
    """
    settings = config.stash[SETTINGS]
    if settings.audit:
        return f"webarena: audit of tasks · sites {settings.catalogue}"
    if settings.rescore is not None:
        line = f"webarena: judging {shorter(settings.rescore)} again · grading {settings.options.grading}"
        return "\n".join([line, *(f"webarena: {line.text}" for line in judge_lines(settings.judge))])
    if settings.on_record is not None:
        line = f"webarena: agent {', '.join(settings.agents)} on the record of {shorter(settings.on_record.run)}"
        return "\n".join([line, *(f"webarena: {line.text}" for line in judge_lines(settings.judge))])
    if not settings.agents_given:
        return None
    agents = ", ".join(settings.agents)
    graded = settings.options.grading
    several = f" · browsers {', '.join(settings.browsers)}" if len(settings.browsers) > 1 else ""
    preset = f" · preset {settings.preset}" if settings.preset else ""
    line = (
        f"webarena: agent {agents}{preset} · trials {settings.trials}{several} · sites {settings.catalogue} · "
        f"grading {graded}"
    )
    return "\n".join(
        [
            line,
            *_power_lines(settings),
            *_film_lines(settings),
            *(f"webarena: {line.text}" for line in judge_lines(settings.judge)),
        ]
    )


def _power_lines(settings: Settings) -> Iterator[str]:
    """The smallest difference to the baseline that the run can find, and its cost, before money is spent."""
    if settings.gate.baseline is None:
        return
    from pytest_webarena.errors import UsageError
    from pytest_webarena.results.comparing.baseline import sides_at
    from pytest_webarena.results.comparing.planning import ground_of, smallest_difference

    try:
        side = sides_at(settings.gate.baseline)[0]
    except UsageError:
        return  # the gate reports it
    if not side.counts:
        return
    ground, confidence = ground_of(side), settings.gate.confidence
    found = smallest_difference(ground, tasks=ground.tasks, trials=settings.trials, confidence=confidence)
    cost = f" · about {dollars(ground.cost * ground.tasks * settings.trials)} an agent" if ground.cost else ""
    where = shorter(settings.gate.baseline)
    detectable = f"can show {found * 100:.1f} points" if found < 1 else "can't show any difference, however large"
    yield f"webarena: baseline {where} · its {plural(ground.tasks, 'task')} × {settings.trials} {detectable}{cost}"


def resolution_lines(config: pytest.Config, items: Sequence[TaskItem]) -> list[str]:
    """Return the smallest difference between its agents that a run can show, before money is spent.

    Empty with fewer than two agents.
    """
    agents = {(item.agent_name, item.browser) for item in items}
    if len(agents) < 2:
        return []
    settings = config.stash[SETTINGS]
    if settings.audit or settings.offline:
        return []
    from pytest_webarena.results.comparing.planning import blank_ground, smallest_difference

    templates = {item.task.id: item.task.template or item.task.id for item in items}
    trials = len(items) / len(agents) / len(templates)
    ground = blank_ground(list(templates.values()))
    found = smallest_difference(
        ground, tasks=ground.tasks, trials=trials, confidence=settings.gate.confidence, both=True
    )
    many = f"{plural(ground.tasks, 'task')} × {trials:.3g}"
    if found >= 1:
        return [f"webarena: {many} can't show any difference between two agents, however large"]
    return [f"webarena: {many} can show {found * 100:.1f} points between two agents that pass about half"]


def _film_lines(settings: Settings) -> Iterator[str]:
    """Agents of which no requested traces or videos can be made."""
    if settings.options.tracing == settings.options.video == "off":
        return
    from pytest_webarena.agents import resolve_agent

    for name in settings.agents:
        if resolve_agent(name, settings.agent_directories, settings.overrides).self_driving:
            yield f"webarena: no traces or videos of {name}, which drives its browser itself"


def write_summary(reporter: TerminalReporter, controller: Controller) -> None:
    """Write the run's figures, from its records."""
    if controller.refusal:
        reporter.write_line(printable(f"ERROR: {controller.refusal}"), red=True)
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
    if reporter.config.stash[SETTINGS].on_record is not None:
        lines = list(on_record_lines(controller.records))
    else:
        lines = list(summary_lines(controller.summaries().values(), differing, original_rates(controller.records)))
    lines += coverage_lines(controller.coverages.values())
    lines += stopped_lines(controller.stopped, f"pytest --resume={shlex.quote(shorter(run.path))}")
    lines += unreadable_lines(controller.unreadable)
    lines += unattributed_lines(controller.records, run.path)
    lines += grading_lines(controller.records, run.path)
    lines += site_change_lines(controller.records)
    lines += refused_host_lines(controller.records)
    if controller.broker_report is not None:
        lines += site_lines(controller.broker_report)
    lines += budget_lines(read_model_calls(calls_of(run.path)), reporter.config.stash[SETTINGS].options.models)
    prompts = " ".join(record.judge.prompt for record in controller.records if record.judge is not None)
    lines += judge_lines(reporter.config.stash[SETTINGS].judge, prompts)
    if reporter.config.stash[SETTINGS].rescore is not None:
        lines += rescored_lines(controller.records, since=controller.started)
    lines += cut_off_lines(sum(map(run.cut_off, controller.records)))
    lines += left_out_lines(controller.left_out, failed=controller.failed_before)
    lines += skipped_lines(controller.skipped)
    lines += comparison_lines(controller)
    lines += _gate_lines(controller.ruling)
    lines.append(Line(f"records: {shorter(run.path)} ({size_words(run.size())})"))
    _write(reporter, lines)


def _write(reporter: TerminalReporter, lines: Iterable[Line]) -> None:
    for line in lines:
        reporter.write_line(printable(line.text), **({line.mark: True} if line.mark else {}))


def original_rates(records: Sequence[TrialRecord]) -> dict[str, Rate]:
    """Return rates by ``original`` of agents whose trials are of one suite with published rates.

    Agents whose trials count by ``original`` anyway have none.
    """
    suites: dict[str, set[str]] = {}
    for name, trials in grouped(records).items():
        suites[name] = {str(record.source.get("suite", "")) for record in trials}
    return {
        name: each.rates["original"]
        for name, each in compare(records).items()
        if "original" in each.rates and each.headline != "original"
        if len(suites[name]) == 1 and published(*suites[name])
    }


def grading_lines(records: Sequence[TrialRecord], run_dir: Path) -> Iterator[Line]:
    """Yield the rates of several gradings, and the number of trials on which they disagree."""
    found = [each for each in compare(records).values() if each.compared]
    disputed = 0
    for each in found:
        prefix = f"{each.name}: " if len(found) > 1 else ""
        rates = [
            f"{name} {passed_words(rate)}" + (f" ({rate.errors} not computed)" if rate.errors else "")
            for name, rate in each.rates.items()
        ]
        yield from row("gradings" if each is found[0] else "", [prefix + rates[0], *rates[1:]], indent=0)
        disputed += len(each.disagreements)
    if disputed:
        disputed_text = f"{plural(disputed, 'trial')} judged differently"
        yield from row(
            "", [disputed_text, f"see webarena compare gradings {shorter(run_dir)}"], indent=0, mark="yellow"
        )


def site_lines(report: BrokerReport) -> Iterator[Line]:
    """Yield the performance of sites: waiting times of trials, times to assign and to reset replicas."""
    for app in report.apps.values():
        yield from row(app.app, _app(app), indent=0)
    for problem in report.problems:
        yield Line(f"sites: {problem}", "red")
    for note in report.notes:
        yield Line(f"sites: {note}", "yellow")


def rescored_lines(records: Sequence[TrialRecord], *, since: float) -> Iterator[Line]:
    """Yield what rescoring changed since this Unix time: verdicts, and trials of edited tasks."""
    changed = [record for record in records if record.history and record.history[-1]["until"] >= since]
    moves = Counter(
        f"{before} → {record.outcome}"
        for record in changed
        if (before := record.history[-1]["outcome"]) != record.outcome
    )
    parts = [f"{count} {move}" for move, count in moves.most_common()] or ["no outcome changed"]
    if same := len(changed) - sum(moves.values()):
        parts.append(f"{same} with the same outcome, put otherwise")
    yield from row("judged again", parts, indent=0)
    if edited := sum(record.history[-1]["task_digest"] != record.task_digest for record in changed):
        edited_text = f"{plural(edited, 'trial')} of tasks that were edited since"
        yield from row("edited", [edited_text, "judged by their new text"], indent=0, mark="yellow")


def on_record_lines(records: Sequence[TrialRecord]) -> Iterator[Line]:
    """Yield how far each agent stayed on the record, instead of a rate: another way to do a task is not a failure."""
    for name, trials in grouped(records).items():
        progress = [each.environment.get("on_record", {}) for each in trials]
        followed, steps = (sum(int(each.get(key, 0)) for each in progress) for key in ("followed", "steps"))
        whole = [each for each in trials if each.verdict is not None]
        parts = [
            f"{len(whole)} of {plural(len(trials), 'trial')} on the record to its end",
            f"{sum(each.outcome == 'passed' for each in whole)} passed",
            f"{followed} of {plural(steps, 'step')} followed",
        ]
        if errors := sum(each.outcome == "error" for each in trials):
            parts.append(plural(errors, "error"))
        yield from row(name, parts, indent=0)
    yield from row("note", ["other ways to do a task leave the record: no success rate"], indent=0)


def coverage_lines(coverages: Iterable[Coverage]) -> Iterator[Line]:
    """Yield the results of the planned trials of all agents, each counted once."""
    found = list(coverages)

    def total(name: str) -> int:
        return sum(getattr(each, name) for each in found)

    if not (planned := total("planned")):
        return
    ways = [f"{total('judged')} judged"]
    ways += [plural(total("errors"), "error")] * bool(total("errors"))
    ways += [f"{total('lost')} lost"] * bool(total("lost"))
    parts = [f"{planned} planned", f"{total('run')} run ({', '.join(ways)})"]
    rest = {
        "skipped": "skipped",
        "allowed": "skipped (--allow-skipped)",
        "decided": "not needed (--stop-when-settled)",
        "not_run": "not run",
    }
    parts += [f"{count} {words}" for name, words in rest.items() if (count := total(name))]
    yield from row("trials", parts, indent=0, mark="yellow" if total("missing") else "")


def stopped_lines(stopped: Mapping[str, int], way_on: str = "") -> Iterator[Line]:
    """Yield the trials that were not run after too many equal errors, each reason once, and how to continue."""
    label = "not run"
    for reason, count in stopped.items():
        entry = f"{plural(count, 'trial')}; {reason}"
        for text in wrapped(entry):
            yield Line(f"{label:<{LABEL}}{text}", "red")
            label = ""
    if stopped and way_on:
        yield Line(f"  resume with: {way_on}", "red")


def comparison_lines(controller: Controller) -> Iterator[Line]:
    """Yield comparisons of the run's agents with each other and with ``--baseline``, in short."""
    from pytest_webarena.results.comparing.wording import headline

    for why in controller.decided:
        for number, text in enumerate(wrapped(why)):
            yield Line(f"{'settled' * (not number):<{LABEL}}{text}", "bold")
    if controller.until is not None and controller.records and not controller.decided:
        yield Line(f"{'settled':<{LABEL}}no: unsettled at {controller.until * 100:g} points after all trials", "yellow")
    # Intervals of a fixed size are not valid after a sequential stop.
    between = [] if controller.decided else controller.between_agents()
    for each in (*between, *controller.comparisons):
        mark = {"better": "", "worse": "red"}.get(each.verdict, "yellow")
        for number, text in enumerate(wrapped(headline(each))):
            yield Line(f"{'compared' * (not number):<{LABEL}}{text}", mark)


def _gate_lines(ruling: Ruling | None) -> Iterator[Line]:
    if ruling is not None:
        mark = "red" if ruling.exit_code else ""
        yield from (Line(text, mark) for text in wrapped(f"gate: {ruling.message}", WIDTH))


def left_out_lines(left_out: LeftOut, *, failed: int = 0) -> Iterator[Line]:
    """Yield the numbers of trials that were not run, by reason; ``failed`` of the finished ones did not pass."""
    parts = []
    if left_out.finished:
        unsuccessful = f", {failed} of them without success" if failed else ""
        parts.append(f"{plural(left_out.finished, 'trial')} finished before (--resume){unsuccessful}")
    if left_out.other_shards:
        parts.append(f"{plural(left_out.other_shards, 'trial')} of other shards (--shard)")
    if left_out.unrecorded:
        parts.append(f"{plural(left_out.unrecorded, 'item')} that the run has no record of")
    if left_out.stored:
        parts.append(f"{plural(left_out.stored, 'record')} kept as before: no such item selected")
    if parts:
        yield from row("left out", parts, indent=0)


_JUDGED: tuple[QuestionKind, ...] = ("equivalent", "formula", "rubric", "rule")
"""Kinds of question for which judges are measured separately."""


def judge_lines(settings: JudgeSettings, prompts: str = "") -> Iterator[Line]:
    """Yield how reliable the run's judge is; nothing without one.

    ``prompts`` are those that were used. Formulas, rubrics and rules are included where they were used or measured.
    """
    if not settings.model:
        return
    from pytest_webarena.llm_judge.judge_eligibility import judge_eligibility_of  # only where there is a judge

    for kind in _JUDGED:
        state = judge_eligibility_of(settings, kind)
        if kind == "equivalent" or state.known is not None or f"{kind}@" in prompts:
            mark = "red" if state.off else "" if state.known is not None else "yellow"
            yield from (Line(text, mark) for text in wrapped(f"judge {state.summary}", WIDTH - 10))


def skipped_lines(skipped: Mapping[str, int]) -> Iterator[Line]:
    """Yield why trials were skipped, each reason once; commands are not wrapped, so that they can be copied."""
    for reason, count in skipped.items():
        head = f"{'skipped':<{LABEL}}"
        for line in f"{plural(count, 'trial')}: {reason}".splitlines():
            whole = line.startswith(" ") or len(line) <= WIDTH - LABEL
            for part in [line] if whole else textwrap.wrap(line, WIDTH - LABEL, break_long_words=False):
                yield Line(f"{head}{part}", "yellow" if head.strip() else "")
                head = " " * LABEL


def budget_lines(calls: Sequence[CallTotals], settings: ModelSettings) -> Iterator[Line]:
    """Yield the model costs of the whole run, where they exceed the sum of its trials or are limited."""
    if not calls:
        return
    parts = []
    spent = sum(line.usage.cost or 0.0 for line in calls)
    purposes = {"judges": "judge", "reward models": "reward"}
    others = {
        purpose_name: [line for line in calls if line.purpose == purpose] for purpose_name, purpose in purposes.items()
    }
    limit = f" of {dollars(settings.max_cost)} (--max-cost)" if settings.max_cost is not None else ""
    if limit or any(others.values()):
        reserved = math.fsum(line.reserved for line in calls)
        held = f" and {dollars(reserved)} reserved" if reserved and limit else ""
        parts.append(f"{dollars(spent)} spent{held}{limit}")
    for purpose_name, lines in others.items():
        if lines:
            parts.append(f"{dollars(sum(line.usage.cost or 0.0 for line in lines))} of it by {purpose_name}")
    if unknown := sum(line.unknown for line in calls):
        assumed = sum(line.assumed for line in calls)
        counted = f", counted as {dollars(assumed)}" if assumed and settings.max_cost is not None else ""
        parts.append(f"{plural(unknown, 'call')} of unknown cost{counted}")
    if lost := sum(line.open for line in calls):
        parts.append(f"{plural(lost, 'request')} without a reported cost")
    if settings.cache is not None:
        hits = sum(line.usage.cached_calls for line in calls)
        misses = sum(line.usage.calls for line in calls) - hits
        parts.append(f"cache: {plural(hits, 'hit')}, {misses} missed")
    if parts:
        yield from row("models", parts, indent=0)


def _app(app: AppReport) -> Iterator[str]:
    yield f"{plural(app.leases, 'lease')}"
    if app.waits.count:
        yield f"{app.waits.count} waited {_times(app.waits)}"
    if app.handovers.count:
        yield f"granted in {_times(app.handovers)}"
    if not app.is_reset:
        yield "never reset"
        return
    if app.resets.count:
        yield f"{plural(app.resets.count, 'reset')} {_times(app.resets)}"
    reasons = [f"{count} after {why}" for why, count in app.reset_reasons.items()]
    yield from reasons if len(reasons) < 4 else [*reasons[:3], "…"]
    if app.clean_hand_ons:
        yield f"{app.clean_hand_ons} reused"
    if app.broken:
        yield f"{app.broken} broken"
    if app.failed_starts:
        yield f"{plural(app.failed_starts, 'failed start')}"
    if app.most_replicas:
        yield f"{plural(app.most_replicas, 'replica')} at most"


def _times(times: Durations) -> str:
    """The median, and the maximum where it is much larger."""
    longest = f" (max {_milliseconds(times.max)})" if times.max >= 2 * times.median and times.count > 1 else ""
    return _milliseconds(times.median) + longest


def _milliseconds(value: float) -> str:
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"
