"""Compares our ``verified`` grading with the package ``webarena-verified``, on thousands of generated trials.

    python scripts/agree_verified.py [--seed 1] [--tasks 0-811] [--show 5]

Covers each task of the package's data set: its expected response and requests, and mutations of both (types, order,
near misses, formats of dates, amounts and durations, statuses, methods, paths, parameters, encodings, later and earlier
events). Each case goes through the package's public API, as files with the answer and the HAR, and through our judge,
as requests in the gateway's log and evidence in JSON. This script writes the HAR itself, without `pytest_webarena.har`,
so that a mistake there shows. Prints the disagreements.
"""

from __future__ import annotations

import argparse
import collections
import json
import logging
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_webarena.checks import judge
from pytest_webarena.checks.grading import VERIFIED
from pytest_webarena.checks.verified import VerifiedSpec
from pytest_webarena.checks.verified.package import evaluate
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks.model import Check, Task
from scripts.verified_answers import SITES, expected_response, responses
from scripts.verified_traffic import Event, traffic


@dataclass(frozen=True, kw_only=True)
class Case:
    what: str
    answer: str | None
    events: tuple[Event, ...]


@dataclass
class Tally:
    cases: int = 0
    agreed: int = 0
    status: collections.Counter[str] = field(default_factory=collections.Counter)


def cases(task: dict[str, Any], dice: random.Random) -> Iterator[Case]:
    right = json.dumps(expected_response(task["eval"][0]))
    _, calm = next(traffic(task, dice))
    for what, answer in responses(task, dice):
        yield Case(what=f"response: {what}", answer=answer, events=calm)
    for what, events in traffic(task, dice):
        yield Case(what=f"requests: {what}", answer=right, events=events)


def ours(task: dict[str, Any], case: Case) -> tuple[float | None, str]:
    spec = VerifiedSpec(sites=tuple(task["sites"]), eval=tuple(task["eval"]), task_id=task["task_id"])
    evidence = Evidence(
        answer=case.answer,
        stop_reason="answered",
        requests=tuple(event.record(at) for at, event in enumerate(case.events)),
        sites={site: SITES[site] for site in task["sites"]},
        answer_format="verified",
    )
    evidence = Evidence.from_json(json.loads(json.dumps(evidence.to_json())))
    check = Check(path="checks[0]", kind="verified", spec=spec)
    verdict = judge(Task(id="t", intent="", sites=tuple(task["sites"]), checks=(check,)), evidence, grading=VERIFIED)
    return verdict.score, evaluate(spec, evidence).status


class Theirs:
    def __init__(self, folder: Path) -> None:
        from webarena_verified.api import WebArenaVerified

        config = folder / "config.json"
        environments = {f"__{site.upper()}__": {"urls": [url]} for site, url in SITES.items()}
        config.write_text(json.dumps({"environments": environments}))
        self.api = WebArenaVerified(config=config)
        self.tasks: list[dict[str, Any]] = json.loads(self.api.config.test_data_file.read_text())
        self.answer, self.har = folder / "agent_response.json", folder / "network.har"

    def __call__(self, task_id: int, case: Case) -> tuple[float, str]:
        self.answer.write_text("null" if case.answer is None else case.answer)
        self.har.write_text(json.dumps({"log": {"entries": [event.entry() for event in case.events]}}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as on its command line; pytest would turn them into errors
            result = self.api.evaluate_task(task_id=task_id, agent_response=self.answer, network_trace=self.har)
        return result.score, str(result.status)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="seed of the trials (default: %(default)s)")
    parser.add_argument("--tasks", default="0-811", help="tasks: FIRST-LAST[/STEP] (default: %(default)s)")
    parser.add_argument("--show", type=int, default=5, help="print this many disagreements (default: %(default)s)")
    options = parser.parse_args()
    for name in ("WebArena-Verified", "webarena_verified"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    span, _, step = options.tasks.partition("/")
    first, _, last = span.partition("-")
    tallies: dict[str, Tally] = collections.defaultdict(Tally)
    began, shown = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        upstream = Theirs(Path(folder))
        tasks = upstream.tasks[int(first) : int(last or first) + 1 : int(step or 1)]
        for task in tasks:
            dice = random.Random(f"{options.seed}/{task['task_id']}")
            for case in cases(task, dice):
                score, status = ours(task, case)
                their_score, their_status = upstream(task["task_id"], case)
                tally = tallies[case.what]
                tally.cases += 1
                tally.status[their_status] += 1
                if (score, status) == (their_score, their_status):
                    tally.agreed += 1
                elif shown < options.show:
                    shown += 1
                    print(
                        f"task {task['task_id']}, {case.what}: ours {score} {status}, "
                        f"theirs {their_score} {their_status}"
                    )
                    print("  answer:", case.answer, "\n  events:", *case.events[-2:])
    print(f"{'kind of case':34} {'agreed':>14}  success  failure  error")
    total = Tally()
    for what, tally in sorted(tallies.items()):
        counts = [tally.status[name] for name in ("success", "failure", "error")]
        print(f"{what:34} {f'{tally.agreed}/{tally.cases}':>14} {counts[0]:8} {counts[1]:8} {counts[2]:6}")
        total.cases += tally.cases
        total.agreed += tally.agreed
        total.status += tally.status
    counts = [total.status[name] for name in ("success", "failure", "error")]
    print(f"{'all':34} {f'{total.agreed}/{total.cases}':>14} {counts[0]:8} {counts[1]:8} {counts[2]:6}")
    print(f"{len(tasks)} tasks, seed {options.seed}, {time.monotonic() - began:.0f} s")
    return 0 if total.agreed == total.cases else 1


if __name__ == "__main__":
    sys.exit(main())
