"""Checks that no agent gains by ending trials in errors: each event of the table of owners, up to each printed figure.

    python benchmarks/owners.py [--seeds 5] [--tasks 24] [--events renderer coin …] [--parts comparing runs …]

An event is a real trial with injected faults (`tests/unit/trials/owner_events.py`), with each result of its control;
attacks of agents follow. The parts, each a module of `owner_cases`:

comparing  two agents, one of which brings about the event in each trial that it would fail. Prints a line per event and
           result: the agent's rate before and after, its rate with errors as failures, the verdict of the comparison
attempts   controls and retries of single trials
endpoints  a model and a judge that refuse requests, from the HTTP response on
runs       pytest with retries, reruns, --resume, merges, stops and gates, and each output of these runs

`owner_cases/rules.py` states what must come out in words of its own, so that a fault in the rules is found.

``--seeds 1 --tasks 12`` is the quick form, in which `runs` has a sample of the events. Exit code 1: a target is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from owner_cases import attempts, endpoints, runs
from owner_cases.comparing import check, stopping
from owner_cases.rules import expected

from pytest_webarena.owners import EVENTS
from tests.unit.trials.owner_events import ATTACKS, CASES, Result

__all__ = ["PARTS", "check", "expected", "stopping"]

PARTS = {"attempts": attempts.cases, "endpoints": endpoints.cases, "runs": runs.cases}
SHOWN = 3


def cases(events: Sequence[str]) -> Iterator[tuple[str, Result]]:
    """Yields each event with each result of its control, and each attack."""
    yield from ((event, result) for event, result in CASES if event in events)
    yield from ((attack, None) for attack in ATTACKS if attack in events)


def compare(events: Sequence[str], *, tasks: int, seeds: int) -> Iterator[bool]:
    """Prints a line per event; yields whether its target was missed."""
    raised: dict[str, None] = {}
    for event, result in cases(events):
        found, line, headline = check(event, result, tasks=tasks, seeds=seeds)
        raised |= {f"{event} ({result or 'known'})": None} if headline else {}
        print(f"{line}: {_shown(found, 'the headline rises' if headline else 'nothing rises')}", flush=True)
        yield bool(found)
    stopped = dict.fromkeys(found for seed in range(1, seeds + 1) for found in stopping(tasks, seed))
    print(f"stops the run: {_shown(list(stopped), 'nothing rises')}")
    print(f"the headline rises in {len(raised)} cases, in which the environment is at fault: {', '.join(raised)}")
    yield bool(stopped)


def _shown(found: Sequence[str], right: str) -> str:
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"MISSED: {'; '.join(found[:SHOWN])}{more}" if found else right


def run(options: argparse.Namespace) -> Iterator[bool]:
    """Runs the parts, the quick ones first; yields for each case whether its target was missed."""
    for part, all_cases in PARTS.items() if options.events is None else ():
        if part == "runs" and "comparing" in options.parts:
            yield from compare([*EVENTS, *ATTACKS], tasks=options.tasks, seeds=options.seeds)
        how = {"every_event": options.seeds > 1} if part == "runs" else {}
        for name, wrong in all_cases(**how) if part in options.parts else ():
            print(f"{part}: {name}: {_shown(wrong, 'right')}", flush=True)
            yield bool(wrong)
    if options.events is not None:
        yield from compare(options.events, tasks=options.tasks, seeds=options.seeds)


def main() -> int:
    """Runs the parts; returns exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--events", nargs="+", choices=[*EVENTS, *ATTACKS], help="compare with these events only (default: all parts)"
    )
    parser.add_argument("--parts", nargs="+", choices=["comparing", *PARTS], default=["comparing", *PARTS])
    parser.add_argument("--tasks", type=int, default=24, help="tasks of each comparison (default: 24)")
    parser.add_argument("--seeds", type=int, default=5, help="number of outcomes to try each event on (default: 5)")
    parser.add_argument("--stop-at-first", action="store_true", help="end at the first missed target")
    options = parser.parse_args()
    missed = 0
    for wrong in run(options):
        missed += wrong
        if wrong and options.stop_at_first:
            break
    print(f"{missed} targets missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
