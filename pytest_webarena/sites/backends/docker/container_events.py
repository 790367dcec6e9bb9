"""Follows the engine's events for containers of a run that die or run out of memory."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from docker import DockerClient

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS

__all__ = ["Watch"]

ContainerEvent = Literal["", "die", "oom"]

_log = logging.getLogger(__name__)
_ENDINGS: dict[str, Literal["die", "oom"]] = {"die": "die", "oom": "oom"}
_PAUSE = 1.0
"""Seconds between attempts to reconnect."""


class Watch:
    """A thread that follows which containers with ``label`` have died or run out of memory.

    ``connect`` creates the client that it uses and closes.
    """

    def __init__(self, connect: Callable[[], DockerClient], label: str) -> None:
        self._connect = connect
        self._label = label
        self._last_events: dict[str, ContainerEvent] = {}
        self._listening = self._lost = False
        self._closing = threading.Event()
        self._stream: Any = None
        self._since = int(time.time())
        threading.Thread(target=self._listen, name="docker-events", daemon=True).start()

    def last_event(self, container: str) -> ContainerEvent | None:
        """Returns what happened to the container; empty when nothing did; None when that is unknown, so ask the engine:
        events are not being received, or some were lost, because a restarted engine reports none from before."""
        if container in self._last_events:
            return self._last_events[container]
        return "" if self._listening and not self._lost else None

    def close(self) -> None:
        """Stop listening."""
        self._closing.set()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._stream is not None:
            with suppress(Exception):  # the connection may be in any state
                self._stream.close()

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                self._follow(self._connect())
            except (SiteError, OSError, ValueError, AttributeError, *ENGINE_ERRORS) as error:
                if not self._closing.is_set():
                    _log.warning("lost the Docker engine's events: %s", error)
            finally:
                self._listening, self._lost = False, True
            self._closing.wait(_PAUSE)

    def _follow(self, client: DockerClient) -> None:
        filters: dict[str, Any] = {"type": "container", "label": self._label, "event": [*_ENDINGS]}
        try:
            # Events since the last one received, so that none is missed between two connections or before the first.
            self._stream = client.events(decode=True, filters=filters, since=self._since)
            self._listening = True
            if self._closing.is_set():
                self._hang_up()
            for event in self._stream:
                self._note(event)
        finally:
            client.close()

    def _note(self, event: dict[str, Any]) -> None:
        self._since = max(self._since, int(event.get("time", 0)))
        container, what = str(event.get("id", "")), _ENDINGS.get(str(event.get("Action") or event.get("status")))
        if container and what is not None and self._last_events.get(container) != "die":
            self._last_events[container] = what
