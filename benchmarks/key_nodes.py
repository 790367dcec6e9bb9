"""Measures the time to rescore a run of 104 tasks with key nodes, offline.

    python benchmarks/key_nodes.py [--steps 8] [--rounds 5]

Generates a data set of the size and structure of Mind2Web-Live's test set: 104 tasks and 443 nodes, with the same
number of each function. In each trial an agent also leaves the reference path, and reaches all nodes but the last:
addresses, clicks and input with the recorded surroundings of their elements. Trials are judged from stored records, as
``--rescore`` does: in one process, and each trial in its own fork with a time limit. Rules in words use a table of
answers, as a judge with cached replies does. Prints medians of wall time and processor time; on a busy machine use the
processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pytest_webarena.actions import Goto, as_record
from pytest_webarena.checks import REPAIRED, Verdict, judge_all, judge_all_bounded
from pytest_webarena.checks.judge_protocol import Grade, Question
from pytest_webarena.evidence import Evidence, StepRecord, TabState
from pytest_webarena.signals import AddressChanged, DomEvent, ElementRecord, Signal, TargetRecord
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.tasks.model import Task

TASKS = 104
FUNCTIONS = {
    "url_included_match": 258,
    "element_path_exactly_match": 90,
    "url_exactly_match": 47,
    "element_value_exactly_match": 26,
    "url_semantic_match": 18,
    "element_value_semantic_match": 4,
}
"""How many nodes of each function the data set of October 2024 has; the first node of each task is the site itself."""
AROUND = 18
"""The number of elements recorded around an element that is acted on, as many as on deep pages of shops."""


class Table:
    """A judge that answers from a table."""

    def ask(self, question: Question) -> Grade:
        return Grade(decision="correct", replies=("GRADE: 1",), model="table", prompt="rule", temperature=0)


def main() -> int:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8, help="steps per trial (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measure this many rounds (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.json"
        rows = list(made())
        path.write_text(json.dumps(rows), "utf-8")
        tasks = load_suite(f"mind2web-live:{path}").tasks
        stored = [json.dumps(trial(row, options.steps).to_json()) for row in rows]
    nodes = sum(len(row["evaluation"]) for row in rows)
    print(f"{len(tasks)} tasks, {nodes} nodes, {sum(map(len, stored)) / 1e6:.1f} MB; load {os.getloadavg()[0]:.1f}")
    evidence = timed("reading", options.rounds, lambda: [Evidence.from_json(json.loads(each)) for each in stored])
    for title, judging in (("judging", judge_all), ("each in a process of its own", judge_all_bounded)):
        found = timed(title, options.rounds, partial(judged, tasks, evidence, judging))
    print(f"{found['reached']} nodes reached, {found['open']} open, of {found['all']}")
    return 0


def judged(
    tasks: tuple[Task, ...], evidence: list[Evidence], judging: Callable[..., Mapping[str, Verdict]]
) -> Counter[str]:
    """Returns how many nodes were reached according to the repaired rules."""
    found: Counter[str] = Counter()
    for task, each in zip(tasks, evidence, strict=True):
        verdicts = judging(task, each, headline=REPAIRED, asker=Table())
        for part in (part for result in verdicts["repaired"].results for part in result.parts):
            found.update({"all": 1, "reached": bool(part.points), "open": part.open})
    return found


def timed(title: str, rounds: int, work: Callable[[], Any]) -> Any:
    """Returns the result of ``work`` and prints its time."""
    walls, processors = [], []
    for _ in range(rounds):
        wall, processor = time.perf_counter(), used()
        result = work()
        walls.append(time.perf_counter() - wall)
        processors.append(used() - processor)
    print(f"{title:<30}{statistics.median(walls):7.3f} s, {statistics.median(processors):.3f} s of processor time")
    return result


def used() -> float:
    """Returns the processor seconds of this process and of the child processes it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def made() -> Iterator[dict[str, Any]]:
    """Yields the rows of the data set."""
    left = Counter(FUNCTIONS)
    left["url_included_match"] -= TASKS
    others = iter([name for name, count in left.items() for _ in range(count)])
    counts = [len(range(task, sum(left.values()), TASKS)) for task in range(TASKS)]
    for task, count in enumerate(counts):
        host = f"www.made{task}.test"
        first = {
            "match_function_name": "url_included_match",
            "content": {"key": "", "reference_answer": f"made{task}.", "url": f"https://{host}/"},
        }
        evaluation = [first, *(node(next(others), host, number) for number in range(count))]
        yield {"index": task, "task": f"Invented task {task}", "reference_task_length": 8, "evaluation": evaluation}


def node(function: str, host: str, number: int) -> dict[str, Any]:
    """Returns a node of the most common form of its function."""
    content: dict[str, Any] = {"url": f"https://{host}/part-{number}?q=what+is+meant&max=2{number}"}
    if function.startswith("url"):
        content["key"] = "" if function == "url_included_match" else "q" if "semantic" in function else "max"
        content["reference_answer"] = {
            "url_included_match": f"{host.removeprefix('www.')}/part-{number}",
            "url_exactly_match": f"2{number}",
            "url_semantic_match": "Decide whether it is what is meant",
        }[function]
        return {"match_function_name": function, "content": content}
    content["netloc"] = host.split(".")[1]
    place = f"#part-{number} > div.field input"
    if "path" in function:
        return {
            "match_function_name": function,
            "method": "selector",
            "content": {**content, "reference_answer": place},
        }
    reference = "Decide whether it is what is meant" if "semantic" in function else f"value {number}"
    return {"match_function_name": function, "content": {**content, "reference_answer": reference, "path": place}}


def trial(row: Mapping[str, Any], steps: int) -> Evidence:
    """Returns the evidence of an agent that first did other things and then reached all nodes but the last."""
    host = f"www.made{row['index']}.test"
    signals: list[Signal] = []
    after: list[int] = []
    records: list[StepRecord] = []
    here = "about:blank"
    for index in range(steps):
        before = here
        content = (
            row["evaluation"][index // 2]["content"]
            if index % 2 == 0 and index // 2 < len(row["evaluation"]) - 1
            else None
        )
        here = content["url"] if content else f"https://{host}/elsewhere-{index}?page={index}"
        signals.append(AddressChanged(time=float(index), tab=0, url=here))
        place = f"part-{index // 2 - 1}" if content else f"other-{index}"
        for name, value in (
            ("click", None),
            ("input", f"value {index // 2 - 1}"),
            ("change", f"value {index // 2 - 1}"),
        ):
            signals.append(event(index, here, name, value, place))
        records.append(StepRecord(index=index, action=as_record(Goto(here)), raw="", url_before=before, url_after=here))
        after.append(len(signals))
    site = host.replace("www.", "").replace(".", "-")
    return Evidence(
        answer=None,
        stop_reason="max_steps",
        tabs=(TabState(url=here, title="", html="", active=True),),
        steps=tuple(records),
        signals=tuple(signals),
        signals_after=tuple(after),
        sites={site: f"https://{host}", f"www-{site}": f"https://{host}"},
    )


def event(index: int, url: str, name: str, value: str | None, place: str) -> DomEvent:
    """Returns an input event on a field, with the elements around it."""
    inner = [
        ("input", {"type": "text", "class": "text wide", "name": "q"}),
        ("div", {"class": "field"}),
        ("form", {"id": place}),
    ]
    outer = [("div", {"class": f"column column-{depth}", "data-depth": f"{depth}"}) for depth in range(AROUND)]
    chain = tuple(
        ElementRecord(tag=tag, attributes=attributes, nth=2, children=5, nth_of_type=1, of_type=2)
        for tag, attributes in [*inner, *outer, ("body", {})]
    )
    root = ElementRecord(tag="html", nth=1, children=1, nth_of_type=1, of_type=1, within="root")
    target = TargetRecord(selector=f"#{place} input", role="textbox", name="Search", tag="input", x=1.0, y=1.0)
    return DomEvent(time=float(index), tab=0, url=url, event=name, target=target, value=value, chain=(*chain, root))


if __name__ == "__main__":
    sys.exit(main())
