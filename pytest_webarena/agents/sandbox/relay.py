"""The only connection from the sandbox's network: to the hosts that a definition names, and to no others.

Outside, `OutsideProxy` is an HTTP proxy on a Unix socket, the only part of that network within reach from inside.
Inside, this file is run as a script with the standard library only: ``relay.py SOCKET PORTS COMMAND…``. It forwards
ports of the sandbox's loopback to the socket and becomes the command. Port ``3128`` is the proxy itself, for
``HTTPS_PROXY`` and ``HTTP_PROXY``; each other one leads to the same port outside. Other hosts are refused outside,
where no agent can change it.
"""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from urllib.parse import unquote, urlsplit

__all__ = ["PROXY_PORT", "OutsideProxy", "main"]

PROXY_PORT = 3128
_LONGEST_HEAD = 64 * 1024
_CONNECTING = 30.0
"""Maximum time to connect to a host, and to receive the head of a request, in seconds."""
_AT_ONCE = 64
"""Maximum number of simultaneous connections; further ones wait."""
_MOST_PRINTED = 100
"""Maximum number of refused hosts that are printed."""


class OutsideProxy:
    """An HTTP proxy on a Unix socket, until the process ends. ``hosts`` maps ``host:port`` to the proxy that leads
    there, or to an empty text."""

    def __init__(self, *, path: str, hosts: Mapping[str, str]) -> None:
        self._hosts = dict(hosts)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(128)
        self._refused: list[str] = []

    def start(self) -> None:
        """Serve connections in threads."""
        _serve(self._listener, self._handle_client)

    def _handle_client(self, client: socket.socket) -> None:
        client.settimeout(_CONNECTING)
        head, rest = _read_head(client)
        client.settimeout(None)
        method, target, *_ = [*head.split(b"\r\n", 1)[0].decode("latin-1").split(" "), "", ""]
        tunnel = method == "CONNECT"
        place = _place(target if tunnel else urlsplit(target).netloc, 443 if tunnel else 80)
        if place not in self._hosts or not (tunnel or target.startswith("http://")):
            self._refuse(client, place or target[:100])
            return
        try:
            server = _connect(place, self._hosts[place], tunnel)
        except OSError as error:
            client.sendall(_answer("502 Bad Gateway", f"{place} can't be reached from outside of the sandbox: {error}"))
            return
        with server:
            if tunnel:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                server.sendall(rest)
            else:
                server.sendall(_forwarded(head, to_proxy=bool(self._hosts[place])) + rest)
            _join(client, server)

    def _refuse(self, client: socket.socket, place: str) -> None:
        allowed = ", ".join(self._hosts) or "none"
        text = f"the sandbox blocks connections to {place}; allowed hosts in the agent's definition: {allowed}"
        if place not in self._refused and len(self._refused) < _MOST_PRINTED:
            self._refused.append(place)
            with contextlib.suppress(OSError):
                os.write(2, f"sandbox: {text}\n".encode("utf-8", "replace"))
        client.sendall(_answer("403 Forbidden", text))


def _place(netloc: str, default: int) -> str:
    try:
        parts = urlsplit(f"//{netloc}")
        return f"{parts.hostname}:{parts.port or default}"
    except ValueError:
        return ""


def _answer(status: str, text: str) -> bytes:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


def _connect(place: str, proxy: str, tunnel: bool) -> socket.socket:
    """A connection to ``place``, or to the next proxy on the way."""
    if not proxy:
        host, _, port = place.rpartition(":")
        server = socket.create_connection((host, int(port)), _CONNECTING)
        server.settimeout(None)
        return server
    parts = urlsplit(proxy)
    server = socket.create_connection((parts.hostname or "", parts.port or 80), _CONNECTING)
    if tunnel:
        connect_request = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n"
        if parts.username:
            credentials = base64.b64encode(
                f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            ).decode()
            connect_request += f"Proxy-Authorization: Basic {credentials}\r\n"
        server.sendall(f"{connect_request}\r\n".encode())
        head, _ = _read_head(server)
        if b" 200 " not in head.split(b"\r\n", 1)[0] + b" ":
            server.close()
            raise OSError(f"the proxy says {head[:100]!r}")
    server.settimeout(None)
    return server


def _forwarded(head: bytes, *, to_proxy: bool) -> bytes:
    """A proxy request in the form for the server, with one request per connection, because each one has to be
    checked."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, target, version = first.split(b" ", 2)
    if not to_proxy:
        parts = urlsplit(target)
        target = (parts.path or b"/") + (b"?" + parts.query if parts.query else b"")
    kept = [one for one in lines if not one.lower().startswith((b"connection:", b"proxy-", b"keep-alive:"))]
    return b"\r\n".join([b" ".join([method, target, version]), *kept, b"Connection: close", b"", b""])


def _read_head(connection: socket.socket) -> tuple[bytes, bytes]:
    """The head of a message up to the empty line, and the data received after it."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more or len(data) > _LONGEST_HEAD:
            raise OSError("no request")
        data += more
    head, separator, rest = data.partition(b"\r\n\r\n")
    return head + separator, rest


def _serve(listener: socket.socket, attend: Callable[[socket.socket], None]) -> None:
    """Handle each incoming connection in a thread of its own."""
    free = threading.Semaphore(_AT_ONCE)

    def one(client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError, ValueError):
                attend(client)
        finally:
            free.release()

    def accept() -> None:
        while True:
            free.acquire()
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def _join(one: socket.socket, other: socket.socket) -> None:
    """Copy data in both directions until both sides have ended."""

    def carry(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    backward = threading.Thread(target=carry, args=(other, one), daemon=True)
    backward.start()
    carry(one, other)
    backward.join()


def _inside(path: str, port: int) -> Callable[[socket.socket], None]:
    """A handler for connections to a port of the sandbox's loopback."""

    def attend(client: socket.socket) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as way_out:
            way_out.connect(path)
            if port != PROXY_PORT:
                way_out.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
                head, rest = _read_head(way_out)
                if not head.startswith(b"HTTP/1.1 200"):
                    return
                client.sendall(rest)
            _join(client, way_out)

    return attend


def main() -> None:
    """Open the ports, fork a child that serves them, and become the command."""
    path, ports, command = sys.argv[1], [int(port) for port in sys.argv[2].split(",")], sys.argv[3:]
    listeners = []
    for port in ports:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        listeners.append(listener)
    if os.fork():
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]} could not be started: {error.strerror}\n".encode())
            os._exit(127)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # only the command uses them
        os.dup2(nothing, descriptor)
    for listener, port in zip(listeners, ports, strict=True):
        _serve(listener, _inside(path, port))
    threading.Event().wait()  # the sandbox ends with the command, and ends this process


if __name__ == "__main__":
    main()
