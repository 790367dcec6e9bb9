"""Lists the digests for `pytest_webarena.checks.upstream.known_right`.

    PYTHONPATH=. python scripts/known_right.py

These are digests of WebArena-Verified's typed answers that the published evaluators and our rules pass, although the
rule ``unsure`` would leave them undecided.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Mapping

from pytest_webarena.checks import ORIGINAL, find_grading
from pytest_webarena.checks.upstream.known_right import digest
from pytest_webarena.checks.upstream.stated_numbers import question_of
from pytest_webarena.checks.upstream.unexplained import doubt
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.tasks.model import Task
from scripts.measure_gradings import tasks, verdict
from scripts.verified_answers import expected_response
from tests.unit.suites.wrong_answers import string_spec, typed_answers


@functools.cache
def verified_tasks() -> Mapping[int, Task]:
    """WebArena-Verified's tasks by number."""
    return {int(str(task.source["task_id"])): task for task in load_suite("webarena-verified").tasks}


def digests() -> list[str]:
    """Returns the digests in alphabetical order."""
    verified = verified_tasks()
    rules = find_grading("repaired", ["unsure"])
    found = set()
    for number, task in tasks().items():
        spec = string_spec(task)
        if spec is None or not spec.texts or spec.fuzzy_match is not None or number not in verified:
            continue
        evaluator = verified[number].checks[0].spec.eval[0]
        for answer in typed_answers(expected_response(evaluator)):
            if not all(verdict(task, answer, grading).passed for grading in (ORIGINAL, rules)):
                continue
            if doubt(answer, spec.texts, question_of(task.intent), holds=True, original=True):
                found.add(digest(task.intent, answer))
    return sorted(found)


def main() -> int:
    """Prints the list."""
    print("\n".join(textwrap.wrap(" ".join(digests()), 112)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
