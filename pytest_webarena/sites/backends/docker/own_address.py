"""Lets an app that listens on another port than 80 reach itself under its own address, which has no port.

Visitors come through the gateway, which knows the port. Inside the container the app's host name resolves to 127.0.0.1,
and a webhook or a loopback request to ``http://tracker.test/`` goes to port 80 there, where nothing listens. So this
process listens there, with a socket in the container's network namespace, and forwards connections to the app. That
needs no program inside and no additional rights of the container. It starts when the app is ready, because an app that
listens on both ports must find the other one free.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["HTTP_PORT", "OwnAddresses", "socket_inside"]

HTTP_PORT = 80
"""Port of addresses without a port."""
_CLONE_NEWNET = 0x40000000
_PIECE = 65536


class OwnAddresses:
    """The forwarders of a run, one per network namespace. All calls are made in the event loop."""

    def __init__(self) -> None:
        self._forwarders: dict[str, asyncio.Server] = {}
        self._refused = ""

    async def open(self, client: DockerClient, container: str, target: tuple[str, int]) -> str:
        """Forward connections to port 80 in the namespace of ``container`` to ``target``. Returns why that fails, or an
        empty text.

        Once is enough for a pod, whose address stays. Missing permission to enter namespaces is reported only once.
        """
        if container in self._forwarders or self._refused:
            return ""
        try:
            listening = await asyncio.to_thread(_listen, client, container)
        except PermissionError:
            self._refused = "entering a container's network needs root"
            return self._refused
        except ENGINE_ERRORS as error:
            return explain(error)
        except OSError as error:
            return "" if error.errno == errno.EADDRINUSE else str(error)  # the app itself listens there
        self._forwarders[container] = await asyncio.start_server(_forward_to(target), sock=listening)
        return ""

    def close(self, container: str = "") -> None:
        """Stop forwarding for a container that is gone; empty: for all, at the end of the run."""
        for name in [container] if container else list(self._forwarders):
            if forwarder := self._forwarders.pop(name, None):
                forwarder.close()


def _listen(client: DockerClient, container: str) -> socket.socket:
    process = int(client.api.inspect_container(container)["State"]["Pid"])
    if not process:
        raise OSError(f"the container {container[:12]} does not run")
    return socket_inside(f"/proc/{process}/ns/net", HTTP_PORT)


def socket_inside(namespace: str, port: int) -> socket.socket:
    """Returns a socket that listens on 127.0.0.1 in another network namespace.

    It is created in a separate thread, which ends then, so that no other thread of this process ever enters that
    namespace.
    """
    with ThreadPoolExecutor(1) as visitor:
        return visitor.submit(_make, namespace, port).result()


def _make(namespace: str, port: int) -> socket.socket:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), namespace)
    finally:
        os.close(handle)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(64)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def _forward_to(target: tuple[str, int]) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            target_reader, back = await asyncio.open_connection(*target)
        except OSError:
            writer.close()  # as if nothing listened
            return
        try:
            await asyncio.gather(_pump(reader, back), _pump(target_reader, writer))
        finally:
            back.close()
            writer.close()

    return passed_on


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    except OSError:
        writer.close()
    else:
        with suppress(OSError):
            writer.write_eof()  # the other direction may continue
