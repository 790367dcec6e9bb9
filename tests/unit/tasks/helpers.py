"""Helpers of the tests of task files."""

from __future__ import annotations

import textwrap
from collections.abc import Collection

from pytest_webarena.errors import Problem, TaskFileError
from pytest_webarena.tasks import Task, parse_tasks

__all__ = ["one", "problems", "task"]


def problems(text: str | bytes, *, sites: Collection[str] | None = None) -> list[Problem]:
    """Return the problems of a file."""
    try:
        parse_tasks(text, path="t.yaml", sites=sites)
    except TaskFileError as error:
        return list(error.problems)
    return []


def one(text: str) -> Task:
    """Return the only task of a file."""
    [only] = parse_tasks(textwrap.dedent(text))
    return only


def task(keys: str, *, sites: str = "[shopping, reddit]", checks: str = "[{answer: x}]") -> Task:
    """Return a task with these keys and the required ones."""
    return one(task_text(keys, sites=sites, checks=checks))


def task_text(keys: str, *, sites: str = "[shopping, reddit]", checks: str = "[{answer: x}]") -> str:
    """Return the file of `task`; the given keys begin in line 6."""
    body = textwrap.indent(textwrap.dedent(keys).strip("\n"), "    ")
    given = {line.strip().partition(":")[0] for line in body.splitlines() if line.startswith("    ")}
    rest = "" if "checks" in given else f"    checks: {checks}\n"
    lead = "" if "sites" in given else f"    sites: {sites}\n"
    return f"tasks:\n  - id: t\n    intent: Do it\n{lead}{rest}{body}\n"
