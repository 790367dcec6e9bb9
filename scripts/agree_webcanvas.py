"""Compares our ``webcanvas-code`` evaluators with WebCanvas' own, on generated moments of trials.

    python scripts/agree_webcanvas.py CHECKOUT [--seed 1] [--moments 20000] [--sequences 3000] [--golden FILE]

``CHECKOUT`` is a clone of WebCanvas (github.com/iMeanAI/WebCanvas). Its code runs in a separate process, in which
browser and models are stand-ins and names that its evaluators use without importing them are added. Nothing of it is
copied. Compares scores after each moment, the number of judge calls, the labels of sites, and how the converter and our
reader understand raw exports.

``--golden`` writes a small sample with upstream's answers instead, for unit tests that run without upstream.

One difference is intended: upstream runs the judge's number as Python; we evaluate sums without running any code.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.checks.webcanvas.addresses import site_label
from pytest_webarena.checks.webcanvas.nodes import Moment, Node, evaluate
from pytest_webarena.suites.mind2web import read_forms
from scripts.webcanvas_cases import labels, moments, raw_exports, sequences


def ours(case: dict[str, Any]) -> Any:
    """Returns our answer to a case, in the form of the upstream program."""
    if "label" in case:
        try:
            return site_label(case["label"])
        except ValueError:
            return None
    nodes = [
        Node(
            function=each["match_function"],
            reference=each["reference_answer"],
            key=each.get("key", ""),
            label=each.get("netloc", ""),
            path=each.get("path"),
            method=each.get("method", "selector"),
        )
        for each in case["nodes"]
    ]
    replies = list(case["replies"])

    def reply(subject: str, rule: str) -> str:
        return str(replies.pop(0))

    scores: tuple[float, ...] = (0.0,) * len(nodes)
    found = []
    for moment in case["moments"]:
        scores = evaluate(nodes, scores, Moment(**moment), reply)
        found.append(list(scores))
    return {"scores": found, "left": len(replies)}


def upstream_answers(cases: Sequence[dict[str, Any]], checkout: Path) -> list[Any]:
    """Returns upstream's answers."""
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("webcanvas_evaluators.py")), str(checkout)],
        input="\n".join(map(json.dumps, cases)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def write_golden(path: Path, checkout: Path, choose: random.Random) -> None:
    """Writes made-up cases with upstream's answers, one per line."""
    cases = [*moments(choose, 3000), *sequences(choose, 25), *labels(choose, 40)]
    for case in cases:
        if not any("element" in each["match_function"] for each in case.get("nodes", ())):
            for moment in case.get("moments", ()):
                moment["html"] = ""
    kept: collections.Counter[tuple[str, bool]] = collections.Counter()
    lines = []
    for case, answer in zip(cases, upstream_answers(cases, checkout), strict=True):
        if len(case.get("moments", ())) == 1:
            function = case["nodes"][0]["match_function"]
            sort = (function, bool(answer["scores"][0][0]))
            kept[sort] += 1
            if kept[sort] > (50 if sort == ("element_path_exactly_match", True) else 10):
                continue
        lines.append(json.dumps({"case": case, "said": answer}, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path}: {len(lines)} cases")


def same_tasks(raw: Any, compact: Any) -> bool:
    """Returns whether we read a raw export and its conversion as the same tasks, or refuse both for the same
    reasons."""
    forms: list[list[Any]] = []
    for data in (raw, compact):
        found, rows = read_forms(json.dumps(data).encode(), "some.json", "some")
        forms.append([problem.found for problem in rows.problems] if rows.problems else [form for _, form in found])
    return bool(forms[0]) and forms[0] == forms[1]


def main() -> int:
    """Compares and prints the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="clone of WebCanvas")
    parser.add_argument("--seed", type=int, default=1, help="seed of the cases (default: %(default)s)")
    parser.add_argument(
        "--moments", type=int, default=20_000, help="single nodes at single moments (default: %(default)s)"
    )
    parser.add_argument(
        "--sequences", type=int, default=3_000, help="several nodes over several moments (default: %(default)s)"
    )
    parser.add_argument("--show", type=int, default=5, help="print this many differences (default: %(default)s)")
    parser.add_argument("--golden", type=Path, help="write a sample with upstream's answers instead")
    options = parser.parse_args()
    if not (options.checkout / "evaluate/step_score.py").is_file():
        parser.error(f"expected a checkout of WebCanvas, found no evaluate/step_score.py in {options.checkout}")
    choose = random.Random(options.seed)
    if options.golden:
        write_golden(options.golden, options.checkout, choose)
        return 0
    cases = [
        *moments(choose, options.moments),
        *sequences(choose, options.sequences),
        *labels(choose, options.moments // 10),
    ]
    raw = list(raw_exports(choose, options.sequences // 5))
    answers = upstream_answers([*cases, *raw], options.checkout)
    began = time.monotonic()
    own_answers = [ours(case) for case in cases]
    took = time.monotonic() - began
    total: collections.Counter[str] = collections.Counter()
    agree: collections.Counter[str] = collections.Counter()
    scored: collections.Counter[str] = collections.Counter()
    shown = 0
    for case, found, expected in zip(cases, own_answers, answers[: len(cases)], strict=True):
        nodes = case.get("nodes", ())
        name = (
            "labels" if "label" in case else nodes[0]["match_function"] or "misspelt" if len(nodes) == 1 else "several"
        )
        total[name] += 1
        agree[name] += found == expected
        scored[name] += bool(expected and (name == "labels" or any(map(any, expected["scores"]))))
        if found != expected and shown < options.show:
            shown += 1
            print(f"  {name}: upstream {expected!r}, ours {found!r}: {json.dumps(case)[:1000]}")
    for case, compact in zip(raw, answers[len(cases) :], strict=True):
        if compact is not None:  # the converter fails where it would ask the user
            total["raw exports"] += 1
            agree["raw exports"] += same_tasks(case["raw"], compact)
    for name in sorted(total):
        print(f"{name}: {agree[name]}/{total[name]} agree ({scored[name]} score)")
    print(f"all: {agree.total()}/{total.total()} agree; ours took {took:.1f} s")
    return 0 if agree == total else 1


if __name__ == "__main__":
    sys.exit(main())
