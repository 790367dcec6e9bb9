"""Measures the accuracy and speed of the check kind ``symbolic`` on a file of labelled pairs.

    python benchmarks/symbolic.py [tests/unit/checks/computed/pairs.yaml] [--show]

The file is a YAML list of mappings: ``reference`` (a formula, or a list of accepted ones), ``answer``, ``equal`` (true,
false, or the expected score in between), ``options`` (other keys of the check) and ``intent`` (the task's question).
Prints counts and shares of false "equal", false "unequal", undecided and unread answers, and the time of a judgement
after a warm-up, with and without the separate process. Exit code 0: no false "equal", at most 3 % undecided, at most 2
% false "unequal" (unread ones included), and a median of at most 20 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_webarena.checks.computed.symbolic import SYMBOLIC, SymbolicSpec, decide_alone, judge
from pytest_webarena.checks.kind import View
from pytest_webarena.errors import TaskFileError
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks import parse_tasks


def spec_of(pair: Mapping[str, Any]) -> SymbolicSpec:
    """Returns the check of a pair, parsed as from a task file."""
    reference = pair["reference"]
    check = {"one_of" if isinstance(reference, list) else "equals": reference, **pair.get("options", {})}
    task = {"id": "pair", "intent": "?", "sites": ["shopping"], "checks": [{"symbolic": check}]}
    [made] = parse_tasks(yaml.safe_dump({"tasks": [task]}, allow_unicode=True, width=10_000))
    spec: SymbolicSpec = made.checks[0].spec
    return spec


def outcome(pair: Mapping[str, Any], score: float | None, why: str) -> str:
    """Returns the result of a pair in a word."""
    wanted = float(pair["equal"])
    if score == wanted:
        return "right"
    if score is None:
        return "undecided" if why.startswith("undecided") else "no verdict"
    if score > wanted:
        return "false equal"
    return "unread" if "is not read as a formula" in why else "false unequal"


def main() -> int:
    """Measures and prints; returns whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "pairs",
        nargs="?",
        type=Path,
        default=Path("tests/unit/checks/computed/pairs.yaml"),
        help="file of labelled pairs",
    )
    parser.add_argument("--show", action="store_true", help="print each pair that differs from its label")
    options = parser.parse_args()
    pairs = yaml.safe_load(options.pairs.read_text("utf-8"))
    assert SYMBOLIC.make_ready is not None
    SYMBOLIC.make_ready(SymbolicSpec(equals=("x",)))
    counts: Counter[str] = Counter()
    confined, alone = [], []
    for pair in pairs:
        answer = str(pair["answer"])
        try:
            spec = spec_of(pair)
        except TaskFileError as error:
            counts["no verdict"] += 1
            print(f"no verdict: {error}")
            continue
        view = View(evidence=Evidence(answer=answer, stop_reason="answered"), intent=pair.get("intent", ""))
        began = time.perf_counter()
        judgement = judge(spec, view)
        confined.append(time.perf_counter() - began)
        found = outcome(pair, judgement.score, judgement.why)
        counts[found] += 1
        if options.show and found != "right":
            print(f"{found}: {pair['reference']}  |  {answer}  ({judgement.why})")
        if found != "undecided":
            began = time.perf_counter()
            decide_alone(spec, answer, view.intent)
            alone.append(time.perf_counter() - began)
    print(f"{len(pairs)} pairs")
    for name in ("right", "false equal", "false unequal", "unread", "undecided", "no verdict"):
        print(f"  {name:14} {counts[name]:5}  {counts[name] / len(pairs):6.2%}")
    for name, times in (("in its process", confined), ("without it", alone)):
        ordered = sorted(times)
        print(
            f"  {name:14} median {statistics.median(times) * 1e3:.1f} ms, "
            f"95 % {ordered[int(len(ordered) * 0.95)] * 1e3:.0f} ms, most {ordered[-1] * 1e3:.0f} ms"
        )
    wrong = counts["false unequal"] + counts["unread"]
    met = not counts["false equal"] and counts["undecided"] <= 0.03 * len(pairs) and wrong <= 0.02 * len(pairs)
    return 0 if met and not counts["no verdict"] and statistics.median(confined) <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
