"""Numbers over trials: rates with intervals, errors kept apart. Pure functions of records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from pytest_webarena.evidence import Usage
from pytest_webarena.results.comparing.repeats import flaky, pass_all, pass_any, spread_of
from pytest_webarena.results.comparing.uncertainty import Corrected, Verdicts, corrected_rate, least_informed
from pytest_webarena.results.records import NO_VERDICT, Outcome, TrialKey, TrialRecord, names_of

if TYPE_CHECKING:
    from pytest_webarena.results.key_node_scores import KeyNodeScores

__all__ = [
    "Rate",
    "Summary",
    "TemplateKey",
    "cluster_of",
    "clustered_interval",
    "grouped",
    "rate_of",
    "student_quantile",
    "summarise",
    "whole_set_interval",
    "wilson_interval",
    "with_chance",
    "with_judge",
]

TemplateKey = Literal["text", "id"]
"""What makes a template: its text (WebArena has 241), or the number that its file gives it (190, some with several
texts)."""

Z95 = 1.959963984540054


def wilson_interval(passed: int, total: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a proportion; (0, 1) when there is nothing to count.

    >>> tuple(round(bound, 3) for bound in wilson_interval(8, 10))
    (0.49, 0.943)
    """
    if total == 0:
        return 0.0, 1.0
    return _wilson(passed / total, total, z)


def _wilson(p: float, total: float, z: float) -> tuple[float, float]:
    centre = p + z * z / (2 * total)
    spread = z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def clustered_interval(clusters: Iterable[Sequence[bool]]) -> tuple[float, float]:
    """95 % interval of a success rate, tasks being a sample: what those of a cluster say goes together.

    A cluster holds the judged trials of one task, or of all tasks of one template. The variance between clusters (a
    ratio estimator's, Cochran 1977, section 9A.2) says how many independent trials would vary as much. Of so many, it
    is Wilson's interval, with Student's quantile, for the variance is estimated. Degrees of freedom are one less than
    the clusters, or twice the clusters with a success (or a failure, whichever are fewer) if these are few. Never
    narrower than Wilson's, and equal to it where every cluster is a single trial. Where all trials ended alike nothing
    tells how far clusters vary: they count as one trial each. (0, 1) for several trials of a single cluster.
    `benchmarks/coverage.py` measures how often it holds the truth.

    >>> tuple(round(bound, 2) for bound in clustered_interval([[True] * 5] * 5 + [[False] * 5] * 5))
    (0.2, 0.8)
    """
    found = [(sum(each), len(each)) for each in clusters if each]
    passed, total, count = sum(won for won, _ in found), sum(size for _, size in found), len(found)
    if total == count:
        return wilson_interval(passed, total)
    if count < 2:
        return 0.0, 1.0
    p = passed / total
    if passed in (0, total):
        return wilson_interval(count if passed else 0, count)
    between = count / (count - 1) * sum((won - p * size) ** 2 for won, size in found) / total**2
    effective = min(float(total), p * (1 - p) / between) if between else float(total)
    alike = total**2 / sum(size * size for _, size in found)  # clusters of one size that would say as much
    rare = min(sum(won > 0 for won, _ in found), sum(won < size for won, size in found))
    return _wilson(p, effective, student_quantile(max(1.0, min(alike - 1, 2.0 * rare))))


def whole_set_interval(tasks: Iterable[Sequence[bool]]) -> tuple[float, float] | None:
    """95 % interval of a success rate, the tasks being all there are: chance is in the trials alone.

    ``tasks`` are the judged trials of each. None where one has a single trial: that does not tell an agent's luck from
    a task's nature. One success and one failure more are taken for seen, or tasks that always ended alike would seem
    certain. Degrees of freedom are Satterthwaite's.

    >>> found = whole_set_interval([[True] * 5] * 5 + [[False] * 5] * 5)  # narrower than `clustered_interval`
    >>> tuple(round(bound, 2) for bound in found)
    (0.38, 0.62)
    """
    found = [(sum(each), len(each)) for each in tasks if each]
    if not found or min(size for _, size in found) < 2:
        return None
    total = sum(size for _, size in found)
    parts = [(won * (size - won) / (size - 1) / total**2, size - 1) for won, size in found]
    within = math.fsum(part for part, _ in parts)
    below = math.fsum(part**2 / free for part, free in parts)
    freedom = within**2 / below if below else 2.0
    reach = student_quantile(max(2.0, freedom)) * math.sqrt(within + 2 / total**2)
    rate = sum(won for won, _ in found) / total
    return max(0.0, rate - reach), min(1.0, rate + reach)


def student_quantile(freedom: float) -> float:
    """The 97.5 % quantile of Student's distribution (Fisher and Cornish 1960), within 1 % from two degrees on.

    >>> [round(student_quantile(each), 2) for each in (4, 9, 19, 99)]
    [2.78, 2.26, 2.09, 1.98]
    """
    z, v = Z95, freedom
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / v**power for power, term in enumerate(terms))


def cluster_of(record: TrialRecord, templates: TemplateKey = "text") -> tuple[str, object]:
    """What trials are taken together by: their template, or their task where that is no instance of any."""
    suite = str(record.source.get("suite", "")) or record.node_id.partition("::")[0]
    if templates == "id" and (number := record.source.get("template_id")) is not None:
        return suite, number
    return suite, record.template or record.key.task


def rate_of(outcomes: Iterable[tuple[object, Outcome]]) -> Rate:
    """The rate of trials, each with its cluster and its outcome."""
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
    """Passed over judged trials. Errors are counted beside, never inside."""

    passed: int
    failed: int
    errors: int
    interval: tuple[float, float] = field(default=(0.0, 1.0), compare=False)
    """Its 95 % interval, clustered by template or task (`clustered_interval`); of nothing, everything."""
    whole: tuple[float, float] | None = field(default=None, compare=False)
    """Its 95 % interval where these tasks are all there are, not a sample (`whole_set_interval`); None where not each
    of them has several trials."""
    clusters: int = field(default=0, compare=False)
    """How many clusters the judged trials are of."""
    chance: float | None = field(default=None, compare=False)
    """What blind guesses would get on those of the judged trials where one can guess, on average; None: on none."""
    guessable: int = field(default=0, compare=False)
    """How many of the judged trials these are."""
    asked: int = field(default=0, compare=False)
    """About how many of the judged trials a judge model was asked."""
    corrected: Corrected | None = field(default=None, compare=False)
    """The rate as it would be if that judge never erred, with an interval that knows of its errors; None where it was
    not asked, never measured, or its verdicts say nothing."""

    @property
    def judged(self) -> int:
        """Trials with a verdict."""
        return self.passed + self.failed

    @property
    def value(self) -> float | None:
        """The success rate in [0, 1]; None when nothing was judged."""
        return self.passed / self.judged if self.judged else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What one agent did in a run, in one browser."""

    agent: str
    browser: str
    name: str
    """The agent; with its browser, where the run has several."""
    rate: Rate
    by_site: Mapping[str, Rate]
    by_category: Mapping[str, Rate]
    stop_reasons: Mapping[str, int]
    error_causes: Mapping[str, int]
    steps: int
    """Sum over trials."""
    seconds: float
    """Sum of the trials' wall times."""
    slowest: tuple[tuple[str, float], ...]
    """Task id and seconds, at most five."""
    retried: int
    """Trials that needed more than one attempt."""
    mean_score: float | None
    privileged: bool
    tasks: int = 0
    """Tasks with at least one verdict."""
    tries: int = 1
    """Trials per task, at most."""
    solved_once: int = 0
    """Tasks that passed in at least one trial."""
    solved_always: int = 0
    """Tasks that passed in every trial that was judged."""
    most: int = 1
    """Trials with a verdict of one task, at most: the k of what follows."""
    most_tasks: int = 0
    """Tasks that have so many verdicts."""
    pass_any: float | None = None
    """pass@k: the share of the tasks with k verdicts of which at least one of k trials passes; None for k = 1."""
    pass_all: float | None = None
    """pass^k: of which all pass."""
    flaky: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Tasks that passed in some trials only, the least certain first: trials passed and judged."""
    chance_share: float | None = None
    """How much of the variance of single verdicts is luck from trial to trial, from 0 to 1; the rest is between tasks.
    None unless two tasks have several verdicts, or all verdicts are alike."""
    models: tuple[str, ...] = ()
    """Names of the models used."""
    usage: Usage | None = None
    """What the trials' agents used of models in all attempts, together; its cost is unknown as soon as one trial's is.
    None when no agent reported anything."""
    unpriced: tuple[str, ...] = ()
    """Names of the models of trials whose calls were all counted and have no known price."""
    judges: tuple[str, ...] = ()
    """Judge models asked, with their prompts' versions."""
    judged: int = 0
    """Trials about which a judge model was asked."""
    judge_questions: int = 0
    judge_cached: int = 0
    """Of the questions, how many the verdict cache answered."""
    judge_usage: Usage | None = None
    """What judges used, apart from the agents; None when none was asked."""
    unjudged: Mapping[str, int] = field(default_factory=dict)
    """Trials without a verdict because no judge could be asked, by the reason; they are among the errors by
    ``judge``."""
    priced: int = 0
    """Trials whose cost is known, if only in part: see `Usage.complete`."""
    unbegun: int = 0
    """Trials whose agent never began, so that they cost nothing."""
    known_cost: float = 0.0
    """US dollars of these trials, as far as known."""
    memory: tuple[str, ...] = ()
    """Scopes of the memory across trials: with one, trials depend on those before, and intervals don't know that."""
    shortfalls: Mapping[str, int] = field(default_factory=dict)
    """Of the errors, those that a gate counts as not passed, by the reason: see `TrialRecord.shortfall`."""
    unsure: int = 0
    """Failed trials whose answers say more than the rules of the grading can vouch for."""
    rerun: int = 0
    """Trials that were run again after their verdict, which stands."""
    rerun_passed: int = 0
    """Of these, failed ones that passed later."""
    gradings: tuple[str, ...] = ()
    """Of trials that know gradings: those by which the rate goes, with the repairs that were left out."""
    key_nodes: KeyNodeScores | None = None
    """Of trials with key nodes; None if there are none."""


def grouped(records: Iterable[TrialRecord], *, beside: Iterable[TrialKey] = ()) -> dict[str, list[TrialRecord]]:
    """The trials of each rate: of an agent in one browser, in order of appearance. By the names of `names_of`.

    ``beside`` are other trials of the same run: what they are called goes by them as well.
    """
    records = list(records)
    names = names_of((*(record.key for record in records), *beside))
    groups: dict[str, list[TrialRecord]] = {}
    for record in records:
        groups.setdefault(names[record.key.entrant], []).append(record)
    return groups


def summarise(records: Iterable[TrialRecord], *, beside: Iterable[TrialKey] = ()) -> dict[str, Summary]:
    """One summary per agent, and per browser where there are several; see `grouped`."""
    return {name: _summary(name, group) for name, group in grouped(records, beside=beside).items()}


def _summary(name: str, records: Sequence[TrialRecord]) -> Summary:
    from pytest_webarena.results.key_node_scores import key_node_scores  # late: workers sum up nothing

    scores = [record.score for record in records if record.score is not None and record.outcome != "error"]
    by_task = _by_task(records)
    counts = {task: (sum(passed), len(passed)) for task, passed in by_task.items()}
    most = max((judged for _, judged in counts.values()), default=1)
    spread = spread_of(counts.values())
    told = [(record, total) for record in records if (total := record.total_usage) is not None]
    by_time = sorted(records, key=lambda record: -record.seconds.get("total", 0.0))[:5]
    return Summary(
        name=name,
        **records[0].key.entrant._asdict(),
        rate=_rate(records),
        by_site=_rates(records, lambda record: "+".join(record.sites) or "(no site)"),
        by_category=_rates(records, lambda record: record.category or "(none)"),
        stop_reasons=dict(Counter(record.stop_reason for record in records if record.stop_reason).most_common()),
        error_causes=dict(Counter(record.cause for record in records if record.cause).most_common()),
        steps=sum(record.steps for record in records),
        seconds=sum(record.seconds.get("total", 0.0) for record in records),
        slowest=tuple((record.key.task, record.seconds.get("total", 0.0)) for record in by_time),
        retried=sum(len(record.attempts) > 1 for record in records),
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
        flaky=flaky(counts),
        chance_share=spread.share if spread is not None else None,
        models=tuple(sorted({record.model for record in records if record.model})),
        usage=sum((total for _, total in told), Usage()) if told else None,
        unpriced=tuple(
            sorted({each.model for each, total in told if total.cost is None and total.complete and each.model})
        ),
        judges=tuple(sorted({f"{each.judge.model} (prompt {each.judge.prompt})" for each in records if each.judge})),
        judged=len(asked := [record.judge for record in records if record.judge is not None]),
        judge_questions=sum(judge.questions for judge in asked),
        judge_cached=sum(judge.cached for judge in asked),
        judge_usage=sum((judge.usage for judge in asked), Usage()) if asked else None,
        unjudged=dict(
            Counter(_reason(each) for each in records if each.cause == "judge" and each.judge is None).most_common()
        ),
        gradings=tuple(sorted({name for each in records if (name := str((each.verdict or {}).get("grading", "")))})),
        shortfalls=dict(Counter(record.shortfall for record in records if record.shortfall)),
        unsure=sum(record.unsure for record in records),
        rerun=sum(bool(record.reruns) for record in records),
        rerun_passed=sum(record.passed_later for record in records),
        priced=len(costs := [total.cost for _, total in told if total.cost is not None]),
        known_cost=sum(costs),
        unbegun=sum(map(_unbegun, records)),
        memory=tuple(sorted({record.memory.scope for record in records if record.memory is not None})),
        key_nodes=key_node_scores(records),
    )


def _unbegun(record: TrialRecord) -> bool:
    """Whether its agent never began: there was no money left, or an attempt says that it used nothing."""
    return record.total_usage is None and (
        record.shortfall == "budget" or any(each.usage is not None for each in record.attempts)
    )


def _by_task(records: Iterable[TrialRecord]) -> dict[str, list[bool]]:
    """Whether each judged trial passed, by task."""
    found: dict[str, list[bool]] = {}
    for record in records:
        if record.outcome != "error":
            found.setdefault(record.key.task, []).append(record.outcome == "passed")
    return found


def _reason(record: TrialRecord) -> str:
    return record.message.partition("\n")[0].removeprefix(NO_VERDICT)


def _rate(records: Iterable[TrialRecord]) -> Rate:
    records = list(records)
    found = with_chance(rate_of((cluster_of(record), record.outcome) for record in records), records)
    found = replace(found, whole=whole_set_interval(_by_task(records).values()))
    return with_judge(found, ((record, record.outcome) for record in records))


def with_chance(rate: Rate, records: Iterable[TrialRecord]) -> Rate:
    """``rate``, which is that of ``records``, with what blind guesses would have got."""
    found = [record.chance for record in records if record.outcome != "error" and record.chance is not None]
    return replace(rate, chance=math.fsum(found) / len(found), guessable=len(found)) if found else rate


def with_judge(rate: Rate, trials: Iterable[tuple[TrialRecord, Outcome]], templates: TemplateKey = "text") -> Rate:
    """``rate``, which is that of ``trials``, with what the errors of the judge make of it that was asked."""
    kept = [(record, outcome == "passed") for record, outcome in trials if outcome != "error"]
    asked = [record.judge for record, _ in kept if record.judge is not None]
    if not asked:
        return rate
    found = replace(rate, asked=len(asked))
    errors = least_informed(each.errors for each in asked)
    if errors is None:
        return found
    clusters: dict[object, list[tuple[bool, bool]]] = {}
    for record, won in kept:
        clusters.setdefault(cluster_of(record, templates), []).append((won, record.judge is not None))
    seen = [
        Verdicts(
            passed=sum(won for won, _ in each),
            total=len(each),
            asked=sum(judged for _, judged in each),
            accepted=sum(won and judged for won, judged in each),
        )
        for each in clusters.values()
    ]
    return replace(found, corrected=corrected_rate(seen, rate.interval, errors))


def _rates(records: Iterable[TrialRecord], key: Callable[[TrialRecord], str]) -> dict[str, Rate]:
    groups: dict[str, list[TrialRecord]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return {name: _rate(groups[name]) for name in sorted(groups)}
