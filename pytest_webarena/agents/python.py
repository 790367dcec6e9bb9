"""Agents of kind ``python``: the user's class, factory or function, named as ``module:attr`` or ``file.py:attr``."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_webarena.agents.code import contents, imported_files
from pytest_webarena.agents.kinds import AgentKind, Common
from pytest_webarena.agents.protocol import Agent, AgentDefinition, Assignment, TaskView
from pytest_webarena.errors import UsageError, closest

__all__ = ["KIND", "PythonKeys", "load"]

_Make = Callable[[Assignment], Agent]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonKeys:
    """Keys of a definition of kind ``python``."""

    python: str
    """``module:attribute``, or ``file.py:attribute`` relative to the definition."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the class, factory or function."""
    files: tuple[str, ...] = ()
    """Files and folders next to the definition that its code reads, such as prompts; changing them changes the digest.
    Modules that it imports are included automatically (`code.imported_files`)."""


def _build(common: Common, keys: PythonKeys) -> AgentDefinition:
    target, files = load(keys.python, common.base)
    if common.memory is not None:
        _check_remembers(target, common.where)
    for name in keys.files:
        if not (common.base / name).exists():
            raise UsageError(f"{common.where}: files: expected a file or folder at {common.base / name}, found none")
    files += contents(common.base, keys.files)
    return common.definition(_maker(target, keys.python, dict(keys.options)), files=files)


KIND = AgentKind(name="python", about="a Python class or function, in this process", keys=PythonKeys, build=_build)


def load(spec: str, base: Path) -> tuple[Any, list[Path]]:
    """The object that ``module:attribute`` or ``file.py:attribute`` names, and the files that belong to it.
    `UsageError` if there is none."""
    where, _, attribute = spec.rpartition(":")
    if not where or not attribute:
        raise UsageError(f"agent {spec!r}: expected 'module:attribute' or 'file.py:attribute'")
    pid = os.getpid()
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
            sys.modules[name] = module  # for dataclasses and pickling in the file, which look it up there
            module_spec.loader.exec_module(module)
        else:
            module = importlib.import_module(where)
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit would end the run
        raise UsageError(f"agent {spec!r}: importing {where} failed: {type(error).__name__}: {error}") from error
    finally:
        if os.getpid() != pid:  # the module forked, and this is the child: it must not continue as pytest
            os._exit(0)
    if not hasattr(module, attribute):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise UsageError(f"agent {spec!r}: {where} has no {attribute!r}; {closest(attribute, names)}")
    code = getattr(module, "__file__", None)
    name = "" if where.endswith(".py") else where
    return getattr(module, attribute), imported_files(Path(code), name) if code else []


def _check_remembers(target: Any, where: str) -> None:
    """Raise `UsageError` for agents without ``remember``. The result of a factory can only be checked later."""
    names = list(inspect.signature(target).parameters) if inspect.isfunction(target) else []
    if (inspect.isclass(target) and not hasattr(target, "remember")) or names[:1] == ["observation"]:
        raise UsageError(f"{where}: memory: expected a class with 'remember(self, reason)', found none")


def _maker(target: Any, spec: str, options: dict[str, Any]) -> _Make:
    """A function that makes an agent from the user's object: a class or factory, or a function of the observation."""
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
        return (lambda assignment: make(assignment.view, **options)) if names else (lambda assignment: make())
    if names and names[0] == "observation":
        return lambda assignment: _FunctionAgent(target, assignment.view, options, takes_task=len(names) > 1)
    if names and names[0] in ("task", "view"):
        return lambda assignment: target(assignment.view, **options)
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
