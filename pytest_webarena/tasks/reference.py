"""Generates the published JSON schema and the reference of the task format from the declarations.

``python -m pytest_webarena.tasks.reference`` writes both; a test fails when they are out of date.
"""

from __future__ import annotations

import itertools
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_webarena.docs_site import with_addresses
from pytest_webarena.tasks.check_form import COMBINATORS, MODIFIERS
from pytest_webarena.tasks.format import FILE, FORMAT_VERSION, TASK
from pytest_webarena.tasks.kinds import BUILTIN, find_kind, kind_names
from pytest_webarena.tasks.nodes import MAX_BYTES, MAX_DEPTH, MAX_NODES
from pytest_webarena.tasks.record_shapes import REQUIRED, Field, Record
from pytest_webarena.tasks.reference_text import (
    AFTER_CHECKS,
    CHECKS_INTRODUCTION,
    INTRODUCTION,
    KEYS_NOTE,
    RESEARCH_INTRODUCTION,
    STEPS_INTRODUCTION,
    TEXT_CONDITIONS,
    VALUES_AND_TEMPLATES,
)
from pytest_webarena.tasks.setup_form import SETUP_KINDS
from pytest_webarena.tasks.shapes import Schema, Schemas, Shape
from pytest_webarena.tasks.steps import EXTRA_KEYS, STEPS
from pytest_webarena.tasks.templates import FILTERS

__all__ = ["DOCS_PATH", "SCHEMA_PATH", "examples", "json_schema", "reference", "schema_text"]

SCHEMA_PATH = Path(__file__).with_name("tasks.schema.json")
"""The published schema, with which editors complete and validate task files."""

DOCS_PATH = Path("docs/task-format.md")
"""The reference, relative to the repository's root."""


def json_schema(*, kinds: Sequence[str] | None = None) -> Schema:
    """Returns the task format as JSON schema (draft 7) with the given kinds of check; None: all that are installed."""
    schemas = Schemas(kinds=kind_names() if kinds is None else kinds)
    schema = FILE.json_schema(schemas)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"pytest-webarena task file, version {FORMAT_VERSION}",
        **schema,
        "definitions": schemas.definitions,
    }


def schema_text(*, kinds: Sequence[str] | None = tuple(BUILTIN)) -> str:
    """Returns the schema as text, as published with the built-in kinds only; None: all that are installed."""
    return with_addresses(json.dumps(json_schema(kinds=kinds), indent=2, ensure_ascii=False)) + "\n"


_EXPLAINED = ("gradings", "limits", "live", "review")
"""Keys of a task whose own keys get a section."""

_SHOWN_AS_WHOLE = ("gradings", "reviewer", "adjudication")
"""Mappings whose keys the example of the whole shows well enough."""


_COMMON = ("answer", "page", "url", "state", "changes", "network")
"""Kinds of check that most tasks need, in the order in which the reference explains them."""

_RESEARCH = (
    "key_nodes",
    "rubric",
    "symbolic",
    "string_match",
    "url_match",
    "program_html",
    "page_image_query",
    "verified",
)
"""Kinds of check for research and for published benchmarks, which the reference explains last."""


_RECORDING = "recording.md#by-what-elements-are-found-again"


_SHORT = {
    "an address: /path, site:/path or http://…": "an address",
    'a Playwright selector, e.g. role=button[name="Save"]': "a selector",
    "a Playwright selector, or js=… with an expression": "a selector, or `js=…`",
    "a number, a range such as 0..2 or 1.., or any": "a number, `0..2`, `1..` or `any`",
    "a mapping with 'exact', 'includes' or 'semantic', and 'param' for a parameter of the query": "a mapping",
}
"""Labels of messages that the reference explains elsewhere."""


def examples() -> Iterator[tuple[str, str]]:
    """Yields every example of the reference as a whole task file, with the name of what it shows."""
    for field in FILE.fields:
        yield f"file {field.key}", field.example
    for record in _records([field.shape for field in TASK.fields if field.key in _EXPLAINED]):
        for field in record.fields:
            yield f"{record.name} {field.key}", _task_example(field.example)
    for field in TASK.fields:
        yield f"task {field.key}", _task_example(field.example)
    for name, field in (*STEPS.items(), *EXTRA_KEYS.items()):
        yield f"step {name}", _task_example("solution:\n" + _indent(field.example))
    for record in _records([field.shape for field in STEPS.values()]):
        for field in record.fields:
            yield f"{record.name} {field.key}", _task_example("solution:\n" + _indent(field.example))
    for field in SETUP_KINDS:
        yield f"set-up {field.key}", _task_example("setup:\n" + _indent(field.example))
        for record in _records([field.shape]):
            for part in record.fields:
                yield f"{record.name} {part.key}", _task_example("setup:\n" + _indent(part.example))
    for field in (*COMBINATORS, *MODIFIERS):
        yield f"check {field.key}", _check_example(field.example)
    for kind in _kinds():
        for index, example in enumerate(kind.examples):
            yield f"{kind.name} check {index}", _check_example(example)
        for record in _records([kind.form]):
            for field in record.fields:
                framed = (
                    _task_example("setup:\n" + _indent(field.example)) if field.example.startswith("- api") else None
                )
                yield f"{record.name} {field.key}", framed or _check_example(field.example)


def _check_example(example: str) -> str:
    score = "score: mean\n" if "weight:" in example else ""
    return _task_example(f"{score}checks:\n{_indent(example)}")


def _task_example(keys: str) -> str:
    lines = keys.splitlines()
    given = {line.partition(":")[0] for line in lines if not line.startswith((" ", "-"))}
    missing = {
        "id": "id: example",
        "intent": "intent: What is it?",
        "sites": "sites: [shopping, homepage]",
        "checks": "checks: [{answer: it is}]",
    }
    body = [*(text for key, text in missing.items() if key not in given), *lines]
    return "tasks:\n  - " + "\n    ".join(body) + "\n"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _kinds(names: Iterable[str] = BUILTIN) -> list[Any]:
    return [kind for name in names if (kind := find_kind(name))]


def _records(shapes: Sequence[Shape[Any]]) -> Iterator[Record[Any]]:
    """Yields the records in some shapes, outer ones first, each once."""
    seen: set[str] = set()
    waiting = list(shapes)
    while waiting:
        shape = waiting.pop(0)
        if isinstance(shape, Record):
            if shape.name in seen:
                continue
            seen.add(shape.name)
            yield shape
        waiting += shape.parts()


def reference() -> str:
    """Returns the reference of the task format as Markdown, the most used parts first."""
    limits = {"megabytes": f"{MAX_BYTES / 1e6:g}", "values": f"{MAX_NODES:,}", "depth": str(MAX_DEPTH)}
    filters = ", ".join(f"`{name}`" for name in FILTERS)
    entries = _Entries()
    parts = [INTRODUCTION, "## Keys of a task", KEYS_NOTE, entries.of(TASK.fields)]
    parts += _sections([field.shape for field in TASK.fields if field.key in _EXPLAINED], entries)
    steps = ["## Steps", STEPS_INTRODUCTION, entries.steps(STEPS.values())]
    steps += _sections([field.shape for field in STEPS.values()], entries)
    steps += ["### With a step", entries.of(EXTRA_KEYS.values())]
    steps += ["## Set-up steps", "Each item of `setup` has one of these keys.", entries.of(SETUP_KINDS, chosen=True)]
    steps += _sections([field.shape for field in SETUP_KINDS], entries)
    kinds = [*_COMMON, *(name for name in BUILTIN if name not in (*_COMMON, *_RESEARCH))]
    parts += ["## Checks", CHECKS_INTRODUCTION, *_checks(kinds, entries)]
    entries.begin("", ())
    parts += ["### Combining checks", entries.of(COMBINATORS, chosen=True), entries.of(MODIFIERS)]
    parts += ["### Conditions on text", TEXT_CONDITIONS, entries.of(_shared_text())]
    parts += [
        AFTER_CHECKS,
        *steps,
        "## Keys of a file",
        entries.of(replace(field, example="") for field in FILE.fields),
    ]
    parts += ["A key that begins with `x-` is ignored: a place for YAML anchors."]
    parts += [_fill(VALUES_AND_TEMPLATES, filters=filters, recording=_RECORDING, **limits)]
    parts += ["## Checks for research and published benchmarks", RESEARCH_INTRODUCTION]
    parts += _checks(_RESEARCH, entries)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _checks(names: Sequence[str], entries: _Entries) -> list[str]:
    """Returns the sections of some kinds of check."""
    parts = []
    shared = _shared_text()
    documented = {record.fields for record in _records([field.shape for field in SETUP_KINDS])}
    for kind in _kinds(names):
        parts += [f"### `{kind.name}`", kind.doc, _yaml("\n".join(kind.examples))]
        entries.begin(kind.name, kind.examples)
        for record in _records([kind.form]):
            if record.fields in documented:
                continue
            documented.add(record.fields)
            own = [_beyond(field, shared) for field in record.fields if field not in shared]
            if not own:
                continue
            title = [] if record.name == f"{kind.name} check" else [_title("####", record)]
            if title and title[0] in parts:
                title = [f"{title[0]} (`{record.fields[0].key}`)"]
            keys = entries.of(own)
            if any(field in shared for field in record.fields):
                keys += "\n* The [conditions on text](#conditions-on-text)."
            parts += [*title, record.doc, keys]
    return parts


def _shared_text() -> list[Field]:
    """Returns the keys that several kinds share: those for conditions on text."""
    first, *others = [record for kind in _kinds() for record in _records([kind.form]) if "whole_words" in record.keys]
    fields = [field for record in (first, *others) for field in record.fields if field.key in first.keys]
    shared = [field for field in dict.fromkeys(fields) if fields.count(field) > 1]
    return sorted(shared, key=lambda field: list(first.keys).index(field.key))


def _beyond(field: Field, shared: Sequence[Field]) -> Field:
    """Returns a condition on text with what it means in addition to the shared one of the same key."""
    same = next((each for each in shared if each.key == field.key and field.doc.startswith(f"{each.doc} ")), None)
    if same is None:
        return field
    return replace(field, doc=f"[As for any text](#conditions-on-text). {field.doc[len(same.doc) + 1 :]}")


def _sections(shapes: Sequence[Shape[Any]], entries: _Entries) -> list[str]:
    parts = []
    for record in _records(shapes):
        fields: Sequence[Field] = record.fields
        if record.name in _SHOWN_AS_WHOLE:
            fields = [replace(field, example="") for field in fields]
        parts += [_title("###", record), record.doc, entries.of(fields)]
    return parts


def _title(level: str, record: Record[Any]) -> str:
    owner = re.sub(r"'([a-z_]+)'", r"`\1`", record.owner)
    return f"{level} Keys of {owner}"


class _Entries:
    """Writes lists of keys. A key or an example that the page has already is not repeated."""

    def __init__(self) -> None:
        self._first_kinds: dict[tuple[str, str], str] = {}
        self._shown: set[str | tuple[str, str]] = set()
        self._kind = ""

    def begin(self, kind: str, examples: Sequence[str]) -> None:
        """Begin the section of a kind of check that shows ``examples``."""
        self._kind = kind
        self._shown.update(examples)
        self._shown.update((kind, key) for key in re.findall(r"(\w+):", " ".join(examples)))

    def of(self, fields: Iterable[Field], *, chosen: bool = False) -> str:
        """Returns the list of some keys; of those that are ``chosen``, exactly one is given.

        Adjacent keys that are explained elsewhere share an item.
        """
        items = []
        for where, group in itertools.groupby(fields, self._explained_at):
            if where:
                items.append(f"* {', '.join(f'**`{field.key}`**' for field in group)}: {where}.")
                continue
            for field in group:
                if self._kind:
                    self._first_kinds.setdefault((field.key, field.doc), self._kind)
                values = f" ({_label(field.shape)}{'' if chosen else _given(field)})"
                items.append(f"* **`{field.key}`**{values}: {field.doc}{self._example(field)}")
        return "\n".join(items)

    def steps(self, fields: Iterable[Field]) -> str:
        """Returns the list of steps, whose examples show their values."""
        return "\n".join(f"* **`{field.key}`**: {field.doc}{self._example(field)}" for field in fields)

    def _explained_at(self, field: Field) -> str:
        """Returns where the page explains a key of a check already; empty if it does not."""
        kind = self._first_kinds.get((field.key, field.doc), "") if self._kind else ""
        return "" if not kind else "as above" if kind == self._kind else f"as in [`{kind}`](#{kind})"

    def _example(self, field: Field) -> str:
        """Returns the example of a key, or nothing if it adds nothing."""
        example = field.example
        if not example or example in self._shown or example == f"- {field.key}":
            return ""
        if self._kind in _RESEARCH and ("\n" in example or (self._kind, field.key) in self._shown):
            return ""
        self._shown |= {example, (self._kind, field.key)}
        if "\n- " in example and example.count("\n") == 1:
            return "  \n  " + " or ".join(f"`{line}`" for line in example.splitlines())
        if "\n" in example:
            return f"\n\n{textwrap.indent(_yaml(example), '  ')}\n"
        return f"  \n  `{example.removeprefix(f'- {self._kind}: ')}`"


def _label(shape: Shape[Any]) -> str:
    """Returns which values a key accepts, with a link to the keys of a mapping."""
    if not re.fullmatch(r"a mapping \(.*\)", shape.label):
        return _SHORT.get(shape.label, shape.label)
    record = next(_records([shape]))
    anchor = record.owner.strip("'").replace(" ", "-")
    return f"[a mapping](#keys-of-{anchor})" if record.name in _EXPLAINED else "a mapping"


def _given(field: Field) -> str:
    """Returns whether a key is required, or its default unless that is nothing."""
    if field.default is REQUIRED:
        return "; required"
    default = field.default_text or _value(field.default)
    return "" if default in ("none", "nothing", "not counted", "no bound") else f"; default: {default}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return f"`{json.dumps(value)}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _yaml(text: str) -> str:
    return f"```yaml\n{text}\n```"


def _fill(text: str, **values: str) -> str:
    for name, value in values.items():
        text = text.replace(f"<{name}>", value)
    return text


def main() -> None:
    """Write schema and reference."""
    SCHEMA_PATH.write_text(schema_text(), encoding="utf-8")
    DOCS_PATH.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
