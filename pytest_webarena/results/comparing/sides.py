"""Sides of a comparison: an agent in one browser with the results of its trials, from a run or a baseline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_webarena.errors import UsageError
from pytest_webarena.results.comparing.difference import PairedTask
from pytest_webarena.results.comparing.uncertainty import Verdicts, bounds, difference_bounds, least_informed
from pytest_webarena.results.conditions import check_rates, differing_values, source_of, traits_of
from pytest_webarena.results.plan import PlannedTrial, as_undecided, read_plan
from pytest_webarena.results.records import JudgeErrors, Outcome, TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.statistics import Rate, Stopped, cluster_of, grouped, rate_of

__all__ = ["Side", "SideTask", "Trait", "Try", "bounds_of", "paired", "side_of", "sides_of", "sides_of_records"]

Trait = tuple[str, str, bool]
"""Property of a side's trials: name, value, and whether a rate depends on it (`conditions.traits_of`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """Summary of one trial."""

    trial: int
    outcome: Outcome
    cost: float | None = None
    """US dollars, including those that the response cache saved; None where they are unknown."""
    saved: float = 0.0
    """US dollars that the response cache saved, a part of ``cost``."""
    tokens: int | None = None
    """Tokens of prompts and replies together; None where no model was used or reported."""
    steps: int = 0
    seconds: float = 0.0
    judge: bool = False
    """Whether a judge model was asked about the trial."""
    undecided: bool = False
    """Whether the trial counts as failed and might have passed (`TrialRecord.undecided`)."""
    folder: str = ""
    """Name of the trial's folder in its run directory."""
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTask:
    """One agent's results on one task."""

    task: str
    cluster: str
    digest: str = ""
    sites: tuple[str, ...] = ()
    category: str = ""
    tags: tuple[str, ...] = ()
    node: str = ""
    """Node id without parameters, its file relative to the root directory; empty where it is unknown."""
    tries: tuple[Try, ...]

    @property
    def passed(self) -> int:
        """Number of trials that passed."""
        return sum(each.outcome == "passed" for each in self.tries)

    @property
    def judged(self) -> int:
        """Number of trials with a verdict."""
        return sum(each.outcome != "error" for each in self.tries)

    @property
    def undecided(self) -> int:
        """Number of failed trials that could have passed, because the rules could not decide."""
        return sum(each.undecided for each in self.tries)

    @property
    def verdicts(self) -> Verdicts:
        """Numbers of verdicts, with and without a judge."""
        judge_tries = [each for each in self.tries if each.judge and each.outcome != "error"]
        accepted = sum(each.outcome == "passed" for each in judge_tries)
        return Verdicts(passed=self.passed, total=self.judged, by_judge=len(judge_tries), accepted=accepted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """An agent in one browser of one run."""

    name: str
    """Name of the side in messages."""
    agent: str
    browser: str
    run: str
    """Name of the run, or of the baseline's file."""
    path: Path | None = None
    """The run directory; None for a baseline."""
    tasks: Mapping[str, SideTask]
    traits: tuple[Trait, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    """Number of planned trials without a result, by task. Those that `--stop-when-settled` left out are not counted."""
    stopped: Mapping[str, int] = field(default_factory=dict)
    """Number of those that errors in a row stopped, by task."""
    decided: frozenset[str] = frozenset()
    """Tasks of which `--stop-when-settled` left out trials."""
    looked: bool = False
    """Whether the run ended early because of ``--stop-when-settled``."""
    judge_errors: JudgeErrors | None = None
    """Errors of the judge that was asked about the trials; None when it was never measured."""
    order: tuple[str, ...] = field(default=(), compare=False)
    """Tasks in the order of their first trial."""

    @property
    def tries(self) -> list[Try]:
        """All trials of the side."""
        return [each for task in self.tasks.values() for each in task.tries]

    @property
    def counts(self) -> list[tuple[int, int]]:
        """Passed and judged trials of each task that has a verdict."""
        return [(task.passed, task.judged) for task in self.tasks.values() if task.judged]

    @property
    def mixed(self) -> tuple[str, ...]:
        """Differences between its trials that make its rate meaningless (`conditions.differing_values`)."""
        return differing_values(self.traits)

    @property
    def rate(self) -> Rate:
        """The rate of all trials of the side, each with the same weight, with and without errors as failures."""
        trials = [(task.cluster, each) for task in self.tasks.values() for each in task.tries]
        stopped = [
            Stopped(self.tasks[name].cluster if name in self.tasks else name)
            for name, count in self.stopped.items()
            for _ in range(count)
        ]
        return rate_of(
            [(cluster, each.outcome) for cluster, each in trials], [each.undecided for _, each in trials],
            stopped=stopped,
        )  # fmt: skip

    @property
    def missing_text(self) -> str:
        """The number of planned trials without a result, as text; empty where all have one."""
        missing = sum(self.missing.values())
        return f"{missing:,} of {missing + len(self.tries):,} planned trials have no result" if missing else ""

    @property
    def undecided(self) -> int:
        """Number of trials that the rules could not decide; they count as failed."""
        return sum(task.undecided for task in self.tasks.values())

    @property
    def errors(self) -> int:
        """Number of trials without a verdict."""
        return sum(each.outcome == "error" for each in self.tries)


def sides_of(path: Path, *, label: str = "") -> list[Side]:
    """Return all agents of a run per browser, in the order of the command line.

    Raises:
        UsageError: ``path`` is not a run of agents.
    """
    run = RunDir(path)
    facts, records = run.facts(), run.finished()
    check_rates(path, facts)
    if facts.get("audit"):
        raise UsageError(f"{path}: expected a run of agents, found an audit of tasks")
    return sides_of_records(path, facts, records, label=label)


def sides_of_records(
    path: Path, facts: Mapping[str, Any], records: Sequence[TrialRecord], *, label: str = ""
) -> list[Side]:
    """Return the sides of records that have been read, of the run in ``path`` with the ``run.json`` ``facts``."""
    traits = traits_of(source_of(path, facts, records), named_with=[record.key for record in records])
    name = label or path.resolve().name
    known = {record.key for record in records}
    without_result = [planned for key, planned in read_plan(path).items() if key not in known]
    found = [
        side_of(agent, some, run=name, path=path, traits=traits.get(agent, ()), without_result=without_result)
        for agent, some in grouped(records).items()
    ]
    given = [str(agent) for agent in facts.get("agents") or ()]
    return sorted(found, key=lambda side: _place(side.agent, given))


def _place(agent: str, given: Sequence[str]) -> int:
    """An agent's position among those that the command line named."""
    from pytest_webarena.agents.registry import agent_id

    ids = [agent_id(name) for name in given]
    return ids.index(agent) if agent in ids else len(ids)


def side_of(
    name: str,
    records: Sequence[TrialRecord],
    *,
    run: str,
    path: Path | None = None,
    traits: Iterable[Trait] = (),
    without_result: Iterable[PlannedTrial] = (),
) -> Side:
    """Return the side of ``records``, which are one agent's in one browser.

    ``without_result`` are planned trials of any agent without a record. Those that ends of their agent stopped are
    undecided trials.
    """
    own = [each for each in without_result if each.key.entrant == records[0].key.entrant]
    without_result = [each for each in own if not each.undecided]
    by_task: dict[str, list[TrialRecord]] = {}
    for record in records:
        by_task.setdefault(record.key.task, []).append(record)
    first = {task: min(each.started for each in some) for task, some in by_task.items()}
    for each in own:
        if each.undecided:
            by_task.setdefault(each.key.task, []).append(as_undecided(each))
            first.setdefault(each.key.task, math.inf)
    return Side(
        name=name,
        agent=records[0].key.agent,
        browser=records[0].key.browser,
        run=run,
        path=path,
        tasks={task: _task(task, some) for task, some in by_task.items()},
        traits=tuple(traits),
        missing=dict(Counter(each.key.task for each in without_result if not each.decided)),
        stopped=dict(Counter(each.key.task for each in without_result if each.stopped)),
        decided=frozenset(each.key.task for each in own if each.decided),
        looked=any(each.decided for each in own),
        judge_errors=least_informed(
            record.judge.errors for record in records if record.judge is not None and record.outcome != "error"
        ),
        order=tuple(sorted(first, key=lambda task: (first[task], task))),
    )


def _task(task: str, records: Sequence[TrialRecord]) -> SideTask:
    judged = next((record for record in records if record.outcome != "error"), records[0])
    suite, template = cluster_of(judged)
    return SideTask(
        task=task,
        cluster=f"{suite}: {template}",
        digest=judged.task_digest,
        sites=tuple(sorted(judged.sites)),
        category=judged.category,
        tags=judged.tags,
        node=judged.node_id.partition("[")[0],
        tries=tuple(_try(record) for record in sorted(records, key=lambda record: record.key.trial)),
    )


def _try(record: TrialRecord) -> Try:
    used = record.total_usage
    return Try(
        trial=record.key.trial,
        outcome=record.outcome,
        cost=used.worth if used is not None and used.complete else None,
        saved=(used.saved or 0.0) if used is not None else 0.0,
        tokens=used.input_tokens + used.output_tokens if used is not None else None,
        steps=record.steps,
        seconds=record.seconds.get("total", 0.0),
        judge=record.judge is not None,
        undecided=record.undecided,
        folder=record.key.folder,
        attempt=record.attempt,
    )


def paired(first: Side, second: Side, tasks: Iterable[str]) -> list[PairedTask]:
    """Return both sides of each of ``tasks`` that has a verdict on both."""
    found = []
    for name in tasks:
        one, other = first.tasks.get(name), second.tasks.get(name)
        if one is not None and other is not None and one.judged and other.judged:
            found.append(
                PairedTask(
                    task=name,
                    cluster=one.cluster,
                    passed=(one.passed, other.passed),
                    judged=(one.judged, other.judged),
                )
            )
    return found


def bounds_of(
    first: Side, second: Side, tasks: Sequence[str], *, over: Literal["all", "errors", "undecided"] = "all"
) -> tuple[float, float]:
    """Return the smallest and the largest difference, over all outcomes of trials that are undecided or errors.

    With ``over="errors"`` undecided trials are not met, and with ``over="undecided"`` errors are excluded.
    """
    return difference_bounds(_rate_bounds(first, tasks, over), _rate_bounds(second, tasks, over))


def _rate_bounds(side: Side, tasks: Sequence[str], over: str) -> tuple[float, float]:
    """The rate if all unknown trials had failed, and if all had passed; each task has the same weight."""
    parts = []
    for name in tasks:
        task, missing = side.tasks.get(name), side.missing.get(name, 0)
        passed, judged, tried, undecided = 0, 0, 0, 0
        if task is not None:
            passed, judged, tried = task.passed, task.judged, len(task.tries)
            undecided = task.undecided if over != "errors" else 0
        errors = tried - judged + missing if over != "undecided" else 0
        parts.append(bounds(passed, judged - undecided, errors + undecided))
    return math.fsum(low for low, _ in parts) / len(parts), math.fsum(high for _, high in parts) / len(parts)
