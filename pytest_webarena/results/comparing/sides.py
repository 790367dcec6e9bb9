"""One side of a comparison: an agent in one browser, with what its trials came to; from a run or from a baseline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.results.comparing.difference import PairedTask
from pytest_webarena.results.comparing.uncertainty import Verdicts, bounds, difference_bounds, least_informed
from pytest_webarena.results.conditions import check_rates, source_of, traits_of
from pytest_webarena.results.plan import PlannedTrial, read_plan
from pytest_webarena.results.records import JudgeErrors, Outcome, TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.statistics import cluster_of, grouped

__all__ = ["Side", "SideTask", "Trait", "Try", "bounds_of", "paired", "side_of", "sides_of", "sides_of_records"]

Trait = tuple[str, str, bool]
"""What is told of a side's trials: name, value, and whether a rate depends on it (`conditions.traits_of`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One trial, in short."""

    trial: int
    outcome: Outcome
    cost: float | None = None
    """US dollars, those that the response cache saved included; None where they are not known."""
    saved: float = 0.0
    """Of these, what the response cache saved."""
    tokens: int | None = None
    """Of prompts and replies together; None where no model was used or told of."""
    steps: int = 0
    seconds: float = 0.0
    judge: bool = False
    """Whether a judge model was asked about it."""
    counts: bool = False
    """An error that a gate counts as not passed: it is the agent's own word, or its budget was spent."""
    folder: str = ""
    """Of the trial, below its run directory."""
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTask:
    """What one agent made of one task."""

    task: str
    cluster: str
    digest: str = ""
    sites: tuple[str, ...] = ()
    category: str = ""
    tags: tuple[str, ...] = ()
    node: str = ""
    """Its node id, its file relative to the root directory, without parameters; empty where it is not known."""
    tries: tuple[Try, ...]

    @property
    def passed(self) -> int:
        """Trials that passed."""
        return sum(each.outcome == "passed" for each in self.tries)

    @property
    def judged(self) -> int:
        """Trials with a verdict."""
        return sum(each.outcome != "error" for each in self.tries)

    @property
    def verdicts(self) -> Verdicts:
        """What came of them, and whose verdicts that were."""
        asked = [each for each in self.tries if each.judge and each.outcome != "error"]
        won = sum(each.outcome == "passed" for each in asked)
        return Verdicts(passed=self.passed, total=self.judged, asked=len(asked), accepted=won)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """An agent in one browser of one run."""

    name: str
    """As messages call it."""
    agent: str
    browser: str
    run: str
    """Name of the run, or of the baseline's file."""
    path: Path | None = None
    """The run directory; None of a baseline."""
    tasks: Mapping[str, SideTask]
    traits: tuple[Trait, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    """By task: trials that were planned and have no result. Not those that `--stop-when-settled` left out."""
    decided: frozenset[str] = frozenset()
    """Tasks of which `--stop-when-settled` left out trials."""
    looked: bool = False
    """Whether the run ended early because somebody looked at it (``--stop-when-settled``)."""
    judge_errors: JudgeErrors | None = None
    """Of the judge that was asked about its trials; None when it was never measured."""
    order: tuple[str, ...] = field(default=(), compare=False)
    """Tasks in the order of their first trial."""

    @property
    def tries(self) -> list[Try]:
        """All its trials."""
        return [each for task in self.tasks.values() for each in task.tries]

    @property
    def counts(self) -> list[tuple[int, int]]:
        """Passed and judged trials of each task that has a verdict."""
        return [(task.passed, task.judged) for task in self.tasks.values() if task.judged]

    @property
    def missing_text(self) -> str:
        """How many planned trials have no result; empty where all have one."""
        lacking = sum(self.missing.values())
        return f"{lacking:,} of {lacking + len(self.tries):,} planned trials have no result" if lacking else ""

    @property
    def errors(self) -> int:
        """Trials without a verdict."""
        return sum(each.outcome == "error" for each in self.tries)


def sides_of(path: Path, *, label: str = "") -> list[Side]:
    """All agents of a run, per browser, as the run was given them. `UsageError` when it is no run with trials."""
    run = RunDir(path)
    facts, records = run.facts(), run.finished()
    check_rates(path, facts)
    if facts.get("audit"):
        raise UsageError(f"{path}: expected a run of agents, found an audit of tasks")
    return sides_of_records(path, facts, records, label=label)


def sides_of_records(
    path: Path, facts: Mapping[str, Any], records: Sequence[TrialRecord], *, label: str = ""
) -> list[Side]:
    """The same of records that have been read, of the run in ``path`` whose ``run.json`` says ``facts``."""
    traits = traits_of(source_of(path, facts, records), beside=[record.key for record in records])
    name = label or path.resolve().name
    known = {record.key for record in records}
    lacking = [planned for key, planned in read_plan(path).items() if key not in known]
    found = [
        side_of(agent, some, run=name, path=path, traits=traits.get(agent, ()), lacking=lacking)
        for agent, some in grouped(records).items()
    ]
    given = [str(agent) for agent in facts.get("agents") or ()]
    return sorted(found, key=lambda side: _place(side.agent, given))


def _place(agent: str, given: Sequence[str]) -> int:
    """Where an agent stands among those that the command line named."""
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
    lacking: Iterable[PlannedTrial] = (),
) -> Side:
    """The side of ``records``, which are one agent's in one browser. ``lacking`` are trials of anybody without one."""
    own = [each for each in lacking if each.key.entrant == records[0].key.entrant]
    by_task: dict[str, list[TrialRecord]] = {}
    for record in records:
        by_task.setdefault(record.key.task, []).append(record)
    first = {task: min(each.started for each in some) for task, some in by_task.items()}
    return Side(
        name=name,
        agent=records[0].key.agent,
        browser=records[0].key.browser,
        run=run,
        path=path,
        tasks={task: _task(task, some) for task, some in by_task.items()},
        traits=tuple(traits),
        missing=dict(Counter(each.key.task for each in own if not each.decided)),
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
        counts=bool(record.shortfall),
        folder=record.key.folder,
        attempt=record.attempt,
    )


def paired(first: Side, second: Side, tasks: Iterable[str]) -> list[PairedTask]:
    """Both sides of each of ``tasks`` that both have a verdict of."""
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


def bounds_of(first: Side, second: Side, tasks: Sequence[str]) -> tuple[float, float]:
    """The difference at its worst for the second side and at its best, whatever trials without a verdict were."""
    return difference_bounds(_rate_bounds(first, tasks), _rate_bounds(second, tasks))


def _rate_bounds(side: Side, tasks: Sequence[str]) -> tuple[float, float]:
    """The rate if all trials without a verdict had failed, and if all had passed; each task counts the same."""
    parts = []
    for name in tasks:
        task, missing = side.tasks.get(name), side.missing.get(name, 0)
        counts = (task.passed, task.judged, len(task.tries) - task.judged) if task is not None else (0, 0, 0)
        parts.append(bounds(counts[0], counts[1], counts[2] + missing))
    return math.fsum(low for low, _ in parts) / len(parts), math.fsum(high for _, high in parts) / len(parts)
