"""The labels by which objects of this package are found again, and whether their owner still lives."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from pytest_webarena.sites.cleanup.reaper import is_alive

__all__ = ["APP", "HOST", "OWNER", "POD", "REPLICA", "RUN", "is_orphan", "owner_labels"]

_PREFIX = "pytest-webarena"
RUN = f"{_PREFIX}.run"
"""Id of the run; everything with the same value goes together."""
APP = f"{_PREFIX}.app"
REPLICA = f"{_PREFIX}.replica"
POD = f"{_PREFIX}.pod"
"""On containers that keep a pod open: for which app."""
OWNER = f"{_PREFIX}.owner"
"""The owning process, as `reaper.identity` writes it: pid, start time, boot id."""
HOST = f"{_PREFIX}.host"
"""Where that process can be looked up. An engine may serve several machines, and containers with pids of their own."""


def owner_labels(run: str, owner: str) -> dict[str, str]:
    """Labels of everything that is made for ``run`` by ``owner``, a process of this host as in `OWNER`."""
    return {RUN: run, OWNER: owner, HOST: _host()}


def is_orphan(labels: Mapping[str, str]) -> bool:
    """Whether the owner is known to be dead. Nobody can tell for owners on another machine or in another container."""
    owner = labels.get(OWNER, "")
    return bool(owner) and labels.get(HOST) == _host() and not is_alive(owner)


def _host() -> str:
    try:
        machine = Path("/etc/machine-id").read_text().strip()
    except OSError:
        machine = ""
    try:
        pids = os.readlink("/proc/self/ns/pid")
    except OSError:
        pids = ""
    return f"{socket.gethostname()}/{machine}/{pids}"
