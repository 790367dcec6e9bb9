"""Checks which files an agent's program may get: its own, but none with answers, also behind links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_webarena.errors import UsageError

__all__ = ["refuse_answers"]

_INTENT = re.compile(rb"(?:^|[\s{,\"'-])intent[\"']?\s*:")
_JUDGED = re.compile(rb"(?:^|[\s{,\"'-])(?:checks|eval|solution)[\"']?\s*:")
"""Patterns that occur together in task files, of this project and of published suites."""
_RECORDS = frozenset({"trial.json", "started.json", "evidence.json", "steps.jsonl"})
_LARGEST = 50_000_000
"""Number of bytes of a file that are searched."""


def refuse_answers(base: Path, names: Iterable[str]) -> None:
    """Raise `UsageError` when ``names``, files and folders relative to ``base``, contain something that an agent must
    not get.

    That is: targets of links outside ``base``, task files, and records of trials. A hard link looks like the file
    itself, but its content is checked, too.
    """
    root = base.resolve()
    for name in names:
        for path in _below(base / name, ()):
            real = path.resolve()
            if not real.is_relative_to(root):
                raise UsageError(
                    f"expected the agent's own files next to its definition, found {path}, a link to "
                    f"{real}; copy what it needs into the folder, or name it in 'readable' of 'sandbox: bubblewrap'"
                )
            if what := _answers_in(real):
                raise UsageError(
                    f"expected the agent's own files, found {path}, {what}, which no agent may read; keep its "
                    "files in a separate folder, or list them one by one"
                )


def _below(path: Path, parents: tuple[Path, ...]) -> Iterator[Path]:
    """``path`` and everything that copying it would copy; a folder comes before its content. ``parents`` are its parent
    folders."""
    yield path
    if path.is_dir():
        real = path.resolve()
        if real in parents:
            raise UsageError(f"expected the agent's own files, found {path}, a link to a folder that it is in itself")
        for each in sorted(path.iterdir()):
            if each.name != "__pycache__":
                yield from _below(each, (*parents, real))


def _answers_in(file: Path) -> str:
    """The kind of file that must not be given to an agent; empty if it may be given."""
    if file.name in _RECORDS:
        return "a record of a trial"
    if file.suffix in (".yaml", ".yml", ".json") and file.is_file():
        with file.open("rb") as opened:
            text = opened.read(_LARGEST)
        if _INTENT.search(text) and _JUDGED.search(text):
            return "a file of tasks"
    return ""
