"""Generates the published JSON schema and the reference of the task format from the declarations.

``python -m pytest_webarena.tasks.reference`` writes both; a test fails when they are out of date.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.docs_site import with_addresses
from pytest_webarena.tasks.check_form import COMBINATORS, MODIFIERS
from pytest_webarena.tasks.format import FILE, FORMAT_VERSION, TASK
from pytest_webarena.tasks.kinds import BUILTIN, find_kind, kind_names
from pytest_webarena.tasks.nodes import MAX_BYTES, MAX_DEPTH, MAX_NODES
from pytest_webarena.tasks.record_shapes import REQUIRED, Field, Record
from pytest_webarena.tasks.reference_text import AFTER_CHECKS, INTRODUCTION, STEPS_INTRODUCTION
from pytest_webarena.tasks.setup_form import SETUP_KINDS
from pytest_webarena.tasks.shapes import Schema, Schemas, Shape
from pytest_webarena.tasks.steps import BESIDE, STEPS
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


def examples() -> Iterator[tuple[str, str]]:
    """Yields every example of the reference as a whole task file, with the name of what it shows."""
    for field in FILE.fields:
        yield f"file {field.key}", field.example
    for record in _records([field.shape for field in TASK.fields if field.key in _EXPLAINED]):
        for field in record.fields:
            yield f"{record.name} {field.key}", _task_example(field.example)
    for field in TASK.fields:
        yield f"task {field.key}", _task_example(field.example)
    for name, field in (*STEPS.items(), *BESIDE.items()):
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


def _kinds() -> list[Any]:
    return [kind for name in BUILTIN if (kind := find_kind(name))]


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
    """Returns the reference of the task format as Markdown."""
    limits = {"megabytes": f"{MAX_BYTES / 1e6:g}", "values": f"{MAX_NODES:,}", "depth": str(MAX_DEPTH)}
    filters = ", ".join(f"`{name}`" for name in FILTERS)
    parts = [_fill(INTRODUCTION, filters=filters, **limits)]
    parts += ["## Keys of a file", *map(_entry, FILE.fields)]
    parts += ["A key that begins with `x-` is ignored: a place for YAML anchors."]
    parts += ["## Keys of a task", *map(_entry, TASK.fields)]
    parts += _sections([field.shape for field in TASK.fields if field.key in _EXPLAINED])
    parts += ["## Steps", STEPS_INTRODUCTION, *map(_choice, STEPS.values())]
    parts += _sections([field.shape for field in STEPS.values()])
    parts += ["### With a step", *map(_entry, BESIDE.values())]
    parts += ["## Set-up steps", "Each item of `setup` has one of these keys.", *map(_choice, SETUP_KINDS)]
    parts += _sections([field.shape for field in SETUP_KINDS])
    parts += _checks()
    parts += [AFTER_CHECKS]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _checks() -> list[str]:
    kinds = _kinds()
    shared = _shared([record for kind in kinds for record in _records([kind.form])])
    parts = [
        "## Checks",
        (
            "Each item of `checks` has one key that says its kind, or combines other checks, and may have `when` and "
            "`weight` with it."
        ),
    ]
    documented = {record.fields for record in _records([field.shape for field in SETUP_KINDS])}
    for kind in kinds:
        parts += [f"### `{kind.name}`", kind.doc, _yaml("\n".join(kind.examples))]
        for record in _records([kind.form]):
            own = [field for field in record.fields if field not in shared]
            if record.fields in documented or not own:
                continue
            documented.add(record.fields)
            title = [] if record.name == f"{kind.name} check" else [_title("####", record)]
            parts += [*title, record.doc]
            if len(own) < len(record.fields):
                parts += ["In addition to its own keys it has the [conditions on text](#conditions-on-text)."]
            parts += map(_entry, own)
    parts += ["### Combining checks", *map(_choice, COMBINATORS), *map(_entry, MODIFIERS)]
    parts += [
        "### Conditions on text",
        "The same keys, with the same meaning, wherever a text is judged.",
        *map(_entry, shared),
    ]
    return parts


def _shared(records: Sequence[Record[Any]]) -> list[Field]:
    """Returns the keys that several kinds share: those for conditions on text."""
    first, *others = [record for record in records if "includes" in record.keys]
    return [field for field in first.fields if any(field in other.fields for other in others)]


def _sections(shapes: Sequence[Shape[Any]]) -> list[str]:
    parts = []
    for record in _records(shapes):
        parts += [_title("###", record), record.doc, *map(_entry, record.fields)]
    return parts


def _title(level: str, record: Record[Any]) -> str:
    return f"{level} Keys of {record.owner}".replace("'", "`")


def _entry(field: Field) -> str:
    """Returns the entry of a record's key: accepted values, default, meaning, example."""
    default = field.default_text or (_value(field.default) if field.default is not REQUIRED else "")
    given = "required" if field.default is REQUIRED else f"default: {default}"
    return f"**`{field.key}`** · {field.shape.label} · {given}  \n{field.doc}\n\n{_yaml(field.example)}"


def _choice(field: Field) -> str:
    """Returns the entry of a key of which exactly one is chosen, so it is neither required nor has a default."""
    bare = f"- {field.key}" == field.example
    return (
        f"**`{field.key}`** · {'a bare word' if bare else field.shape.label}  \n{field.doc}\n\n{_yaml(field.example)}"
    )


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
