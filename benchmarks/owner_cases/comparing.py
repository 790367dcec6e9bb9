"""Rates, intervals and comparisons of two agents, one of which brings about an event in the trials that it would fail.

Such an agent must gain nothing. Its outcomes are even with the other agent's, better, or worse, so that a verdict can
be shown and withheld:

failed      every figure is as if the trials had failed in the usual way
undecided   no figure rises, and no verdict depends on the undecided trials
error       no figure with errors as failures rises, and none becomes "better"; the headline rate may rise, as it
            excludes errors, and "worse" may become "unsettled"
stopped     what errors in a row stopped counts like errors
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.comparing.comparison import Comparison, choose, compare_all
from pytest_webarena.results.comparing.sides import sides_of_records
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.statistics import Rate, summarise
from tests.unit.trials.owner_events import ATTACKS, SCENARIOS, Result

from .project import STEADY, TEMPTED
from .rules import Figures, expected

TRIALS = 2
ORDER = ("worse", "unsettled", "better")
"""Verdicts of a comparison, from the tempted agent's point of view."""
SHARES = {"even": (0.5, 0.5), "better": (0.1, 0.9), "ahead": (0.2, 0.6), "worse": (0.9, 0.1)}
"""Shares of trials that the steady and the tempted agent pass."""
ENDING = (
    "outcome", "cause", "event", "control", "verdict", "verdicts", "grading", "score", "stop_reason", "stop_detail",
    "message", "attempt", "attempts",
)  # fmt: skip
"""Fields that say how a trial ended. The others, such as its template, stay those of its task."""
Planned = tuple[str, str, int, bool]
"""Agent, task, trial, and whether it passes."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a run says about the tempted agent."""

    rate: Rate
    comparison: Comparison

    @property
    def headline(self) -> tuple[float, ...]:
        """The figures that include judged trials only."""
        difference = self.comparison.difference
        return (self.rate.value or 0.0, *self.rate.interval, difference.value or 0.0, *difference.sample,
                *difference.whole)  # fmt: skip

    @property
    def careful(self) -> tuple[float, ...]:
        """The figures that include errors."""
        rate, compared = self.rate.with_errors_failed, self.comparison
        difference = (compared.errors_failed or compared).difference
        trials = self.rate.judged + self.rate.excluded
        difference_and_intervals = (difference.value or 0.0, *difference.sample, *difference.whole)
        return (rate.value or 0.0, *rate.interval, self.rate.passed / trials, *difference_and_intervals)

    @property
    def verdicts(self) -> tuple[float, float]:
        """The verdicts on tasks like these, and on these tasks."""
        return ORDER.index(self.comparison.verdict), ORDER.index(self.comparison.verdict_here)


def outcomes(tasks: int, seed: int, shares: tuple[float, float] = (0.5, 0.5)) -> list[Planned]:
    """Both agents' trials, each with its share of passed ones."""
    found = []
    for agent, share in zip((STEADY, TEMPTED), shares, strict=True):
        passes = [number < round(share * tasks * TRIALS) for number in range(tasks * TRIALS)]
        random.Random(f"{agent} {seed}").shuffle(passes)
        for number, passed in enumerate(passes):
            found.append((agent, f"task-{number // TRIALS}", number % TRIALS + 1, passed))
    return found


def standing(
    results: Sequence[Planned], ended: TrialRecord | None, folder: Path, stopped: Sequence[PlannedTrial] = ()
) -> Standing:
    """The tempted agent's figures. Its failed trials end as ``ended`` did; None: as failures of the usual kind."""
    records = []
    for agent, task, trial, passed in results:
        plain = TrialRecord(
            key=TrialKey(task, agent, trial), outcome="passed" if passed else "failed", score=float(passed),
            stop_reason="answered", task_digest=task, agent_digest=agent,
        )  # fmt: skip
        if ended is not None and agent == TEMPTED and not passed:
            plain = replace(plain, **{name: getattr(ended, name) for name in ENDING})
        records.append(plain)
    rate = summarise(records, stopped=stopped)[TEMPTED].rate
    pair = choose([sides_of_records(folder, {"agents": [STEADY, TEMPTED]}, records)])
    (comparison,) = compare_all(pair, allow_mixed=True, refused=[])
    return Standing(rate=rate, comparison=comparison)


def bring_about(event: str, result: Result) -> TrialRecord:
    """The record of a real trial with the event or attack, whose control has this ``result``."""
    with tempfile.TemporaryDirectory(prefix="owners-") as folder, pytest.MonkeyPatch.context() as patch:
        return {**SCENARIOS, **ATTACKS}[event](Path(folder), patch, result)


def ending_of(record: TrialRecord) -> str:
    """How the trial ended, in the words of `rules`."""
    return "undecided" if record.undecided else record.outcome


def rises(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether any figure is larger afterwards."""
    return any(now > earlier + 1e-9 for earlier, now in zip(before, after, strict=True))


def gains(before: Standing, after: Standing, ended: str) -> Iterator[str]:
    """What changed although it should not."""
    if ended == "failed":
        if (before.headline, before.careful, before.verdicts) != (after.headline, after.careful, after.verdicts):
            yield "a failure is not counted like others"
        return
    if rises(before.careful, after.careful):
        yield "figures with errors rise"
    better = ORDER.index("better")
    if any(now == better != earlier for earlier, now in zip(before.verdicts, after.verdicts, strict=True)):
        yield "the verdict becomes better"
    if ended == "undecided" and before.headline != after.headline:
        yield "undecided trials are not counted as failed in the headline"


def wrong_counts(found: Standing, right: Figures) -> Iterator[str]:
    """Which numbers differ from those of ``right``."""
    rate, compared = found.rate, found.comparison
    shown = (rate.passed, rate.judged, rate.undecided, rate.errors, rate.stopped, rate.with_errors_failed.judged)
    if shown != (right.passed, right.judged, right.undecided, right.error, right.stopped, right.trials):
        yield f"the numbers of trials are {shown}"
    if compared.open_trials[1] != right.excluded:
        yield f"the comparison has {compared.open_trials[1]} open trials"


def wrong_verdict(found: Standing, results: Sequence[Planned], ended: str, lost: int = 0) -> Iterator[str]:
    """Which verdict is shown although what is not known could reverse it, or withheld although nothing could."""
    counts = []
    for agent in (STEADY, TEMPTED):
        own = [each[3] for each in results if each[0] == agent]
        counts.append((sum(own), len(own)))
    (steady, trials), (passed, judged) = counts
    unknown = lost + (judged - passed if ended in ("error", "undecided") else 0)
    low, high = passed / (judged + lost), (passed + unknown) / (judged + lost)
    other = steady / trials
    compared = found.comparison
    doubtful = ended == "undecided"
    errors = low + (unknown if ended == "error" else lost) / (judged + lost)
    for kind, bounds, right in (("all", compared.bounds, high), ("errors", compared.error_bounds, errors)):
        if any(abs(shown - (rate - other)) > 1e-9 for shown, rate in zip(bounds, (low, right), strict=True)):
            yield f"the bounds over {kind} are {bounds}"
    verdict = compared.verdict
    if verdict == "better" and low <= other:
        yield "the verdict is better although unknown trials could reverse it"
    if verdict == "worse" and high >= other:
        yield "the verdict is worse although unknown trials could reverse it"
    clear = 0.4  # of so many trials, a difference of this size is beyond chance
    if verdict != "better" and low - other > clear:
        yield f"the verdict is {verdict} although the agent is better whatever the unknown trials were"
    if verdict != "worse" and other - high > clear:
        yield f"the verdict is {verdict} although the agent is worse whatever the unknown trials were"
    ends = compared.verdicts_if_decided
    if doubtful and unknown and ends is None:
        yield "the comparison does not say what it would be if undecided trials were decided"
    both_clear = high - other > clear and other - low > clear
    if doubtful and ends is not None and both_clear and ends != ("worse", "better"):
        yield f"the ends of undecided trials are {ends}"


def check(event: str, result: Result, *, tasks: int, seeds: int) -> tuple[list[str], str, bool]:
    """Compares runs with and without the event. Returns what is wrong, the printed line, and whether the headline
    figures rose."""
    ended = bring_about(event, result)
    outcome, right = ending_of(ended), expected(event, result)
    found: dict[str, None] = {} if outcome == right else {f"the outcome should be {right}": None}
    headline, line = False, ""
    with tempfile.TemporaryDirectory(prefix="owners-run-") as folder:
        run = RunDir(Path(folder)).path
        for seed, (name, shares) in ((s, each) for s in range(1, seeds + 1) for each in SHARES.items()):
            results = outcomes(tasks, seed, shares)
            before, after = standing(results, None, run), standing(results, ended, run)
            own = [each[3] for each in results if each[0] == TEMPTED]
            figures = Figures.of("passed" if passed else right for passed in own)
            wrong = [*gains(before, after, right), *wrong_counts(after, figures), *wrong_verdict(after, results, right)]
            found |= {f"{each} ({name})": None for each in wrong}
            if name == "even":
                headline = headline or rises(before.headline, after.headline)
                line = line or (
                    f"{event:<23} {result or 'no control':<10} {outcome:<9} "
                    f"{before.rate.value or 0.0:.0%} → {after.rate.value or 0.0:.0%}, "
                    f"with errors {after.rate.with_errors_failed.value or 0.0:.0%}, {after.comparison.verdict}"
                )
    return list(found), line, headline


def stopping(tasks: int, seed: int) -> list[str]:
    """What is wrong if the tempted agent's errors stop the run after its last success of the first half."""
    ended = bring_about("declares when it loses", None)
    found: dict[str, None] = {}
    for name, shares in SHARES.items():
        results = outcomes(tasks, seed, shares)
        own = [each for each in results if each[0] == TEMPTED]
        begins = max((number for number, each in enumerate(own[: len(own) // 2]) if each[3]), default=-1) + 1
        declared, left_out = own[begins : begins + 5], own[begins + 5 :]
        with tempfile.TemporaryDirectory(prefix="owners-run-") as folder:
            run = RunDir(Path(folder)).path
            plan = [
                PlannedTrial(key=TrialKey(task, agent, trial), stopped="errors") for agent, task, trial, _ in left_out
            ]
            before = standing(results, None, run)
            extend_plan(run, plan)
            kept = [(*each[:3], False) if each in declared else each for each in results if each not in left_out]
            after = standing(kept, ended, run, stopped=plan)
            figures = Figures.of(
                [
                    *("passed" if each[3] else "undecided" for each in kept if each[0] == TEMPTED),
                    *["stopped"] * len(plan),
                ]
            )
            wrong = [*wrong_counts(after, figures), *wrong_verdict(after, kept, "undecided", lost=len(plan))]
            if rises(before.careful[:3], after.careful[:3]):
                wrong.append("figures with errors rise")
            found |= {f"{each} ({name})": None for each in wrong}
    return list(found)
