"""Files of a run: atomic writes of text, and lines of JSON; never with secrets."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pytest_webarena.errors import recording
from pytest_webarena.secrets import scrub, scrub_plain

__all__ = ["read_lines", "write_atomically", "write_lines"]


def write_atomically(path: Path, text: str) -> None:
    """Write a file atomically and without secrets. Raises `RecordingError` if it can't be written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    with recording(path):
        try:
            temporary.write_text(scrub(text), encoding="utf-8", errors="surrogatepass")
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise


def write_lines(path: Path, values: Iterable[Any], *, mode: Literal["w", "a"] = "w") -> None:
    """Write one line of JSON per value, without secrets. Raises `RecordingError` if it can't be done."""
    with recording(path), path.open(mode, encoding="utf-8", errors="surrogatepass") as file:
        file.writelines(json.dumps(scrub_plain(value)) + "\n" for value in values)


def read_lines(path: Path) -> list[Any]:
    """Return the values that `write_lines` wrote; empty where there is no file."""
    if not path.exists():
        return []
    lines = [line for line in path.read_text(encoding="utf-8", errors="surrogatepass").split("\n") if line.strip()]
    values: list[Any] = json.loads(f"[{','.join(lines)}]")  # one call: several times as fast as line by line
    return values
