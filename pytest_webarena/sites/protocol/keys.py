"""Who may speak to a run's broker: each client shows a key of its own, made from the run's by its name.

The run's key is in the memory of the process that started the broker, and of the broker, which gets it through its
stdin. Other processes of the run are told their own key alone, through the pipe that made them (xdist's). No key is in
a file, an argument or an environment variable: those, agents and sites inherit or can read.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct

__all__ = ["client_key", "forget", "key_for", "learn", "make", "peer_user"]

_runs: dict[str, str] = {}
"""Address of a broker to its run's key, where this process started it."""
_own: dict[tuple[str, str], str] = {}
"""Address and name of a client to its key, where this process was told."""


def make(address: str) -> str:
    """The key of a new run, whose broker listens at ``address``."""
    _runs[address] = secrets.token_hex(32)
    return _runs[address]


def forget(address: str) -> None:
    """The run is over."""
    _runs.pop(address, None)


def learn(address: str, name: str, key: str) -> None:
    """This process may be the client ``name`` of the broker at ``address``."""
    _own[address, name] = key


def key_for(address: str, name: str) -> str:
    """What the client ``name`` shows the broker at ``address``; empty where this process has no part in its run."""
    if (run := _runs.get(address)) is not None:
        return client_key(run, name)
    return _own.get((address, name), "")


def client_key(run: str, name: str) -> str:
    """The key of the client ``name`` in the run with this key. Nobody gets from it to another client's."""
    return hmac.new(run.encode(), name.encode(), hashlib.sha256).hexdigest()


def peer_user(connected: socket.socket) -> int | None:
    """User id of the process at the other end of a Unix socket; None where the system doesn't tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    told = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", told)[1])
