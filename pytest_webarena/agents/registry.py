"""Finds the agent that ``--agent`` names: a built-in, a definition, a Python object, an entry point."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.agents.builtin import Answering, Dump, Oracle, RandomWalk
from pytest_webarena.agents.definitions import Definition, read_definition
from pytest_webarena.agents.mutants import MUTANTS, Replay
from pytest_webarena.agents.protocol import Agent, AgentDefinition, TaskView
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.tasks.model import Task

__all__ = ["BUILTIN", "known_agents", "resolve_agent"]

_ENTRY_POINTS = "pytest_webarena.agents"
_Make = Callable[[TaskView, Task], Agent]

BUILTIN: dict[str, tuple[_Make, str]] = {
    "oracle": (lambda view, task: Oracle(task, view), "replays each task's solution"),
    "null": (lambda view, task: Answering(""), "stops at once with an empty answer"),
    "na": (lambda view, task: Answering("N/A"), "stops at once and says the task can't be done"),
    "echo": (lambda view, task: Answering(view.intent), "answers with the intent"),
    "dump": (lambda view, task: Dump(), "answers with everything it sees"),
    "random": (lambda view, task: RandomWalk(view), "random clicks and words, seeded"),
}


def known_agents(directories: Sequence[Path]) -> dict[str, str]:
    """Every name ``--agent`` understands, with a word on each."""
    known = {name: about for name, (_, about) in BUILTIN.items()}
    for path in _definition_files(directories):
        known.setdefault(path.stem, str(path))
    for entry in importlib.metadata.entry_points(group=_ENTRY_POINTS):
        known.setdefault(entry.name, entry.value)
    return known


def resolve_agent(name: str, directories: Sequence[Path] = ()) -> AgentDefinition:
    """The definition that ``name`` stands for.

    Looked up in this order: a path ending in ``.yaml``; ``module:attr`` or ``file.py:attr``; a YAML
    definition of that name in ``directories`` (the user's ``agents/`` first, then the shipped ones); a built-in;
    an entry point of the group ``pytest_webarena.agents``. Raises `UsageError` that lists what exists.
    """
    if name.endswith((".yaml", ".yml")):
        return _from_file(Path(name))
    if ":" in name:
        return _from_object(name, id=_slug(name), base=Path.cwd())
    for path in _definition_files(directories):
        if path.stem == name:
            return _from_file(path)
    if name in BUILTIN:
        make, about = BUILTIN[name]
        digest = _digest([Path(inspect.getfile(Oracle))], name)
        return AgentDefinition(
            id=name, make=make, digest=digest, privileged=name == "oracle", source=f"built-in: {about}"
        )
    if name in MUTANTS:  # for --audit alone: by themselves they replay what a task calls its solution
        return AgentDefinition(
            id=name,
            make=lambda view, task: Replay(task, view),
            digest=_digest([Path(inspect.getfile(Oracle)), Path(inspect.getfile(Replay))], name),
            privileged=True,
            source=f"built-in: {MUTANTS[name]}",
        )
    for entry in importlib.metadata.entry_points(group=_ENTRY_POINTS):
        if entry.name == name:
            return _from_object(entry.value, id=name, base=Path.cwd())
    raise UsageError(f"--agent={name}: expected a known agent, {closest(name, known_agents(directories))}")


def _definition_files(directories: Iterable[Path]) -> list[Path]:
    return [path for directory in directories if directory.is_dir() for path in sorted(directory.glob("*.y*ml"))]


def _from_file(path: Path) -> AgentDefinition:
    definition: Definition = read_definition(path)
    return _from_object(
        definition.python,
        id=definition.id,
        base=path.parent,
        options=definition.options,
        grammar=definition.grammar,
        extra=[path],
    )


def _from_object(
    spec: str,
    *,
    id: str,
    base: Path,
    options: dict[str, Any] | None = None,
    grammar: str = "webarena",
    extra: Sequence[Path] = (),
) -> AgentDefinition:
    target, code = _load(spec, base)
    return AgentDefinition(
        id=id,
        make=_maker(target, spec, options or {}),
        digest=_digest([*extra, *([code] if code else [])], spec, repr(sorted((options or {}).items()))),
        grammar=grammar,
        source=str(extra[0]) if extra else spec,
    )


def _load(spec: str, base: Path) -> tuple[Any, Path | None]:
    where, _, attribute = spec.rpartition(":")
    if not where or not attribute:
        raise UsageError(f"agent {spec!r}: expected 'module:attribute' or 'file.py:attribute'")
    try:
        if where.endswith(".py"):
            file = Path(where) if Path(where).is_absolute() else base / where
            if not file.is_file():
                raise UsageError(f"agent {spec!r}: expected a Python file at {file}, found none")
            name = f"_webarena_agent_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]}"
            module_spec = importlib.util.spec_from_file_location(name, file)
            assert module_spec is not None  # a .py file always has a spec and a loader
            assert module_spec.loader is not None
            module = importlib.util.module_from_spec(module_spec)
            sys.modules[name] = module  # dataclasses and pickling inside the file look it up there
            module_spec.loader.exec_module(module)
        else:
            module = importlib.import_module(where)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"agent {spec!r}: importing {where} failed: {type(error).__name__}: {error}") from error
    if not hasattr(module, attribute):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise UsageError(f"agent {spec!r}: {where} has no {attribute!r}; {closest(attribute, names)}")
    code = getattr(module, "__file__", None)
    return getattr(module, attribute), Path(code) if code else None


def _maker(target: Any, spec: str, options: dict[str, Any]) -> _Make:
    """How to make an agent from what the user wrote: a class or factory, or a function of the observation."""
    if not callable(target):
        raise UsageError(f"agent {spec!r}: expected a class or a function, found {type(target).__name__}")
    try:
        names = list(inspect.signature(target).parameters)
    except ValueError:
        names = []
    if inspect.isclass(target):
        if not hasattr(target, "act"):
            raise UsageError(f"agent {spec!r}: expected the class to have 'act(self, observation)', it has not")
        make: Callable[..., Any] = target
        return (lambda view, task: make(view, **options)) if names else (lambda view, task: make())
    if names and names[0] == "observation":
        return lambda view, task: _FunctionAgent(target, view, options, takes_task=len(names) > 1)
    if names and names[0] in ("task", "view"):
        return lambda view, task: target(view, **options)
    raise UsageError(
        f"agent {spec!r}: expected a function (observation), (observation, task) or a factory (task), "
        f"found parameters ({', '.join(names)})"
    )


class _FunctionAgent:
    def __init__(
        self, function: Callable[..., Any], view: TaskView, options: dict[str, Any], *, takes_task: bool
    ) -> None:
        self._function = function
        self._arguments = (view,) if takes_task else ()
        self._options = options

    def act(self, observation: Any) -> Any:
        return self._function(observation, *self._arguments, **self._options)


def _digest(files: Sequence[Path], *texts: str) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    for file in files:
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).name if "/" in name else name).strip("-")
