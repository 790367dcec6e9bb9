"""Merging: files that one side changed are taken from it, files that both changed line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from pytest_webarena.embedded.gitlab.objects import name_of
from pytest_webarena.embedded.gitlab.store import Store

__all__ = ["Conflict", "merge_files", "merge_lines"]


class Conflict(Exception):
    """Both sides changed the same; ``paths`` says where."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(", ".join(paths))
        self.paths = tuple(paths)


def merge_files(
    store: Store, base: Mapping[str, str], ours: Mapping[str, str], theirs: Mapping[str, str], *, keep: bool = True
) -> dict[str, str]:
    """Path to blob of both sides' changes to ``base`` together, kept if so wished. Raises `Conflict`."""
    merged, conflicts = {}, []
    for path in sorted(base.keys() | ours.keys() | theirs.keys()):
        was, mine, other = base.get(path), ours.get(path), theirs.get(path)
        if mine in (was, other):
            result = other
        elif other == was:
            result = mine
        elif mine and other:
            texts = [store.content(blob).decode("utf-8", "replace") if blob else "" for blob in (was, mine, other)]
            lines = merge_lines(*(text.splitlines(keepends=True) for text in texts))
            if lines is None:
                conflicts.append(path)
                continue
            data = "".join(lines).encode()
            result = store.put("blob", data) if keep else name_of("blob", data)
        else:
            result = None
            conflicts.append(path)
        if result:
            merged[path] = result
    if conflicts:
        raise Conflict(conflicts)
    return merged


def merge_lines(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    """Both sides' changes to ``base`` together; None where they touch."""
    changes = sorted((*_changes(base, ours), *_changes(base, theirs)))
    merged: list[str] = []
    at = 0
    last: tuple[int, int, tuple[str, ...]] | None = None
    for change in changes:
        start, end, lines = change
        if change == last:
            continue  # both did the same
        if last is not None and start <= last[1]:
            return None
        merged += base[at:start]
        merged += lines
        at, last = end, change
    return merged + list(base[at:])


def _changes(base: Sequence[str], side: Sequence[str]) -> list[tuple[int, int, tuple[str, ...]]]:
    opcodes = SequenceMatcher(None, base, side, autojunk=False).get_opcodes()
    return [(i, j, tuple(side[k:m])) for tag, i, j, k, m in opcodes if tag != "equal"]
