"""One episode of `run_episode`, turned inside out: it runs in a thread and waits there for every action."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from pytest_webarena.errors import HarnessError
from pytest_webarena.trials.episode import Episode, EpisodeLimits, run_episode

if TYPE_CHECKING:
    from pytest_webarena.actions import Action
    from pytest_webarena.agents.worker import AgentWorker
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.browser.pageless import Pageless
    from pytest_webarena.browser.session import Session
    from pytest_webarena.evidence import StepRecord

__all__ = ["Rollout"]

_STUCK = 600.0
"""Seconds. All that the episode does between two observations has deadlines of its own, far below this."""


class _Abandoned(BaseException):
    """Nobody wants to know how the episode ends."""


_ABANDON = object()
"""In place of a reply. Nobody else has it: an agent's reply may be anything, None included."""


class Rollout:
    """An episode under way. Its agent is whoever calls `step`."""

    def __init__(
        self,
        session: Session | Pageless,
        *,
        parse: Callable[[str], Action],
        limits: EpisodeLimits,
        stepped: Callable[[StepRecord], None],
        arrive: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._said: queue.SimpleQueue[Observation | Episode | BaseException] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._stepped = stepped
        self._arrive = arrive
        self.last: StepRecord | None = None
        """The latest finished step."""
        self.over = False
        """Nothing more will come: the episode has ended, with an error or without, or waiting for it was interrupted,
        so that nobody knows whose observation comes next."""
        self._thread = threading.Thread(
            target=self._run, args=(session, parse, limits), name="gym-episode", daemon=True
        )
        self._thread.start()

    def first(self) -> Observation | Episode:
        """What there is to see at the beginning, or at once the end."""
        return self._next()

    def step(self, reply: object) -> Observation | Episode:
        """Give the agent's reply; the observation after it, or the episode if that was its end. Raises its errors."""
        self._replies.put(reply)
        return self._next()

    def abandon(self) -> None:
        """End the thread. The session stays as it is."""
        self._replies.put(_ABANDON)
        self._thread.join(_STUCK)

    def _next(self) -> Observation | Episode:
        self.over = True
        try:
            said = self._said.get(timeout=_STUCK)
        except queue.Empty:
            raise HarnessError(f"an episode did nothing for {_STUCK:g} s") from None
        if isinstance(said, BaseException):
            raise said
        self.over = isinstance(said, Episode)
        return said

    def _run(self, session: Session | Pageless, parse: Callable[[str], Action], limits: EpisodeLimits) -> None:
        # What `run_episode` asks of an agent and of a recorder is what this class has.
        agent = cast("AgentWorker", self)
        try:
            self._said.put(run_episode(session, agent, parse=parse, limits=limits, recorder=self, arrive=self._arrive))
        except _Abandoned:
            pass
        except BaseException as error:
            self._said.put(error)

    # --- as `AgentWorker`

    def act(self, observation: Observation, timeout: float) -> Any:
        """Wait for the reply, however long it takes: training between two steps is nobody's time."""
        self._said.put(observation)
        reply = self._replies.get()
        if reply is _ABANDON:
            raise _Abandoned
        return reply

    # --- as `Recorder`

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        """Nothing is kept on disk."""
        return "", ""

    def stepped(self, step: StepRecord) -> None:
        """Pass it on."""
        self.last = step
        self._stepped(step)
