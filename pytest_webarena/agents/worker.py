"""Runs one agent in a thread of its own, so that a hanging agent costs only its trial."""

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
"""Directories of code that is not the agent's, skipped when a crash is located."""


_GOODBYE = 5.0
"""Seconds that an agent gets to clean up."""


class AgentTimeout(Exception):
    """The agent did not answer in time. Its thread is abandoned; it is a daemon and holds no resources."""


class AgentCrashed(Exception):
    """The agent raised an exception, which is ``__cause__``."""


class AgentWorker:
    """Calls one agent, plain or async, with a deadline per call. Async agents keep one event loop for the trial.

    Use as a context manager. Leaving it calls the agent's ``close()``, if there is one, in the agent's thread. For an
    agent that did not answer it calls ``cut_off()`` in another thread, which can end what the agent waits for.
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
        """Make the agent in its thread.

        ``raises`` are errors that are passed on unchanged (`AgentDefinition.raises`). ``calling`` is entered around
        each call of the agent with its limit in seconds, which is ``timeout`` for calls without one.
        """
        self._raises = raises
        self._calling = calling or (lambda seconds: contextlib.nullcontext())
        self._default_timeout = timeout
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        context = contextvars.copy_context()  # the agent shares the trial's context, which collects its output
        self._thread = threading.Thread(target=lambda: context.run(self._work), name=f"agent-{name}", daemon=True)
        self._thread.start()
        self._abandoned = False
        self._awaited: Future[Any] | None = None
        self.crash: BaseException | None = None
        """The exception that the agent raised in `act` or `drive`, with its traceback."""
        self._agent = self._call(make, timeout)

    def __enter__(self) -> AgentWorker:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not self._abandoned:
            with contextlib.suppress(AgentTimeout, AgentCrashed, WebArenaError):  # the verdict does not depend on it
                self._call(lambda: _call_if_defined(self._agent, "close"), _GOODBYE)
        if self._abandoned:
            thread = threading.Thread(target=self._cut_off, name=f"{self._thread.name}-cut-off", daemon=True)
            thread.start()
            thread.join(_GOODBYE)
        self._calls.put(None)

    def _cut_off(self) -> None:
        with contextlib.suppress(BaseException):  # the verdict does not depend on it
            _call_if_defined(self._agent, "cut_off")

    def act(self, observation: Observation, timeout: float) -> Action | str | Reply:
        """The agent's reply. Raises `AgentTimeout`, `AgentCrashed`, or one of the errors in ``raises``."""
        reply: Action | str | Reply = self._call(lambda: self._agent.act(observation), timeout)
        return reply

    def drive(self, cdp_url: str, http_url: str) -> Any:
        """The result of a self-driving agent, without a time limit. Raises as `act` does."""
        return self._call(lambda: self._agent.drive(cdp_url, http_url), None)

    def remember(self, reason: StopReason, timeout: float) -> str | Remembered | None:
        """What the agent leaves for later trials (`protocol.Remembering`); None if it was cut off. Raises as `act`."""
        if self._abandoned:
            return None
        memory = self._call(lambda: self._remember(reason), timeout)
        if memory is not None and not isinstance(memory, str | Remembered):
            raise AgentCrashed(f"expected text to remember or None, found {type(memory).__name__}")
        return memory

    def _remember(self, reason: StopReason) -> Any:
        if (remember := getattr(self._agent, "remember", None)) is None:
            raise AgentCrashed("expected the agent to have 'remember(self, reason)', it has not")
        return remember(reason)

    def abandon(self) -> None:
        """Stop waiting for the agent, from another thread, because it reached a limit."""
        self._abandoned = True

    def cancel(self) -> None:
        """Like `abandon`, and end a wait for the agent that is running now, because the run is cancelled."""
        self._abandoned = True
        if (awaited := self._awaited) is not None:
            awaited.cancel()

    def _call(self, function: Callable[[], Any], timeout: float | None) -> Any:
        if self._abandoned:
            raise AgentTimeout
        future: Future[Any] = Future()
        self._awaited = future
        with self._calling(self._default_timeout if timeout is None else timeout):
            self._calls.put((function, future))
            try:
                return future.result(0 if self._abandoned else timeout)
            except (TimeoutError, CancelledError):  # from this process: the agent's own exceptions come as `_Raised`
                self._abandoned = True
                raise AgentTimeout from None
            except _Raised as raised:
                error = raised.error
                if issubclass(type(error), (AgentCrashed, *self._raises)):
                    raise error from None
                self.crash = error
                raise AgentCrashed(raised.description) from error

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
                        with contextlib.suppress(InvalidStateError):  # after a cancellation nobody waits
                            future.set_result(result)
                    except BaseException as error:  # also SystemExit, because an agent must not end the worker
                        with contextlib.suppress(InvalidStateError):
                            future.set_exception(_Raised(error))
                    finally:
                        if os.getpid() != pid:  # the agent forked: this is its child, which must not go on
                            _exit(0)
        finally:
            _threads.pop(thread, None)


class _Raised(Exception):
    """An agent's exception, described in the agent's thread, because the exception's class is the agent's code, too."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        try:
            self.description = _describe(error)
        except BaseException as other:
            self.description = f"an error that can't be described ({type(other).__name__})"


_threads: dict[int, tuple[int, int]] = {}
"""Threads of agents: thread identifier to the process and the native thread id."""
_child: tuple[int, int] | None = None
"""In a child process of an agent: its own process and thread, for children that it may fork."""
_exit = os._exit


def _exit_unless_agent(status: int) -> NoReturn:
    """Replacement of ``os._exit``: in an agent's thread it raises `SystemExit`, so that the run does not end. Children
    of agents exit normally."""
    if _threads.get(threading.get_ident(), (0, 0))[0] == os.getpid():
        raise SystemExit(status)
    _exit(status)


os._exit = _exit_unless_agent


def _bind_to_parent() -> None:
    """In a child that an agent forked: end the child with the agent's thread."""
    global _child
    if sys.platform == "linux" and (parent := _child or _threads.get(threading.get_ident())) is not None:
        death_signal.arm()
        process, thread = parent
        if not os.path.exists(f"/proc/{process}/task/{thread}"):  # the parent ended before `arm`
            _exit(0)
        _child = os.getpid(), threading.get_native_id()


os.register_at_fork(after_in_child=_bind_to_parent)


async def _await(awaitable: Any) -> Any:
    return await awaitable


def _describe(error: BaseException) -> str:
    """The exception and its place in the agent's own code: ``ValueError: no price (my_agents.py:12, in act)``."""
    first, line_end, rest = f"{type(error).__name__}: {message_of(error)}".partition("\n")
    first = cut(first)
    return f"{first.removesuffix(': ')}{_own_place(error)}{line_end}{cut(rest)}{hint(first)}"


def _call_if_defined(agent: object, name: str) -> Any:
    """Call the agent's method ``name`` if there is one."""
    method = getattr(agent, name, None)
    return method() if method is not None else None


def _own_place(error: BaseException) -> str:
    """The innermost line outside this package, Python and installed packages; empty when there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_file() and not any(file.is_relative_to(folder) for folder in _NOT_THE_AGENTS):
            return f" ({file.name}:{frame.lineno}, in {frame.name})"
    return ""
