"""What an agent keeps from trial to trial: versions of one text in the run's folder, taken by one trial at a time.

::

    <run>/memory/<agent>-<digest>[-<browser>]/<what it is kept for>-<hash>/
      lock         held by the trial that reads and writes
      00001.json   the text that the first trial left, and which trial that was
      00002.json   …

A version is written whole and never changed. The lock goes with the process that holds it, however that ends.
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
"""Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVersion:
    """The text as one trial left it."""

    number: int = 0
    """From 1; 0: nobody has left anything yet."""
    text: str = ""
    trial: str = ""
    """Name of the folder of the trial that wrote it."""
    trials: int = 0
    """How many trials, one after the other, it comes from."""


def memory_folder(run: Path, *, agent: str, digest: str, of: str, browser: str = DEFAULT_BROWSER) -> Path:
    """Where the versions are of what ``agent`` keeps for ``of``: a task, a template, sites, or all.

    Trials in another ``browser`` have memories of their own: the rates of two browsers must not depend on each other.
    """
    owner = f"{agent}-{digest}" if browser == DEFAULT_BROWSER else f"{agent}-{digest}-{browser}"
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", of)[:60]
    return run / "memory" / owner / f"{slug}-{hashlib.sha256(of.encode()).hexdigest()[:8]}"


def memories_of(run: Path) -> dict[Path, int]:
    """The folders of versions in a run, relative to it, and how many trials the latest version of each comes from."""
    folders = {file.parent for file in (run / "memory").glob("*/*/*.json")}
    return {folder.relative_to(run): Memory(folder).latest(trial="").trials for folder in sorted(folders)}


def open_memory(folder: Path) -> Memory:
    """The versions below ``folder``, wherever they are kept (`elsewhere`)."""
    there = stand_in("memory", folder)
    return Memory(folder) if there is None else _MemoryElsewhere(folder, there)


class Memory:
    """The versions below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait until no other trial, of whichever process, has it, and keep others waiting meanwhile."""
        import fcntl  # not on every system, and few runs need it

        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def latest(self, *, trial: str) -> MemoryVersion:
        """What ``trial`` begins with: the latest version that is not by itself, from a run that was cut short."""
        for file in sorted(self._folder.glob("*.json"), reverse=True):
            data = json.loads(file.read_text(encoding="utf-8", errors="surrogatepass"))
            data.pop("schema_version")
            version = MemoryVersion(**data)
            if version.trial != trial:
                return version
        return MemoryVersion()

    def add(self, text: str, *, trial: str, after: MemoryVersion) -> MemoryVersion:
        """Keep what ``trial`` leaves, having begun with ``after``; secrets are taken out."""
        number = 1 + max((int(file.stem) for file in self._folder.glob("*.json")), default=0)
        version = MemoryVersion(number=number, text=scrub(text), trial=trial, trials=after.trials + 1)
        data = {"schema_version": _VERSION, **asdict(version)}
        write_atomically(self._folder / f"{number:05d}.json", json.dumps(data, indent=1))
        return version


class _MemoryElsewhere(Memory):
    """The same on another machine, where somebody takes it for us."""

    def __init__(self, folder: Path, there: Any) -> None:
        super().__init__(folder)
        self._there = there

    @contextmanager
    def taken(self) -> Iterator[None]:
        """As `Memory.taken`; whoever has it is asked again and again, so that nobody has to answer late."""
        token = uuid.uuid4().hex
        while not self._there.take(token):
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            self._there.give_back(token)

    def latest(self, *, trial: str) -> MemoryVersion:
        """As `Memory.latest`."""
        version: MemoryVersion = self._there.latest(trial=trial)
        return version

    def add(self, text: str, *, trial: str, after: MemoryVersion) -> MemoryVersion:
        """As `Memory.add`; secrets of this machine are taken out here."""
        version: MemoryVersion = self._there.add(scrub(text), trial=trial, after=after)
        return version
