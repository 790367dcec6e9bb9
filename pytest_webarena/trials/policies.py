"""Types of the policy functions that fixtures pass to the runtime."""

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
"""Function from an agent's name, as given in ``--agent``, and a task to the agent's definition."""
SignIn = Callable[["Lease", Mapping[str, str], Mapping[str, Any] | None], Mapping[str, Any] | None]
"""Function from the lease, a mapping of site to account, and the storage state after the catalogue's sign-in steps
(None: no account is signed in) to the storage state that the session begins with."""
RecordPolicy = Literal["all", "failures", "minimal"] | Callable[[TrialRecord], bool]
"""Which trials keep screenshots and observations; a function decides for each record."""
