"""Composite shapes of task files: lists, mappings, records and their combinations. `shapes` has the base class."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pytest_webarena.tasks.file_reading import INVALID, Entries, Invalid, Reading
from pytest_webarena.tasks.nodes import PLAIN, ListNode, MapNode, Node, ScalarNode, near
from pytest_webarena.tasks.scalars import NULLS
from pytest_webarena.tasks.shapes import Choice, Fault, Schema, Schemas, Shape, Text, filled_scalar
from pytest_webarena.text import clip

__all__ = ["REQUIRED", "Convert", "Either", "Field", "ListOf", "MapOf", "Record", "described", "field_schema"]

T = TypeVar("T")
U = TypeVar("U")

REQUIRED: Any = object()
"""The default of a required field."""


class ListOf(Shape[tuple[T, ...]]):
    """A list; with ``or_one``, a single item counts as a list of one."""

    def __init__(self, item: Shape[T], *, label: str = "", low: int = 0, or_one: bool = False) -> None:
        self.item = item
        self.low = low
        self.or_one = or_one
        self.label = label or _list_label(item, or_one=or_one)

    def read(self, node: Node, reading: Reading) -> tuple[T, ...] | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        if not isinstance(filled, ListNode):
            if not self.or_one:
                hint = "start each item with '- '" if isinstance(filled, MapNode) else ""
                return self.mismatch(filled, reading, hint)
            value = self.item.read(filled, reading)
            return INVALID if isinstance(value, Invalid) else (value,)
        if len(filled.items) < self.low:
            return self.mismatch(filled, reading)
        values = [self.item.read(item, reading) for item in filled.items]
        return INVALID if any(value is INVALID for value in values) else tuple(values)  # type: ignore[arg-type]

    def parts(self) -> tuple[Shape[Any], ...]:
        return (self.item,)

    def json_schema(self, schemas: Schemas) -> Schema:
        item = self.item.json_schema(schemas)
        many: Schema = {"type": "array", "items": item}
        if self.low:
            many["minItems"] = self.low
        return {"anyOf": [item, many]} if self.or_one else schemas.or_template(many)


def _list_label(item: Shape[Any], *, or_one: bool) -> str:
    """Returns the description of a list of ``item``, in plain English: "a domain or a list of domains"."""
    if isinstance(item, Choice):
        words = ", ".join(item.words)
        return f"one or more of {words}" if or_one else f"a list of {words}"
    noun = _NOUN.fullmatch(item.label)
    if noun is None:
        return f"{item.label}, or a list of them" if or_one else f"a list, each item {item.label}"
    several = f"a list of {noun[1]}{'es' if noun[1].endswith('s') else 's'}"
    return f"{item.label} or {several}" if or_one else several


_NOUN = re.compile(r"(?:an? )?(?!.*\b(?:of|in|with|that|such|from|above|or)\b)([\w ]+)")
"""Matches the label of an item whose plural ends with "s"."""


class MapOf(Shape[Mapping[str, T]]):
    """A mapping from arbitrary names to values of one shape."""

    def __init__(self, value: Shape[T], label: str, *, key: Text | None = None, low: int = 0) -> None:
        self.value = value
        self.label = label
        self.key = key or Text("a name")
        self.low = low

    def read(self, node: Node, reading: Reading) -> Mapping[str, T] | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        if not isinstance(filled, MapNode):
            return self.mismatch(filled, reading)
        entries = reading.entries(filled)
        if len(entries) < self.low:
            return self.mismatch(filled, reading)
        pairs = [(self.key.read(key, reading), self.value.read(value, reading)) for key, value in entries.values()]
        if any(name is INVALID or value is INVALID for name, value in pairs):
            return INVALID
        return dict(pairs)  # type: ignore[arg-type]

    def parts(self) -> tuple[Shape[Any], ...]:
        return (self.value,)

    def json_schema(self, schemas: Schemas) -> Schema:
        schema: Schema = {"type": "object", "additionalProperties": self.value.json_schema(schemas)}
        if self.low:
            schema["minProperties"] = self.low
        return schema


class Either(Shape[T]):
    """Different shapes for a scalar, a list and a mapping. The node's form selects the shape, so that messages are
    precise."""

    def __init__(
        self,
        label: str,
        *,
        scalar: Shape[T] | None = None,
        sequence: Shape[T] | None = None,
        mapping: Shape[T] | None = None,
    ) -> None:
        self.label = label
        self.scalar = scalar
        self.sequence = sequence
        self.mapping = mapping

    def read(self, node: Node, reading: Reading) -> T | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        if isinstance(filled, MapNode):
            shape = self.mapping
        else:
            shape = self.sequence if isinstance(filled, ListNode) else self.scalar
        nothing = isinstance(filled, ScalarNode) and filled.style == PLAIN and filled.value in NULLS
        return self.mismatch(filled, reading) if shape is None or nothing else shape.read(filled, reading)

    def parts(self) -> tuple[Shape[Any], ...]:
        return tuple(shape for shape in (self.scalar, self.sequence, self.mapping) if shape is not None)

    def json_schema(self, schemas: Schemas) -> Schema:
        shapes = [shape for shape in (self.scalar, self.sequence, self.mapping) if shape is not None]
        return {"anyOf": [shape.json_schema(schemas) for shape in shapes]}


class Convert(Shape[U], Generic[T, U]):
    """A shape whose value is converted or rejected with a fault."""

    def __init__(self, shape: Shape[T], convert: Callable[[T, Reading], U | Fault], label: str = "") -> None:
        self.shape = shape
        self.convert = convert
        self.label = label or shape.label

    def read(self, node: Node, reading: Reading) -> U | Invalid:
        value = self.shape.read(node, reading)
        if isinstance(value, Invalid):
            return INVALID
        converted = self.convert(value, reading)
        if isinstance(converted, Fault):
            return reading.problem(node, converted.expected, converted.found, converted.hint)
        return converted

    def parts(self) -> tuple[Shape[Any], ...]:
        return (self.shape,)

    def json_schema(self, schemas: Schemas) -> Schema:
        return self.shape.json_schema(schemas)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Field:
    """One key of a record, with everything that the reference states about it. Compared by identity."""

    key: str
    shape: Shape[Any]
    doc: str
    """Meaning of the key, in a sentence or two of Markdown."""
    example: str
    """YAML that uses the key, as it would be written in the record (see `Record.frame`)."""
    default: Any = REQUIRED
    default_text: str = ""
    """The reference's text for the default, if the value itself says little."""
    attribute: str = ""
    """Keyword of the record's builder; empty: the key itself."""


Rule = Callable[[dict[str, Any], MapNode, Reading], Fault | None]


class Record(Shape[T]):
    """A mapping with declared keys that is built into a value."""

    def __init__(
        self,
        name: str,
        build: Callable[..., T],
        fields: Sequence[Field],
        *,
        doc: str = "",
        rule: Rule | None = None,
        free: str = "",
        owner: str = "",
        demanded: Collection[str] | None = None,
        hint: str = "",
        read_elsewhere: Collection[str] = (),
    ) -> None:
        self.name = name
        self.owner = owner or f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
        """Name in messages, with its article."""
        self.build = build
        self.fields = tuple(fields)
        required = [field.key for field in self.fields if field.default is REQUIRED]
        self.demanded = required if demanded is None else demanded
        """Keys that the schema requires: fewer than the reader requires, if some can come from elsewhere."""
        self.doc = doc
        self.rule = rule
        self.free = free
        """Prefix of keys that are ignored; empty: none."""
        self.hint = hint
        """What to write instead of an unknown key that is like none; empty: the known keys."""
        self.label = f"a mapping ({name})"
        self.keys: Collection[str] = dict.fromkeys((*read_elsewhere, *(field.key for field in self.fields)))
        """Known keys, with those that somebody else reads and takes away before."""
        self._plan = tuple((f.key, f.attribute or f.key, f.shape, f.default) for f in self.fields)

    def read(self, node: Node, reading: Reading) -> T | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        if not isinstance(filled, MapNode):
            return self.mismatch(filled, reading)
        return self.read_entries(reading.entries(filled), filled, reading)

    def read_entries(
        self, entries: Entries, node: MapNode, reading: Reading, shared: dict[str, Any] | None = None
    ) -> T | Invalid:
        """Build the record from keys collected elsewhere; ``node`` is the position of problems with the whole.

        ``shared`` caches the values of keys without templates, for the next reading of the same entries.
        """
        values: dict[str, Any] = {}
        whole = self.check_keys(entries, reading)
        for key, attribute, shape, default in self._plan:
            entry = entries.get(key)
            if entry is not None:
                if shared is not None and key in shared:
                    value = shared[key]
                else:
                    value = shape.read(entry[1], reading)
                    if shared is not None and shape.pure and not entry[1].dynamic:
                        shared[key] = value
                if value is INVALID:
                    whole = False
                values[attribute] = value
            elif default is REQUIRED:
                if not self.is_misspelled(key, entries):
                    self.missing(key, entries, node, reading)
                whole = False
            else:
                values[attribute] = default
        if not whole:
            return INVALID
        if self.rule is not None and (fault := self.rule(values, node, reading)):
            return reading.problem(node, fault.expected, fault.found, fault.hint)
        return self.build(**values)

    def is_misspelled(self, key: str, entries: Entries) -> bool:
        """Returns whether the message on an unknown key already names ``key`` as the one that was meant."""
        unknown = [name for name in entries if name not in self.keys and not (self.free and name.startswith(self.free))]
        return any(near(name, self.keys) == f"did you mean {key!r}?" for name in unknown)

    def missing(self, key: str, entries: Entries, node: Node, reading: Reading) -> None:
        """Note that a required key is missing."""
        given = [clip(name, 20) for name in entries]
        found = f"only {', '.join(given[:4])}{', …' if len(given) > 4 else ''}" if given else "no keys"
        reading.problem(node, f"the key '{key}' in {self.owner}", found)

    def check_keys(self, entries: Entries, reading: Reading) -> bool:
        """Returns whether this record has all given keys, and notes the unknown ones."""
        known = True
        for name, (key, value) in entries.items():
            if name not in self.keys and not (self.free and name.startswith(self.free)):
                cut = isinstance(value, ScalarNode) and not value.value and not name.replace("_", "a").isalnum()
                hint = "inside { } a comma ends a text: put text with commas in quotes" if cut else self.hint
                reading.unknown_key(key, name, self.owner, self.keys, hint)
                known = False
        return known

    def parts(self) -> tuple[Shape[Any], ...]:
        return tuple(field.shape for field in self.fields)

    def json_schema(self, schemas: Schemas) -> Schema:
        return schemas.named(self.name, lambda: self._schema(schemas))

    def _schema(self, schemas: Schemas) -> Schema:
        schema: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": {field.key: field_schema(field, schemas) for field in self.fields},
        }
        if self.doc:
            schema["description"] = self.doc
        if self.demanded:
            schema["required"] = list(self.demanded)
        if self.free:
            schema["patternProperties"] = {f"^{self.free}": {}}
        return schema


def described(schema: Schema, doc: str, **more: Any) -> Schema:
    """Returns ``schema`` with a description. Draft 7 ignores keys next to a reference, so a reference is wrapped."""
    return {**({"allOf": [schema]} if "$ref" in schema else schema), "description": doc, **more}


def field_schema(field: Field, schemas: Schemas) -> Schema:
    """Returns the schema of one key: its shape, its meaning and its default."""
    plain = isinstance(field.default, bool | int | float | str) and field.default != ""
    return described(field.shape.json_schema(schemas), field.doc, **({"default": field.default} if plain else {}))
