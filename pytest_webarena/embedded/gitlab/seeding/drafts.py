"""Reads groups and projects, with files, merge requests and issues, from ``data/*.txt``.

A line ``=== path | name | visibility | maintainer | version | topics`` begins a project; its description follows.
``--- path`` begins a file, ``>>> branch | title | author | reviewer | labels | description`` a merge request with
changes below ``@ path`` (and, below ``! path``, changes of the target branch that came later), ``??? title | author |
labels | state | assignee`` an issue, ``+++ author | text`` a comment on it. ``{{name}}`` in a file is replaced by
a CSV table of the world's facts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files

from pytest_webarena.embedded import landscape, world

__all__ = ["Draft", "Edit", "Group", "IssueDraft", "RequestDraft", "all_drafts", "groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group; ``members`` are pairs of user name and role."""

    path: str
    name: str
    visibility: str
    owner: str
    description: str
    members: tuple[tuple[str, str], ...]


@dataclass(slots=True, kw_only=True)
class Edit:
    """Replacement of lines in a file. Without old lines, the new ones are appended."""

    path: str
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    def applied(self, text: str) -> str:
        """Return ``text`` with the change. `ValueError` unless it contains the old lines exactly once."""
        old, new = "\n".join(self.old), "\n".join(self.new)
        if not self.old:
            return f"{text.rstrip()}\n{new}\n"
        if text.count(old) != 1:
            raise ValueError(f"{self.path}: expected these lines once, found them {text.count(old)} times: {old!r}")
        return text.replace(old, new)


@dataclass(slots=True, kw_only=True)
class RequestDraft:
    """An open merge request."""

    branch: str
    title: str
    author: str
    reviewer: str
    labels: list[str]
    description: str
    edits: list[Edit] = field(default_factory=list)
    later: list[Edit] = field(default_factory=list)
    """Changes of the target branch since the branch was made."""


@dataclass(slots=True, kw_only=True)
class IssueDraft:
    """An issue and its comments: pairs of author and text."""

    title: str
    author: str
    labels: list[str]
    state: str
    assignee: str
    description: str = ""
    comments: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Draft:
    """A project."""

    path: str
    name: str
    visibility: str
    maintainer: str
    version: str
    topics: str
    description: str = ""
    files: dict[str, str] = field(default_factory=dict)
    requests: list[RequestDraft] = field(default_factory=list)
    issues: list[IssueDraft] = field(default_factory=list)


@functools.cache
def groups() -> tuple[Group, ...]:
    """Return all groups."""
    found = []
    for line in _read("groups.txt").splitlines():
        path, name, visibility, owner, description, members = _cells(line)
        pairs = tuple(tuple(member.split()) for member in members.split(", "))
        found.append(
            Group(path=path, name=name, visibility=visibility, owner=owner, description=description,
                  members=pairs)  # type: ignore[arg-type]
        )  # fmt: skip
    return tuple(found)


def all_drafts() -> list[Draft]:
    """Return all projects, those of groups first."""
    return [draft for name in [*(group.path for group in groups()), "people"] for draft in _drafts(f"{name}.txt")]


def _read(name: str) -> str:
    return files("pytest_webarena.embedded.gitlab").joinpath("data", name).read_text(encoding="utf-8")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _drafts(file: str) -> list[Draft]:
    return [_draft(text) for text in f"\n{_read(file)}".split("\n=== ")[1:]]


def _draft(source: str) -> Draft:
    head, _, rest = source.partition("\n")
    path, name, visibility, maintainer, version, topics = _cells(head)
    draft = Draft(path=path, name=name, visibility=visibility, maintainer=maintainer, version=version, topics=topics)
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in rest.splitlines():
        if line[:4] in ("--- ", ">>> ", "??? ", "+++ "):
            parts.append((line, []))
        else:
            parts[-1][1].append(line)
    tables = _tables()
    for head, lines in parts:
        mark, cells, text = head[:3], _cells(head[4:]), "\n".join(lines).strip()
        if not mark:
            draft.description = text
        elif mark == "---":
            for table, rows in tables.items():
                text = text.replace(f"{{{{{table}}}}}", rows)
            draft.files[cells[0]] = text
        elif mark == ">>>":
            branch, title, author, reviewer, labels, description = cells
            draft.requests.append(
                RequestDraft(branch=branch, title=title, author=author, reviewer=reviewer, labels=_list(labels),
                             description=description)
            )  # fmt: skip
            _read_edits(lines, draft.requests[-1])
        elif mark == "???":
            title, author, labels, state, assignee = cells
            draft.issues.append(
                IssueDraft(title=title, author=author, labels=_list(labels), state=state, assignee=assignee,
                           description=text)
            )  # fmt: skip
        else:
            draft.issues[-1].comments.append((cells[0], " | ".join(cells[1:])))
    return draft


def _read_edits(lines: list[str], request: RequestDraft) -> None:
    edits = request.edits
    for line in lines:
        mark, text = line[:1], line[2:]
        if mark in ("@", "!"):
            edits = request.edits if mark == "@" else request.later
            edits.append(Edit(path=text))
        elif mark:
            (edits[-1].old if mark == "-" else edits[-1].new).append(text)


@functools.cache
def _tables() -> dict[str, str]:
    """Return CSV tables of the world's facts by name, with their rows in blocks."""
    town = {town.key: town.name for town in world.TOWNS}
    return {
        "towns": _csv("key,name,postcode,population,height", (
            (each.key, each.name, each.postcode, each.population, each.height) for each in world.TOWNS)),
        "villages": _csv("name,town,population", (
            (each.name, each.town, each.population) for each in landscape.VILLAGES)),
        "lakes": _csv("name,area,depth,height", (
            (each.name, each.area, each.depth, each.height) for each in landscape.LAKES)),
        "buildings": _csv("name,town,built", (
            (each.name, each.town, each.built) for each in landscape.BUILDINGS)),
        "hills": _csv("name,height,town", ((each.name, each.height, town[each.town]) for each in landscape.HILLS)),
        "stops": _csv("line,place,minutes,km", (
            (line.name, town[place], minutes, km) for line in world.LINES for place, minutes, km in line.stops)),
        "collection": _csv("town,day", ((each.name, each.collection_day) for each in world.TOWNS)),
    }  # fmt: skip


def _csv(head: str, rows: Iterable[tuple[object, ...]]) -> str:
    """Return a CSV table whose rows are divided by blank lines into what one commit adds; these are not part of it."""
    lines = [",".join(map(str, row)) for row in rows]
    size = max(len(lines) // 5, 3)
    blocks = ["\n".join(lines[n : n + size]) for n in range(0, len(lines), size)]
    return "\n\n".join([f"{head}\n{blocks[0]}", *blocks[1:]])
