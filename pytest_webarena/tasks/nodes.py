"""Converts the bytes of a task file to a tree of nodes with positions, within limits that no file can exceed.

PyYAML only parses; this module builds the tree from its events. This keeps every position, avoids the recursion with
which deeply nested files crash ``yaml.compose``, and counts the size of expanded aliases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import yaml
from yaml import events

from pytest_webarena.errors import Problem
from pytest_webarena.tasks.comments import is_suspicious
from pytest_webarena.text import clip

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_NODES",
    "PLAIN",
    "QUOTED",
    "RENDERED",
    "ListNode",
    "MapNode",
    "Node",
    "NodeLimits",
    "ScalarNode",
    "compose",
    "near",
]

MAX_BYTES = 5_000_000
"""Maximum size of a task file in bytes."""
MAX_NODES = 3_000_000
"""Maximum number of values of a file after expanding its aliases and its ``each`` fillings."""
MAX_DEPTH = 64
"""Maximum nesting depth of lists and mappings after expanding aliases."""

QUOTED, PLAIN, RENDERED = 0, 1, 2
"""Style of a scalar: quoted or a block, bare, or the result of a template."""


class ScalarNode:
    """A single value as the text that was written."""

    __slots__ = ("column", "comment", "dynamic", "line", "style", "value")

    def __init__(
        self, value: str, style: int, dynamic: bool, line: int, column: int, comment: str | None = None
    ) -> None:
        self.value = value
        self.style = style
        self.dynamic = dynamic
        """Whether it is a template that must be filled before it is read."""
        self.line = line
        self.column = column
        self.comment = comment
        """Comment after an unquoted value, without the '#'; None without a comment."""

    size: ClassVar[int] = 1


class ListNode:
    """A sequence."""

    __slots__ = ("column", "dynamic", "items", "line", "size")

    def __init__(self, line: int, column: int) -> None:
        self.items: list[Node] = []
        self.dynamic = False
        """Whether it contains a template."""
        self.size = 1
        """Number of values in it, itself included, after expanding aliases."""
        self.line = line
        self.column = column


class MapNode:
    """A mapping; ``items`` has keys and values alternately."""

    __slots__ = ("column", "dynamic", "entries", "items", "line", "size")

    def __init__(self, line: int, column: int) -> None:
        self.items: list[Node] = []
        self.dynamic = False
        self.size = 1
        self.line = line
        self.column = column
        self.entries: dict[str, tuple[Node, Node]] | None = None
        """Maps key text to key and value nodes; set by the reader on first access."""


Node = ScalarNode | ListNode | MapNode


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLimits:
    """Limits on the size of a file. The defaults suit handwritten files; raise them for generated ones."""

    bytes: int = MAX_BYTES
    nodes: int = MAX_NODES
    depth: int = MAX_DEPTH


DEFAULT_LIMITS = NodeLimits()

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Characters that YAML does not allow in a stream.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Tags that confirm a reader's default. All others would build objects or have no meaning here.
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_CORE_TAGS = _TEXT_TAGS | {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null", "seq", "map")}
_BLANKS = (" ", "\t")
_COMMENT = re.compile(r"[ \t]+#([^\r\n\x85\u2028\u2029]*)")
_BARE_TEMPLATE = re.compile(r"(?:[:,[{-]\s+|^\s*)\{\{")  # where YAML sees a nested mapping
_ODD_INDENT = re.compile(r"[ ]*[\u00a0\u2000-\u200a\u3000]")
_PARSER_VERB = re.compile(r"^(?:found |(?:did|could) not find (?:expected )?)")
"""Matches the beginning of a parser's message, which repeats the "found" of ours."""
_SYNTAX_HINTS = (
    ("mapping values are not allowed", "put text that contains ': ' in quotes"),
    ("that cannot start any token", "put text that starts with @, ` or % in quotes, and indent with spaces, not tabs"),
    ("'\\t'", "indent with spaces, not tabs"),
    ("a tab character", "indent with spaces, not tabs"),
    ("while scanning a quoted scalar", "a quote is never closed"),
    ("did not find expected ',' or", "a bracket is never closed, or text with { } [ ] or , needs quotes"),
    ("did not find expected '-' indicator", "line it up with the items above"),
    ("did not find expected key", "line it up with the keys above; put text with quotes or brackets in quotes"),
    ("could not find expected ':'", "write 'key: value', and quote text that spans lines"),
)
"""Parts of PyYAML's messages, with the usual remedy."""


class _Abort(Exception):
    """Reading can't continue; the problem is already noted."""


def compose(data: bytes, path: str, limits: NodeLimits = DEFAULT_LIMITS) -> tuple[Node | None, list[Problem]]:
    """Returns the only document in ``data`` as nodes, and its problems.

    Never raises for any bytes. The tree is None when nothing useful can be read.
    """
    problems: list[Problem] = []
    text = ""
    try:
        text = _decode(data, path, limits, problems)
        return _Composer(text, path, limits, problems).run(), problems
    except _Abort:
        return None, problems
    except yaml.MarkedYAMLError as error:
        problems.append(_syntax_problem(error, path, text, limits))
        return None, problems
    except yaml.YAMLError as error:  # ReaderError, which has no mark
        problems.append(_problem(path, 1, 1, "valid YAML", clip(str(error).partition("\n")[0])))
        return None, problems


def _decode(data: bytes, path: str, limits: NodeLimits, problems: list[Problem]) -> str:
    def stop(line: int, column: int, expected: str, found: str, hint: str = "") -> _Abort:
        problems.append(_problem(path, line, column, expected, found, hint))
        return _Abort()

    if len(data) > limits.bytes:
        raise stop(1, 1, f"a file of at most {limits.bytes / 1e6:g} MB", "a larger one", "split it into several files")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise stop(1, 1, "UTF-8 text", "UTF-16 text", "save the file as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _position(data[: error.start].decode("utf-8", "replace"))
        byte = f"byte 0x{data[error.start]:02x}"
        if b"\0" in data[:4096]:
            raise stop(line, column, "UTF-8 text", f"a binary file ({byte})") from None
        raise stop(line, column, "UTF-8 text", f"{byte}, which is not UTF-8", "save the file as UTF-8") from None
    if unprintable := _UNPRINTABLE.search(text):
        line, column = _position(text[: unprintable.start()])
        name = f"U+{ord(unprintable.group()):04X}"
        what = f"a binary file ({name})" if unprintable.group() == "\0" else f"the control character {name}"
        raise stop(line, column, "text", what)
    if not text.strip():
        raise stop(1, 1, "a mapping with the key 'tasks'", "an empty file")
    return text


class _Composer:
    """Builds the tree from parser events with an explicit stack."""

    def __init__(self, text: str, path: str, limits: NodeLimits, problems: list[Problem]) -> None:
        self.text = text
        self.parser = _LOADER(text)
        self.path = path
        self.limits = limits
        self.problems = problems
        self.anchors: dict[str, tuple[Node, int]] = {}  # node and its height

    def note(self, mark: Any, expected: str, found: str, hint: str = "") -> None:
        self.problems.append(_problem(self.path, mark.line + 1, mark.column + 1, expected, found, hint))

    def stop(self, mark: Any, expected: str, found: str, hint: str = "") -> _Abort:
        self.note(mark, expected, found, hint)
        return _Abort()

    def run(self) -> Node | None:
        """Return the root; None for a file without content. Raises `_Abort` when a limit is exceeded."""
        parser, text, limits = self.parser, self.text, self.limits
        get_event = parser.get_event
        scalar_event, start_events, end_events, alias_event = (
            events.ScalarEvent,
            (events.SequenceStartEvent, events.MappingStartEvent),
            (events.SequenceEndEvent, events.MappingEndEvent),
            events.AliasEvent,
        )
        root: Node | None = None
        documents = 0
        # Open collections, each with its anchor; `heights` has their heights so far.
        stack: list[tuple[ListNode | MapNode, str | None]] = []
        heights: list[int] = []
        parent: ListNode | MapNode | None = None
        total = 0
        while True:
            event = get_event()
            kind = event.__class__
            node: Node
            if kind is scalar_event:
                value = event.value
                style = PLAIN if event.implicit[0] else QUOTED
                if event.tag is not None:
                    style = self.style_of_tagged(event, style)
                dynamic = "{{" in value or "{%" in value
                mark = event.start_mark
                comment = None
                if value and not event.style and text[(end := event.end_mark.index) : end + 1] in _BLANKS:
                    comment = comment_at(text, end)
                node = ScalarNode(value, style, dynamic, mark.line + 1, mark.column + 1, comment)
                height = 0
                if event.anchor is not None:
                    self.anchors[event.anchor] = (node, 0)
                total += 1
            elif kind in start_events:
                mark = event.start_mark
                make = ListNode if kind is events.SequenceStartEvent else MapNode
                collection: ListNode | MapNode = make(mark.line + 1, mark.column + 1)
                if event.tag is not None and event.tag not in _CORE_TAGS:
                    self.foreign_tag(event)
                if event.anchor is not None:
                    self.anchors.pop(event.anchor, None)  # not usable before it is complete
                stack.append((collection, event.anchor))
                heights.append(1)
                parent = collection
                if len(stack) > limits.depth:
                    raise self.stop(mark, f"at most {limits.depth} levels of nesting", f"level {len(stack)}")
                total += 1
                continue
            elif kind in end_events:
                node, anchor = stack.pop()
                height = heights.pop()
                parent = stack[-1][0] if stack else None
                if anchor is not None:
                    self.anchors[anchor] = (node, height)
            elif kind is alias_event:
                found = self.anchors.get(event.anchor)
                if found is None:
                    raise self.unknown_alias(event, stack)
                node, height = found
                total += node.size
            elif kind is events.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    self.note(event.start_mark, "one YAML document per file", "a second one", "remove the '---'")
                    return root
                continue
            elif kind is events.StreamEndEvent:
                return self.require_content(root)
            elif event is None:  # the end was not recognised
                raise RuntimeError("PyYAML's events are not of its own classes: its modules were loaded twice")
            else:
                continue
            if total > limits.nodes:
                raise self.stop(event.start_mark, f"at most {limits.nodes:,} values, aliases written out", "more")
            if parent is None:
                root = node
                continue
            parent.items.append(node)
            parent.size += node.size
            if node.dynamic:
                parent.dynamic = True
            if height >= heights[-1]:
                heights[-1] = height + 1
                if height + len(stack) > limits.depth:
                    raise self.stop(event.start_mark, f"at most {limits.depth} levels of nesting", "deeper aliases")

    def require_content(self, root: Node | None) -> Node | None:
        """Return ``root``; note a problem if there is none."""
        if root is None:  # only comments and directives
            self.problems.append(_problem(self.path, 1, 1, "a mapping with the key 'tasks'", "an empty file"))
        return root

    def style_of_tagged(self, event: Any, style: int) -> int:
        """Return the style that a scalar's tag implies; note a problem for a foreign tag."""
        if event.tag in _TEXT_TAGS:
            return QUOTED
        if event.tag in _CORE_TAGS:
            return PLAIN
        self.foreign_tag(event)
        return style

    def foreign_tag(self, event: Any) -> None:
        tag = clip(event.tag.replace("tag:yaml.org,2002:", "!!"), 40)
        self.note(event.start_mark, "a plain value", f"the tag {tag}", "task files use no tags")

    def unknown_alias(self, event: Any, stack: list[tuple[ListNode | MapNode, str | None]]) -> _Abort:
        name = clip(event.anchor, 40)
        if any(anchor == event.anchor for _, anchor in stack):
            return self.stop(event.start_mark, f"an alias outside its anchor &{name}", f"*{name} inside it")
        return self.stop(event.start_mark, f"an anchor &{name} above", f"*{name} without one", near(name, self.anchors))


def comment_at(text: str, end: int) -> str | None:
    """Returns the comment after the value that ends at ``end``, on the same line."""
    match = _COMMENT.match(text, end)
    return match[1].rstrip() if match else None


def _comment_hint(text: str, line: int) -> str:
    """Returns a hint about unquoted text that a comment cuts before the syntax error in ``line``; empty if there is
    none."""
    cut = 0
    try:
        for token in yaml.scan(text, Loader=_LOADER):
            if isinstance(token, yaml.ScalarToken) and token.plain and token.end_mark.line < line - 1:
                comment = comment_at(text, token.end_mark.index)
                cut = token.end_mark.line + 1 if comment is not None and is_suspicious(token.value, comment) else 0
    except yaml.YAMLError:
        pass
    return f"line {cut} ends at ' #', where a comment begins: put the text in quotes" if cut else ""


def _syntax_problem(error: yaml.MarkedYAMLError, path: str, text: str, limits: NodeLimits) -> Problem:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    if "nesting depth" in (error.problem or ""):  # limit of libyaml 0.2.6 and later, which reads ahead
        return _problem(path, line, column, f"at most {limits.depth} levels of nesting", "many more")
    message = " ".join(filter(None, (error.context, error.problem)))
    hint = next((hint for sign, hint in _SYNTAX_HINTS if sign in message), "")
    lines = text.splitlines()
    if line <= len(lines) and _BARE_TEMPLATE.search(lines[line - 1]):
        hint = "put text that starts with '{{' in quotes"
    elif odd := [number for number, each in enumerate(lines[:line], 1) if _ODD_INDENT.match(each)]:
        hint = f"line {odd[-1]} begins with a no-break space: indent with plain spaces"
    hint = _comment_hint(text, line) or hint
    fault = _PARSER_VERB.sub(lambda match: "" if match[0].startswith("found") else "missing ", error.problem or message)
    return _problem(path, line, column, "valid YAML", f"a syntax error: {clip(fault, 120)}", hint)


def _problem(path: str, line: int, column: int, expected: str, found: str, hint: str = "") -> Problem:
    return Problem(path=path, line=line, column=column, expected=expected, found=found, hint=hint)


def _position(before: str) -> tuple[int, int]:
    """Returns the line and column, from 1, of the text after ``before``."""
    lines = re.split("\r\n|\r|\n", before)
    return len(lines), len(lines[-1]) + 1


_OTHER_WORDS = {
    **dict.fromkeys(("equals", "equal", "eq", "is", "text"), "exact"),
    **dict.fromkeys(("contains", "contain", "include", "has"), "includes"),
    **dict.fromkeys(("not_contains", "lacks", "not_includes"), "excludes"),
    **dict.fromkeys(("matches", "pattern"), "regex"),
    **dict.fromkeys(("url", "goto", "path"), "open"),
}
"""Words of other programs, with the words that task files use instead."""


def near(name: str, known: Any) -> str:
    """Returns a hint for an unknown name: the closest known name, one with the same beginning, or all of them.

    >>> near("intnet", ["intent", "id"])
    "did you mean 'intent'?"
    >>> near("zzz", ["intent", "id"])
    'known: id, intent'
    >>> near("mara", ["clem.rusk", "mara.linden"])
    "did you mean 'mara.linden'?"
    >>> near("equals", ["exact", "includes"])
    "did you mean 'exact'?"
    """
    import difflib

    names = sorted(known)
    if (other := _OTHER_WORDS.get(name, "")) in names:
        return f"did you mean {other!r}?"
    match = difflib.get_close_matches(name[:60], names, n=1, cutoff=0.65)
    if not match and len(name) > 2:
        match = [known for known in names if known.startswith(name)]
    if match:
        return f"did you mean {clip(match[0])!r}?"
    listing = f"known: {', '.join(names)}" if names else ""
    shown, comma, _ = listing[:280].rpartition(", ")
    if len(listing) <= 300 or not comma:
        return clip(listing, 300)
    return f"{shown} and {len(names) - shown.count(', ') - 1} more"
