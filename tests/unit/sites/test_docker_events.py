"""Events of containers: what is known after the connection to the engine was lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_webarena.sites.backends.docker import container_events
from pytest_webarena.sites.backends.docker.container_events import Watch
from tests.processes import DEADLINE


class Engine:
    """An engine whose event streams last until `hang_up`; each connection adds a permit to `connected`."""

    def __init__(self) -> None:
        self.connected = threading.Semaphore(0)
        self._end = threading.Semaphore(0)

    def events(self, **how: Any) -> Iterator[dict[str, Any]]:
        self.connected.release()
        yield {"id": "dead", "Action": "die", "time": 1}
        assert self._end.acquire(timeout=DEADLINE)

    def hang_up(self) -> None:
        self._end.release()

    def close(self) -> None: ...


def test_containers_are_unknown_after_events_may_have_been_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_events, "_PAUSE", 0)
    engine: Any = Engine()
    watch = Watch(lambda: engine, "label")
    known = threading.Event()

    def note(event: Any) -> None:
        Watch._note(watch, event)
        known.set()

    monkeypatch.setattr(watch, "_note", note)
    try:
        assert engine.connected.acquire(timeout=DEADLINE)
        engine.hang_up()  # as a restart does
        assert engine.connected.acquire(timeout=DEADLINE)
        assert known.wait(DEADLINE)
        assert watch.last_event("dead") == "die"
        assert watch.last_event("other") is None
    finally:
        watch.close()
        engine.hang_up()
