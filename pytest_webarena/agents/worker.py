"""Runs one agent in a thread of its own, so that a hanging agent costs its trial and nothing else."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import os
import queue
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_webarena import death_signal
from pytest_webarena.agents.hints import hint
from pytest_webarena.agents.memory import Remembered
from pytest_webarena.errors import WebArenaError
from pytest_webarena.evidence import cut
from pytest_webarena.text import message_of

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


_GOODBYE = 5.0
"""Seconds for an agent to clear up."""


class AgentTimeout(Exception):
    """The agent did not answer in time. Its thread is left behind; it is a daemon and holds nothing."""


class AgentCrashed(Exception):
    """The agent raised. ``__cause__`` is what it raised."""


class AgentWorker:
    """Calls one agent, plain or async, with a deadline per call. Async agents keep one event loop for the trial.

    Use as a context manager; leaving it calls the agent's ``close()`` if there is one, in the agent's thread. For an
    agent that did not answer it is ``cut_off()``, in another thread: what it waits for can be ended there.
    """

    def __init__(
        self,
        make: Callable[[], Agent | SelfDriving],
        *,
        name: str,
        timeout: float,
        raises: tuple[type[WebArenaError], ...] = (),
        calling: Callable[[float], AbstractContextManager[None]] | None = None,
    ) -> None:
        """``raises`` are the errors that pass as they are (`AgentDefinition.raises`). What ``calling`` gives is around
        each call of the agent, which may take so many seconds; ``timeout`` where the call itself has no limit."""
        self._raises = raises
        self._calling = calling or (lambda seconds: contextlib.nullcontext())
        self._longest = timeout
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        here = contextvars.copy_context()  # what belongs to the trial belongs to its agent, such as what it prints
        self._thread = threading.Thread(target=lambda: here.run(self._work), name=f"agent-{name}", daemon=True)
        self._thread.start()
        self._abandoned = False
        self._awaited: Future[Any] | None = None
        self.crash: BaseException | None = None
        """What the agent raised in `act` or `drive`, with its traceback."""
        self._agent = self._call(make, timeout)

    def __enter__(self) -> AgentWorker:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not self._abandoned:
            with contextlib.suppress(AgentTimeout, AgentCrashed, WebArenaError):  # its verdict stands already
                self._call(lambda: _if_there(self._agent, "close"), _GOODBYE)
        if self._abandoned:
            thread = threading.Thread(target=self._cut_off, name=f"{self._thread.name}-cut-off", daemon=True)
            thread.start()
            thread.join(_GOODBYE)
        self._calls.put(None)

    def _cut_off(self) -> None:
        with contextlib.suppress(BaseException):  # whatever it is: the verdict stands already
            _if_there(self._agent, "cut_off")

    def act(self, observation: Observation, timeout: float) -> Action | str | Reply:
        """The agent's reply. Raises `AgentTimeout`, `AgentCrashed`, or one of the errors that may pass."""
        reply: Action | str | Reply = self._call(lambda: self._agent.act(observation), timeout)
        return reply

    def drive(self, cdp_url: str, http_url: str) -> Any:
        """What a self-driving agent returns once it is done; however long that takes. Raises as `act` does."""
        return self._call(lambda: self._agent.drive(cdp_url, http_url), None)

    def remember(self, reason: StopReason, timeout: float) -> str | Remembered | None:
        """What the agent leaves for later trials (`protocol.Remembering`); None if it was cut off. Raises as `act`."""
        if self._abandoned:
            return None
        said = self._call(lambda: self._remember(reason), timeout)
        if said is not None and not isinstance(said, str | Remembered):
            raise AgentCrashed(f"expected text to remember or None, found {type(said).__name__}")
        return said

    def _remember(self, reason: StopReason) -> Any:
        if (remember := getattr(self._agent, "remember", None)) is None:
            raise AgentCrashed("expected the agent to have 'remember(self, reason)', it has not")
        return remember(reason)

    def abandon(self) -> None:
        """Stop waiting for the agent, from another thread: it ran into a limit."""
        self._abandoned = True

    def break_off(self) -> None:
        """The same, and whoever waits for it now waits no longer: the run is broken off."""
        self._abandoned = True
        if (awaited := self._awaited) is not None:
            awaited.cancel()

    def _call(self, function: Callable[[], Any], timeout: float | None) -> Any:
        if self._abandoned:
            raise AgentTimeout
        future: Future[Any] = Future()
        self._awaited = future
        with self._calling(self._longest if timeout is None else timeout):
            self._calls.put((function, future))
            try:
                return future.result(0 if self._abandoned else timeout)
            except (TimeoutError, CancelledError):  # ours: what the agent raises comes as `_Raised`
                self._abandoned = True
                raise AgentTimeout from None
            except _Raised as raised:
                error = raised.error
                if issubclass(type(error), (AgentCrashed, *self._raises)):
                    raise error from None
                self.crash = error
                raise AgentCrashed(raised.told) from error

    def _work(self) -> None:
        import asyncio  # late: collecting tasks runs no agent

        pid, thread = os.getpid(), threading.get_ident()
        _threads[thread] = pid, threading.get_native_id()
        try:
            with asyncio.Runner() as runner:
                while (call := self._calls.get()) is not None:
                    function, future = call
                    try:
                        result = function()
                        if inspect.isawaitable(result):
                            result = runner.run(_await(result))
                        with contextlib.suppress(InvalidStateError):  # broken off: nobody waits
                            future.set_result(result)
                    except BaseException as error:  # also SystemExit: an agent must not end the worker
                        with contextlib.suppress(InvalidStateError):
                            future.set_exception(_Raised(error))
                    finally:
                        if os.getpid() != pid:  # the agent has forked, and this is the child: it is no pytest
                            _exit(0)
        finally:
            _threads.pop(thread, None)


class _Raised(Exception):
    """What the agent raised, described in its own thread: an error's class, too, is the agent's code."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        try:
            self.told = _describe(error)
        except BaseException as other:
            self.told = f"an error that can't be described ({type(other).__name__})"


_threads: dict[int, tuple[int, int]] = {}
"""Of agents, with the process that each belongs to and the system's number of the thread."""
_child: tuple[int, int] | None = None
"""In a child of an agent's: itself, for the children that it may fork."""
_exit = os._exit


def _exit_unless_agent(status: int) -> NoReturn:
    """In place of ``os._exit``: an agent can't end the run so, as it can't with ``sys.exit``. Its children can."""
    if _threads.get(threading.get_ident(), (0, 0))[0] == os.getpid():
        raise SystemExit(status)
    _exit(status)


os._exit = _exit_unless_agent


def _bind() -> None:
    """In a child that an agent has forked: it ends with the agent's thread, however it goes on."""
    global _child
    if sys.platform == "linux" and (parent := _child or _threads.get(threading.get_ident())) is not None:
        death_signal.arm()
        process, thread = parent
        if not os.path.exists(f"/proc/{process}/task/{thread}"):  # it ended before it could be told of
            _exit(0)
        _child = os.getpid(), threading.get_native_id()


os.register_at_fork(after_in_child=_bind)


async def _await(awaitable: Any) -> Any:
    return await awaitable


def _describe(error: BaseException) -> str:
    """What was raised, and where in the agent's own code: ``ValueError: no price (my_agents.py:12, in act)``."""
    first, line_end, rest = f"{type(error).__name__}: {message_of(error)}".partition("\n")
    first = cut(first)
    return f"{first.removesuffix(': ')}{_own_place(error)}{line_end}{cut(rest)}{hint(first)}"


def _if_there(agent: object, name: str) -> Any:
    """Call the agent's method of that name if it has one."""
    method = getattr(agent, name, None)
    return method() if method is not None else None


def _own_place(error: BaseException) -> str:
    """The innermost line that is neither of this package nor of Python or other packages; empty when none is."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_file() and not any(file.is_relative_to(folder) for folder in _NOT_THE_AGENTS):
            return f" ({file.name}:{frame.lineno}, in {frame.name})"
    return ""
