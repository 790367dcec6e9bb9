"""Scores of key nodes over trials, as WebCanvas defines them (Pan et al., arXiv 2406.12373). Pure functions of records.

A trial has nodes N, points P for those it reached, and steps L; a forbidden node takes all points away. Trials whose
result is unknown are counted separately, like errors. Where the paper and its program differ, both values are computed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from pytest_webarena.results.environments import Setting, setting_of
from pytest_webarena.results.records import TrialRecord

__all__ = [
    "COMPLEXITIES",
    "KeyNodeScores",
    "NodeScore",
    "SettingScores",
    "complexity_of",
    "domain_of",
    "key_node_scores",
    "parts_of",
]

_SHORT_ENOUGH = 1.2
"""Multiple of the reference's length up to which the length score is 1."""
COMPLEXITIES = ((5, "1-5 steps"), (10, "6-10 steps"), (15, "11-15 steps"), (math.inf, "16 steps and more"))
"""Groups of tasks by the length of their reference, with the largest length of each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScore:
    """Results of one node of one task, or of all nodes with one function."""

    name: str
    """The node, or the function such as ``url param exact``."""
    task: str = ""
    number: int = 0
    """Number of the node in its task, from 1."""
    function: str = ""
    reached: int
    trials: int
    """Number of trials in which it could have been reached."""
    forbidden: bool = False
    free: bool = False
    """Whether a start page already reaches it."""
    step: float | None = None
    """Median of the steps at which it was reached, from 0; -1 is the start of the trial."""
    by: Mapping[str, int] = field(default_factory=dict)
    """What reached it, with counts, the most frequent first; at most three."""

    @property
    def share(self) -> float | None:
        """Share of trials in which it was reached."""
        return self.reached / self.trials if self.trials else None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNodeScores:
    """The scores of one agent."""

    trials: int
    """Number of judged trials."""
    open: int
    """Number of other trials: without a verdict, or with nodes whose result is unknown."""
    completion: float | None
    """Completion rate, micro: all points divided by all nodes."""
    completion_macro: float | None
    """Completion rate, macro: mean of the trials' shares."""
    above_free: float | None
    """Completion rate of the nodes that are not free."""
    free: float | None
    """Share of free nodes: what a trial gets that opens the right page and stops."""
    success: float | None
    """SR(0): share of trials that reached all nodes."""
    success_but_one: float | None
    """SR(1): share of trials that missed at most one node."""
    near: float | None
    """Share of trials that missed exactly one node."""
    efficiency: float | None
    """Mean of L/P over trials with points; lower is better."""
    efficiency_left_out: int
    """Number of trials without points, which have no efficiency."""
    efficiency_total: float | None
    """All steps divided by all points."""
    efficiency_upstream: float | None
    """Efficiency by the paper's program: trials without points count as 0, the best possible value."""
    usd: float | None
    """US dollars per point; None where a cost is unknown or nothing was reached."""
    length: float | None
    """Mean length score of the trials with a known reference length."""
    length_trials: int
    human_alignment: float | None
    """Mean of the paper's equation 1."""
    nodes: tuple[NodeScore, ...] = ()
    functions: tuple[NodeScore, ...] = ()
    by_site: Mapping[str, KeyNodeScores] = field(default_factory=dict)
    by_complexity: Mapping[str, KeyNodeScores] = field(default_factory=dict)
    by_domain: Mapping[str, KeyNodeScores] = field(default_factory=dict)
    """Scores by domain, of tasks that name one."""
    by_models: Mapping[str, KeyNodeScores] = field(default_factory=dict)
    """Scores by the agent's model and its reward model."""
    by_setting: tuple[SettingScores, ...] = ()
    functions_by_place: tuple[NodeScore, ...] = ()
    """Nodes by function and ``number``, their position in their task's list: one for each annotated step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingScores:
    """The scores of one agent in one environment."""

    setting: Setting
    scores: KeyNodeScores


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    record: TrialRecord
    results: tuple[Mapping[str, Any], ...]
    """Results of the trial's key-node checks."""

    @property
    def parts(self) -> list[Mapping[str, Any]]:
        return [part for result in self.results for part in result.get("parts") or ()]

    @property
    def wanted(self) -> list[Mapping[str, Any]]:
        return [part for part in self.parts if not part.get("forbidden")]

    @property
    def is_open(self) -> bool:
        """Whether the result is unknown."""
        return self.record.outcome == "error" or any(result.get("score") is None for result in self.results)

    @property
    def spoilt(self) -> bool:
        """Whether the trial has no points, whatever it reached.

        The cause is a forbidden node, or that the agent hid what a check needs.
        """
        if any(part.get("forbidden") and part.get("by") for part in self.parts):
            return True
        hidden = [result.get("parts") or () for result in self.results if result.get("score") == 0]
        return any(part.get("points") or part.get("open") for parts in hidden for part in parts)

    @property
    def nodes(self) -> float:
        return float(len(self.wanted))

    @property
    def unit(self) -> float:
        """Points for a weight of 1, so that weights distinguish a task's nodes but not tasks."""
        return self.nodes / math.fsum(part["of"] for part in self.wanted)

    @property
    def points(self) -> float:
        return 0.0 if self.spoilt else self.unit * math.fsum(part["points"] for part in self.wanted)

    @property
    def missed(self) -> int:
        return len(self.wanted) if self.spoilt else sum(not part["points"] for part in self.wanted)

    @property
    def alignment(self) -> float:
        """The paper's equation 1, which also rewards an agent that knew when it was done."""
        share, done = self.points / self.nodes, self.record.stop_reason == "answered"
        if not self.missed:
            return 1.0 if done else 0.95
        return share if done else 0.8 * share


def parts_of(record: TrialRecord, grading: str = "") -> tuple[Mapping[str, Any], ...]:
    """Return the key nodes of a trial from its verdict; none for other tasks."""
    return tuple(part for result in _results(record, grading) for part in result.get("parts") or ())


def _results(record: TrialRecord, grading: str) -> tuple[Mapping[str, Any], ...]:
    verdict = record.verdicts.get(grading) or record.verdict or {}
    return tuple(result for result in _leaves(verdict.get("results") or ()) if result.get("parts"))


def _leaves(results: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for result in results:
        if result.get("kind") == "key_nodes":
            yield result
        yield from _leaves(result.get("children") or ())


def complexity_of(record: TrialRecord) -> str:
    """Return the group of a trial's task by the length of its reference; empty where that is unknown."""
    length = record.reference_steps
    return "" if length is None else next(name for most, name in COMPLEXITIES if length <= most)


def domain_of(record: TrialRecord) -> str:
    """Return the domain that a task names: ``source: {domain: travel}``, or a tag ``domain:travel``; else empty."""
    tagged = next((tag for tag in record.tags if tag.startswith("domain:")), "")
    return str(record.source.get("domain") or "") or tagged.removeprefix("domain:")


def _models_of(record: TrialRecord) -> str:
    if not record.model and not record.reward_model:
        return ""
    return f"{record.model or 'no model reported'}, reward {record.reward_model or 'none'}"


def key_node_scores(records: Iterable[TrialRecord], *, grading: str = "") -> KeyNodeScores | None:
    """Return the scores of one agent's trials; None if none of their tasks has key nodes."""
    trials = [_Trial(record=record, results=found) for record in records if (found := _results(record, grading))]
    if not trials:
        return None
    return _scores(
        trials,
        nodes=tuple(_nodes(trials)),
        functions=tuple(_functions(trials)),
        by_site=_grouped(trials, lambda each: "+".join(sorted(each.sites)) or "(no site)"),
        by_complexity=_grouped(trials, complexity_of, order=[name for _, name in COMPLEXITIES]),
        by_domain=_grouped(trials, domain_of),
        by_models=_grouped(trials, _models_of),
        by_setting=tuple(_by_setting(trials)),
        functions_by_place=tuple(_functions_by_place(trials)),
    )


def _by_setting(trials: Sequence[_Trial]) -> Iterator[SettingScores]:
    groups: dict[Setting, list[_Trial]] = {}
    for trial in trials:
        groups.setdefault(setting_of(trial.record), []).append(trial)
    for setting in sorted(groups):
        yield SettingScores(setting=setting, scores=_scores(groups[setting]))


def _grouped(
    trials: Sequence[_Trial], key: Callable[[TrialRecord], str], order: Sequence[str] = ()
) -> dict[str, KeyNodeScores]:
    groups: dict[str, list[_Trial]] = {}
    for trial in trials:
        if name := key(trial.record):
            groups.setdefault(name, []).append(trial)
    return {name: _scores(groups[name]) for name in order or sorted(groups) if name in groups}


def _scores(trials: Sequence[_Trial], **more: Any) -> KeyNodeScores:
    judged = [trial for trial in trials if not trial.is_open]
    points, nodes = math.fsum(trial.points for trial in judged), math.fsum(trial.nodes for trial in judged)
    steps = sum(trial.record.steps for trial in judged)
    free, free_points = _free(judged)
    ratios = [trial.record.steps / trial.points for trial in judged if trial.points]
    lengths = [_length(trial.record.steps, each) for trial in judged if (each := trial.record.reference_steps)]
    return KeyNodeScores(
        trials=len(judged),
        open=len(trials) - len(judged),
        completion=_share(points, nodes),
        completion_macro=_mean([trial.points / trial.nodes for trial in judged]),
        above_free=_share(points - free_points, nodes - free),
        free=_share(free, nodes),
        success=_mean([float(trial.missed == 0) for trial in judged]),
        success_but_one=_mean([float(trial.missed <= 1) for trial in judged]),
        near=_mean([float(trial.missed == 1) for trial in judged]),
        efficiency=_mean(ratios),
        efficiency_left_out=len(judged) - len(ratios),
        efficiency_total=_share(steps, points),
        efficiency_upstream=math.fsum(ratios) / len(judged) if judged else None,
        usd=_dollars(judged, points),
        length=_mean(lengths),
        length_trials=len(lengths),
        human_alignment=_mean([trial.alignment for trial in judged]),
        **more,
    )


def _free(trials: Sequence[_Trial]) -> tuple[float, float]:
    """The share of all nodes that is free, in nodes, and the points for them."""
    free = [(trial, part) for trial in trials for part in trial.wanted if part.get("free")]
    return (
        math.fsum(trial.unit * part["of"] for trial, part in free),
        math.fsum(trial.unit * part["points"] for trial, part in free if not trial.spoilt),
    )


def _length(steps: int, reference: int) -> float:
    most = _SHORT_ENOUGH * reference
    return 1.0 if steps < most else most / steps


def _dollars(trials: Sequence[_Trial], points: float) -> float | None:
    used = [trial.record.total_usage for trial in trials]
    costs = [each.cost for each in used if each is not None and each.cost is not None and each.complete]
    return math.fsum(costs) / points if points and len(costs) == len(used) else None


def _nodes(trials: Sequence[_Trial]) -> Iterator[NodeScore]:
    """Results of each node of each task, in order."""
    found: dict[tuple[str, int], list[tuple[_Trial, Mapping[str, Any]]]] = {}
    for trial in trials:
        for number, part in enumerate(trial.parts, start=1):
            found.setdefault((trial.record.key.task, number), []).append((trial, part))
    for (task, number), each in sorted(found.items()):
        first = each[-1][1]
        decided = [part for trial, part in each if trial.record.outcome != "error" and not part.get("open")]
        yield _node(str(first["what"]), decided, task=task, number=number, function=str(first.get("function", "")))


def _functions(trials: Sequence[_Trial]) -> Iterator[NodeScore]:
    """Results of all nodes with one function, without forbidden ones."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for trial in trials:
        for part in trial.wanted:
            if trial.record.outcome != "error" and not part.get("open"):
                found.setdefault(str(part.get("function", "")), []).append(part)
    for name in sorted(found):
        yield _node(name, found[name], function=name)


def _functions_by_place(trials: Sequence[_Trial]) -> Iterator[NodeScore]:
    """Results by function and position in the list of nodes, counted from 1 without the forbidden ones."""
    found: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for trial in trials:
        for number, part in enumerate(trial.wanted, start=1):
            if trial.record.outcome != "error" and not part.get("open"):
                found.setdefault((str(part.get("function", "")), number), []).append(part)
    for name, number in sorted(found):
        yield _node(name, found[name, number], function=name, number=number)


def _node(name: str, parts: Sequence[Mapping[str, Any]], **more: Any) -> NodeScore:
    reached = [part for part in parts if part.get("by")]
    steps = [part["step"] for part in reached if part.get("step") is not None]
    return NodeScore(
        name=name,
        reached=len(reached),
        trials=len(parts),
        forbidden=any(part.get("forbidden") for part in parts),
        free=any(part.get("free") for part in parts),
        step=median(steps) if steps else None,
        by=dict(Counter(str(part["by"]) for part in reached).most_common(3)),
        **more,
    )


def _share(some: float, of: float) -> float | None:
    return some / of if of > 0 else None


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
