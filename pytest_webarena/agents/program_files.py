"""Which files an agent's program may be given: its own, not such as hold the answers, wherever links lead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_webarena.errors import UsageError

__all__ = ["refuse_answers"]

_INTENT = re.compile(rb"(?:^|[\s{,\"'-])intent[\"']?\s*:")
_JUDGED = re.compile(rb"(?:^|[\s{,\"'-])(?:checks|eval|solution)[\"']?\s*:")
"""Files of tasks have both: ours, and those of published suites."""
_RECORDS = frozenset({"trial.json", "started.json", "evidence.json", "steps.jsonl"})
_LARGEST = 50_000_000
"""Bytes of a file that are searched."""


def refuse_answers(base: Path, names: Iterable[str]) -> None:
    """`UsageError` when ``names``, files and folders relative to ``base``, hold what an agent must not be given.

    That is: whatever links lead to outside of ``base``, files of tasks, and records of trials. A hard link can't be
    told from the file itself, but what is in it can.
    """
    root = base.resolve()
    for name in names:
        for path in _below(base / name, ()):
            real = path.resolve()
            if not real.is_relative_to(root):
                raise UsageError(
                    f"expected the agent's own files next to its definition, found {path}, which a link leads from to "
                    f"{real}; copy what it needs into the folder, or name it in 'readable' of 'sandbox: bubblewrap'"
                )
            if what := _answers_in(real):
                raise UsageError(
                    f"expected the agent's own files, found {path}, {what}, which no agent must be given; keep what it "
                    "needs in a folder of its own, or name its files one by one"
                )


def _below(path: Path, around: tuple[Path, ...]) -> Iterator[Path]:
    """``path`` and all that copying it would copy; a folder before what is in it. ``around``: the folders it is in."""
    yield path
    if path.is_dir():
        real = path.resolve()
        if real in around:
            raise UsageError(f"expected the agent's own files, found {path}, a link to a folder that it is in itself")
        for each in sorted(path.iterdir()):
            if each.name != "__pycache__":
                yield from _below(each, (*around, real))


def _answers_in(file: Path) -> str:
    """What makes it none of an agent's files; empty when nothing does."""
    if file.name in _RECORDS:
        return "a record of a trial"
    if file.suffix in (".yaml", ".yml", ".json") and file.is_file():
        with file.open("rb") as opened:
            text = opened.read(_LARGEST)
        if _INTENT.search(text) and _JUDGED.search(text):
            return "a file of tasks"
    return ""
