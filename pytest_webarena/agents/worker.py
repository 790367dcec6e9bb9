"""Runs one agent in a thread of its own, so that a hanging agent costs its trial and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
import sysconfig
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents.memory import Remembered
from pytest_webarena.errors import WebArenaError
from pytest_webarena.evidence import cut

if TYPE_CHECKING:
    from pytest_webarena.actions import Action
    from pytest_webarena.agents.protocol import Agent, Reply, SelfDriving
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.evidence import StopReason

__all__ = ["AgentCrashed", "AgentTimeout", "AgentWorker"]

_NOT_THE_AGENTS = (
    Path(__file__).parent.parent,
    *(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib")),
)
"""Where code lies in which a crash of an agent tells its author little."""


class AgentTimeout(Exception):
    """The agent did not answer in time. Its thread is left behind; it is a daemon and holds nothing."""


class AgentCrashed(Exception):
    """The agent raised. ``__cause__`` is what it raised."""


class AgentWorker:
    """Calls one agent, plain or async, with a deadline per call. Async agents keep one event loop for the trial.

    Use as a context manager; leaving it calls the agent's ``close()`` if there is one, in the agent's thread. For an
    agent that did not answer it is ``cut_off()``, in the caller's thread: what it waits for can be ended there.
    """

    def __init__(self, make: Callable[[], Agent | SelfDriving], *, name: str, timeout: float) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"agent-{name}", daemon=True)
        self._thread.start()
        self._abandoned = False
        self.crash: BaseException | None = None
        """What the agent raised in `act` or `drive`, with its traceback."""
        self._agent = self._call(make, timeout)

    def __enter__(self) -> AgentWorker:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not self._abandoned and (close := getattr(self._agent, "close", None)) is not None:
            with contextlib.suppress(AgentTimeout, AgentCrashed, WebArenaError):  # its verdict stands already
                self._call(close, 5.0)
        if self._abandoned and (cut_off := getattr(self._agent, "cut_off", None)) is not None:
            with contextlib.suppress(Exception):
                cut_off()
        self._calls.put(None)

    def act(self, observation: Observation, timeout: float) -> Action | str | Reply:
        """The agent's reply. Raises `AgentTimeout`, `AgentCrashed`, or the `WebArenaError` it raised itself."""
        reply: Action | str | Reply = self._call(lambda: self._agent.act(observation), timeout)
        return reply

    def drive(self, cdp_url: str, http_url: str) -> Any:
        """What a self-driving agent returns once it is done; however long that takes. Raises as `act` does."""
        return self._call(lambda: self._agent.drive(cdp_url, http_url), None)

    def remember(self, reason: StopReason, timeout: float) -> str | Remembered | None:
        """What the agent leaves for later trials (`protocol.Remembering`); None if it was cut off. Raises as `act`."""
        if self._abandoned:
            return None
        if (remember := getattr(self._agent, "remember", None)) is None:
            raise AgentCrashed("expected the agent to have 'remember(self, reason)', it has not")
        said = self._call(lambda: remember(reason), timeout)
        if said is not None and not isinstance(said, str | Remembered):
            raise AgentCrashed(f"expected text to remember or None, found {type(said).__name__}")
        return said

    def abandon(self) -> None:
        """Stop waiting for the agent, from another thread: it ran into a limit."""
        self._abandoned = True

    def _call(self, function: Callable[[], Any], timeout: float | None) -> Any:
        if self._abandoned:
            raise AgentTimeout
        future: Future[Any] = Future()
        self._calls.put((function, future))
        try:
            return future.result(timeout)
        except TimeoutError as error:
            if future.done():  # the agent's own TimeoutError, not ours
                self.crash = error
                raise AgentCrashed(_describe(error)) from error
            self._abandoned = True
            raise AgentTimeout from None
        except WebArenaError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not future.done():
                raise  # the user's Ctrl-C while waiting, not the agent's
            self.crash = error
            raise AgentCrashed(_describe(error)) from error

    def _work(self) -> None:
        with asyncio.Runner() as runner:
            while (call := self._calls.get()) is not None:
                function, future = call
                try:
                    result = function()
                    if inspect.isawaitable(result):
                        result = runner.run(_await(result))
                    future.set_result(result)
                except BaseException as error:  # also SystemExit: an agent must not end the worker
                    future.set_exception(error)


async def _await(awaitable: Any) -> Any:
    return await awaitable


def _describe(error: BaseException) -> str:
    """What was raised, and where in the agent's own code: ``ValueError: no price (my_agents.py:12, in act)``."""
    first, line_end, rest = f"{type(error).__name__}: {error}".partition("\n")
    first = cut(first)
    return f"{first.removesuffix(': ')}{_own_place(error)}{line_end}{cut(rest)}"


def _own_place(error: BaseException) -> str:
    """The innermost line that is neither of this package nor of Python or other packages; empty when none is."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_file() and not any(file.is_relative_to(folder) for folder in _NOT_THE_AGENTS):
            return f" ({file.name}:{frame.lineno}, in {frame.name})"
    return ""
