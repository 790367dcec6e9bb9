"""Agents' memories across trials: versions of one text in the run's folder, used by one trial at a time.

::

    <run>/memory/<agent>-<digest>[-<browser>]/<what it is kept for>-<hash>/
      lock         held by the trial that reads and writes
      00001.json   the text that the first trial left, and which trial that was
      00002.json   …

A version is written atomically and never changed. The lock is released when the process that holds it ends.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.records import DEFAULT_BROWSER
from pytest_webarena.rpc_proxies import stand_in
from pytest_webarena.secrets import scrub

__all__ = ["Memory", "MemoryVersion", "memories_of", "memory_folder", "open_memory"]

_VERSION = 1
_PAUSE = 0.2
"""Seconds between attempts to take a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVersion:
    """The text as one trial left it."""

    number: int = 0
    """Number of the version, from 1; 0 if no trial has left one yet."""
    text: str = ""
    trial: str = ""
    """Name of the folder of the trial that wrote it."""
    trials: int = 0
    """Number of consecutive trials that contributed to it."""


def memory_folder(run: Path, *, agent: str, digest: str, of: str, browser: str = DEFAULT_BROWSER) -> Path:
    """Return the folder of ``agent``'s memory for ``of``: a task, a template, sites, or all.

    Trials in another ``browser`` have separate memories, because the rates of two browsers must be independent.
    """
    owner = f"{agent}-{digest}" if browser == DEFAULT_BROWSER else f"{agent}-{digest}-{browser}"
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", of)[:60]
    return run / "memory" / owner / f"{slug}-{hashlib.sha256(of.encode()).hexdigest()[:8]}"


def memories_of(run: Path) -> dict[Path, int]:
    """Return a run's memory folders, relative to it, with the number of trials behind each latest version."""
    folders = {file.parent for file in (run / "memory").glob("*/*/*.json")}
    return {folder.relative_to(run): Memory(folder).latest(trial="").trials for folder in sorted(folders)}


def open_memory(folder: Path) -> Memory:
    """Return the memory in ``folder``, or its RPC proxy where the driver owns it (`rpc_proxies`)."""
    proxy = stand_in("memory", folder)
    return Memory(folder) if proxy is None else _RemoteMemory(folder, proxy)


class Memory:
    """The versions in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold the memory exclusively; wait while another trial of any process holds it."""
        import fcntl  # not on every system, and few runs need it

        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def latest(self, *, trial: str) -> MemoryVersion:
        """Return the version that ``trial`` starts with.

        It is the latest one that another trial wrote: a version of ``trial`` itself comes from a run that was
        interrupted.
        """
        for file in sorted(self._folder.glob("*.json"), reverse=True):
            data = json.loads(file.read_text(encoding="utf-8", errors="surrogatepass"))
            data.pop("schema_version")
            version = MemoryVersion(**data)
            if version.trial != trial:
                return version
        return MemoryVersion()

    def add(self, text: str, *, trial: str, after: MemoryVersion) -> MemoryVersion:
        """Store what ``trial`` leaves after it started with ``after``, without secrets."""
        number = 1 + max((int(file.stem) for file in self._folder.glob("*.json")), default=0)
        version = MemoryVersion(number=number, text=scrub(text), trial=trial, trials=after.trials + 1)
        data = {"schema_version": _VERSION, **asdict(version)}
        write_atomically(self._folder / f"{number:05d}.json", json.dumps(data, indent=1))
        return version


class _RemoteMemory(Memory):
    """A memory on another machine, which takes the lock there."""

    def __init__(self, folder: Path, proxy: Any) -> None:
        super().__init__(folder)
        self._there = proxy

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Like `Memory.taken`, by polling, so that no request to the other machine takes long."""
        token = uuid.uuid4().hex
        while not self._there.take(token):
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            self._there.give_back(token)

    def latest(self, *, trial: str) -> MemoryVersion:
        """Like `Memory.latest`."""
        version: MemoryVersion = self._there.latest(trial=trial)
        return version

    def add(self, text: str, *, trial: str, after: MemoryVersion) -> MemoryVersion:
        """Like `Memory.add`; secrets of this machine are removed here."""
        version: MemoryVersion = self._there.add(scrub(text), trial=trial, after=after)
        return version
