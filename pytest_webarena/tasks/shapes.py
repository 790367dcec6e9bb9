"""Shapes: declarations of the values in a task file. This module has the base class and scalars; `record_shapes` the
rest.

Reader, JSON schema and reference are all derived from such declarations.

A shape reads a node into a value, notes problems (in the file's words, with their position) and describes itself as
JSON schema. Shapes fill templates, so every value may be one.

The shape that reads a scalar decides its type, not YAML: text stays as it was written (``exact: no`` is the word,
``1.10`` keeps its zero), and only numbers and booleans are converted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar

from pytest_webarena.tasks.comments import TextForm
from pytest_webarena.tasks.file_reading import INVALID, Invalid, Reading, shown
from pytest_webarena.tasks.lookalikes import in_typographic_quotes
from pytest_webarena.tasks.nodes import PLAIN, QUOTED, MapNode, Node, ScalarNode, near
from pytest_webarena.tasks.scalars import BOOLS, NULLS, parse_decimal, parse_int
from pytest_webarena.text import clip

__all__ = [
    "Bool",
    "Choice",
    "Fault",
    "Int",
    "Json",
    "Number",
    "Schema",
    "Schemas",
    "Seconds",
    "Shape",
    "Text",
    "filled_scalar",
]

T = TypeVar("T")

Schema = dict[str, Any]
_TEMPLATE: Schema = {"type": "string", "pattern": r"\{[{%]", "description": "A template, e.g. {{ name }}."}


class Schemas:
    """Collects the named definitions of a JSON schema while it is generated."""

    def __init__(self, kinds: Sequence[str] = ()) -> None:
        self.definitions: dict[str, Schema] = {}
        self.kinds = kinds
        """Kinds of check to describe."""

    def named(self, name: str, make: Callable[[], Schema]) -> Schema:
        """Returns a reference to the definition ``name``, which is created on first use."""
        key = name.replace(" ", "-")
        if key not in self.definitions:
            self.definitions[key] = {}  # reserves the name, because its parts may refer to it
            self.definitions[key] = make()
        return {"$ref": f"#/definitions/{key}"}

    def or_template(self, schema: Schema) -> Schema:
        """Returns a schema that accepts ``schema`` or a template string."""
        return {"anyOf": [schema, self.named("template", lambda: dict(_TEMPLATE))]}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a value of the right form is still wrong."""

    expected: str
    found: str
    hint: str = ""


class Shape(Generic[T]):
    """One form of value. Subclasses read nodes and describe themselves."""

    label: str
    """Description for messages and the reference: "text", "a list of checks"."""
    pure: bool = True
    """Whether reading only returns a value, without setting state of the `Reading` that later keys depend on."""

    def read(self, node: Node, reading: Reading) -> T | Invalid:
        """Returns the value at ``node``, or `INVALID` after noting a problem."""
        raise NotImplementedError

    def json_schema(self, schemas: Schemas) -> Schema:
        """Returns this shape as JSON schema (draft 7)."""
        raise NotImplementedError

    def parts(self) -> tuple[Shape[Any], ...]:
        """The shapes that this one consists of, for the reference."""
        return ()

    def mismatch(self, node: Node, reading: Reading, hint: str = "") -> Invalid:
        """Note that ``node`` does not have this shape."""
        if isinstance(node, MapNode) and node.items and isinstance(node.items[0], MapNode):
            hint = "put text that starts with '{{' in quotes"  # YAML reads a bare {{ x }} as a nested mapping
        if not hint and isinstance(node, ScalarNode) and node.comment and not node.comment.startswith(" "):
            hint = f"'{clip(f'#{node.comment}', 40)}' is a comment: put text with ' #' in quotes"
        return reading.problem(node, self.label, shown(node), hint)


def filled_scalar(node: Node, reading: Reading) -> Node | None:
    """Returns ``node``, or its value when it is a template; None, with a problem noted, when that can't be filled."""
    return reading.fill(node) if node.dynamic and node.__class__ is ScalarNode else node


class Text(Shape[str]):
    """Any scalar, as written. ``check`` may return a fault; ``form`` decides which comments after the text are
    suspicious."""

    def __init__(
        self,
        label: str = "text",
        *,
        blank: bool = False,
        strip: bool = False,
        check: Callable[[str, Reading], Fault | None] | None = None,
        pattern: str = "",
        form: TextForm | None = None,
    ) -> None:
        self.label = label
        self.form: TextForm = form or ("word" if pattern else "code" if check else "prose")
        self.blank = blank
        self.strip = strip
        self.check = check
        self.pattern = pattern

    def read(self, node: Node, reading: Reading) -> str | Invalid:
        if isinstance(node, ScalarNode) and not reading.is_whole(node, self.form):
            return INVALID
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        if not isinstance(filled, ScalarNode) or (filled.style == PLAIN and filled.value in NULLS):
            return self.mismatch(filled, reading)
        value = filled.value
        if filled.style == PLAIN and not value.isascii() and in_typographic_quotes(value.strip()):
            hint = "put the text in straight quotes, with these inside if they are meant"
            return reading.problem(filled, "straight quotes around a text", f"'{clip(value)}'", hint)
        if self.strip:
            value = value.strip()
        if not self.blank and (not value or value.isspace()):
            return self.mismatch(filled, reading)
        if self.check is not None and (fault := self.check(value, reading)):
            return reading.problem(filled, fault.expected, fault.found, fault.hint)
        return value

    def json_schema(self, schemas: Schemas) -> Schema:
        if self.pattern:
            return {"type": ["string", "number"], "pattern": self.pattern}
        return {"type": ["string", "number", "boolean"]}


class Int(Shape[int]):
    """A whole number within bounds."""

    def __init__(self, label: str = "", *, low: int | None = None, high: int | None = None) -> None:
        self.label = label or f"a whole number{_bounds(low, high)}"
        self.low = low
        self.high = high

    def read(self, node: Node, reading: Reading) -> int | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        value = parse_int(filled.value) if isinstance(filled, ScalarNode) and filled.style else None
        if value is None:
            return self.mismatch(filled, reading, _unquote(filled))
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            return self.mismatch(filled, reading)
        return value

    def json_schema(self, schemas: Schemas) -> Schema:
        bounds = {"minimum": self.low, "maximum": self.high}
        return schemas.or_template({"type": "integer", **{k: v for k, v in bounds.items() if v is not None}})


class Number(Shape[T]):
    """A finite number, exact (``Decimal``) or ``float``, within bounds. ``above`` is an exclusive bound."""

    def __init__(
        self,
        kind: Callable[[Decimal], T],
        label: str = "",
        *,
        low: float | None = None,
        above: float | None = None,
        high: float | None = None,
    ) -> None:
        self.kind = kind
        self.label = label or f"a number{_bounds(low, high)}"
        self.low = low
        self.above = above
        self.high = high

    def read(self, node: Node, reading: Reading) -> T | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        value = parse_decimal(filled.value) if isinstance(filled, ScalarNode) and filled.style else None
        if value is None:
            return self.mismatch(filled, reading, _unquote(filled))
        if (
            abs(value) >= Decimal("1e308")
            or (self.low is not None and value < self.low)
            or (self.above is not None and value <= self.above)
            or (self.high is not None and value > self.high)
        ):
            return self.mismatch(filled, reading)
        return self.kind(value)

    def json_schema(self, schemas: Schemas) -> Schema:
        bounds = {"minimum": self.low, "exclusiveMinimum": self.above, "maximum": self.high}
        return schemas.or_template({"type": "number", **{k: v for k, v in bounds.items() if v is not None}})


class Seconds(Shape[float]):
    """A duration in seconds, written with or without the unit: ``10s`` or ``10``."""

    label = "a number of seconds above 0, such as 10s"
    most = 3600.0
    """Longest duration in seconds."""

    def read(self, node: Node, reading: Reading) -> float | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        text = filled.value if isinstance(filled, ScalarNode) and filled.style else ""
        value = parse_decimal(text.removesuffix("s").rstrip())
        if value is None:
            return self.mismatch(filled, reading, _unquote(filled))
        if not 0 < value <= self.most:
            return self.mismatch(filled, reading, f"at most {self.most:g}" if value > 0 else "")
        return float(value)

    def json_schema(self, schemas: Schemas) -> Schema:
        number = {"type": "number", "exclusiveMinimum": 0, "maximum": self.most}
        return schemas.or_template({"anyOf": [number, {"type": "string", "pattern": r"^[0-9.]+ ?s$"}]})


def _bounds(low: float | None, high: float | None) -> str:
    """Returns the text for inclusive bounds, with a leading space."""
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return f" of at least {low:g}" if low is not None else f" of at most {high:g}" if high is not None else ""


def _unquote(node: Node) -> str:
    """Returns the hint for a number in quotes."""
    quoted = isinstance(node, ScalarNode) and node.style == QUOTED and parse_decimal(node.value) is not None
    return "remove the quotes" if quoted else ""


class Bool(Shape[bool]):
    """``true`` or ``false``."""

    label = "true or false"

    def read(self, node: Node, reading: Reading) -> bool | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        if isinstance(filled, ScalarNode) and filled.style and filled.value in BOOLS:
            return BOOLS[filled.value]
        word = filled.value.lower() if isinstance(filled, ScalarNode) else ""
        plain = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}.get(word)
        return self.mismatch(filled, reading, f"write {plain}" if plain else "")

    def json_schema(self, schemas: Schemas) -> Schema:
        return schemas.or_template({"type": "boolean"})


class Choice(Shape[str]):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.label = f"one of {', '.join(words)}" if len(words) > 1 else repr(words[0])

    def read(self, node: Node, reading: Reading) -> str | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        if isinstance(filled, ScalarNode) and filled.value in self.words:
            return filled.value
        hint = near(filled.value, self.words) if isinstance(filled, ScalarNode) else ""
        return self.mismatch(filled, reading, hint if hint.startswith("did") else "")

    def json_schema(self, schemas: Schemas) -> Schema:
        return schemas.or_template({"enum": list(self.words)})


class Json(Shape[Any]):
    """Any value, as plain data."""

    def __init__(self, label: str = "a value", *, null: bool = True) -> None:
        self.label = label
        self.null = null

    def read(self, node: Node, reading: Reading) -> Any:
        value = reading.json(node)
        if value is None and not self.null:
            return self.mismatch(node, reading)
        return value

    def json_schema(self, schemas: Schemas) -> Schema:
        return {} if self.null else {"not": {"type": "null"}}
