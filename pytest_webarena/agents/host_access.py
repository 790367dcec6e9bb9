"""Which agents can stop or kill processes of this machine: the worker, a browser, a site."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import AgentDefinition

__all__ = ["can_signal_processes", "can_signal_sites"]

_OUR_CODE = frozenset({"built-in", "human", "model", "replay", "scripted"})
"""Kinds of agent whose definitions name actions, a model or a person, and no program."""


def can_signal_processes(agent: AgentDefinition) -> bool:
    """Return whether code of the agent's author may run on this machine with the rights of the worker.

    The end of a process is then no proof that the environment caused it. Code runs elsewhere only if that is known: in
    the sandbox, or behind an address that is not this machine's.
    """
    if agent.search is not None and agent.search.program:
        return True
    if agent.kind in _OUR_CODE or agent.tier == "sandboxed":
        return False
    return not agent.endpoint or _is_this_machine(urlsplit(agent.endpoint).hostname or "")


def can_signal_sites(agent: AgentDefinition, addresses: Iterable[str]) -> bool:
    """Return whether that is so, and one of these sites may be a process of this machine."""
    return can_signal_processes(agent) and any(_is_this_machine(urlsplit(each).hostname or "") for each in addresses)


@lru_cache
def _is_this_machine(host: str) -> bool:
    """Whether a host name is this machine's, or has no known address."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except OSError:
        return True
    return any(_is_own(family, address) for family, _, _, _, address in found)


def _is_own(family: int, address: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]) -> bool:
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(address)  # port 0; only own addresses can be bound
        except OSError:
            return False
    return True
