"""Runs one `run_episode` in a thread, which waits for each action: turns its callbacks into a `step` method."""

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
"""Seconds without progress after which an episode counts as stuck. Every operation between two observations has a far
shorter deadline."""


class _Abandoned(BaseException):
    """Ends the episode's thread when its result is no longer needed."""


_ABANDON = object()
"""Sentinel in place of a reply. It has to be a private object because an agent's reply may be anything, None
included."""


class Rollout:
    """A running episode. The caller of `step` acts as its agent."""

    def __init__(
        self,
        session: Session | Pageless,
        *,
        parse: Callable[[str], Action],
        limits: EpisodeLimits,
        stepped: Callable[[StepRecord], None],
        arrive: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._results: queue.SimpleQueue[Observation | Episode | BaseException] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._stepped = stepped
        self._arrive = arrive
        self.last: StepRecord | None = None
        """The latest finished step."""
        self.over = False
        """Whether the episode has ended, normally or with an error, or waiting for it was interrupted, after which it
        is unknown which step the next observation belongs to."""
        self._thread = threading.Thread(
            target=self._run, args=(session, parse, limits), name="gym-episode", daemon=True
        )
        self._thread.start()

    def first(self) -> Observation | Episode:
        """The first observation, or the episode if it ended at once."""
        return self._next()

    def step(self, reply: object) -> Observation | Episode:
        """Pass the agent's reply on and return the next observation, or the episode if it has ended. Raises the
        episode's errors."""
        self._replies.put(reply)
        return self._next()

    def abandon(self) -> None:
        """End the thread. The session is left as it is."""
        self._replies.put(_ABANDON)
        self._thread.join(_STUCK)

    def _next(self) -> Observation | Episode:
        self.over = True
        try:
            result = self._results.get(timeout=_STUCK)
        except queue.Empty:
            raise HarnessError(f"an episode did nothing for {_STUCK:g} s") from None
        if isinstance(result, BaseException):
            raise result
        self.over = isinstance(result, Episode)
        return result

    def _run(self, session: Session | Pageless, parse: Callable[[str], Action], limits: EpisodeLimits) -> None:
        # This class has the methods of `AgentWorker` and `Recorder` that `run_episode` calls.
        agent = cast("AgentWorker", self)
        try:
            self._results.put(
                run_episode(session, agent, parse=parse, limits=limits, recorder=self, arrive=self._arrive)
            )
        except _Abandoned:
            pass
        except BaseException as error:
            self._results.put(error)

    # --- as `AgentWorker`

    def act(self, observation: Observation, timeout: float) -> Any:
        """Wait for the reply without a time limit, because time between two steps, such as training, is not the
        agent's."""
        self._results.put(observation)
        reply = self._replies.get()
        if reply is _ABANDON:
            raise _Abandoned
        return reply

    # --- as `Recorder`

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        """Return no file names: nothing is stored on disk."""
        return "", ""

    def stepped(self, step: StepRecord) -> None:
        """Keep the step and call the callback."""
        self.last = step
        self._stepped(step)
