"""Digests of tasks: independent of notation, different for different tasks."""

from __future__ import annotations

import subprocess
import sys

from pytest_webarena.tasks import parse_tasks
from tests.cases import each_case

from .helpers import one

TASK = """
tasks:
  - id: a
    intent: Buy tea
    sites: [shopping]
    user: {shopping: emma}
    start: /x
    checks:
      - answer: {number: 84.97, tolerance: 1%}
      - state: {sql: select 1, equals: 1}
    solution: [{click: text=Tea}]
"""


def digest(text: str) -> str:
    return one(text).digest


def test_digest_is_independent_of_notation() -> None:
    other = """
# a comment
x-free: {a: 1}
defaults: {sites: shopping, tags: [x], category: y, mutates: true}
tasks:
  - solution:
      - click: "text=Tea"
      - stop
    checks:
      - {answer: {tolerance: 1.0%, number: 84.970}, when: end}
      - state: {equals: 1, sql: 'select 1', site: shopping}
    start: [{shopping: /x}]
    user: emma
    threshold: 1.0
    intent: |
      Buy tea
    id: another
    xfail: never mind
"""
    assert digest(other) == digest(TASK)


@each_case(
    ("old", "new"),
    [
        ("Buy tea", "Buy Tea"),
        ("sites: [shopping]", "sites: [shopping, reddit]"),
        ("emma", "bob"),
        ("start: /x", "start: /y"),
        ("84.97", "84.98"),
        ("1%", "0.01"),
        ("equals: 1", "equals: 2"),
        ("equals: 1", "equals: null"),
        ("equals: 1", "equals: true"),
        ("text=Tea", "text=Tee"),
        ("    start: /x\n", ""),
        ("    start: /x\n", "    start: /x\n    limits: {steps: 3}\n"),
        ("    start: /x\n", "    start: /x\n    score: mean\n"),
        ("    start: /x\n", "    start: /x\n    setup: [{sql: delete from x}]\n"),
    ],
)
def test_digest_depends_on_keys_that_affect_the_verdict(old: str, new: str) -> None:
    assert old in TASK
    assert digest(TASK.replace(old, new)) != digest(TASK)


def test_digest_depends_on_fillings() -> None:
    text = "tasks: [{id: t, intent: x, sites: [], checks: [{answer: x}], each: [{a: 1}, {a: 2}, {a: 1}]}]"
    first, second, third = (t.digest for t in parse_tasks(text))
    assert first != second
    assert first == third


def test_digest_is_stable_across_versions() -> None:
    assert digest(TASK) == "33984fb30bc57e98ebcae4ffde4661cf"
    assert len(digest(TASK)) == 32


def test_digest_is_independent_of_the_hash_seed() -> None:
    code = f"from pytest_webarena.tasks import parse_tasks\nprint(parse_tasks({TASK!r})[0].digest)"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    assert runs == [digest(TASK)] * 2
