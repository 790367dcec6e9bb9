"""Checks that no agent gains by ending trials in errors: each event of the table of owners, in runs of two agents.

    python benchmarks/owners.py [--events renderer judge_refuses …] [--tasks 24] [--seeds 5]

Both agents pass half of their trials. One of them brings about the event in each trial that it would fail. The event is
a real trial with injected faults (`tests/unit/trials/test_owners.py`), with a control that works and with one that
fails. Prints a line per event and control: the agent's rate before and after, its rate with errors as failures, and the
verdict of the comparison with the other agent. Targets, for each seed of the outcomes:

failed   the agent caused the error: no rate, interval or comparison rises
error    the error stays one: the rate with errors as failures, its interval, the lower bound and the verdict of the
         comparison do not rise. The headline rate does, because it excludes errors; the last line counts these

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
from pytest_webarena.results.statistics import Rate, summarise
from tests.unit.trials.test_owners import SCENARIOS, has_control

STEADY, TEMPTED = "steady", "tempted"
TRIALS = 2
ORDER = ("worse", "unsettled", "better")
"""Verdicts of a comparison, from the tempted agent's point of view."""


ENDING = (
    "outcome", "cause", "shortfall", "score", "stop_reason", "stop_detail", "message", "attempt", "attempts",
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
        trials = self.rate.judged + self.rate.errors
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


def standing(results: Sequence[tuple[str, str, int, bool]], ended: TrialRecord | None, folder: Path) -> Standing:
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
    rate = summarise(records)[TEMPTED].rate
    pair = choose([sides_of_records(folder, {"agents": [STEADY, TEMPTED]}, records)])
    (comparison,) = compare_all(pair, allow_mixed=True, refused=[])
    return Standing(rate=rate, comparison=comparison)


def bring_about(event: str, *, fails: bool) -> TrialRecord:
    """The record of a real trial with the event, and with a control that ``fails`` or works."""
    with tempfile.TemporaryDirectory(prefix="owners-") as folder, pytest.MonkeyPatch.context() as patch:
        return SCENARIOS[event](Path(folder), patch, fails)


def gains(before: Standing, after: Standing, ended: TrialRecord) -> list[str]:
    """What rose although it should not."""
    found = [] if not rises(before.careful, after.careful) else ["figures with errors"]
    if ended.outcome == "failed" and rises(before.headline, after.headline):
        found.append("headline figures")
    return found


def rises(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether any figure is larger afterwards."""
    return any(now > earlier + 1e-9 for earlier, now in zip(before, after, strict=True))


def check(event: str, *, fails: bool, tasks: int, seeds: int) -> tuple[list[str], str, bool]:
    """Compares runs with and without the event. Returns what rose although it should not, the printed line, and whether
    the headline figures rose."""
    ended = bring_about(event, fails=fails)
    found: dict[str, None] = {}
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
                f"{event:<17} {'control fails' if fails else 'works or none':<14} {ended.outcome:<7} "
                f"{before.rate.value or 0.0:.0%} → {after.rate.value or 0.0:.0%}, "
                f"with errors {after.rate.with_errors_failed.value or 0.0:.0%}, {after.comparison.verdict}"
            )
    return list(found), line, headline


def cases(events: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yields each event with a control that works, or none, and with one that fails, if it has a control."""
    for event in events:
        yield event, False
        if has_control(event):
            yield event, True


def main() -> int:
    """Prints a line per event; returns exit code 1 if the agent gained by any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", nargs="+", choices=list(EVENTS), default=list(EVENTS), help="events to bring about")
    parser.add_argument("--tasks", type=int, default=24, help="tasks of each run (default: 24)")
    parser.add_argument("--seeds", type=int, default=5, help="number of outcomes to try each event on (default: 5)")
    options = parser.parse_args()
    missed = raised = 0
    for event, fails in cases(options.events):
        found, line, headline = check(event, fails=fails, tasks=options.tasks, seeds=options.seeds)
        missed += bool(found)
        raised += headline
        shown = f"ROSE: {', '.join(found)}" if found else "the headline rises" if headline else "nothing rises"
        print(f"{line}: {shown}", flush=True)
    print(f"{missed} targets missed; {raised} cases in which the headline rises because it excludes errors")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
