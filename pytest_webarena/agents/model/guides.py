"""Guides: a task's known solution in words, in a file next to the task, for reward models that judge by reference."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.actions import as_record
from pytest_webarena.errors import UsageError, writing
from pytest_webarena.tasks.model import Check, Task
from pytest_webarena.yaml_files import read_yaml

__all__ = ["Guide", "guide_file", "guide_from", "guide_of", "material", "material_digest", "read_guide", "write_guide"]

_KEYS = ("schema_version", "task", "goal", "steps", "done_when", "made_of")
_MOST = 40
_LONGEST = 2000
_COMMAND = "webarena judge guide"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """How a task is done, and how to recognise that it is done."""

    goal: str
    """The intended result, in one or two sentences."""
    steps: tuple[str, ...] = ()
    done_when: tuple[str, ...]
    """Conditions on pages and fields that are true when the task is done."""

    @property
    def text(self) -> str:
        """The guide as text for prompts."""
        parts = [f"Goal: {self.goal}"]
        if self.steps:
            parts += ["One way:", *(f"{number}. {step}" for number, step in enumerate(self.steps, start=1))]
        return "\n".join([*parts, "Done when:", *(f"- {point}" for point in self.done_when)])


def guide_file(task: Task) -> Path:
    """The file of a task's guide: in the folder ``guides`` next to the task's file."""
    return Path(task.location.path).parent / "guides" / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', task.id)}.yaml"


def guide_of(task: Task) -> Guide:
    """The task's guide. `UsageError` when there is none, or when it was made for an earlier version of the task."""
    path = guide_file(task)
    if not path.is_file():
        raise UsageError(f"task {task.id}: expected a guide at {path}, found none; {_COMMAND} writes one")
    guide, made_of = read_guide(path)
    if made_of != material_digest(task):
        raise UsageError(
            f"task {task.id}: its guide {path} was made of another intent, solution or key nodes than the task has "
            f"now; {_COMMAND} --force rewrites it"
        )
    return guide


def material(task: Task) -> dict[str, Any]:
    """The parts of a task that a guide is made from, as plain data: intent, solution, key nodes."""
    steps = [as_record(action) for action in task.solution or ()]
    nodes = [_plain(check.spec) for check in _key_nodes(task.checks)]
    found: dict[str, Any] = {"intent": task.intent}
    if steps:
        found["solution"] = steps
    if nodes:
        found["key_nodes"] = nodes
    return found


def material_digest(task: Task) -> str:
    """Digest that changes when the intent, the solution or the key nodes change."""
    text = json.dumps(material(task), sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_guide(path: Path) -> tuple[Guide, str]:
    """The guide in a file, and the digest of what it was made from. `UsageError` says what is wrong with the file."""
    where = f"guide {path}"
    data = read_yaml(path, where)
    if not isinstance(data, Mapping):
        raise UsageError(f"{where}: expected a mapping with goal, steps and done_when")
    for key in data:
        if key not in _KEYS:
            raise UsageError(f"{where}: expected only the keys {', '.join(_KEYS)}, found {str(key)[:40]!r}")
    if data.get("schema_version", 1) != 1:
        raise UsageError(f"{where}: expected schema_version 1, found {data['schema_version']!r}")
    made_of = data.get("made_of")
    digest = made_of.get("digest") if isinstance(made_of, Mapping) else None
    if not isinstance(digest, str):
        raise UsageError(f"{where}: made_of: expected the 'digest' of what it was made from; {_COMMAND} writes it")
    found = guide_from(data)
    if isinstance(found, str):
        raise UsageError(f"{where}: {found}")
    return found, digest


def guide_from(data: Mapping[str, Any]) -> Guide | str:
    """The guide in plain data, or else what is wrong with the data."""
    goal = data.get("goal")
    if not isinstance(goal, str) or not goal.strip() or len(goal) > _LONGEST:
        return f"goal: expected a text of at most {_LONGEST} characters"
    lists: dict[str, tuple[str, ...]] = {}
    for name, least in (("steps", 0), ("done_when", 1)):
        value = data.get(name, [])
        if not isinstance(value, list) or not least <= len(value) <= _MOST:
            return f"{name}: expected a list of {least} to {_MOST} texts"
        if not all(isinstance(each, str) and each.strip() and len(each) <= _LONGEST for each in value):
            return f"{name}: expected texts of at most {_LONGEST} characters"
        lists[name] = tuple(" ".join(each.split()) for each in value)
    return Guide(goal=" ".join(goal.split()), **lists)


def write_guide(path: Path, guide: Guide, *, task: str, made_of: Mapping[str, Any]) -> None:
    """Write a file that `read_guide` reads. `UsageError` when that fails."""
    import yaml

    data = {
        "schema_version": 1,
        "task": task,
        "made_of": dict(made_of),
        "goal": guide.goal,
        "steps": list(guide.steps),
        "done_when": list(guide.done_when),
    }
    head = (
        "# Read this before you rely on it, and change what is wrong: is the goal the task's, and is the task done\n"
        "# whenever all of done_when is met, and only then? A reward model gets all of it, the planner nothing.\n"
    )
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head + text, encoding="utf-8", errors="replace")


def _key_nodes(checks: Sequence[Check]) -> list[Check]:
    found = []
    for check in checks:
        found += [check] if check.kind == "key_nodes" else _key_nodes(check.children)
    return found


def _plain(value: Any) -> Any:
    """``value`` as plain data, without unset values and locations in files."""
    if is_dataclass(value) and not isinstance(value, type):
        items = {each.name: getattr(value, each.name) for each in fields(value) if each.name != "location"}
        if isinstance(function := getattr(value, "function", None), str):  # type of the target
            items = {"function": function, **items}
        return {name: _plain(each) for name, each in items.items() if each not in (None, "", (), {})}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
