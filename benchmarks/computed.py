"""Measures computed answers (`choice`, `number`, `symbolic`) on a file of labelled answers.

    python benchmarks/computed.py benchmarks/answers/computed-3.jsonl [--show]

Each line is a JSON object: ``intent``, ``check`` (as in a task file), ``answer``, ``right`` (true or false) and
``class``. Prints, for each kind, how many right and wrong answers are met, not met and undecided, with the 95 % upper
bound (Clopper-Pearson, one-sided) of wrong answers that pass and of right ones that fail.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from pytest_webarena.checks import judge
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks import parse_tasks


def upper_bound(count: int, total: int, level: float = 0.95) -> float:
    """Returns the one-sided Clopper-Pearson upper bound of a share of `count` in `total`."""
    from math import comb

    low, high = count / total if total else 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        tail = sum(comb(total, k) * middle**k * (1 - middle) ** (total - k) for k in range(count + 1))
        low, high = (middle, high) if tail > 1 - level else (low, middle)
    return high


def outcome(row: dict[str, Any]) -> tuple[str, str]:
    """Returns `met`, `not met` or `undecided` for a labelled answer, and the reason."""
    task = {"id": "row", "intent": row["intent"], "sites": [], "checks": [row["check"]]}
    [made] = parse_tasks(yaml.safe_dump({"tasks": [task]}, allow_unicode=True, width=10_000))
    verdict = judge(made, Evidence(answer=row["answer"], stop_reason="answered"))
    [judged] = verdict.results
    found = "undecided" if judged.score is None else "met" if judged.score == 1 else "not met"
    return found, judged.why


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--show", action="store_true", help="print each answer that differs from its label")
    options = parser.parse_args()
    counts: Counter[tuple[str, bool, str]] = Counter()
    for line in options.answers.read_text("utf-8").splitlines():
        row = json.loads(line)
        [kind] = row["check"]
        found, why = outcome(row)
        for name in (kind, "all"):
            counts[name, row["right"], found] += 1
        if options.show and found != ("met" if row["right"] else "not met"):
            print(
                f"{kind} {'right' if row['right'] else 'wrong'}, {found}: {row['task']}/{row['class']}  {row['answer']!r}  ({why})"
            )
    for kind in ("symbolic", "number", "choice", "all"):
        for right in (True, False):
            met, failed, open_ = (counts[kind, right, found] for found in ("met", "not met", "undecided"))
            total = met + failed + open_
            fault = failed if right else met
            print(
                f"{kind:9} {'right' if right else 'wrong'} {total:4}: {met:4} met {failed:4} not met {open_:4} undecided; "
                f"{'fail' if right else 'pass'} at most {upper_bound(fault, total):.1%}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
