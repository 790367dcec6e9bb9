"""Checks that no agent gains by ending trials in errors: each event of the table of owners, up to each printed figure.

    python benchmarks/owners.py [--seeds 5] [--tasks 24] [--events renderer coin …] [--cases comparing "whole run" …]

An event is a real trial with injected faults (`tests/unit/trials/owner_events.py`), with each result of its control;
attacks of agents follow. The cases are in the modules of `owner_cases`:

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

from owner_cases.attempts import CASES_OF_ATTEMPTS
from owner_cases.comparing import check, stopping
from owner_cases.endpoints import CASES_OF_ENDPOINTS
from owner_cases.rules import expected
from owner_cases.runs import CASES_OF_RUNS

from pytest_webarena.owners import EVENTS
from tests.unit.trials.owner_events import ATTACKS, CASES, Result

__all__ = ["CASES_OF_TRIALS", "check", "expected", "stopping"]

CASES_OF_TRIALS = {**CASES_OF_ATTEMPTS, **CASES_OF_ENDPOINTS}
NAMES = (*CASES_OF_TRIALS, "comparing", *CASES_OF_RUNS)
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
    """Runs the cases, the quick ones first; yields for each whether its target was missed."""
    chosen = ["comparing"] if options.events else options.cases
    for name in chosen or [each for each in NAMES if each != ("every event" if options.seeds == 1 else "whole run")]:
        if name == "comparing":
            yield from compare(options.events or [*EVENTS, *ATTACKS], tasks=options.tasks, seeds=options.seeds)
        else:
            single = CASES_OF_TRIALS.get(name)
            for title, wrong in [(name, [*single()])] if single is not None else CASES_OF_RUNS[name]():
                print(f"{title}: {_shown(wrong, 'right')}", flush=True)
                yield bool(wrong)


def main() -> int:
    """Runs the parts; returns exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--events", nargs="+", choices=[*EVENTS, *ATTACKS], help="compare agents with these events only"
    )
    parser.add_argument("--cases", nargs="+", choices=NAMES, metavar="CASE", help=f"one of: {', '.join(NAMES)}")
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
