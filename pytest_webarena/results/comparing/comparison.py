"""Comparison of two sides: the difference, where it is, tasks won and lost, other differences between the runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_webarena.errors import UsageError
from pytest_webarena.results.comparing.comparability import refusal, side_differences
from pytest_webarena.results.comparing.difference import Difference, difference_of
from pytest_webarena.results.comparing.effort import MEASURES, Effort, Growth, Measure, effort_of, growth_of
from pytest_webarena.results.comparing.groups import Group, groups_of
from pytest_webarena.results.comparing.sides import Side, SideTask, Try, bounds_of, paired
from pytest_webarena.results.comparing.significance import flip_test_of, holm, mcnemar
from pytest_webarena.results.comparing.uncertainty import Corrected, corrected_difference
from pytest_webarena.results.comparing.worst_case import (
    Verdict,
    WorstCase,
    errors_failed_of,
    stays,
    undecided_ends,
    word,
    worst_of,
)

__all__ = [
    "Comparison",
    "Fate",
    "TaskFate",
    "Verdict",
    "choose",
    "compare",
    "compare_all",
]

Fate = Literal["won", "lost", "unsettled", "same"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFate:
    """Results of one task on both sides."""

    task: str
    fate: Fate
    """Which side passed.

    ``won``: only the second side, in all of its trials; ``lost``: only the first side, in all of its trials;
    ``unsettled``: other rates that differ, or undecided trials; ``same``: equal rates.
    """
    first: SideTask
    second: SideTask

    @property
    def pair(self) -> tuple[Try, Try]:
        """A trial of each side as an example: where rates differ, one that passed and one that failed."""
        rates = (self.first.passed / self.first.judged, self.second.passed / self.second.judged)
        wanted = ("failed", "passed") if rates[1] >= rates[0] else ("passed", "failed")
        return _one(self.first, wanted[0]), _one(self.second, wanted[1])


def _one(task: SideTask, outcome: str) -> Try:
    judged = [each for each in task.tries if each.outcome != "error"]
    return next((each for each in judged if each.outcome == outcome), judged[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Result of comparing two sides."""

    first: Side
    second: Side
    difference: Difference
    p: float
    """P-value for the hypothesis that neither side is better.

    It is from sign flips of whole clusters, or from McNemar's test where all tasks are single.
    """
    adjusted: float
    """P-value adjusted by Holm's method among all comparisons made together."""
    alpha: float
    """Probability of finding a difference where there is none, among all comparisons made together."""
    test: str
    """Name of the test."""
    groups: tuple[Group, ...]
    fates: tuple[TaskFate, ...]
    transitions: Mapping[tuple[bool, bool], int]
    """Number of pairs of trials with the same number, by whether the (first, second) passed."""
    left_out: Mapping[str, tuple[str, ...]]
    """Tasks that can't be compared, by the reason."""
    differing: tuple[str, ...]
    """Other differences between the runs."""
    changed: tuple[str, ...]
    """Differences that are the subject of the comparison: agents, models."""
    forced: tuple[str, ...] = ()
    """Differences that make the comparison invalid; it was made on request anyway."""
    bounds: tuple[float, float]
    """The smallest and the largest difference of rates, over all outcomes of undecided trials and errors."""
    error_bounds: tuple[float, float]
    """The bounds over all outcomes of errors and missing trials alone, with undecided trials not met."""
    undecided_bounds: tuple[float, float]
    """The bounds over all outcomes of undecided trials alone, on the tasks that are compared."""
    worst: WorstCase | None = None
    """The rest of the difference if undecided trials and errors had gone against it; None where there are none."""
    errors_failed: WorstCase | None = None
    """The comparison with errors as failures, as papers count them; None without errors."""
    undecided_ends: tuple[WorstCase, WorstCase] | None = None
    """The comparison if undecided trials count against the second side, and if they count for it; None without any."""
    by_judge: tuple[int, int] = (0, 0)
    """Number of each side's trials with a verdict for which a judge model was asked."""
    corrected: Corrected | None = None
    """The difference if the judge never erred, with an interval that includes its errors.

    None where no judge was asked, it was never measured, or its verdicts carry no information.
    """
    growth: Mapping[Measure, Growth]
    efforts: tuple[Mapping[Measure, Effort], Mapping[Measure, Effort]]

    @property
    def verdict(self) -> Verdict:
        """The verdict on tasks like these, which are a sample.

        Interval and test have to agree; with a judge whose errors are known, so does the interval that includes them.
        All have to hold with errors as failures, and whatever the outcomes of the undecided and excluded trials were.
        """
        found = self.verdict_of_judged
        most = self.alpha * self.p / self.adjusted
        return found if stays(found, (self.worst, self.errors_failed), most) else "unsettled"

    @property
    def verdict_of_judged(self) -> Verdict:
        """The verdict by trials with a verdict alone, whatever the excluded ones would have been."""
        if self.adjusted > self.alpha + 1e-12:
            return "unsettled"
        return self._judged(self.difference.decided())

    @property
    def verdicts_if_decided(self) -> tuple[Verdict, Verdict] | None:
        """The verdicts if undecided trials count against the second side, and for it; None without undecided trials."""
        if self.undecided_ends is None:
            return None
        most = self.alpha * self.p / self.adjusted
        low, high = (end.verdict(most) for end in self.undecided_ends)
        return low, high

    @property
    def depends_on_undecided(self) -> bool:
        """Whether the verdict depends on undecided trials."""
        return self.verdicts_if_decided is not None and len(set(self.verdicts_if_decided)) > 1

    @property
    def judge_is_uninformative(self) -> bool:
        """Whether the judge is known to accept wrong answers as readily as right ones."""
        sides = zip((self.first, self.second), self.by_judge, strict=True)
        return self.corrected is None and any(count and side.judge_errors is not None for side, count in sides)

    def _judged(self, sign: int) -> Verdict:
        if self.corrected is not None:
            low, high = self.corrected.interval
            sign *= (low > 0) if sign > 0 else (high < 0)
        return "unsettled" if self.judge_is_uninformative else word(sign)

    @property
    def verdict_here(self) -> Verdict:
        """The verdict on exactly these tasks, as the whole set."""
        found = self._judged(self.difference.decided(whole=True))
        return found if stays(found, (self.worst, self.errors_failed), whole=True) else "unsettled"

    def growth_beyond(self, allowed: float) -> Growth | None:
        """Return the growth of a trial's dollars, tested against what is allowed; None where dollars are unknown."""
        tasks = [each.task for each in self.fates]
        if any(self.unpriced):
            return None
        return growth_of(self.first, self.second, tasks, "cost", allowed=allowed, confidence=self.difference.confidence)

    @property
    def unpriced(self) -> tuple[int, int]:
        """Number of each side's trials whose dollars are unknown, including errors, which cost something too."""
        first, second = (sum(each.cost is None for each in side.tries) for side in (self.first, self.second))
        return first, second

    @property
    def open_trials(self) -> tuple[int, int]:
        """Number of each side's trials that ended in errors or were planned and have no result; undecided ones have."""
        first, second = (side.errors + sum(side.missing.values()) for side in (self.first, self.second))
        return first, second

    def of(self, fate: Fate) -> list[TaskFate]:
        """Return the tasks with this result."""
        return [each for each in self.fates if each.fate == fate]


def choose(sides: Sequence[Sequence[Side]], agents: Sequence[str] = ()) -> list[tuple[Side, Side]]:
    """Return the pairs of sides to compare. Raises `UsageError` where they are ambiguous.

    Within one run, its first agent is compared with each other one. With several runs, each agent of the later runs is
    compared with the same one of the first run, or with the only one there if none has its name. ``agents`` selects
    among them; the others are compared with the first one named.
    """
    known = list(dict.fromkeys(side.name for run in sides for side in run))
    for name in agents:
        if name not in known and not any(side.agent == name for run in sides for side in run):
            raise UsageError(f"--agent: expected one of {', '.join(known)}, found {name!r}")

    def kept(run: Sequence[Side]) -> list[Side]:
        if not agents:
            return list(run)
        some = [side for side in run if side.name in agents or side.agent in agents]
        return sorted(some, key=lambda side: min(place(side.name), place(side.agent)))

    def place(name: str) -> int:
        return agents.index(name) if name in agents else len(agents)

    chosen = [kept(run) for run in sides]
    if len(sides) == 1:
        if len(chosen[0]) < 2:
            raise UsageError(f"expected two runs, or one of several agents, found {_listed(sides[0])} alone")
        return [(chosen[0][0], other) for other in chosen[0][1:]]
    found: list[tuple[Side, Side]] = []
    for run in chosen[1:]:
        for side in run:
            same = [each for each in chosen[0] if (each.agent, each.browser) == (side.agent, side.browser)]
            if not same and len(chosen[0]) != 1:
                raise UsageError(
                    f"expected an agent of {sides[0][0].run} to compare with {side.name} of {side.run}, found "
                    f"{_listed(sides[0])}; choose with --agent"
                )
            found.append(((same or chosen[0])[0], side))
    if not found:
        raise UsageError(f"--agent: expected agents of both runs, found {', '.join(agents)}")
    return found


def _listed(run: Sequence[Side]) -> str:
    return " and ".join(side.name for side in run) or "none"


def compare_all(
    pairs: Sequence[tuple[Side, Side]],
    *,
    confidence: float = 0.95,
    allow_mixed: bool = False,
    refused: list[str] | None = None,
) -> list[Comparison]:
    """Compare each of ``pairs``. With several, p-values (Holm) and intervals (Bonferroni) are adjusted.

    The errors of pairs that can't be compared are added to ``refused``. Raises `UsageError` if it is None, and where no
    pair can be compared.
    """
    level = 1 - (1 - confidence) / max(1, len(pairs))
    found, failed = [], []
    for pair in pairs:
        try:
            found.append(compare(*pair, confidence=level, allow_mixed=allow_mixed))
        except UsageError as error:
            failed.append(str(error))
    if failed and (refused is None or not found):
        raise UsageError("\n".join(failed))
    if refused is not None:
        refused += failed
    adjusted = holm(dict(enumerate([*(each.p for each in found), *(1.0 for _ in failed)])))
    return [replace(each, adjusted=adjusted[number], alpha=1 - confidence) for number, each in enumerate(found)]


def compare(first: Side, second: Side, *, confidence: float = 0.95, allow_mixed: bool = False) -> Comparison:
    """Compare ``second`` with ``first``. Raises `UsageError` for incomparable runs, unless ``allow_mixed``."""
    changed, differing, refused = side_differences(first, second)
    if refused and not allow_mixed:
        raise UsageError(refusal(f"{first.name} of {first.run} and {second.name} of {second.run}", refused))
    left_out: dict[str, list[str]] = {}
    common, asked_of_both = [], []
    for name in dict.fromkeys((*first.tasks, *second.tasks)):
        one, other = first.tasks.get(name), second.tasks.get(name)
        side_without = first if one is None else second if other is None else None
        if side_without is not None and name in side_without.missing:
            asked_of_both.append(name)
            left_out.setdefault("planned and without a result on one side", []).append(name)
        elif side_without is not None and name in side_without.decided:
            left_out.setdefault("left out by --stop-when-settled on one side", []).append(name)
        elif one is None or other is None:
            left_out.setdefault(f"only in {second.run if one is None else first.run}", []).append(name)
        elif one.digest and other.digest and one.digest != other.digest:
            left_out.setdefault("edited between the runs", []).append(name)
        else:
            asked_of_both.append(name)
            if one.judged and other.judged:
                common.append(name)
            else:
                left_out.setdefault("without a verdict on one side", []).append(name)
    if not common:
        reasons = "; ".join(f"{len(names)} {reason}" for reason, names in left_out.items())
        raise UsageError(
            f"expected tasks that both {first.name} of {first.run} and {second.name} of {second.run} have verdicts of, "
            f"found none ({reasons})"
        )
    tasks = paired(first, second, common)
    single = all(each.judged == (1, 1) for each in tasks) and len({each.cluster for each in tasks}) == len(tasks)
    if single:
        gains = sum(each.difference > 0 for each in tasks)
        p, test = mcnemar(gains, sum(each.difference < 0 for each in tasks)), "exact McNemar test"
    else:
        p, test = flip_test_of(tasks), "sign flips of whole templates"
    growth = {measure: growth_of(first, second, common, measure, confidence=confidence) for measure in MEASURES}
    efforts = tuple(
        {measure: effort for measure in MEASURES if (effort := effort_of(_only(side, common), measure)) is not None}
        for side in (first, second)
    )
    difference = difference_of(tasks, confidence=confidence)
    judge_trials, corrected = _judge_errors(first, second, common, difference)
    return Comparison(
        first=first,
        second=second,
        difference=difference,
        by_judge=judge_trials,
        corrected=corrected,
        p=p,
        adjusted=p,
        alpha=1 - confidence,
        test=test,
        groups=tuple(groups_of(first, second, tasks, asked_of_both, confidence)),
        fates=tuple(sorted((_fate(first.tasks[name], second.tasks[name]) for name in common), key=_least_alike)),
        transitions=_transitions(first, second, common),
        left_out={reason: tuple(names) for reason, names in left_out.items()},
        differing=tuple(differing),
        changed=tuple(changed),
        forced=tuple(refused),
        bounds=bounds_of(first, second, asked_of_both),
        error_bounds=bounds_of(first, second, asked_of_both, over="errors"),
        undecided_bounds=bounds_of(first, second, common, over="undecided"),
        worst=worst_of(first, second, asked_of_both, difference),
        errors_failed=errors_failed_of(first, second, asked_of_both, confidence),
        undecided_ends=undecided_ends(first, second, common, confidence),
        growth={measure: found for measure, found in growth.items() if found is not None},
        efforts=(efforts[0], efforts[1]),
    )


def _only(side: Side, tasks: Iterable[str]) -> Side:
    return replace(side, tasks={name: side.tasks[name] for name in tasks})


def _judge_errors(
    first: Side, second: Side, tasks: Sequence[str], found: Difference
) -> tuple[tuple[int, int], Corrected | None]:
    """The number of trials for which each side's judge was asked, and the difference if it never erred."""
    pairs = [(first.tasks[name].cluster, first.tasks[name].verdicts, second.tasks[name].verdicts) for name in tasks]
    judge_trials = sum(one.by_judge for _, one, _ in pairs), sum(other.by_judge for _, _, other in pairs)
    # The rate of a side that asked no judge is exact, whatever the other side's judge is like.
    errors = [
        side.judge_errors or (other.judge_errors if not some else None)
        for side, other, some in zip((first, second), (second, first), judge_trials, strict=True)
    ]
    if not any(judge_trials) or errors[0] is None or errors[1] is None:
        return judge_trials, None
    corrected = corrected_difference(pairs, found.sample, (errors[0], errors[1]), confidence=found.confidence)
    return judge_trials, corrected


def _fate(one: SideTask, other: SideTask) -> TaskFate:
    rates = one.passed / one.judged, other.passed / other.judged
    fate: Fate = "same" if rates[0] == rates[1] else "unsettled"
    if rates in ((0.0, 1.0), (1.0, 0.0)):
        fate = "won" if rates[1] else "lost"
    if one.undecided or other.undecided:
        fate = "unsettled"
    return TaskFate(task=one.task, fate=fate, first=one, second=other)


def _least_alike(each: TaskFate) -> tuple[float, str]:
    return -abs(each.second.passed / each.second.judged - each.first.passed / each.first.judged), each.task


def _transitions(first: Side, second: Side, tasks: Iterable[str]) -> dict[tuple[bool, bool], int]:
    found = {(one, other): 0 for one in (True, False) for other in (True, False)}
    for name in tasks:
        others = {each.trial: each.outcome for each in second.tasks[name].tries if each.outcome != "error"}
        for each in first.tasks[name].tries:
            if each.outcome != "error" and each.trial in others:
                found[each.outcome == "passed", others[each.trial] == "passed"] += 1
    return found
