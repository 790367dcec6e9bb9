"""Replaces selectors of a solution in the text of its task file and leaves all other text unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from pytest_webarena.actions import Action, Selector
from pytest_webarena.errors import TaskFileError
from pytest_webarena.recorder.writing import plain_scalar, step_lines
from pytest_webarena.tasks import Task, parse_tasks

__all__ = ["Change", "rewritten"]

_KEYS = {"target": "repair_selectors", "to": "repair_selectors_to"}
"""Fields of actions, each with the key of its repair selectors in task files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Replacement of one step of a solution."""

    number: int
    """Index of the step in the solution, from 0."""
    step: Action
    """The new step."""
    before: tuple[Action, ...] = ()
    """Steps to insert before it."""


@dataclass(slots=True)
class _Edits:
    """A text with its pending replacements."""

    text: str
    pieces: list[tuple[int, int, str]] = field(default_factory=list)

    def put(self, start: int, end: int, text: str) -> None:
        """Replace the range from ``start`` to ``end`` by ``text``, with the line endings of the whole text."""
        ends = "\r\n" if "\r\n" in self.text else "\n"
        self.pieces.append((start, end, text.replace("\n", ends)))

    def done(self) -> str:
        """Return the text with all replacements."""
        text = self.text
        for start, end, new in sorted(self.pieces, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def rewritten(text: str, task: Task, changes: Sequence[Change], path: str) -> str:
    """Return the text of a task file with ``changes`` made to the solution of ``task``.

    Raises:
        ValueError: The change is not possible: the steps are elsewhere, their selectors contain templates, or the
            result would have another meaning.
    """
    edits = _Edits(text)
    item = _item(text, task)
    solution = _value(item, "solution")
    if not isinstance(solution, yaml.SequenceNode):
        raise ValueError("its solution is not a list in the task, but for example in the file's defaults")
    places = list(_places(solution))
    for change in changes:
        node, many = places[change.number]
        if many:
            raise ValueError(f"step {change.number + 1} shares a mapping with others; make it a separate step")
        if change.before and solution.flow_style:
            raise ValueError("its steps are not on separate lines, so none can be inserted")
        _change(edits, node, change)
    new = edits.done()
    _check(text, new, task, changes, path, range(item.start_mark.line + 1, item.end_mark.line + 1))
    return new


def _item(text: str, task: Task) -> yaml.Node:
    """Return the node of the task, or of the template that it is an instance of."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"it can't be read: {error}") from None
    tasks = _value(root, "tasks")
    items: Sequence[yaml.Node] = tasks.value if isinstance(tasks, yaml.SequenceNode) else ()
    for item in reversed(items):
        if item.start_mark.line < task.location.line:
            return item
    raise ValueError("it is not in a list 'tasks' of the file")


def _value(node: Any, key: str) -> Any:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _places(solution: yaml.SequenceNode) -> Iterator[tuple[Any, bool]]:
    """Yield for each action the node of its step, and whether that node contains other actions, too."""
    for node in solution.value:
        pairs = [pair for pair in node.value if pair[0].value not in _KEYS.values()] if _is_map(node) else []
        inner = pairs[0][1] if len(pairs) == 1 else None
        many = len(inner.value) if inner is not None and _is_map(inner) and pairs[0][0].value != "click" else 1
        for _ in range(many):
            yield node, many > 1


def _is_map(node: Any) -> bool:
    return isinstance(node, yaml.MappingNode)


def _change(edits: _Edits, node: Any, change: Change) -> None:
    [(name, value)] = [pair for pair in node.value if pair[0].value not in _KEYS.values()]
    for key, selectors_key in _KEYS.items():
        target = getattr(change.step, key, None)
        if not isinstance(target, Selector):
            continue
        selector_node = _selector_node(name.value, value, key)
        _replace(edits, selector_node, target.selector, flow=node.flow_style or (_is_map(value) and value.flow_style))
        _put_repair_selectors(edits, node, selectors_key, target.repair_selectors)
    if change.before:
        item = edits.text.rfind("-", 0, node.start_mark.index)
        column = item - (edits.text.rfind("\n", 0, item) + 1)
        lines = [line for step in change.before for line in step_lines(step)]
        edits.put(item, item, "".join(f"{line}\n{' ' * column}" for line in lines))


def _selector_node(name: str, value: Any, key: str) -> Any:
    """Return the node of a step's selector."""
    if not _is_map(value):
        return value
    if name == "click":
        return _value(value, "selector")
    [(selector, content)] = value.value
    return content if key == "to" else selector


def _replace(edits: _Edits, node: Any, selector: str, *, flow: bool) -> None:
    start, end = node.start_mark.index, node.end_mark.index
    old = edits.text[start:end]
    if "{{" in old or "{%" in old:
        raise ValueError("a selector of it is a template, which is another one for each instance")
    if node.style in ("|", ">") or old.startswith(("&", "*", "!")):
        raise ValueError(f"the selector {node.value!r} is not written in a line")
    if node.value != selector:
        edits.put(start, end, plain_scalar(selector, flow=flow))


def _put_repair_selectors(edits: _Edits, node: Any, key: str, selectors: Sequence[str]) -> None:
    """Replace the repair selectors of a step, or add them."""
    listed = f"[{', '.join(plain_scalar(each, flow=True) for each in selectors)}]"
    for name, value in node.value:
        if name.value == key:
            old = [each.value for each in value.value] if isinstance(value, yaml.SequenceNode) else [value.value]
            if old == list(selectors):
                return
            if not selectors:
                raise ValueError(f"nothing would be left of its '{key}'")
            end = value.end_mark.index
            if not value.flow_style:  # the end mark of a block is after the blanks that follow it
                end = len(edits.text[:end].rstrip())
            edits.put(value.start_mark.index, end, listed)
            return
    if not selectors:
        return
    if node.flow_style:
        edits.put(node.end_mark.index - 1, node.end_mark.index - 1, f", {key}: {listed}")
        return
    end = len(edits.text[: node.end_mark.index].rstrip())
    edits.put(end, end, f"\n{' ' * node.start_mark.column}{key}: {listed}")


def _check(text: str, new: str, task: Task, changes: Sequence[Change], path: str, lines: range) -> None:
    """Raise `ValueError` unless the new text has the wanted steps, and all tasks outside ``lines`` as before."""
    try:
        before = {each.id: each for each in parse_tasks(text, path=path)}
        after = {each.id: each for each in parse_tasks(new, path=path)}
    except TaskFileError as error:
        raise ValueError(f"it would not be a task file: {error}") from None
    unchanged = [id for id, each in before.items() if each.location.line not in lines]
    if list(before) != list(after) or any(before[id].digest != after[id].digest for id in unchanged):
        raise ValueError("other tasks of the file would change with it")
    by_number = {change.number: change for change in changes}
    expected: list[Action] = []
    for number, step in enumerate(before[task.id].solution or ()):
        change = by_number.get(number)
        expected += [*change.before, change.step] if change is not None else [step]
    if _plain(expected) != _plain(after[task.id].solution or ()):
        raise ValueError("its solution would not read as meant")


def _plain(steps: Sequence[Action]) -> list[tuple[Action, Mapping[str, tuple[str, ...]]]]:
    """Return steps with their repair selectors, which comparisons of actions ignore."""
    return [(step, {key: getattr(getattr(step, key, None), "repair_selectors", ()) for key in _KEYS}) for step in steps]
