"""A worker's connection to the broker: numbered requests and their results, blocking and thread-safe."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractContextManager
from typing import Any

from pytest_webarena.errors import SiteError, WebArenaError
from pytest_webarena.sites.protocol import keys
from pytest_webarena.sites.protocol.messages import VERSION, error_from, line

__all__ = ["ANSWER", "Connection", "Waiting"]

Waiting = Callable[[str], AbstractContextManager[Any]]

ANSWER = 60.0
"""Seconds that the broker may take for operations that do not wait for a replica."""
_PATIENCE = 5.0
"""Seconds after which waiting for the broker is reported. The broker itself reports what it waits for."""


class Connection:
    """One socket and the thread that reads it. Requests of several threads may be in flight at once."""

    def __init__(self, address: str, name: str, waiting: Waiting) -> None:
        self._waiting = waiting
        self._numbers = itertools.count(1)
        self._answers: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._end: WebArenaError | None = None
        self._log = ""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(address)
        except OSError as error:
            self._socket.close()
            raise SiteError(f"expected the site broker at {address}, found none: {error}") from error
        self._address = address
        threading.Thread(target=self._read, name=f"webarena-broker-client-{name}", daemon=True).start()

    def greet(self, name: str) -> None:
        """Send the greeting, which must be the first message."""
        self._log = self.call("hello", version=VERSION, name=name, key=keys.key_for(self._address, name))["log"]

    @property
    def ended(self) -> bool:
        """Whether the connection can't be used any more."""
        return self._end is not None

    def call(self, operation: str, **arguments: Any) -> Any:
        """Send a request and wait for its result."""
        return self.wait(self.send(operation, **arguments), ANSWER)

    def send(self, operation: str, **arguments: Any) -> Future[Any]:
        """Send a request, and return a future of its result."""
        answer: Future[Any] = Future()
        with self._lock:
            if self._end is not None:
                raise self._end
            number = next(self._numbers)
            self._answers[number] = answer
            # The reader knows why the other end closed, and fails this answer, too.
            with contextlib.suppress(OSError):
                self._socket.sendall(line({"id": number, "op": operation, **arguments}))
        return answer

    def wait(self, answer: Future[Any], timeout: float) -> Any:
        """Returns the result. Raises `SiteError` when there is none within ``timeout`` seconds."""
        with contextlib.suppress(FutureTimeout):
            return answer.result(max(0.0, timeout - ANSWER) + _PATIENCE)
        try:
            if answer.done():  # the answer itself raised a TimeoutError
                return answer.result()
            with self._waiting("the site broker to answer"):
                return answer.result(ANSWER - _PATIENCE)
        except FutureTimeout as error:
            if answer.done():  # a TimeoutError of the answer, not of waiting
                raise
            raise SiteError(f"the site broker did not answer within {timeout:g} s; it may be overloaded") from error

    def wait_long(self, answer: Future[Any]) -> Any:
        """Returns the result of an operation without a time limit, such as a boot. Raises `SiteError` when the broker
        does not answer other requests either."""
        while True:
            try:
                return answer.result(_PATIENCE)
            except FutureTimeout:
                if answer.done():
                    raise
                self.call("status")

    def close(self, why: str) -> None:
        """End the connection; waiting callers get an error with ``why``."""
        self._end = self._end or SiteError(why)  # before the reader notices; its lock may be held by a stuck sender
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the reader, which closes the socket
        self._finish(self._end)

    def abandon(self) -> None:
        """Close only this process's copy of the descriptor."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _read(self) -> None:
        refused: WebArenaError | None = None
        with contextlib.suppress(OSError), self._socket.makefile("rb") as lines:
            for text in lines:
                message = json.loads(text)
                if message.get("id") is None:
                    refused = error_from(message["error"])
                    continue
                answer = self._answers.pop(message["id"], None)
                if answer is not None and "error" in message:
                    answer.set_exception(error_from(message["error"]))
                elif answer is not None:
                    answer.set_result(message["result"])
        log = f"; its log: {self._log}" if self._log else ""
        self._finish(refused or SiteError(f"the site broker ended while it was needed{log}"))
        self._socket.close()

    def _finish(self, end: WebArenaError) -> None:
        with self._lock:
            self._end = self._end or end
            answers, self._answers = self._answers, {}
        for answer in answers.values():
            answer.set_exception(self._end)
