"""What differs between two texts, for a page; and who wrote each line of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from pytest_webarena.embedded.gitlab.store import Store

__all__ = ["FileDiff", "Line", "blame", "diff"]

_AROUND = 3
_LONGEST = 1500
"""Lines of a file that is compared on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a diff: ``mark`` is ``+``, ``-``, a blank, or ``@`` for lines left out."""

    mark: str
    old: int | None
    new: int | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """How one file differs."""

    path: str
    kind: str
    """added, deleted or changed"""
    lines: tuple[Line, ...]
    added: int
    removed: int
    binary: bool


def diff(store: Store, before: Mapping[str, str], after: Mapping[str, str]) -> list[FileDiff]:
    """The files that differ, by path; both map paths to blobs."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        texts = [store.content(blob) if blob else b"" for blob in (old, new)]
        binary = any(b"\0" in text[:8000] for text in texts)
        olds, news = ([] if binary else text.decode("utf-8", "replace").splitlines() for text in texts)
        lines = tuple(_lines(olds[:_LONGEST], news[:_LONGEST]))
        found.append(
            FileDiff(
                path=path, kind="added" if old is None else "deleted" if new is None else "changed", lines=lines,
                added=sum(line.mark == "+" for line in lines), removed=sum(line.mark == "-" for line in lines),
                binary=binary,
            )
        )  # fmt: skip
    return found


def _lines(old: list[str], new: list[str]) -> list[Line]:
    lines = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_AROUND):
        first, last = group[0], group[-1]
        place = f"@@ -{first[1] + 1},{last[2] - first[1]} +{first[3] + 1},{last[4] - first[3]} @@"
        lines.append(Line(mark="@", old=None, new=None, text=place))
        for tag, i, j, k, m in group:
            if tag == "equal":
                lines += [Line(mark=" ", old=i + n + 1, new=k + n + 1, text=old[i + n]) for n in range(j - i)]
                continue
            lines += [Line(mark="-", old=n + 1, new=None, text=old[n]) for n in range(i, j)]
            lines += [Line(mark="+", old=None, new=n + 1, text=new[n]) for n in range(k, m)]
    return lines


def blame(store: Store, tip: str, path: str) -> list[tuple[str, str]]:
    """The commit that brought each line of a file, and the line."""
    known: dict[str, list[tuple[str, str]]] = {}
    versions = {row["sha"]: row for row in store.history(tip, path=path)}

    def version_at(sha: str) -> str | None:
        entry = store.find(store.tree_of(sha), path)
        return entry.sha if entry else None

    # Oldest first, so that what a commit's parents say is known when the commit is read.
    texts: dict[str, list[str]] = {}
    for sha in reversed(versions):
        blob = version_at(sha)
        if blob is None:
            continue
        texts[blob] = lines = store.content(blob).decode("utf-8", "replace").splitlines()
        blamed = [(sha, line) for line in lines]
        for parent in store.parents(sha):
            before = version_at(parent)
            if before is None or before not in known:
                continue
            for i, k, size in SequenceMatcher(None, texts[before], lines, autojunk=False).get_matching_blocks():
                blamed[k : k + size] = known[before][i : i + size]
        known.setdefault(blob, blamed)
    blob = version_at(tip)
    return known.get(blob, []) if blob else []
