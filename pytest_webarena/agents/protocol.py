"""What an agent is, what it may know, and how a definition makes a fresh one per trial."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pytest_webarena.actions import Action
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.tasks.model import Task

__all__ = ["Agent", "AgentDefinition", "IsolationTier", "Reply", "TaskView"]

IsolationTier = Literal["in-process", "process", "sandboxed"]
"""How far an agent is kept from the answers; only ``sandboxed`` counts as isolated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """All that an agent is told of its task. Checks, solution and file names are not in it."""

    intent: str
    sites: Mapping[str, str] = field(default_factory=dict)
    """Site name to base URL, without a trailing slash."""
    start: tuple[str, ...] = ()
    """Addresses of the tabs open at the beginning."""
    max_steps: int = 30
    seed: int = 0
    """Differs between trials of one task, equal between runs: seed any randomness with it."""


Reply = "Action | str"
"""An action, or text in the definition's grammar."""


@runtime_checkable
class Agent(Protocol):
    """One trial's agent. ``act`` may be a plain method or a coroutine; a ``close()`` is called if there is one.

    >>> class Quitter:
    ...     def act(self, observation):
    ...         return "```stop [I give up]```"
    >>> isinstance(Quitter(), Agent)
    True
    """

    def act(self, observation: Observation) -> Action | str | Awaitable[Action | str]:
        """The next action, given what is seen now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """A named way to make agents. Part of every record: ``id`` and ``digest``."""

    id: str
    """Names the agent in node ids, records and reports; ``[A-Za-z0-9._-]+``."""
    make: Callable[[TaskView, Task], Agent]
    """A fresh agent for one trial. Only privileged built-ins look at the task."""
    digest: str
    """Changes when the agent's definition or code file changes; resume compares it."""
    grammar: str = "webarena"
    """How text replies are read."""
    tier: IsolationTier = "in-process"
    privileged: bool = False
    """It sees the task's solution (the oracle): its results say nothing about agents."""
    source: str = ""
    """Where it was found, for messages and records."""
