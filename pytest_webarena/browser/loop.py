"""Event loop on a separate thread, called from synchronous code with a timeout for every call."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
import logging
import os
import sys
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, TypeVar

from pytest_webarena.browser.launching.network_changes import steady_command
from pytest_webarena.errors import BrowserError

__all__ = ["Deadline", "LoopThread", "closing_unstarted"]

T = TypeVar("T")

_GRACE = 5.0
"""Seconds that a call may exceed its own timeout before the loop itself counts as stuck."""

logger = logging.getLogger("pytest_webarena.browser")

_Loop: type[asyncio.AbstractEventLoop]
if sys.platform == "win32":
    _Loop = asyncio.ProactorEventLoop
else:
    _Loop = asyncio.SelectorEventLoop


class _SpawningLoop(_Loop):  # type: ignore[misc, valid-type]  # the base differs by platform
    """Starts all processes with additional environment variables and in a session of their own.

    Playwright's driver has no such options. So this gives it another TMPDIR without changing this process, and keeps
    the terminal's Ctrl-C from it: the driver ends when its pipe closes. Its browsers are shielded from network changes.
    """

    extra_env: Mapping[str, str] = {}
    children: list[asyncio.SubprocessTransport]

    async def subprocess_exec(
        self, factory: Any, *command: Any, env: Mapping[str, str] | None = None, **options: Any
    ) -> Any:
        environment = {**(os.environ if env is None else env), **self.extra_env}
        if sys.platform != "win32":
            options.setdefault("start_new_session", True)
        transport, protocol = await super().subprocess_exec(
            factory, *steady_command(list(map(str, command))), env=environment, **options
        )
        self.children.append(transport)
        return transport, protocol


class Deadline:
    """A point in time at which something must have finished."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self, at_most: float = float("inf")) -> float:
        """Return the seconds left: at least 0, at most ``at_most``."""
        return max(0.0, min(self._end - time.monotonic(), at_most))

    @property
    def over(self) -> bool:
        """Whether the time has passed."""
        return self.left() == 0.0


@contextlib.contextmanager
def closing_unstarted(coroutine: Coroutine[Any, Any, Any]) -> Iterator[None]:
    """Close ``coroutine`` at the end if it has not started because its caller was cancelled before.

    Otherwise Python would warn when it is garbage collected, during an unrelated test.
    """
    try:
        yield
    finally:
        if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
            coroutine.close()


class LoopThread:
    """Runs coroutines on one loop in a daemon thread, so that the process can exit at any time."""

    def __init__(self, name: str, extra_env: Mapping[str, str] | None = None) -> None:
        self._loop = _SpawningLoop()
        self._loop.extra_env = dict(extra_env or {})
        self._loop.children = []
        self._loop.set_exception_handler(_log_exception)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, T], *, timeout: float, what: str) -> T:
        """Run ``coroutine`` and return its result; `BrowserError` if it takes longer than ``timeout`` seconds."""

        async def bounded() -> T:
            async with asyncio.timeout(timeout):
                return await coroutine

        call = bounded()
        with closing_unstarted(coroutine), closing_unstarted(call):
            future = self._scheduled(call, what)
            try:
                return future.result(timeout + _GRACE)
            except (TimeoutError, concurrent.futures.TimeoutError) as error:
                future.cancel()
                raise BrowserError(
                    f"{what}: expected an answer of the browser within {timeout:g} s, found none"
                ) from error
            except BaseException:  # Ctrl-C or pytest-timeout must not leave the coroutine running
                future.cancel()
                raise

    def _scheduled(self, call: Coroutine[Any, Any, T], what: str) -> concurrent.futures.Future[T]:
        try:
            # While Python exits, daemon threads are suspended, so nothing would answer.
            if not sys.is_finalizing():
                return asyncio.run_coroutine_threadsafe(call, self._loop)
        except RuntimeError:  # another thread has ended the loop
            if not self._loop.is_closed():
                raise
        raise BrowserError(f"{what}: the browser's event loop has ended")

    def kill_children(self) -> None:
        """Kill the processes that were started on this loop and still run."""
        for transport in self._loop.children:
            with contextlib.suppress(ProcessLookupError, RuntimeError):
                if transport.get_returncode() is None:
                    transport.kill()

    def stop(self, timeout: float) -> None:
        """Cancel running tasks and end the thread; wait at most ``timeout`` seconds."""
        if not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            if tasks:
                self._loop.run_until_complete(asyncio.wait(tasks, timeout=1.0))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()


def _log_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log failures of background work, which closed pages often leave, instead of printing them to stderr."""
    logger.debug("in the browser loop: %s", context.get("message"), exc_info=context.get("exception"))
