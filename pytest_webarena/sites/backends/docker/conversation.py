"""Connections to a program that keeps running inside a container, so that a question starts no new process there."""

from __future__ import annotations

import json
import logging
import socket
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from docker import DockerClient

from pytest_webarena.sites.backends.docker.containers import Executed, Running
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS

__all__ = ["Conversation", "Conversations"]

_log = logging.getLogger(__name__)

_HEADER = struct.Struct(">BxxxL")
"""Header of a frame: its stream, and its length."""
_STDOUT = 1


class Conversation:
    """Sends one line of JSON, the question's arguments, and receives one: ``[exit code, output]``. Thread-safe.

    Every failure is an `OSError`, a `ValueError` or one of the engine's errors; the connection is unusable afterwards.
    """

    def __init__(self, client: DockerClient, container: str, arguments: Sequence[str], *, timeout: float) -> None:
        made = client.api.exec_create(container, list(arguments), stdin=True, stdout=True, stderr=False)
        stream: Any = client.api.exec_start(made["Id"], socket=True)
        self._stream = stream
        self._socket: socket.socket = getattr(stream, "_sock", stream)  # docker-py returns a wrapper
        self._socket.settimeout(timeout)
        self._lock = threading.Lock()
        self._rest = b""

    def ask(self, *arguments: str) -> Executed:
        """Returns the answer to one question."""
        with self._lock:
            self._socket.sendall(json.dumps(arguments).encode() + b"\n")
            code, output = json.loads(self._line())
        return Executed(code=int(code), stdout=str(output), stderr="")

    def close(self) -> None:
        """Close the connection, which ends the program inside."""
        with suppress(OSError):
            self._socket.close()
        with suppress(Exception):  # an HTTP response in the middle of its body
            self._stream.close()

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            stream, length = _HEADER.unpack(self._exactly(_HEADER.size))
            data = self._exactly(length)
            self._rest += data if stream == _STDOUT else b""
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            chunk = self._socket.recv(count - len(data))
            if not chunk:
                raise ConnectionError("the program inside has ended")
            data += chunk
        return data


class Conversations:
    """One connection per container to the program ``arguments``, opened with the first question. Thread-safe."""

    def __init__(self, arguments: Sequence[str], *, timeout: float) -> None:
        self._arguments, self._timeout = arguments, timeout
        self._talks: dict[str, Conversation] = {}
        self._lock = threading.Lock()

    def ask(self, client: DockerClient, running: Running, arguments: Sequence[str]) -> Executed | None:
        """Returns the answer to a question; None when the connection fails. Blocks."""
        try:
            with self._lock:
                conversation = self._talks.get(running.id)
                if conversation is None:
                    conversation = Conversation(client, running.id, self._arguments, timeout=self._timeout)
                    self._talks[running.id] = conversation
            return conversation.ask(*arguments)
        except (OSError, ValueError, *ENGINE_ERRORS) as error:
            _log.info("%s: queries are run one by one: %s", running.name, error)
            self.hang_up(running.id)
            return None

    def hang_up(self, container: str) -> None:
        """Close the connection to a container, if there is one."""
        with self._lock:
            conversation = self._talks.pop(container, None)
        if conversation is not None:
            conversation.close()

    def close(self) -> None:
        """Close all connections."""
        for container in list(self._talks):
            self.hang_up(container)
