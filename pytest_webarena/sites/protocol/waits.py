"""What a run's broker and workers wait for at present, published in small files for progress displays."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Waiting", "Waits", "directory_of", "read_waits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One thing that is waited for."""

    what: str
    """Description, e.g. ``the shop to start``."""
    since: float
    """Start of the wait as Unix time."""


def directory_of(address: str) -> Path:
    """Returns the directory with the waits of the run whose broker is at ``address``."""
    return Path(address).parent / "waits"


class Waits:
    """The waits of one process. Publishing them is optional, so write errors are ignored. Thread-safe."""

    def __init__(self, directory: Path, name: str) -> None:
        """``name`` identifies the process."""
        self._file = directory / f"{name}.json"
        self._published: tuple[Waiting, ...] = ()
        self._lock = threading.RLock()

    def publish(self, waits: Sequence[Waiting]) -> None:
        """Publish these waits, and no others, from now on."""
        with self._lock:
            if self._published == (published := tuple(waits)):
                return
            self._published = published
            with suppress(OSError):
                if not published:
                    self._file.unlink()
                    return
                self._file.parent.mkdir(exist_ok=True)
                fresh = self._file.with_suffix(f".{os.getpid()}.new")
                fresh.write_text(json.dumps([asdict(wait) for wait in published]))
                fresh.replace(self._file)

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Context manager during which ``what`` is waited for."""
        own = Waiting(what=what, since=time.time())
        with self._lock:
            self.publish([*self._published, own])
        try:
            yield
        finally:
            with self._lock:
                self.publish([wait for wait in self._published if wait is not own])


def read_waits(directory: Path) -> list[Waiting]:
    """Returns the waits of all processes, the longest first."""
    found: list[Waiting] = []
    with suppress(OSError):
        for file in directory.glob("*.json"):
            with suppress(OSError, ValueError, TypeError):
                found += [Waiting(**each) for each in json.loads(file.read_text())]
    return sorted(found, key=lambda wait: wait.since)
