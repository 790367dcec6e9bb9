"""Git's objects: how they are written, named and read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

__all__ = [
    "FILE",
    "FOLDER",
    "SUBMODULE",
    "Commit",
    "Entry",
    "Signature",
    "name_of",
    "read_commit",
    "read_tree",
    "write_tree",
]

FILE = "100644"
FOLDER = "40000"
SUBMODULE = "160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of a tree."""

    mode: str
    name: str
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Who did something, and when (UTC, ``2025-05-14T09:00:00``)."""

    name: str
    email: str
    time: str

    def __str__(self) -> str:
        seconds = int(datetime.fromisoformat(self.time).replace(tzinfo=UTC).timestamp())
        return f"{self.name} <{self.email}> {seconds} +0000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit's text, read or to be written."""

    tree: str
    parents: Sequence[str]
    author: Signature
    committer: Signature
    message: str

    def written(self) -> bytes:
        """As git stores it."""
        lines = [f"tree {self.tree}", *(f"parent {parent}" for parent in self.parents)]
        lines += [f"author {self.author}", f"committer {self.committer}", "", self.message]
        return "\n".join(lines).encode()


def name_of(kind: str, data: bytes) -> str:
    """The hash that an object is called by."""
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest()


def write_tree(entries: Iterable[Entry]) -> bytes:
    """A tree as git stores it: folders are sorted as if their names ended in a slash."""
    ordered = sorted(entries, key=lambda entry: entry.name.encode() + (b"/" if entry.mode == FOLDER else b""))
    return b"".join(f"{entry.mode} {entry.name}\0".encode() + bytes.fromhex(entry.sha) for entry in ordered)


def read_tree(data: bytes) -> list[Entry]:
    """The entries of a tree."""
    entries, at = [], 0
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        entries.append(
            Entry(mode=mode.decode(), name=name.decode("utf-8", "replace"), sha=data[end + 1 : end + 21].hex())
        )
        at = end + 21
    return entries


_WHO = re.compile(r"(.*?) ?<(.*)> (-?\d+) [+-]\d{4}")


def _signature(text: str) -> Signature:
    found = _WHO.fullmatch(text)
    if found is None:
        return Signature(name=text, email="", time="1970-01-01T00:00:00")
    moment = datetime(1970, 1, 1) + timedelta(seconds=int(found[3]))
    return Signature(name=found[1], email=found[2], time=moment.strftime("%Y-%m-%dT%H:%M:%S"))


def read_commit(data: bytes) -> Commit:
    """What a commit says; headers that are not known here are left out."""
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    fields: dict[str, list[str]] = {}
    for line in head.split("\n"):
        key, _, value = line.partition(" ")
        fields.setdefault(key, []).append(value)
    return Commit(
        tree=fields["tree"][0],
        parents=tuple(fields.get("parent", ())),
        author=_signature(fields["author"][0]),
        committer=_signature(fields["committer"][0]),
        message=message,
    )
