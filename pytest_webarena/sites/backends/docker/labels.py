"""Labels by which objects of this package are found, and whether their owner still lives."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from pytest_webarena.sites.cleanup.reaper import is_alive

__all__ = ["APP", "HOST", "OWNER", "POD", "REPLICA", "RUN", "is_orphan", "owner_labels"]

_PREFIX = "pytest-webarena"
RUN = f"{_PREFIX}.run"
"""Id of the run; everything with the same value belongs together."""
APP = f"{_PREFIX}.app"
REPLICA = f"{_PREFIX}.replica"
POD = f"{_PREFIX}.pod"
"""Set on containers that keep a pod open: the app of the pod."""
OWNER = f"{_PREFIX}.owner"
"""The owning process, in the form of `reaper.identity`: pid, start time, boot id."""
HOST = f"{_PREFIX}.host"
"""Host of the owning process. An engine may serve several machines, and containers with pids of their own."""


def owner_labels(run: str, owner: str) -> dict[str, str]:
    """Returns the labels of everything made for ``run`` by ``owner``, a process of this host in the form of `OWNER`."""
    return {RUN: run, OWNER: owner, HOST: _host()}


def is_orphan(labels: Mapping[str, str]) -> bool:
    """Whether the owner is known to be dead. For owners on another machine or in another container that is unknown."""
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
