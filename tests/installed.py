"""Caches the metadata of installed packages for the process.

Each run of pytest inside pytest reads all installed packages three times, with all their files: a fifth of its time.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["read_once"]

_READ = ("entry_points", "files", "metadata")


class _Distribution(importlib.metadata.PathDistribution):
    """A package whose metadata are cached after the first access."""


for _name in _READ:
    _kept = functools.cached_property(getattr(importlib.metadata.PathDistribution, _name).fget)
    _kept.__set_name__(_Distribution, _name)
    setattr(_Distribution, _name, _kept)


def read_once() -> None:
    """Let `importlib.metadata.distributions` cache what it finds in this interpreter's own folders.

    Folders that tests create are read each time, and so is one of ours in which something was installed since.
    """
    importlib.metadata.distributions = _keeping(importlib.metadata.distributions)
    importlib.metadata.distribution = _named(importlib.metadata.distribution)  # type: ignore[assignment]


def _named(find: Callable[[str], Any]) -> Callable[[str], Any]:
    """Cache the metadata also where a package is asked for by name, as it is for its version."""
    found: dict[Path, _Distribution] = {}

    def distribution(name: str) -> Any:
        each = find(name)
        if not str(each._path).startswith(sys.prefix):
            return each
        return found.setdefault(each._path, _Distribution(each._path))

    return distribution


def _keeping(find: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    found: dict[tuple[str, int], list[_Distribution]] = {}

    def of(folder: str) -> list[Any]:
        if not folder.startswith(sys.prefix):
            return list(find(path=[folder]))
        key = (folder, os.stat(folder).st_mtime_ns)
        if key not in found:
            found[key] = [_Distribution(each._path) for each in find(path=[folder])]
        return found[key]

    def distributions(**chosen: Any) -> Iterator[Any]:
        if chosen:
            yield from find(**chosen)
            return
        for folder in sys.path:
            if os.path.exists(folder or "."):
                yield from of(folder)

    return distributions
