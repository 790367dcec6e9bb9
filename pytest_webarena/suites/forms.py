"""Converts plain data in the shape of our task files to tasks, with the same reader as YAML files."""

from __future__ import annotations

from typing import Any

from pytest_webarena.suites.rows import Row, TaskRows
from pytest_webarena.tasks.digest import digest
from pytest_webarena.tasks.file_reading import Invalid, Reading, TooManyProblems
from pytest_webarena.tasks.format import BODY
from pytest_webarena.tasks.model import Task
from pytest_webarena.tasks.nodes import PLAIN, QUOTED, ListNode, MapNode, Node, ScalarNode
from pytest_webarena.tasks.task_shapes import ID

__all__ = ["Form", "make_task"]

Form = dict[str, Any]
"""One task in the shape of a task file, as plain data without templates."""


def make_task(form: Form, rows: TaskRows, row: Row) -> Task | None:
    """Returns the task of a form; None, with problems noted, when it is faulty."""
    reading = Reading(rows.path)
    root = _node(form, row.line)
    assert isinstance(root, MapNode)
    try:
        entries = reading.entries(root)
        name = ID.read(entries.pop("id")[1], reading)
        body = BODY.read_entries(entries, root, reading)
    except TooManyProblems:
        name = body = Invalid.INVALID
    for problem in reading.problems:
        rows.note(row.line, 1, f"{problem.expected} in {row.name}", problem.found, problem.hint)
    if isinstance(name, Invalid) or isinstance(body, Invalid):
        return None
    template = body.pop("template") or name
    task = Task(id=name, template=template, location=reading.location(root), **body)
    object.__setattr__(task, "digest", digest(task))  # no other code has a reference yet
    return task


def _node(value: Any, line: int) -> Node:
    """Returns ``value`` as the YAML reader's nodes. Texts are never templates here."""
    kind = value.__class__
    if kind is str:
        return ScalarNode(value, QUOTED, False, line, 1)
    if kind is dict:
        mapping = MapNode(line, 1)
        for name, item in value.items():
            mapping.items += (ScalarNode(str(name), QUOTED, False, line, 1), _node(item, line))
        return mapping
    if kind is list or kind is tuple:
        sequence = ListNode(line, 1)
        sequence.items = [_node(item, line) for item in value]
        return sequence
    if value is None:
        return ScalarNode("null", PLAIN, False, line, 1)
    if kind is bool:
        return ScalarNode("true" if value else "false", PLAIN, False, line, 1)
    return ScalarNode(repr(value), PLAIN, False, line, 1)
