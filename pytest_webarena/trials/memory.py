"""Gives an agent the memory of earlier trials and stores what it leaves, for agents whose definition asks for that."""

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
    """One trial's exclusive access to a memory. What an attempt leaves is kept only if the attempt has a verdict."""

    keys: MemoryKeys
    memory: Memory
    of: str
    trial: str
    """Name of the trial's folder."""
    begun: MemoryVersion
    """The version of the memory that the agent receives."""
    usage: Usage | None = None
    """Usage of the agent's answer on what to remember."""
    _left: str | None = None
    _problem: str = ""

    def ask(self, agent: AgentWorker, reason: StopReason, writer: AttemptWriter) -> None:
        """Ask the agent at the end of its attempt what to remember. If that fails, the memory stays unchanged."""
        try:
            answer = agent.remember(reason, self.keys.seconds)
        except AgentTimeout:
            answer, self._problem = None, f"the agent did not answer within {self.keys.seconds:g} s"
        except (AgentCrashed, WebArenaError) as error:
            answer, self._problem = None, str(error)
            self.usage = error.usage if isinstance(error, ModelError) else None
        if isinstance(answer, Remembered):
            self.usage, answer = answer.usage, answer.text
        if answer is not None and len(answer) > self.keys.max_chars:
            self._problem = f"{len(answer)} characters were cut to {self.keys.max_chars}"
            answer = answer[: self.keys.max_chars]
        self._left = answer
        writer.remembered(self.begun.text, answer)

    def keep(self, *, judged: bool) -> MemoryUse:
        """Store what the attempt left for later trials, if it was ``judged``; return the entry for the record, which is
        written afterwards."""
        notes, problem = self._left, self._problem
        self._left, self._problem, self.usage = None, "", None
        if judged and notes is not None:
            self.memory.add(notes, trial=self.trial, after=self.begun)
        return MemoryUse(
            scope=self.keys.scope,
            of=self.of,
            trials=self.begun.trials,
            after=self.begun.trial,
            wrote=judged and notes is not None,
            problem=problem,
        )


@contextmanager
def recollection(keys: MemoryKeys, memory: Memory, *, of: str, trial: str) -> Iterator[Recollection]:
    """Wait for exclusive access to the memory, and keep it until the trial is over."""
    with memory.taken():
        yield Recollection(keys=keys, memory=memory, of=of, trial=trial, begun=memory.latest(trial=trial))
