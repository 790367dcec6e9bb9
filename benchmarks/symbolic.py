"""Measures the accuracy and speed of the check kind ``symbolic`` on a file of labelled pairs.

    python benchmarks/symbolic.py [tests/unit/checks/computed/pairs.yaml] [--show]

The file is a YAML list of mappings: ``reference`` (a formula, or a list of accepted ones), ``answer``, ``equal``
(true, false, or the expected score in between), ``options`` (other keys of the check) and ``intent`` (what the task
asks). Prints how many right and wrong answers are met, not met and undecided, and the time of a judgement, warm, in the
process of its own and without it. ``--show`` names each pair that is not as labelled. The exit code is 0 when the
targets are met: no wrong answer met, no right one not met, at most 5 % of the right ones undecided, 20 ms in the
median.
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


def outcome(pair: Mapping[str, Any], score: float | None) -> str:
    """Returns the label of a pair and its outcome."""
    wanted = float(pair["equal"])
    found = "undecided" if score is None else "met" if score == wanted > 0 or score > wanted else "not met"
    return f"{'right' if wanted else 'wrong'}, {found}"


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
        found = outcome(pair, judgement.score)
        counts[found] += 1
        if options.show and found not in ("right, met", "wrong, not met"):
            print(f"{found}: {pair['reference']}  |  {answer}  ({judgement.why})")
        if judgement.score is not None:
            began = time.perf_counter()
            decide_alone(spec, answer, view.intent)
            alone.append(time.perf_counter() - began)
    print(f"{len(pairs)} pairs")
    for label in ("right", "wrong"):
        total = sum(count for name, count in counts.items() if name.startswith(label)) or 1
        for name in (f"{label}, {found}" for found in ("met", "not met", "undecided")):
            print(f"  {name:16} {counts[name]:5}  {counts[name] / total:6.2%}")
    print(f"  {'no verdict':16} {counts['no verdict']:5}")
    for name, times in (("in its process", confined), ("without it", alone)):
        ordered = sorted(times)
        print(
            f"  {name:14} median {statistics.median(times) * 1e3:.1f} ms, "
            f"95 % {ordered[int(len(ordered) * 0.95)] * 1e3:.0f} ms, most {ordered[-1] * 1e3:.0f} ms"
        )
    right = sum(count for name, count in counts.items() if name.startswith("right"))
    faults = counts["wrong, met"] + counts["right, not met"] + counts["no verdict"]
    return 0 if not faults and counts["right, undecided"] <= 0.05 * right and statistics.median(confined) <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
