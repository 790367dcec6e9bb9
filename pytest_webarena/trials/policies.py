"""Types of policies that are functions: what fixtures hand to the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pytest_webarena.agents.protocol import AgentDefinition
from pytest_webarena.results import TrialRecord

if TYPE_CHECKING:
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Task

__all__ = ["AgentOf", "RecordPolicy", "SignIn"]

AgentOf = Callable[[str, "Task"], AgentDefinition]
"""From an agent's name, as ``--agent`` gave it, and a task."""
SignIn = Callable[["Lease", Mapping[str, str], Mapping[str, Any] | None], Mapping[str, Any] | None]
"""From the lease, site to account, and the storage state that the catalogue's steps led to (None: nobody is signed in),
the storage state to begin with."""
RecordPolicy = Literal["all", "failures", "minimal"] | Callable[[TrialRecord], bool]
"""Which trials keep screenshots and observations; a function says so of each."""
