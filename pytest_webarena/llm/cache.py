"""Response cache on disk: a trial that repeats a request gets the same reply at no cost."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.rpc_proxies import stand_in

__all__ = ["ResponseCache", "cache_key", "open_cache"]

_VERSION = 1


def cache_key(*, url: str, body: Mapping[str, Any], trial: str, call: int) -> str:
    """Return the key of one call: a hash of the whole request, its address, the trial and the call's number.

    The trial is part of it so that trials stay independent.
    """
    text = json.dumps([_VERSION, url, body, trial, call], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class ResponseCache:
    """Cache with one file per call.

    It is safe with many workers: files are written atomically, and the last writer wins.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer stored under ``key``; None when there is none that can be read."""
        try:
            kept = json.loads(self._file(key).read_text(encoding="utf-8"))
            answer = kept["answer"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return answer if kept.get("schema_version") == _VERSION and isinstance(answer, dict) else None

    def put(self, key: str, answer: Mapping[str, Any], *, about: Mapping[str, Any]) -> None:
        """Store an answer. ``about`` is for human readers. When the disk is full, the entry is lost silently."""
        file = self._file(key)
        temporary = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
        text = json.dumps({"schema_version": _VERSION, **about, "answer": answer}, ensure_ascii=True)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(file)

    def _file(self, key: str) -> Path:
        return self._directory / key[:2] / f"{key}.json"


def open_cache(directory: Path) -> ResponseCache:
    """Return the cache in ``directory``, or its RPC proxy where the driver owns it (`rpc_proxies`)."""
    cache: ResponseCache = stand_in("responses", directory) or ResponseCache(directory)
    return cache
