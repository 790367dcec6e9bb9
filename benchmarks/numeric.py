"""Measures the accuracy and speed of the check kind ``number`` on a file of labelled pairs.

    python benchmarks/numeric.py PAIRS.yaml [--show]

The file is a YAML list of mappings: ``reference`` (a number or a closed form, or a list of accepted ones),
``answer``, ``right`` (true or false) and any of the check's other keys: ``rel``, ``abs``, ``sig_figs``, ``unit``,
``marker``; ``rel`` of a reference of 0 is left out, which means exactly 0. Prints how many right and wrong answers are
met, not met and undecided, and the time of a judgement, warm. ``--show`` names each pair that is not as labelled. The
exit code is 0 when the targets are met: no wrong answer met, no right one not met, at most 5 % of the right ones
undecided.
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

from pytest_webarena.checks.computed.number import NumberSpec, judge
from pytest_webarena.checks.computed.units import warm
from pytest_webarena.checks.kind import View
from pytest_webarena.errors import TaskFileError
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks import parse_tasks

OWN = ("rel", "abs", "sig_figs", "unit", "marker")
"""Keys of a pair that are also keys of the check."""


def spec_of(pair: Mapping[str, Any]) -> NumberSpec:
    """Returns the check of a pair, parsed as from a task file."""
    reference = pair["reference"]
    check = {"one_of" if isinstance(reference, list) else "is": reference}
    check |= {key: pair[key] for key in OWN if pair.get(key) is not None}
    if str(reference).strip() in ("0", "0.0") and "abs" not in check:
        check.pop("rel", None)  # the check needs `abs` here, as any share of 0 is 0
    task = {"id": "pair", "intent": "?", "sites": [], "checks": [{"number": check}]}
    [made] = parse_tasks(yaml.safe_dump({"tasks": [task]}, allow_unicode=True, width=10_000))
    spec: NumberSpec = made.checks[0].spec
    return spec


def outcome(pair: Mapping[str, Any], score: float | None) -> str:
    """Returns the label of a pair and its outcome."""
    found = "undecided" if score is None else "met" if score == 1 else "not met"
    return f"{'right' if pair['right'] else 'wrong'}, {found}"


def main() -> int:
    """Measures and prints; returns whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="file of labelled pairs")
    parser.add_argument("--show", action="store_true", help="print each pair that differs from its label")
    options = parser.parse_args()
    pairs = yaml.safe_load(options.pairs.read_text("utf-8"))
    warm()
    counts: Counter[str] = Counter()
    times = []
    for pair in pairs:
        answer = str(pair["answer"])
        try:
            spec = spec_of(pair)
        except TaskFileError as error:
            counts["no verdict"] += 1
            print(f"no verdict: {error}")
            continue
        view = View(evidence=Evidence(answer=answer, stop_reason="answered"))
        began = time.perf_counter()
        judgement = judge(spec, view)
        times.append(time.perf_counter() - began)
        found = outcome(pair, judgement.score)
        counts[found] += 1
        if options.show and found not in ("right, met", "wrong, not met"):
            print(f"{found}: {judgement.expected}  |  {answer!r}  ({judgement.why})")
    for label in ("right", "wrong"):
        total = sum(count for name, count in counts.items() if name.startswith(label)) or 1
        for name in (f"{label}, {found}" for found in ("met", "not met", "undecided")):
            print(f"  {name:16} {counts[name]:5}  {counts[name] / total:6.2%}")
    print(f"{len(pairs)} pairs; median {statistics.median(times) * 1e3:.2f} ms, most {max(times) * 1e3:.1f} ms")
    right = sum(count for name, count in counts.items() if name.startswith("right"))
    faults = counts["wrong, met"] + counts["right, not met"] + counts["no verdict"]
    return 0 if not faults and counts["right, undecided"] <= 0.05 * right else 1


if __name__ == "__main__":
    sys.exit(main())
