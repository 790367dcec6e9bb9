"""Reads task files: applies defaults and fillings, checks ids, and reports all problems together."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pytest_webarena.errors import Problem, TaskFileError, TaskFileWarning
from pytest_webarena.tasks.answer_probes import senseless_answers
from pytest_webarena.tasks.digest import digest
from pytest_webarena.tasks.file_reading import INVALID, Entries, Invalid, Reading, TooManyProblems, shown
from pytest_webarena.tasks.filling_files import read_filling_file
from pytest_webarena.tasks.format import BODY, DEFAULT_KEYS, FILE, FORMAT_VERSION, TASK
from pytest_webarena.tasks.lookalikes import with_lookalikes
from pytest_webarena.tasks.model import Task
from pytest_webarena.tasks.nodes import DEFAULT_LIMITS, QUOTED, ListNode, MapNode, Node, NodeLimits, ScalarNode, compose
from pytest_webarena.tasks.shapes import Int
from pytest_webarena.tasks.task_shapes import ID
from pytest_webarena.tasks.templates import NAME, Variable
from pytest_webarena.text import clip
from pytest_webarena.yaml_files import read_small

__all__ = ["FileContents", "load_tasks", "parse_tasks", "read_file", "read_tasks"]

_DEFAULT_KEYS = {field.key: field for field in DEFAULT_KEYS}
_Filling = tuple[str, Node, Mapping[str, Variable]]
_VERSION = Int("a version of the task format", low=1)


class FileContents(NamedTuple):
    """The result of reading a task file."""

    tasks: tuple[Task, ...]
    """The valid tasks."""
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    """Values that are valid but may be a mistake."""


def load_tasks(
    path: Path | str, *, sites: Collection[str] | None = None, limits: NodeLimits = DEFAULT_LIMITS
) -> tuple[Task, ...]:
    """Returns the tasks of a file in file order; instances of a template in the order of its fillings.

    ``sites`` are the names that ``sites:`` may use; a mapping also has the accounts that ``user:`` may use. None
    accepts any. Raises `TaskFileError` with all problems.
    """
    tasks, problems = read_tasks(path, sites=sites, limits=limits)
    if problems:
        raise TaskFileError(problems)
    return tasks


def parse_tasks(
    text: str | bytes,
    *,
    path: str = "<text>",
    sites: Collection[str] | None = None,
    limits: NodeLimits = DEFAULT_LIMITS,
) -> tuple[Task, ...]:
    """Like `load_tasks`, from text; ``path`` is the name in locations and problems."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    tasks, problems = _warned(_read(data, path, sites, limits))
    if problems:
        raise TaskFileError(problems)
    return tasks


def read_tasks(
    path: Path | str, *, sites: Collection[str] | None = None, limits: NodeLimits = DEFAULT_LIMITS
) -> tuple[tuple[Task, ...], tuple[Problem, ...]]:
    """Returns the valid tasks of a file and the problems of the others. Never raises for a bad file."""
    return _warned(read_file(path, sites=sites, limits=limits))


def read_file(path: Path | str, *, sites: Collection[str] | None, limits: NodeLimits) -> FileContents:
    """Read a file without issuing its warnings. Never raises for a bad file."""
    try:
        data = read_small(path, limits.bytes)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        problem = Problem(path=str(path), line=1, column=1, expected="a readable task file", found=clip(reason.lower()))
        return FileContents((), (problem,), ())
    return _read(data, str(path), sites, limits)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Switch off the cyclic garbage collector: reading creates many objects and no cycles, and would take a third
    longer."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _warned(read: FileContents) -> tuple[tuple[Task, ...], tuple[Problem, ...]]:
    """Issue the warnings of a file and return the rest."""
    for each in read.warnings:
        message = f"expected {each.expected}, found {each.found} ({each.hint})"
        warnings.warn_explicit(message, TaskFileWarning, each.path, each.line)
    return read.tasks, read.problems


def _read(data: bytes, path: str, sites: Collection[str] | None, limits: NodeLimits) -> FileContents:
    with _collector_at_rest():
        root, problems = compose(data, path, limits)
        reading = Reading(path, catalogue=sites)
        tasks: list[Task] = []
        if root is not None:
            with suppress(TooManyProblems):
                _File(reading, limits).read(root, tasks)
    ordered = sorted([*problems, *reading.problems], key=lambda problem: (problem.line, problem.column))
    if ordered:
        ordered = [*with_lookalikes(ordered, data.decode(errors="replace"))]
    return FileContents(
        tuple(tasks), tuple(ordered), tuple(reading.warnings[place] for place in sorted(reading.warnings))
    )


class _File:
    """One file while it is read: converts nodes to tasks."""

    def __init__(self, reading: Reading, limits: NodeLimits) -> None:
        self.reading = reading
        self.limits = limits
        self.taken: dict[str, int] = {}  # ids of tasks and templates
        self.instances: dict[str, int] = {}
        self.defaults: Entries = {}
        self.used: set[str] = set()  # defaults that at least one task uses
        self.values = 0

    def read(self, root: Node, tasks: list[Task]) -> None:
        reading = self.reading
        if not isinstance(root, MapNode):
            hint = "put the list under 'tasks:'" if isinstance(root, ListNode) else ""
            reading.problem(root, "a mapping with the key 'tasks'", shown(root), hint)
            return
        entries = reading.entries(root)
        if "tasks" not in entries and "intent" in entries:
            reading.problem(root, "a mapping with the key 'tasks'", "one task", "put it into a list under 'tasks:'")
            return
        FILE.check_keys(entries, reading)
        if "schema_version" in entries and not self.version(entries["schema_version"][1]):
            return
        if "defaults" in entries:
            self.read_defaults(entries["defaults"][1])
        if "tasks" not in entries:
            if not FILE.is_misspelled("tasks", entries):
                reading.problem(root, "the key 'tasks'", shown(root))
            return
        items = entries["tasks"][1]
        if not isinstance(items, ListNode):
            reading.problem(items, "a list of tasks", shown(items), "start each task with '- '")
            return
        for item in items.items:
            self.read_task(item, tasks)
        self.read_unused_defaults()

    def version(self, node: Node) -> bool:
        version = _VERSION.read(node, self.reading)
        if isinstance(version, Invalid):
            return False
        if version > FORMAT_VERSION:
            self.reading.problem(
                node, f"version {FORMAT_VERSION} of the task format", str(version), "upgrade pytest-webarena"
            )
        return version <= FORMAT_VERSION

    def read_defaults(self, node: Node) -> None:
        reading = self.reading
        if not isinstance(node, MapNode):
            reading.problem(node, "a mapping (defaults)", shown(node))
            return
        for name, pair in reading.entries(node).items():
            if name in _DEFAULT_KEYS:
                self.defaults[name] = pair
            elif name in TASK.keys:
                reading.problem(pair[0], "a key that tasks can share", f"'{name}'", "it belongs to each task")
            else:
                reading.unknown_key(pair[0], name, "'defaults'", _DEFAULT_KEYS)

    def read_unused_defaults(self) -> None:
        """Check defaults that every task overrides."""
        self.reading.sites, self.reading.imported = None, False
        for name, (_, node) in self.defaults.items():
            if name not in self.used and not node.dynamic:
                _DEFAULT_KEYS[name].shape.read(node, self.reading)

    def read_task(self, node: Node, tasks: list[Task]) -> None:
        reading = self.reading
        reading.variables = {}
        reading.sites = None
        if not isinstance(node, MapNode):
            reading.problem(node, "a task: a mapping with id, intent, checks", shown(node))
            return
        own = reading.entries(node)
        name = self.read_id(own, node)
        entries = {**self.defaults, **own}
        reading.imported = self.is_imported(entries)
        self.used.update(key for key in self.defaults if key not in own)
        entries.pop("id", None)
        each = entries.pop("each", None)
        fillings: list[_Filling] = self.fillings(each[1]) if each is not None else [("", node, {})]
        shared: dict[str, Any] | None = None
        if each is not None and not ("sites" in entries and entries["sites"][1].dynamic):
            shared = {}
        for filling, place, variables in fillings:
            self.values += node.size
            if self.values > self.limits.nodes:
                reading.problem(node, f"at most {self.limits.nodes:,} values", "more, with all fillings written out")
                raise TooManyProblems
            reading.variables = variables
            reading.sites = None
            body = BODY.read_entries(entries, node, reading, shared)
            if name is None:
                continue
            instance = f"{name}.{filling}" if filling else name
            if self.free(self.instances, place, instance) and not isinstance(body, Invalid):
                task = self.task(body, instance, name, place, variables)
                if (found := senseless_answers(task)) is None:
                    tasks.append(task)
                else:
                    check, fault = found
                    reading.problem(check.location or node, fault.expected, fault.found, fault.hint)

    def is_imported(self, entries: Entries) -> bool:
        """Whether the task states a published suite as its source, as `webarena tasks import` writes it."""
        source = entries["source"][1] if "source" in entries else None
        return isinstance(source, MapNode) and "suite" in self.reading.entries(source)

    def read_id(self, own: Entries, node: MapNode) -> str | None:
        """Returns the task's id; None, with a problem noted, if it is missing or already used."""
        if "id" not in own:
            if not TASK.is_misspelled("id", own):
                TASK.missing("id", own, node, self.reading)
            return None
        place = own["id"][1]
        if place.dynamic:
            self.reading.problem(place, "an id", "a template", "fillings add their own names to it")
            return None
        name = ID.read(place, self.reading)
        return None if isinstance(name, Invalid) or not self.free(self.taken, place, name) else name

    def free(self, taken: dict[str, int], node: Node, name: str) -> bool:
        """Returns whether an id is unused. If it is used, notes a problem with both lines."""
        if name in taken:
            self.reading.problem(node, "an id used once", f"'{name}' again", f"first in line {taken[name]}")
            return False
        taken[name] = node.line
        return True

    def fillings(self, node: Node) -> list[_Filling]:
        """Returns the name, node and variables of each filling."""
        reading = self.reading
        found: list[_Filling] = []
        if isinstance(node, MapNode):
            for name, (key, value) in reading.entries(node).items():
                valid = ID.read(key, reading)
                variables = self.variables(value)
                if not isinstance(valid, Invalid) and variables is not None:
                    found.append((name, key, variables))
        elif isinstance(node, ListNode):
            for index, item in enumerate(node.items, 1):
                if (variables := self.variables(item)) is not None:
                    found.append((str(index), item, variables))
        elif not node.dynamic:
            for name, variables in read_filling_file(node, reading):
                valid = ID.read(ScalarNode(name, QUOTED, False, node.line, node.column), reading)
                if not isinstance(valid, Invalid):
                    found.append((name, node, variables))
            return found
        if not node.size > 1 or isinstance(node, ScalarNode):
            reading.problem(node, "a mapping or a list of fillings", shown(node))
        return found

    def variables(self, node: Node) -> Mapping[str, Variable] | None:
        reading = self.reading
        if not isinstance(node, MapNode):
            reading.problem(node, "a mapping from variables to values", shown(node))
            return None
        if node.dynamic:
            reading.problem(node, "plain values", "a template among them", "fillings are not templates themselves")
            return None
        variables: dict[str, Variable] = {}
        for name, (key, value) in reading.entries(node).items():
            if not NAME.fullmatch(name):
                reading.problem(key, "a variable name: letters, digits and '_'", f"'{clip(name)}'")
                continue
            data = reading.json(value)
            if data is INVALID:
                return None
            if data is None:
                reading.problem(value, f"a value for '{clip(name)}'", "nothing")
            variables[name] = Variable(value, data)
        return variables

    def task(
        self, body: dict[str, Any], instance: str, template: str, place: Node, variables: Mapping[str, Variable]
    ) -> Task:
        task = Task(
            id=instance,
            template=body.pop("template") or template,
            filling={name: variable.value for name, variable in variables.items()},
            location=self.reading.location(place),
            **body,
        )
        object.__setattr__(task, "digest", digest(task))  # no other code has a reference yet
        return task
