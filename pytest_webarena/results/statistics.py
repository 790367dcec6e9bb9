"""Statistics over trials: rates with intervals, with errors counted separately. Pure functions of records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_webarena.evidence import Usage
from pytest_webarena.owners import UNATTRIBUTED
from pytest_webarena.results.comparing.repeats import flaky, pass_all, pass_any, spread_of
from pytest_webarena.results.comparing.uncertainty import Corrected, Verdicts, corrected_rate, least_informed
from pytest_webarena.results.intervals import clustered_interval, whole_set_interval
from pytest_webarena.results.records import NO_VERDICT, Outcome, TrialKey, TrialRecord, is_for_people, names_of

if TYPE_CHECKING:
    from pytest_webarena.results.key_node_scores import KeyNodeScores
    from pytest_webarena.results.plan import PlannedTrial

__all__ = [
    "Rate",
    "Stopped",
    "Summary",
    "TemplateKey",
    "cluster_of",
    "grouped",
    "rate_of",
    "stopped_clusters",
    "summarise",
    "with_chance",
    "with_judge",
]

TemplateKey = Literal["text", "id"]
"""Key of a template: its text (WebArena has 241), or the number in its file (190, some with several texts)."""


class Stopped(NamedTuple):
    """A planned trial that errors in a row stopped."""

    cluster: object
    undecided: bool = False
    """Whether they are ends of its own agent (`PlannedTrial.undecided`)."""


def cluster_of(record: TrialRecord, templates: TemplateKey = "text") -> tuple[str, object]:
    """Return the cluster of a trial: its template, or its task where that has none."""
    suite = str(record.source.get("suite", "")) or record.node_id.partition("::")[0]
    if templates == "id" and (number := record.source.get("template_id")) is not None:
        return suite, number
    return suite, record.template or record.key.task


def rate_of(
    outcomes: Iterable[tuple[object, Outcome]],
    undecided: Sequence[bool] | None = None,
    *,
    stopped: Sequence[Stopped] = (),
) -> Rate:
    """Return the rate of trials, each given by its cluster and its outcome; ``undecided`` says which of them are.

    ``stopped`` are planned trials that were not run because errors in a row stopped them. If ends of their own agent
    did, they are undecided. Otherwise they are excluded from the rate, as errors are, and are failures in
    `Rate.errors_failed`.
    """
    outcomes = list(outcomes)
    if own := [each.cluster for each in stopped if each.undecided]:
        undecided = [*(undecided or [False] * len(outcomes)), *(True for _ in own)]
        outcomes += [(cluster, "failed") for cluster in own]
    stopped = [each for each in stopped if not each.undecided]
    found = replace(_rate_of(outcomes, undecided), stopped=len(stopped))
    if not found.excluded:
        return found
    failed: list[tuple[object, Outcome]] = [
        *((cluster, "failed" if outcome == "error" else outcome) for cluster, outcome in outcomes),
        *((each.cluster, "failed") for each in stopped),
    ]
    marks = [*undecided, *(False for _ in stopped)] if undecided is not None else None
    return replace(found, errors_failed=_rate_of(failed, marks))


def stopped_clusters(
    stopped: Iterable[PlannedTrial], records: Iterable[TrialRecord], templates: TemplateKey = "text"
) -> list[Stopped]:
    """Return planned trials without records for `rate_of`; ``records`` are others of the run, of any agent."""
    known = {record.key.task: cluster_of(record, templates) for record in records}
    return [
        Stopped(known.get(each.key.task, (each.node_id.partition("::")[0], each.key.task)), each.undecided)
        for each in stopped
    ]


def _rate_of(outcomes: Sequence[tuple[object, Outcome]], undecided: Sequence[bool] | None) -> Rate:
    if undecided is not None and any(undecided):
        met: list[tuple[object, Outcome]] = [
            (cluster, "passed" if each else outcome)
            for (cluster, outcome), each in zip(outcomes, undecided, strict=True)
        ]
        return replace(_rate_of(outcomes, None), undecided=sum(undecided), if_met=_rate_of(met, None))
    counts: Counter[Outcome] = Counter()
    clusters: dict[object, list[bool]] = {}
    for cluster, outcome in outcomes:
        counts[outcome] += 1
        if outcome != "error":
            clusters.setdefault(cluster, []).append(outcome == "passed")
    return Rate(
        passed=counts["passed"],
        failed=counts["failed"],
        errors=counts["error"],
        interval=clustered_interval(clusters.values()),
        clusters=len(clusters),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Passed and judged trials. Errors are counted separately and are not part of the rate."""

    passed: int
    failed: int
    errors: int
    interval: tuple[float, float] = field(default=(0.0, 1.0), compare=False)
    """The 95 % interval, clustered by template or task (`clustered_interval`); (0, 1) without trials."""
    whole: tuple[float, float] | None = field(default=None, compare=False)
    """The 95 % interval if the tasks are the whole set, not a sample (`whole_set_interval`).

    None unless each of them has several trials.
    """
    clusters: int = field(default=0, compare=False)
    """Number of clusters of the judged trials."""
    undecided: int = field(default=0, compare=False)
    """Number of failed trials that might have passed (`TrialRecord.undecided`)."""
    stopped: int = field(default=0, compare=False)
    """Number of planned trials that were not run because errors in a row stopped them, and are not undecided."""
    if_met: Rate | None = field(default=None, compare=False)
    """The rate if all undecided trials are met, its upper bound; None without undecided trials."""
    errors_failed: Rate | None = field(default=None, compare=False)
    """The rate with errors as failures, as papers count them; None without errors. Use `with_errors_failed`."""
    chance: float | None = field(default=None, compare=False)
    """Mean success rate of blind guesses on the judged trials where guessing is possible; None if there are none."""
    guessable: int = field(default=0, compare=False)
    """Number of judged trials where guessing is possible."""
    by_judge: int = field(default=0, compare=False)
    """Number of judged trials for which a judge model was asked."""
    corrected: Corrected | None = field(default=None, compare=False)
    """The rate if the judge never erred, with an interval that includes its errors.

    None where no judge was asked, it was never measured, or its verdicts carry no information.
    """

    @property
    def judged(self) -> int:
        """Number of trials with a verdict."""
        return self.passed + self.failed

    @property
    def value(self) -> float | None:
        """The success rate in [0, 1], with undecided trials not met; None when nothing was judged."""
        return self.passed / self.judged if self.judged else None

    @property
    def excluded(self) -> int:
        """Number of planned trials that are not part of the rate: errors, and those that errors in a row stopped."""
        return self.errors + self.stopped

    @property
    def with_errors_failed(self) -> Rate:
        """The rate with errors as failures, as papers print it: the same numerator over all trials."""
        return self if self.errors_failed is None else self.errors_failed

    @property
    def upper(self) -> Rate:
        """The rate if all undecided trials are met."""
        return self if self.if_met is None else self.if_met


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Summary of one agent in one browser of a run."""

    agent: str
    browser: str
    name: str
    """The agent, with its browser where the run has several."""
    rate: Rate
    by_site: Mapping[str, Rate]
    by_category: Mapping[str, Rate]
    stop_reasons: Mapping[str, int]
    error_causes: Mapping[str, int]
    steps: int
    """Number of steps of all trials."""
    seconds: float
    """Sum of the trials' wall times in seconds."""
    slowest: tuple[tuple[str, float], ...]
    """Task ids and seconds of the slowest trials, at most five."""
    retried: int
    """Number of trials of which an earlier attempt ended in an error of the environment."""
    mean_score: float | None
    privileged: bool
    tasks: int = 0
    """Number of tasks with at least one verdict."""
    tries: int = 1
    """Largest number of trials per task."""
    solved_once: int = 0
    """Number of tasks that passed in at least one trial."""
    solved_always: int = 0
    """Number of tasks that passed in every judged trial."""
    most: int = 1
    """Largest number of judged trials per task: the k of pass@k and pass^k."""
    most_tasks: int = 0
    """Number of tasks with this many judged trials."""
    pass_any: float | None = None
    """pass@k: the share of the tasks with k verdicts of which at least one of k trials passes; None for k = 1."""
    pass_all: float | None = None
    """pass^k: the share of these tasks of which all k trials pass; None for k = 1."""
    flaky: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Trials passed and decided of tasks that passed in some trials and failed in others, the least certain first."""
    chance_share: float | None = None
    """Share of chance between trials in the variance of single verdicts, from 0 to 1; the rest is between tasks.

    None unless two tasks have several verdicts, or if all verdicts are equal.
    """
    models: tuple[str, ...] = ()
    """Names of the models used."""
    usage: Usage | None = None
    """Model usage of the trials' agents in all attempts together.

    Its cost is unknown if one trial's is. None when no agent reported anything.
    """
    unpriced: tuple[str, ...] = ()
    """Names of the models of trials whose calls were all counted and have no known price."""
    judges: tuple[str, ...] = ()
    """Judge models that were asked, with their prompts' versions."""
    judged: int = 0
    """Number of trials for which a judge model was asked."""
    judge_questions: int = 0
    judge_cached: int = 0
    """Number of questions that the verdict cache answered."""
    judge_usage: Usage | None = None
    """Usage of judges, which is not part of the agents'; None when none was asked."""
    unjudged: Mapping[str, int] = field(default_factory=dict)
    """Number of trials without a verdict because no judge could be asked, by the reason.

    They are among the errors caused by ``judge``.
    """
    priced: int = 0
    """Number of trials whose cost is known at least in part: see `Usage.complete`."""
    unbegun: int = 0
    """Number of trials whose agent never started, so that they cost nothing."""
    known_cost: float = 0.0
    """Known cost of the trials in ``priced``, in US dollars."""
    memory: tuple[str, ...] = ()
    """Scopes of the memory across trials.

    With one, trials depend on earlier ones, which intervals do not take into account.
    """
    undecided: int = 0
    """Number of failed trials that might have passed: see `TrialRecord.undecided`."""
    unattributed: int = 0
    """Number of those that ended in an error whose owner is undecided."""
    for_people: int = 0
    """Number of those with a check that only people decide: see `records.is_for_people`."""
    rerun: int = 0
    """Number of trials that were run again after their verdict, which does not change."""
    rerun_passed: int = 0
    """Number of failed trials that passed when they were run again."""
    passed_after_own_error: int = 0
    """Number of failed trials that ended in an error, not of the environment, and passed on a later attempt, which does
    not count."""
    gradings: tuple[str, ...] = ()
    """Gradings of the rate, with the repairs that were left out, for trials that have gradings."""
    key_nodes: KeyNodeScores | None = None
    """Scores of key nodes; None if no trial has any."""
    mixed: tuple[str, ...] = ()
    """Differences between its trials that make the rate meaningless; only `conditions.summaries_of` sets them."""


def grouped(records: Iterable[TrialRecord], *, named_with: Iterable[TrialKey] = ()) -> dict[str, list[TrialRecord]]:
    """Return the trials of each rate, of an agent in one browser, by the names of `names_of` in order of appearance.

    ``named_with`` are other trials of the same run, which affect the names.
    """
    records = list(records)
    names = names_of((*(record.key for record in records), *named_with))
    groups: dict[str, list[TrialRecord]] = {}
    for record in records:
        groups.setdefault(names[record.key.entrant], []).append(record)
    return groups


def summarise(
    records: Iterable[TrialRecord],
    *,
    named_with: Iterable[TrialKey] = (),
    stopped: Sequence[PlannedTrial] = (),
) -> dict[str, Summary]:
    """Return one summary per agent, and per browser where there are several; see `grouped`.

    ``stopped`` are planned trials of any agent that were not run because errors in a row stopped them.
    """
    records = list(records)
    found = {}
    for name, group in grouped(records, named_with=named_with).items():
        own = [each for each in stopped if each.key.entrant == group[0].key.entrant]
        found[name] = _summary(name, group, stopped_clusters(own, records))
    return found


def _summary(name: str, records: Sequence[TrialRecord], stopped: Sequence[Stopped]) -> Summary:
    from pytest_webarena.results.key_node_scores import key_node_scores  # late: workers sum up nothing

    scores = [record.score for record in records if record.score is not None and record.outcome != "error"]
    by_task = _by_task(records)
    counts = {task: (sum(passed), len(passed)) for task, passed in by_task.items()}
    most = max((judged for _, judged in counts.values()), default=1)
    spread = spread_of(counts.values())
    used = [(record, total) for record in records if (total := record.total_usage) is not None]
    by_time = sorted(records, key=lambda record: -record.seconds.get("total", 0.0))[:5]
    return Summary(
        name=name,
        **records[0].key.entrant._asdict(),
        rate=_rate(records, stopped),
        by_site=_rates(records, lambda record: "+".join(record.sites) or "(no site)"),
        by_category=_rates(records, lambda record: record.category or "(none)"),
        stop_reasons=dict(Counter(record.stop_reason for record in records if record.stop_reason).most_common()),
        error_causes=dict(Counter(record.cause for record in records if record.cause).most_common()),
        steps=sum(record.steps for record in records),
        seconds=sum(record.seconds.get("total", 0.0) for record in records),
        slowest=tuple((record.key.task, record.seconds.get("total", 0.0)) for record in by_time),
        retried=sum(bool(record.earlier_attempts) for record in records),
        passed_after_own_error=sum(record.passed_after_own_error for record in records),
        mean_score=sum(scores) / len(scores) if scores else None,
        privileged=any(record.privileged for record in records),
        tasks=len(by_task),
        tries=max(Counter(record.key.task for record in records).values()),
        solved_once=sum(any(passed) for passed in by_task.values()),
        solved_always=sum(all(passed) for passed in by_task.values()),
        pass_any=pass_any(counts.values(), most) if most > 1 else None,
        pass_all=pass_all(counts.values(), most) if most > 1 else None,
        most=most,
        most_tasks=sum(judged >= most for _, judged in counts.values()),
        flaky=flaky(_decided_by_task(records)),
        chance_share=spread.share if spread is not None else None,
        models=tuple(sorted({record.model for record in records if record.model})),
        usage=sum((total for _, total in used), Usage()) if used else None,
        unpriced=tuple(
            sorted({each.model for each, total in used if total.cost is None and total.complete and each.model})
        ),
        judges=tuple(sorted({f"{each.judge.model} (prompt {each.judge.prompt})" for each in records if each.judge})),
        judged=len(judges := [record.judge for record in records if record.judge is not None]),
        judge_questions=sum(judge.questions for judge in judges),
        judge_cached=sum(judge.cached for judge in judges),
        judge_usage=sum((judge.usage for judge in judges), Usage()) if judges else None,
        unjudged=dict(
            Counter(_reason(each) for each in records if each.cause == "judge" and each.judge is None).most_common()
        ),
        gradings=tuple(sorted({name for each in records if (name := str((each.verdict or {}).get("grading", "")))})),
        undecided=sum(record.undecided for record in records) + sum(each.undecided for each in stopped),
        unattributed=sum(record.stop_reason == UNATTRIBUTED for record in records)
        + sum(each.undecided for each in stopped),
        for_people=sum(is_for_people(record) for record in records),
        rerun=sum(bool(record.reruns) for record in records),
        rerun_passed=sum(record.passed_later for record in records),
        priced=len(costs := [total.cost for _, total in used if total.cost is not None]),
        known_cost=sum(costs),
        unbegun=sum(map(_unbegun, records)),
        memory=tuple(sorted({record.memory.scope for record in records if record.memory is not None})),
        key_nodes=key_node_scores(records),
    )


def _unbegun(record: TrialRecord) -> bool:
    """Whether the agent never started: the budget was spent, or an attempt reports that it used nothing."""
    return record.total_usage is None and (
        record.event == "budget" or any(each.usage is not None for each in record.attempts)
    )


def _by_task(records: Iterable[TrialRecord]) -> dict[str, list[bool]]:
    """Whether each judged trial passed, by task."""
    found: dict[str, list[bool]] = {}
    for record in records:
        if record.outcome != "error":
            found.setdefault(record.key.task, []).append(record.outcome == "passed")
    return found


def _decided_by_task(records: Iterable[TrialRecord]) -> dict[str, tuple[int, int]]:
    """Numbers of passed and of decided trials, by task: an undecided trial does not make a task flaky."""
    found = _by_task(record for record in records if not record.undecided)
    return {task: (sum(passed), len(passed)) for task, passed in found.items()}


def _reason(record: TrialRecord) -> str:
    return record.message.partition("\n")[0].removeprefix(NO_VERDICT)


def _rate(records: Iterable[TrialRecord], stopped: Sequence[Stopped] = ()) -> Rate:
    records = list(records)
    outcomes = [(cluster_of(record), record.outcome) for record in records]
    found = with_chance(rate_of(outcomes, [record.undecided for record in records], stopped=stopped), records)
    found = replace(found, whole=whole_set_interval(_by_task(records).values()))
    return with_judge(found, ((record, record.outcome) for record in records))


def with_chance(rate: Rate, records: Iterable[TrialRecord]) -> Rate:
    """Return ``rate`` of ``records`` with the success rate of blind guesses."""
    found = [record.chance for record in records if record.outcome != "error" and record.chance is not None]
    return replace(rate, chance=math.fsum(found) / len(found), guessable=len(found)) if found else rate


def with_judge(rate: Rate, trials: Iterable[tuple[TrialRecord, Outcome]], templates: TemplateKey = "text") -> Rate:
    """Return ``rate`` of ``trials`` with the correction for the judge's errors."""
    kept = [(record, outcome == "passed") for record, outcome in trials if outcome != "error"]
    judges = [record.judge for record, _ in kept if record.judge is not None]
    if not judges:
        return rate
    found = replace(rate, by_judge=len(judges))
    errors = least_informed(each.errors for each in judges)
    if errors is None:
        return found
    clusters: dict[object, list[tuple[bool, bool]]] = {}
    for record, is_pass in kept:
        clusters.setdefault(cluster_of(record, templates), []).append((is_pass, record.judge is not None))
    outcomes = [
        Verdicts(
            passed=sum(is_pass for is_pass, _ in each),
            total=len(each),
            by_judge=sum(judged for _, judged in each),
            accepted=sum(is_pass and judged for is_pass, judged in each),
        )
        for each in clusters.values()
    ]
    return replace(found, corrected=corrected_rate(outcomes, rate.interval, errors))


def _rates(records: Iterable[TrialRecord], key: Callable[[TrialRecord], str]) -> dict[str, Rate]:
    groups: dict[str, list[TrialRecord]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return {name: _rate(groups[name]) for name in sorted(groups)}
