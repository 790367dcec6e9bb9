"""Hands an agent what earlier trials left, and keeps what it leaves, for agents whose definition asks for that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_webarena.agents.memory import Remembered
from pytest_webarena.agents.worker import AgentCrashed, AgentTimeout, AgentWorker
from pytest_webarena.errors import ModelError, WebArenaError
from pytest_webarena.results.memory import Memory, MemoryVersion
from pytest_webarena.results.records import MemoryUse

if TYPE_CHECKING:
    from pytest_webarena.agents.memory import MemoryKeys
    from pytest_webarena.evidence import StopReason, Usage
    from pytest_webarena.results.attempts import AttemptWriter

__all__ = ["Recollection", "recollection"]


@dataclass(slots=True)
class Recollection:
    """One trial's part in a memory that it has alone. What an attempt leaves counts if the attempt has a verdict."""

    keys: MemoryKeys
    memory: Memory
    of: str
    trial: str
    """Name of the trial's folder."""
    begun: MemoryVersion
    """What the agent is told."""
    usage: Usage | None = None
    """What it took the agent to say what is to be remembered."""
    _left: str | None = None
    _problem: str = ""

    def ask(self, agent: AgentWorker, reason: StopReason, writer: AttemptWriter) -> None:
        """Ask the agent, which has come to the end of its attempt. Whatever goes wrong leaves the memory as it was."""
        try:
            said = agent.remember(reason, self.keys.seconds)
        except AgentTimeout:
            said, self._problem = None, f"the agent did not answer within {self.keys.seconds:g} s"
        except (AgentCrashed, WebArenaError) as error:
            said, self._problem = None, str(error)
            self.usage = error.usage if isinstance(error, ModelError) else None
        if isinstance(said, Remembered):
            self.usage, said = said.usage, said.text
        if said is not None and len(said) > self.keys.max_chars:
            self._problem = f"{len(said)} characters were cut to {self.keys.max_chars}"
            said = said[: self.keys.max_chars]
        self._left = said
        writer.remembered(self.begun.text, said)

    def keep(self, *, judged: bool) -> MemoryUse:
        """Keep what the attempt left for later trials, if it was ``judged``; for its record, which comes after that."""
        left, problem = self._left, self._problem
        self._left, self._problem, self.usage = None, "", None
        if judged and left is not None:
            self.memory.add(left, trial=self.trial, after=self.begun)
        return MemoryUse(
            scope=self.keys.scope,
            of=self.of,
            trials=self.begun.trials,
            after=self.begun.trial,
            wrote=judged and left is not None,
            problem=problem,
        )


@contextmanager
def recollection(keys: MemoryKeys, memory: Memory, *, of: str, trial: str) -> Iterator[Recollection]:
    """Wait for the memory, and have it alone until the trial is over."""
    with memory.taken():
        yield Recollection(keys=keys, memory=memory, of=of, trial=trial, begun=memory.latest(trial=trial))
