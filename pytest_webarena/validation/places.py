"""Lines of task files and catalogues on which the parts of tasks and apps are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_webarena.errors import Problem
from pytest_webarena.tasks.model import Location, Task
from pytest_webarena.tasks.nodes import ListNode, MapNode, Node, ScalarNode, compose
from pytest_webarena.tasks.steps import EXTRA_KEYS
from pytest_webarena.text import clip
from pytest_webarena.yaml_files import read_small

__all__ = ["Places", "problem_at"]

_LONGEST = 300
"""Maximum length of each part of a problem, in characters."""


class Places:
    """Lines of one or more files, each read once."""

    def __init__(self) -> None:
        self._roots: dict[str, Node | None] = {}

    def app_key(self, file: Path, app: str, *keys: str) -> Location:
        """Returns the place of a key of an app; of the deepest key above it that the file has, if it lacks that one.

        An app can be in a file that the catalogue extends.
        """
        line, column = 1, 1
        node = self._root(str(file))
        for name in ("apps", app, *keys):
            found = _entry(node, name)
            if found is None:
                break
            (line, column), node = (found[0].line, found[0].column), found[1]
        return Location(path=_relative(file), line=line, column=column)

    def setup_step(self, task: Task, number: int) -> Location:
        """Returns the place of a set-up step, counted from 1; of the task if the step is not written there."""
        steps = self._value(task, "setup")
        if isinstance(steps, ListNode) and len(steps.items) == len(task.setup):
            return _location(task, steps.items[number - 1])
        return task.location

    def solution_step(self, task: Task, index: int) -> Location:
        """Returns the place of an action of the solution; of the task if the solution is not written there."""
        steps = self._value(task, "solution")
        places = list(_actions(steps)) if isinstance(steps, ListNode) else []
        return _location(task, places[index]) if len(places) == len(task.solution or ()) else task.location

    def start(self, task: Task) -> Location:
        """Returns the place of the start addresses; of the task if they are not written there."""
        node = self._value(task, "start")
        return task.location if node is None else _location(task, node)

    def _value(self, task: Task, key: str) -> Node | None:
        root = self._root(task.location.path)
        listed = root if isinstance(root, ListNode) else (_entry(root, "tasks") or (None, None))[1]
        best, best_id = None, ""
        for item in listed.items if isinstance(listed, ListNode) else ():
            found = _entry(item, "id")
            name = found[1].value if found is not None and isinstance(found[1], ScalarNode) else ""
            # An instance's id is that of its template and the name of its filling.
            if (task.id == name or task.id.startswith(f"{name}.")) and len(name) > len(best_id):
                best, best_id = item, name
        value = _entry(best, key)
        return value[1] if value is not None else None

    def _root(self, path: str) -> Node | None:
        if path not in self._roots:
            try:
                self._roots[path] = compose(read_small(Path(path)), path)[0]
            except OSError:
                self._roots[path] = None
        return self._roots[path]


def problem_at(location: Location, expected: str, found: str, hint: str = "") -> Problem:
    """Returns a problem at ``location``; its texts may quote sites, so they become one line each."""
    lines = ("; ".join(line.strip() for line in text.splitlines()) for text in (expected, found, hint))
    expected, found, hint = (clip(line, _LONGEST) for line in lines)
    return Problem(
        path=location.path, line=location.line, column=location.column, expected=expected, found=found, hint=hint
    )


def _entry(node: Node | None, name: str) -> tuple[Node, Node] | None:
    items = node.items if isinstance(node, MapNode) else []
    pairs = zip(items[::2], items[1::2], strict=True)
    return next((pair for pair in pairs if isinstance(pair[0], ScalarNode) and pair[0].value == name), None)


def _actions(steps: ListNode) -> Iterator[Node]:
    """Yields for each action the node of its step; one step may have several actions, such as two fields to fill."""
    for step in steps.items:
        keys = [node for node in step.items[::2] if isinstance(node, ScalarNode)] if isinstance(step, MapNode) else []
        own = [key for key in keys if key.value not in EXTRA_KEYS]
        value = _entry(step, own[0].value) if len(own) == 1 else None
        fields = value[1] if value is not None and own[0].value not in ("click", "drag") else None
        yield from [step] * (len(fields.items) // 2 if isinstance(fields, MapNode) else 1)


def _location(task: Task, node: Node) -> Location:
    return Location(path=task.location.path, line=node.line, column=node.column)


def _relative(file: Path) -> str:
    try:
        return str(file.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(file)
