"""Keys of a run's clients: each client authenticates to the broker with its own key, derived from the run's key and its
name.

The run's key is in the memory of the process that started the broker, and of the broker, which gets it through its
stdin. Other processes of the run receive only their own key, through the pipe that started them (xdist's). No key is in
a file, an argument or an environment variable, because agents and sites can inherit or read those.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct

__all__ = ["client_key", "forget", "key_for", "make", "peer_user", "store_key"]

_runs: dict[str, str] = {}
"""The run's key by broker address, in the process that started the broker."""
_own: dict[tuple[str, str], str] = {}
"""A client's key by broker address and client name, in a process that received it."""


def make(address: str) -> str:
    """Create the key of a new run, whose broker listens at ``address``."""
    _runs[address] = secrets.token_hex(32)
    return _runs[address]


def forget(address: str) -> None:
    """Remove the key of a finished run."""
    _runs.pop(address, None)


def store_key(address: str, name: str, key: str) -> None:
    """Store the key with which this process may be the client ``name`` of the broker at ``address``."""
    _own[address, name] = key


def key_for(address: str, name: str) -> str:
    """Returns the key of the client ``name`` for the broker at ``address``; empty if this process does not belong to
    its run."""
    if (run := _runs.get(address)) is not None:
        return client_key(run, name)
    return _own.get((address, name), "")


def client_key(run: str, name: str) -> str:
    """Returns the key of the client ``name`` in a run. Other clients' keys can't be derived from it."""
    return hmac.new(run.encode(), name.encode(), hashlib.sha256).hexdigest()


def peer_user(connected: socket.socket) -> int | None:
    """Returns the user id of the process at the other end of a Unix socket; None where the system does not report
    it."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])
