"""Agents of kind ``http``: an endpoint that receives each message as a POST request and responds with its reply."""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.agents.kinds import AgentKind, Common
from pytest_webarena.agents.memory import Remembered
from pytest_webarena.agents.protocol import AgentDefinition, Assignment, Reply
from pytest_webarena.agents.wire import (
    clip,
    encode,
    end_message,
    observation_message,
    read_memory,
    read_reply,
    remember_message,
    task_message,
)
from pytest_webarena.errors import AgentAbsent, AgentError, ModelError, UsageError
from pytest_webarena.secrets import mark

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.evidence import StopReason

__all__ = ["KIND", "Endpoint", "EndpointFailed", "HttpAgent", "HttpKeys"]

_RETRIED = frozenset({429, 500, 502, 503, 504})
_LONGEST_WAIT = 30.0
"""Maximum number of seconds between two tries, even if the endpoint asks for more."""
_GOODBYE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpKeys:
    """Keys of a definition of kind ``http``."""

    url: str
    """Address to which every message is posted, ``http://…`` or ``https://…``."""
    key_env: str = ""
    """Name of an environment variable whose value is sent as ``Authorization: Bearer …``."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options passed to the agent in its first message."""
    timeout: float = 120.0
    """Maximum time for one response, in seconds."""
    retries: int = 3
    """Number of times that a request is repeated if it was refused, interrupted, or answered with 429 or a server
    error."""
    max_reply: int = 1_000_000
    """Maximum size of one reply, in bytes."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: expected http://… or https://…, found {self.url!r}")
        if not 0 < self.timeout < float("inf"):
            raise ValueError(f"timeout: expected seconds above 0, found {self.timeout!r}")
        if not 0 <= self.retries <= 20:
            raise ValueError(f"retries: expected 0 to 20, found {self.retries}")

    def check_key(self, where: str) -> None:
        """Raise `UsageError` when the key's variable is not set."""
        if self.key_env and not os.environ.get(self.key_env):
            raise UsageError(f"{where}: key_env: expected the variable {self.key_env} to be set, it is not")


class EndpointFailed(Exception):
    """The endpoint is unreachable or its reply is unusable; the text says what was received."""

    unreachable = False
    """Whether nothing listened at any try. An endpoint that closes the connection may have received the task."""


class Endpoint:
    """Posts messages, with limited retries. `cut_off` ends a call from another thread."""

    def __init__(self, keys: HttpKeys) -> None:
        self._keys = keys
        mark(os.environ.get(keys.key_env, "") if keys.key_env else "")
        self._cut = threading.Event()
        self._connection: http.client.HTTPConnection | None = None

    def post(self, message: Mapping[str, Any], *, timeout: float | None = None, retries: int | None = None) -> bytes:
        """The body of the response. Messages can be repeated safely, because each contains its trial and step."""
        body = encode(message)
        unreachable = True
        tries = 1 + (self._keys.retries if retries is None else retries)
        for number in range(1, tries + 1):
            wait: float | None = None
            try:
                status, wait, data = self._once(body, timeout or self._keys.timeout)
            except (OSError, http.client.HTTPException) as error:
                unreachable &= isinstance(error, ConnectionRefusedError | socket.gaierror)
                error_text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            else:
                unreachable = False
                if 200 <= status < 300:
                    return data
                error_text = f"status {status}, {clip(data)}"
                if status not in _RETRIED:
                    break
            if number < tries and self._cut.wait(_pause(number, wait)):
                error_text = "the trial ended"
                break
            if self._cut.is_set():
                break
        failure = EndpointFailed(f"POST {self._keys.url}: expected a reply, found {error_text} (tried {number} times)")
        failure.unreachable = unreachable
        raise failure

    def cut_off(self) -> None:
        """Abort the running call."""
        self._cut.set()
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def _once(self, body: bytes, timeout: float) -> tuple[int, float | None, bytes]:
        end = time.monotonic() + timeout
        parts = urlsplit(self._keys.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = self._connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body=body, headers=self._headers())
            response = connection.getresponse()
            chunks, size = [], 0
            while chunk := response.read1(65536):
                chunks.append(chunk)
                size += len(chunk)
                if size > self._keys.max_reply:
                    raise EndpointFailed(f"POST {self._keys.url}: more than {self._keys.max_reply} bytes in one reply")
                if time.monotonic() > end:
                    raise TimeoutError(f"no whole reply within {timeout:g} s")
            if response.length:
                raise http.client.IncompleteRead(b"".join(chunks), response.length)
            return response.status, _retry_after(response.getheader("Retry-After")), b"".join(chunks)
        finally:
            self._connection = None
            connection.close()

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._keys.key_env:
            headers["Authorization"] = f"Bearer {os.environ.get(self._keys.key_env, '')}"
        return headers


class HttpAgent:
    """One trial of an agent at an endpoint."""

    def __init__(self, assignment: Assignment, keys: HttpKeys) -> None:
        self._endpoint = Endpoint(keys)
        self._trial = secrets.token_hex(8)
        self._step = 0
        self._task = task_message(assignment, trial=self._trial, options=keys.options)

    def act(self, observation: Observation) -> Reply:
        """The endpoint's reply.

        `AgentAbsent` when the task cannot be delivered because nothing listens, which is no fault of the agent. An
        endpoint that refuses the task or fails later counts as a crashed agent: `EndpointFailed`.
        """
        if not self._step:
            try:
                self._endpoint.post(self._task)
            except EndpointFailed as error:
                if error.unreachable:
                    raise AgentAbsent(f"the agent did not take the task: {error}") from None
                raise
        message = observation_message(observation, trial=self._trial, step=self._step)
        self._step += 1
        return read_reply(self._endpoint.post(message))

    def remember(self, reason: StopReason) -> Remembered | None:
        """The agent's notes for later trials."""
        return read_memory(self._endpoint.post(remember_message(trial=self._trial, reason=reason)))

    def close(self) -> None:
        """Send the end message once, with a short time limit and without retries."""
        with contextlib.suppress(EndpointFailed):
            self._endpoint.post(end_message(trial=self._trial), timeout=_GOODBYE, retries=0)

    def cut_off(self) -> None:
        """Abort the running call, from any thread."""
        self._endpoint.cut_off()


def _build(common: Common, keys: HttpKeys) -> AgentDefinition:
    return common.definition(
        lambda assignment: HttpAgent(assignment, keys),
        tier="process",
        endpoint=keys.url,
        check=lambda settings: keys.check_key(common.where),
        raises=(AgentError, ModelError),  # the endpoint is absent, or reports that its model failed
    )


KIND = AgentKind(name="http", about="an HTTP endpoint that gets the same messages", keys=HttpKeys, build=_build)


def _pause(number: int, retry_after: float | None) -> float:
    """Seconds before the next try: as the endpoint asked, otherwise doubling, with jitter."""
    if retry_after is not None:
        return min(retry_after, _LONGEST_WAIT)
    doubled: float = 0.25 * 2 ** (number - 1)
    return min(doubled, _LONGEST_WAIT) * random.uniform(0.5, 1.0)


def _retry_after(text: str | None) -> float | None:
    """Seconds in a ``Retry-After`` header: a number or a date."""
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if seconds == seconds else None
