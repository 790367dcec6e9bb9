"""What is talked about: the form of the files in ``talk/``, one forum each.

A file is a head of ``key: value`` lines (``slot bird: curlew | bittern`` names values), a line ``---``, then topics
divided by blank lines. Lines of a topic begin with ``@`` (options, divided by semicolons), ``?`` (a title), ``>`` (a
body, ``//`` between paragraphs), ``-`` (a comment, ``--`` a reply to it, and so on; ``-@name`` is by that member,
``-*`` an answer by the post's author to what stands above). Texts hold choices ``[one|another]``, values ``{bird}``,
others of the same slot ``{bird2}``, and numbers ``{n=3..9}``, ``{n}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

__all__ = ["Board", "Piece", "Remark", "Text", "Topic", "boards", "lines_of", "read", "text"]

_TALK = files("pytest_webarena.embedded.reddit").joinpath("talk")
_PART = re.compile(
    r"\[(?P<choice>[^\[\]]*\|[^\[\]]*)\]|\{(?P<slot>[a-z_]+\d?)\}|\{(?P<number>[a-z]+)=(?P<low>\d+)\.\.(?P<high>\d+)\}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of a text: words as they stand, a choice of texts, a value, or a number."""

    words: str = ""
    choice: tuple[Text, ...] = ()
    slot: str = ""
    low: int = 0
    high: int = 0


Text = tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A comment; ``by`` is empty for anybody, ``*`` for the post's author, or a name."""

    depth: int
    by: str
    text: Text


@dataclass(slots=True, kw_only=True)
class Topic:
    """One thing to talk about, in its variants."""

    options: dict[str, str] = field(default_factory=dict)
    titles: list[Text] = field(default_factory=list)
    bodies: list[Text] = field(default_factory=list)
    comments: list[Remark] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A forum: what its head says, its own slots, and its topics."""

    name: str
    head: Mapping[str, str]
    slots: Mapping[str, tuple[str, ...]]
    topics: tuple[Topic, ...]


@cache
def text(source: str) -> Text:
    """``source`` in its pieces."""
    pieces, end = [], 0
    for found in _PART.finditer(source):
        if found.start() > end:
            pieces.append(Piece(words=source[end : found.start()]))
        if found["choice"] is not None:
            pieces.append(Piece(choice=tuple(text(each) for each in found["choice"].split("|"))))
        elif found["slot"]:
            pieces.append(Piece(slot=found["slot"]))
        else:
            pieces.append(Piece(slot=found["number"], low=int(found["low"]), high=int(found["high"])))
        end = found.end()
    if end < len(source):
        pieces.append(Piece(words=source[end:]))
    return tuple(pieces)


def lines_of(name: str) -> list[str]:
    """The lines of a file in ``talk/`` that are neither empty nor remarks."""
    lines = _TALK.joinpath(name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


@cache
def boards() -> tuple[Board, ...]:
    """Every forum with a file of its own, by name; the towns share what is in ``towns.txt``."""
    names = sorted(path.name for path in _TALK.iterdir() if path.name.endswith(".txt") and path.name[0] not in "_")
    return tuple(read(name.removesuffix(".txt"), _TALK.joinpath(name).read_text(encoding="utf-8")) for name in names)


def read(name: str, source: str) -> Board:
    """The forum that ``source`` describes. `ValueError` for a line that says nothing."""
    head_text, mark, body = source.partition("\n---\n")
    if not mark:
        raise ValueError(f"{name}: expected a head that ends with a line '---'")
    head: dict[str, str] = {}
    slots: dict[str, tuple[str, ...]] = {}
    for line in head_text.splitlines():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key.startswith("slot "):
            slots[key.removeprefix("slot ")] = tuple(each.strip() for each in value.split("|"))
        elif key == "side":
            head["side"] = f"{head['side']}\n{value}" if "side" in head else value
        elif key:
            head[key] = value
    topics = [_topic(name, block.splitlines()) for block in re.split(r"\n\s*\n", body.strip()) if block.strip()]
    return Board(name=name, head=head, slots=slots, topics=tuple(topics))


def _topic(name: str, lines: list[str]) -> Topic:
    topic = Topic()
    for line in lines:
        mark, rest = line[:1], line[1:].strip()
        if mark == "@":
            pairs = (option.partition("=") for option in rest.split(";"))
            topic.options |= {key.strip(): value.strip() for key, _, value in pairs}
        elif mark == "?":
            topic.titles.append(text(rest))
        elif mark == ">":
            topic.bodies.append(text(rest.replace(" // ", "\n\n").replace(" / ", "\n")))
        elif found := re.fullmatch(r"(-+)(\*|@[\w.]+)? (.+)", line):
            by, depth = (found[2] or "").removeprefix("@"), len(found[1])
            last = topic.comments[-1] if topic.comments else None
            if by == "*":
                depth += 1
            elif last and last.by == "*" and (depth > 1 or by):
                depth = last.depth + 1
            topic.comments.append(Remark(depth=depth, by=by, text=text(found[3].replace(" // ", "\n\n"))))
        elif mark != "#":
            raise ValueError(f"{name}: no telling what this line is: {line!r}")
    if not topic.titles:
        raise ValueError(f"{name}: a topic without a title: {lines[0]!r}")
    return topic
