"""Broker settings that workers request by fixtures, stored where the launcher reads them before it starts a broker."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError

__all__ = ["place_order", "read_order"]


def place_order(address: str, wanted: Mapping[str, Any]) -> None:
    """Request a broker at ``address`` with these settings, and ``environment``, before any client connects.

    A run has one broker, so all its workers and directories must request the same. Raises `UsageError` for a different
    request.
    """
    path = _order(address)
    own = path.with_name(f"order-{os.getpid()}.json")
    own.write_text(json.dumps(wanted, sort_keys=True))
    own.chmod(0o600)
    try:
        os.link(own, path)  # atomic
    except FileExistsError:
        if (placed := read_order(address)) != json.loads(own.read_text()):
            differing = sorted(name for name in {*placed, *wanted} if placed.get(name) != wanted.get(name))
            raise UsageError(
                f"expected one setting of a run's sites, found two for {', '.join(differing)}: "
                "override the fixtures of the catalogue, its sites and the broker in the conftest.py of the root "
                "directory alone, or run the directories separately"
            ) from None
    finally:
        own.unlink()


def read_order(address: str) -> dict[str, Any]:
    """Returns the requested settings; empty if there was no request."""
    try:
        order: dict[str, Any] = json.loads(_order(address).read_text())
    except FileNotFoundError:
        return {}
    return order


def _order(address: str) -> Path:
    return Path(address).with_name("order.json")
