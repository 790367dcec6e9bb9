"""Finds the agent that ``--agent`` names: a built-in, a definition, a Python object, an entry point."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.actions import answers_dialogs
from pytest_webarena.agents.builtin import Answering, BuiltIn, Dump, Oracle, RandomWalk, Typed
from pytest_webarena.agents.protocol import Agent, AgentDefinition, Assignment, TaskView
from pytest_webarena.entry_points import AGENTS, offered
from pytest_webarena.errors import TaskError, UsageError, closest

if TYPE_CHECKING:
    from pytest_webarena.agents.overrides import Overrides
    from pytest_webarena.browser.config import DialogPolicy
    from pytest_webarena.tasks.model import Task

__all__ = ["BUILTIN", "agent_id", "known_agents", "resolve_agent"]

_Make = Callable[[Assignment], BuiltIn]
_AUDIT = "audit-"
"""How the names of the agents begin that an audit adds."""

BUILTIN: dict[str, tuple[_Make, str]] = {
    "oracle": (lambda given: Oracle(given.task, given.view, given.refusal), "replays each task's solution"),
    "null": (lambda given: Answering(""), "stops at once with an empty answer"),
    "na": (lambda given: Answering("N/A"), "stops at once and says the task can't be done"),
    "echo": (lambda given: Answering(given.view.intent), "answers with the intent"),
    "dump": (lambda given: Dump(), "answers with everything it sees"),
    "random": (lambda given: RandomWalk(given.view), "random clicks and words, seeded"),
}


def known_agents(directories: Sequence[Path]) -> dict[str, str]:
    """Every name that ``--agent`` accepts, with a short description."""
    from pytest_webarena.agents.definitions import about_definition  # as in `_read`

    known = {name: about for name, (_, about) in BUILTIN.items()}
    for path in _definition_files(directories):
        known.setdefault(path.stem, about_definition(path))
    for entry, target in offered(AGENTS).items():
        known.setdefault(entry, target)
    return known


def resolve_agent(name: str, directories: Sequence[Path] = (), overrides: Overrides | None = None) -> AgentDefinition:
    """The definition called ``name`` with ``overrides`` applied; built-ins have nothing to override.

    Looked up in this order: a path ending in ``.yaml``; ``module:attr`` or ``file.py:attr``; a YAML definition of that
    name in ``directories`` (the user's ``agents/`` first, then the shipped ones); a built-in; an entry point of the
    group ``webarena.agents``. Raises `UsageError` that lists what exists.
    """
    if name.endswith((".yaml", ".yml")):
        return _read(Path(name), overrides)
    if ":" in name and "," not in name:
        return _from_object(name, _slug(name), overrides)
    for path in _definition_files(directories):
        if path.stem == name:
            return _read(path, overrides)
    if name in BUILTIN:
        make, about = BUILTIN[name]
        digest = _digest([Path(inspect.getfile(Oracle))], name)
        return AgentDefinition(
            id=name,
            make=lambda assignment: _answering(make(assignment), assignment.view),
            digest=digest,
            kind="built-in",
            dialogs=_dialogs_of_solution if name == "oracle" else lambda task, trial: None,
            privileged=name == "oracle",
            asks_models=False,
            source=f"built-in: {about}",
            raises=(TaskError,) if name == "oracle" else (),  # for a solution that cannot be replayed
        )
    if name.startswith(_AUDIT) and (mutant := _mutant(name)) is not None:
        return mutant
    if target := offered(AGENTS).get(name):
        return _from_object(target, name, overrides)
    known = known_agents(directories)
    raise UsageError(f"--agent={name}: expected {_instead_of(name, known) or f'a known agent, {closest(name, known)}'}")


def _instead_of(name: str, known: Iterable[str]) -> str:
    """What was probably meant: a class in a file, or several agents; empty for any other name."""
    if name.endswith(".py"):
        return f"the class or function as well, as in --agent={name}:MyAgent"
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and all(part in known or ":" in part for part in parts):
        return f"one agent each time: {' '.join(f'--agent={part}' for part in parts)}"
    return ""


def agent_id(name: str) -> str:
    """The id in records of the agent that ``--agent`` names, whether or not it still exists.

    >>> agent_id("my/agents/cot.yaml"), agent_id("oracle")
    ('cot', 'oracle')
    """
    if name.endswith((".yaml", ".yml")):
        return Path(name).stem
    return _slug(name) if ":" in name else name


def _read(path: Path, overrides: Overrides | None) -> AgentDefinition:
    from pytest_webarena.agents.definitions import read_definition  # built-in agents need neither kinds nor grammars

    return read_definition(path, overrides)


def _mutant(name: str) -> AgentDefinition | None:
    """An agent for ``--audit`` alone: by themselves they replay what a task calls its solution."""
    # Only an audit needs them.
    from pytest_webarena.agents.audit_trials import CRAWLERS, MUTANTS, NEIGHBOUR, ORDER, STRAY, VALUES, Replay
    from pytest_webarena.agents.neighbour import Neighbour

    manners = MUTANTS | CRAWLERS
    manners |= {
        VALUES: "replays the solution; each value that it wrote is then changed",
        ORDER: "replays the solution in another order",
    }
    if name not in manners:
        return None

    def make(assignment: Assignment) -> Agent:
        agent: BuiltIn
        if name in CRAWLERS:
            agent = Answering("N/A")
        else:
            agent = Neighbour(assignment) if name == NEIGHBOUR else Replay(assignment.task, assignment.view)
        if name == VALUES:
            agent = Oracle(assignment.task, assignment.view, assignment.refusal)
        return _answering(agent, assignment.view)

    return AgentDefinition(
        id=name,
        make=make,
        digest=_digest([Path(inspect.getfile(each)) for each in (Oracle, Replay, Neighbour)], name),
        kind="built-in",
        dialogs=_dialogs_of_solution,
        privileged=True,
        asks_models=False,
        source=f"built-in: {manners[name]}",
        raises=(TaskError,),
        tampers=name == STRAY,
        changes_values=name == VALUES,
        crawls=name in CRAWLERS,
    )


def _answering(agent: BuiltIn, view: TaskView) -> Agent:
    """The agent, wrapped if its trial asks for typed responses."""
    return Typed(agent) if view.answer_format == "verified" else agent


def _definition_files(directories: Iterable[Path]) -> list[Path]:
    return [path for directory in directories if directory.is_dir() for path in sorted(directory.glob("*.y*ml"))]


def _from_object(spec: str, id: str, overrides: Overrides | None) -> AgentDefinition:
    from pytest_webarena.agents.definitions import define  # as in `_read`

    return define({"python": spec}, id=id, where=f"agent {spec!r}", base=Path.cwd(), source=spec, overrides=overrides)


def _dialogs_of_solution(task: Task, trial: int) -> DialogPolicy | None:
    """``hold`` for a task whose solution answers dialogs; otherwise None."""
    return "hold" if answers_dialogs(task.solution or ()) else None


def _digest(files: Sequence[Path], *texts: str) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    for file in files:
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).name if "/" in name else name).strip("-")
