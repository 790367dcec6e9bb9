"""Checks that no agent gains by ending trials in errors: each event of the table of owners, in runs of two agents.

    python benchmarks/owners.py [--events renderer coin …] [--tasks 24] [--seeds 5]

Both agents pass half of their trials. One of them brings about the event in each trial that it would fail. The event is
a real trial with injected faults (`tests/unit/trials/owner_events.py`), with each result of its control; attacks of
agents follow. Prints a line per event and result: the agent's rate before and after, its rate with errors as failures,
and the verdict of the comparison with the other agent. Targets, for each seed of the outcomes:

failed   the agent caused the error, or the owner is undecided: no rate, interval or comparison rises
error    the environment is at fault: the rate with errors as failures, its interval, the lower bound and the verdict of
         the comparison do not rise. The headline rate does, because it excludes errors; the last lines name these

Each outcome must also be the one that `expected` states. It repeats the rules in its own words, so that a fault in the
rules is found.

In the last case the tempted agent declares errors from a moment of its choice until the run stops.

Exit code 1: a target is missed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_webarena.owners import EVENTS
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.comparing.comparison import Comparison, choose, compare_all
from pytest_webarena.results.comparing.sides import sides_of_records
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.statistics import Rate, summarise
from pytest_webarena.trials.stopping import EQUAL_ERRORS
from tests.unit.trials.owner_events import ATTACKS, CASES, SCENARIOS, Result

STEADY, TEMPTED = "steady", "tempted"
TRIALS = 2
ORDER = ("worse", "unsettled", "better")
"""Verdicts of a comparison, from the tempted agent's point of view."""


KNOWN = frozenset({
    "before_agent", "unreached_site", "yielded_site", "network_change", "budget", "judge_access", "uncounted_usage",
    "disk",
})  # fmt: skip
"""Events that the agent cannot have caused."""
NOT_MET = frozenset({"too_large", "forged_verdict", "overdue"})
"""Events that fail a check."""
DOUBTFUL = frozenset({"judge_rejects", "model_access", "harness"})
"""Events that may have another cause even if they recur with the agent's actions."""


def expected(event: str, result: Result) -> str:
    """The outcome that an event must have: error, undecided or failed."""
    if event in ATTACKS:
        return "failed" if event == "coin, twice" else "undecided"
    if result is None:
        return "error" if event in KNOWN else "failed" if event in NOT_MET else "undecided"
    if result == "fails" or (event, result) == ("shared_browser", "works"):
        return "error"
    return "failed" if result == "recurs" and event not in DOUBTFUL else "undecided"


ENDING = (
    "outcome", "cause", "event", "control", "verdict", "verdicts", "grading", "score", "stop_reason", "stop_detail",
    "message", "attempt", "attempts",
)  # fmt: skip
"""Fields that say how a trial ended. The others, such as its template, stay those of its task."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a run says about the tempted agent."""

    rate: Rate
    comparison: Comparison

    @property
    def headline(self) -> tuple[float, ...]:
        """The figures that include judged trials only."""
        difference = self.comparison.difference
        return (
            self.rate.value or 0.0,
            *self.rate.interval,
            difference.value or 0.0,
            *difference.sample,
            *difference.whole,
        )

    @property
    def careful(self) -> tuple[float, ...]:
        """The figures that include errors, and the verdict, which depends on both."""
        rate, compared = self.rate.with_errors_failed, self.comparison
        difference = (compared.errors_failed or compared).difference
        trials = self.rate.judged + self.rate.excluded
        verdict = ORDER.index(compared.verdict)
        difference_and_intervals = (difference.value or 0.0, *difference.sample, *difference.whole)
        return (rate.value or 0.0, *rate.interval, self.rate.passed / trials, *difference_and_intervals, verdict)


def outcomes(tasks: int, seed: int) -> Iterator[tuple[str, str, int, bool]]:
    """Yields agent, task, trial and whether it passes: half of each agent's trials."""
    for agent in (STEADY, TEMPTED):
        passes = [number % 2 == 0 for number in range(tasks * TRIALS)]
        random.Random(f"{agent} {seed}").shuffle(passes)
        for number, passed in enumerate(passes):
            yield agent, f"task-{number // TRIALS}", number % TRIALS + 1, passed


def standing(
    results: Sequence[tuple[str, str, int, bool]],
    ended: TrialRecord | None,
    folder: Path,
    stopped: Sequence[PlannedTrial] = (),
) -> Standing:
    """The tempted agent's figures. Its failed trials end as ``ended`` did; None: as failures of the usual kind."""
    records = []
    for agent, task, trial, passed in results:
        key = TrialKey(task, agent, trial)
        plain = TrialRecord(
            key=key, outcome="passed" if passed else "failed", score=float(passed), stop_reason="answered",
            task_digest=task, agent_digest=agent,
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


def gains(before: Standing, after: Standing, ended: TrialRecord) -> list[str]:
    """What rose although it should not."""
    found = [] if not rises(before.careful, after.careful) else ["figures with errors"]
    if ended.outcome == "failed" and rises(before.headline, after.headline):
        found.append("headline figures")
    return found


def rises(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether any figure is larger afterwards."""
    return any(now > earlier + 1e-9 for earlier, now in zip(before, after, strict=True))


def check(event: str, result: Result, *, tasks: int, seeds: int) -> tuple[list[str], str, bool]:
    """Compares runs with and without the event. Returns what rose although it should not, the printed line, and whether
    the headline figures rose."""
    ended = bring_about(event, result)
    outcome = "undecided" if ended.undecided else ended.outcome
    right = expected(event, result)
    found: dict[str, None] = {} if outcome == right else {f"the outcome should be {right}": None}
    headline = False
    line = ""
    with tempfile.TemporaryDirectory(prefix="owners-run-") as folder:
        run = RunDir(Path(folder)).path
        for seed in range(1, seeds + 1):
            results = list(outcomes(tasks, seed))
            before, after = standing(results, None, run), standing(results, ended, run)
            found |= dict.fromkeys(gains(before, after, ended))
            headline = headline or rises(before.headline, after.headline)
            line = line or (
                f"{event:<23} {result or 'no control':<10} {outcome:<9} "
                f"{before.rate.value or 0.0:.0%} → {after.rate.value or 0.0:.0%}, "
                f"with errors {after.rate.with_errors_failed.value or 0.0:.0%}, {after.comparison.verdict}"
            )
    return list(found), line, headline


def stopping(tasks: int, seed: int) -> list[str]:
    """What rises if the tempted agent declares errors after its last success, until the run stops it."""
    ended = bring_about("declares when it loses", None)
    results = list(outcomes(tasks, seed))
    own = [each for each in results if each[0] == TEMPTED]
    begins = max(number for number, each in enumerate(own[: len(own) // 2]) if each[3]) + 1
    declared = own[begins : begins + EQUAL_ERRORS]
    left_out = own[begins + EQUAL_ERRORS :]
    with tempfile.TemporaryDirectory(prefix="owners-run-") as folder:
        run = RunDir(Path(folder)).path
        before = standing(results, None, run)
        plan = [PlannedTrial(key=TrialKey(task, agent, trial), stopped="errors") for agent, task, trial, _ in left_out]
        extend_plan(run, plan)
        kept = [each for each in results if each not in left_out]
        kept = [(*each[:3], False) if each in declared else each for each in kept]
        after = standing(kept, ended, run, stopped=plan)
    return ["figures with errors"] if rises(before.careful[:3], after.careful[:3]) else []


def cases(events: Sequence[str]) -> Iterator[tuple[str, Result]]:
    """Yields each event with each result of its control, and each attack."""
    yield from ((event, result) for event, result in CASES if event in events)
    yield from ((attack, None) for attack in ATTACKS if attack in events)


def main() -> int:
    """Prints a line per event; returns exit code 1 if the agent gained by any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--events", nargs="+", choices=[*EVENTS, *ATTACKS], default=[*EVENTS, *ATTACKS], help="events to bring about"
    )
    parser.add_argument("--tasks", type=int, default=24, help="tasks of each run (default: 24)")
    parser.add_argument("--seeds", type=int, default=5, help="number of outcomes to try each event on (default: 5)")
    options = parser.parse_args()
    missed = 0
    raised: dict[str, None] = {}
    for event, result in cases(options.events):
        found, line, headline = check(event, result, tasks=options.tasks, seeds=options.seeds)
        missed += bool(found)
        raised |= {f"{event} ({result or 'known'})": None} if headline else {}
        shown = f"MISSED: {', '.join(found)}" if found else "the headline rises" if headline else "nothing rises"
        print(f"{line}: {shown}", flush=True)
    stopped = [found for seed in range(1, options.seeds + 1) for found in stopping(options.tasks, seed)]
    print(f"stops the run: {'ROSE: ' + ', '.join(dict.fromkeys(stopped)) if stopped else 'nothing rises'}")
    missed += bool(stopped)
    print(f"{missed} targets missed")
    print(f"the headline rises in {len(raised)} cases, in which the environment is at fault: {', '.join(raised)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
