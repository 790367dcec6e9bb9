"""The papers' metrics over trials: success rates by achievability, category, site and template. Pure functions.

After Zhou et al., WebArena (arXiv 2307.13854): success rates overall, on achievable and on unachievable tasks (their
table 2), and their distribution over templates (their table 3). Errors are counted separately, never in a rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_webarena.answers import as_text
from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.checks.computed.extraction import NO_FINAL_ANSWER
from pytest_webarena.results.failure_classes import ended_by
from pytest_webarena.results.records import Outcome, TrialRecord, is_undecided
from pytest_webarena.results.statistics import Rate, Stopped, TemplateKey, cluster_of, rate_of, with_chance, with_judge

__all__ = ["BUCKETS", "Metrics", "Templates", "measure", "outcome_by", "undecided_by", "without_answer"]

COMPUTED_KINDS = frozenset({"choice", "number", "symbolic", "rubric"})
"""Kinds of check whose answers must be computed."""

BUCKETS = ("0", "1-20", "21-40", "41-60", "61-80", "81-99", "100")
"""Classes of templates' success rates in per cent.

Bounds are inclusive, and nothing is rounded into ``0`` or ``100``.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """Distribution of success over the templates of the judged tasks."""

    count: int
    mean: float | None
    """Mean of the templates' success rates; each has the same weight, however many instances it has."""
    buckets: Mapping[str, int]
    """Number of templates by their success rate, one entry per `BUCKETS`."""

    @property
    def solved_once(self) -> int:
        """Number of templates with at least one success."""
        return self.count - self.buckets["0"]

    @property
    def solved_always(self) -> int:
        """Number of templates without a failure."""
        return self.buckets["100"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The metrics of one agent."""

    rate: Rate
    """SR: success rate over all judged trials."""
    achievable: Rate
    """SR_AC: success rate on achievable tasks."""
    unachievable: Rate
    """SR_UA: success rate on unachievable tasks."""
    given_up: Rate
    """Share of the achievable tasks that the agent called unachievable (``passed`` counts them)."""
    information: Rate
    """Success rate on achievable tasks that ask for information."""
    others: Rate
    """Success rate on achievable tasks of all other categories."""
    by_category: Mapping[str, Rate]
    by_site: Mapping[str, Rate]
    """Success rates by the whole set of sites that a task needs, joined by ``+`` in alphabetical order."""
    by_subject: Mapping[str, Rate]
    """Success rates by subject, of tasks whose ``source`` names one."""
    by_answer: Mapping[str, Rate]
    """Success rates by the kinds of checks, of tasks whose answer must be computed."""
    by_problem: Mapping[str, Rate]
    """Success rates by both, as ``subject, kind``, of trials that have both."""
    templates: Templates
    by_template: Mapping[str, Rate]
    """Success rates of templates by their text or number. Tasks without a template are left out."""
    lengths: Mapping[str, Sequence[int]]
    """Numbers of steps of judged trials, ascending, by outcome.

    Keys are ``passed``, ``failed``, and ``cut`` for those that a limit ended, which are also in one of the others.
    """
    steps: float | None
    """Mean number of steps over judged trials."""
    steps_passed: float | None
    seconds: float | None
    """Mean wall time in seconds over judged trials."""
    seconds_passed: float | None
    episode: float | None
    """Mean seconds from the first observation to the agent's end, over judged trials."""
    errors: Mapping[str, int]
    """Number of trials without a verdict, by cause."""
    trials: int
    unanswered: int = 0
    """Number of trials that failed because the final answer that they were asked for was missing."""
    undecided: int = 0
    """Number of failed trials that the rules can't decide, and a person or a judge model could."""


def outcome_by(record: TrialRecord, grading: str = "") -> tuple[Outcome, str]:
    """Return outcome and cause of an error, as recorded or by another grading whose verdict the record contains.

    A trial of a task that has gradings, but not this one, is an error with the cause ``grading``.
    """
    if not grading or grading == record.grading or not record.verdicts or record.stop_reason == "agent_crash":
        return record.outcome, record.cause or ""
    if not any(verdict.get("grading") for verdict in record.verdicts.values()):
        return record.outcome, record.cause or ""  # its task has a single verdict
    verdict = record.verdicts.get(grading)
    if verdict is None:
        return "error", "grading"
    if is_undecided(verdict):
        return "failed", ""
    passed = verdict.get("passed")
    if passed is None:
        return "error", record.cause or "judge"
    return ("passed" if passed else "failed"), ""


def undecided_by(record: TrialRecord, grading: str = "") -> bool:
    """Return whether a trial is undecided by the grading that counts, or by another one (`outcome_by`)."""
    if not grading or grading == record.grading or grading not in record.verdicts:
        return record.undecided
    return record.stop_reason != "agent_crash" and is_undecided(record.verdicts[grading])


def measure(
    records: Iterable[TrialRecord],
    *,
    grading: str = "",
    templates: TemplateKey = "text",
    stopped: Sequence[Stopped] = (),
) -> Metrics:
    """Return the metrics of one agent's trials, by the grading that counts or by another one.

    ``stopped`` are trials that errors in a row stopped (`rate_of`).
    """
    trials = [(record, *outcome_by(record, grading)) for record in records]
    judged = [(record, outcome == "passed") for record, outcome, _ in trials if outcome != "error"]
    passed = [record for record, is_pass in judged if is_pass]

    open_ones = {record.key for record, outcome, _ in trials if outcome == "failed" and undecided_by(record, grading)}

    def rate(keep: Callable[[TrialRecord], bool] = lambda record: True) -> Rate:
        kept = [(record, outcome) for record, outcome, _ in trials if keep(record)]
        return _rate(kept)

    def _rate(kept: Sequence[tuple[TrialRecord, Outcome]], stopped: Sequence[Stopped] = ()) -> Rate:
        outcomes = [(cluster_of(record, templates), outcome) for record, outcome in kept]
        found = rate_of(outcomes, [record.key in open_ones for record, _ in kept], stopped=stopped)
        found = with_chance(found, (record for record, outcome in kept if outcome != "error"))
        return with_judge(found, kept, templates)

    def grouped(key: Callable[[TrialRecord], str], *, named: bool = False) -> dict[str, Rate]:
        groups: dict[str, list[tuple[TrialRecord, Outcome]]] = {}
        for record, outcome, _ in trials:
            groups.setdefault(key(record), []).append((record, outcome))
        return {name: _rate(groups[name]) for name in sorted(groups) if name or not named}

    clusters: dict[object, list[bool]] = {}
    for record, is_pass in judged:
        clusters.setdefault(cluster_of(record, templates), []).append(is_pass)
    achievable = [record for record, _ in judged if _achievable(record)]
    given_up: list[tuple[object, Outcome]] = [
        (cluster_of(record, templates), "passed" if says_unachievable(as_text(record.answer) or "") else "failed")
        for record in achievable
    ]
    return Metrics(
        rate=_rate([(record, outcome) for record, outcome, _ in trials], stopped),
        achievable=rate(_achievable),
        unachievable=rate(lambda record: not _achievable(record)),
        given_up=replace(rate_of(given_up), errors=rate(_achievable).errors),
        information=rate(lambda record: record.category == "information"),
        others=rate(lambda record: _achievable(record) and record.category != "information"),
        by_category=grouped(lambda record: record.category or "(none)"),
        by_site=grouped(lambda record: "+".join(sorted(record.sites)) or "(no site)"),
        by_subject=grouped(lambda record: str(record.source.get("subject") or ""), named=True),
        by_answer=grouped(_kind_of_answer, named=True),
        by_problem=grouped(_problem, named=True),
        templates=_distribution(list(clusters.values())),
        by_template=grouped(lambda record: _template(record, templates), named=True),
        lengths={
            "passed": sorted(record.steps for record in passed),
            "failed": sorted(record.steps for record, is_pass in judged if not is_pass),
            "cut": sorted(record.steps for record, _ in judged if ended_by(record) == "limit"),
        },
        steps=_mean([record.steps for record, _ in judged]),
        steps_passed=_mean([record.steps for record in passed]),
        seconds=_mean([record.seconds.get("total", 0.0) for record, _ in judged]),
        seconds_passed=_mean([record.seconds.get("total", 0.0) for record in passed]),
        episode=_mean([record.seconds["episode"] for record, _ in judged if "episode" in record.seconds]),
        errors=dict(Counter(cause for _, outcome, cause in trials if outcome == "error").most_common()),
        trials=len(trials),
        unanswered=sum(without_answer(record) for record, _, _ in trials),
        undecided=len(open_ones),
    )


def _kind_of_answer(record: TrialRecord) -> str:
    """The kinds of computed answers that the trial's checks expect, joined; empty for other tasks."""
    results = (record.verdict or {}).get("results") or ()
    return "+".join(sorted({str(result.get("kind")) for result in _leaves(results)} & COMPUTED_KINDS))


def _problem(record: TrialRecord) -> str:
    """Subject and kind of answer; empty where one is unknown."""
    subject, kind = str(record.source.get("subject") or ""), _kind_of_answer(record)
    return f"{subject}, {kind}" if subject and kind else ""


def without_answer(record: TrialRecord) -> bool:
    """Return whether the trial failed because the final answer was missing, and not because it was wrong."""
    results = (record.verdict or {}).get("results") or ()
    return record.outcome == "failed" and any(
        str(result.get("why", "")).startswith(NO_FINAL_ANSWER) for result in _leaves(results)
    )


def _leaves(results: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for result in results:
        if children := result.get("children"):
            yield from _leaves(children)
        else:
            yield result


def _template(record: TrialRecord, key: TemplateKey) -> str:
    """The name of a trial's template; empty where the task has none."""
    number = record.source.get("template_id")
    return str(number) if key == "id" and number is not None else record.template


def _achievable(record: TrialRecord) -> bool:
    return record.category != "unachievable"


def _distribution(clusters: Sequence[Sequence[bool]]) -> Templates:
    rates = [sum(each) / len(each) for each in clusters]
    counts = Counter(_bucket(rate) for rate in rates)
    return Templates(count=len(rates), mean=_mean(rates), buckets={name: counts[name] for name in BUCKETS})


def _bucket(rate: float) -> str:
    if rate in (0.0, 1.0):
        return "100" if rate else "0"
    return BUCKETS[min(5, math.ceil(rate * 5 - 1e-9))]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
