"""The published schema and reference of task files: up to date and correct."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_webarena.tasks
from pytest_webarena.tasks import parse_tasks
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.kinds import BUILTIN
from pytest_webarena.tasks.nodes import QUOTED, Node, ScalarNode, compose
from pytest_webarena.tasks.record_shapes import Record
from pytest_webarena.tasks.reference import DOCS_PATH, SCHEMA_PATH, examples, json_schema, reference, schema_text
from tests.cases import each_case, table_of

from . import test_format, test_format_problems, test_steps
from .helpers import task_text

ROOT = Path(pytest_webarena.tasks.__file__).parents[2]
EXAMPLES = dict(examples())


class Raw(Reading):
    """Reads templates as plain text, like an editor."""

    def fill(self, node: ScalarNode) -> Node:
        return ScalarNode(node.value, QUOTED, False, node.line, node.column)


def as_data(text: str) -> Any:
    root, wrong = compose(text.encode(), "t.yaml")
    assert root is not None
    assert not wrong
    return Raw("t.yaml").json(root)


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    schema = json_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def test_the_schema_is_up_to_date() -> None:
    assert SCHEMA_PATH.read_text("utf-8") == schema_text(), "run python -m pytest_webarena.tasks.reference"


def test_the_reference_is_up_to_date() -> None:
    assert (ROOT / DOCS_PATH).read_text("utf-8") == reference(), "run python -m pytest_webarena.tasks.reference"


@each_case("name", EXAMPLES)
def test_every_example_loads_and_fits_the_schema(name: str, validator: jsonschema.Draft7Validator) -> None:
    assert parse_tasks(EXAMPLES[name], sites=["shopping", "homepage"])
    validator.validate(as_data(EXAMPLES[name]))


def fields(schema: Any) -> Iterator[tuple[str, Any]]:
    for name, part in schema.get("properties", {}).items():
        yield name, part
    for part in schema.values():
        for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            if isinstance(each, dict):
                yield from fields(each)


def test_every_key_of_the_schema_is_described() -> None:
    schema = json.loads(schema_text())
    parts = list(fields(schema))
    assert len(parts) > 100
    assert [name for name, part in parts if not part.get("description")] == []


def test_reference_has_every_key() -> None:
    text = reference()
    missing = {name for name, _ in fields(json.loads(schema_text())) if f"**`{name}`**" not in text}
    assert missing <= set(BUILTIN)
    assert all(f"### `{name}`" in text for name in missing)


# Mistakes that a schema can't detect: they depend on other keys or on syntax inside a text.
BEYOND_A_SCHEMA = (
    "start: gitlab:/x", "start: {shoping: /x}", "start: 'http://'", "start: 'http://x:y/'", "start: 'file:",
    "user: {gitlab", "setup: [{sql: -- x", "setup: [{api: {path: /x, body: a, json", "setup: [{api: {path: 'http",
    "skip: true", "checks: [{answer: x, weight: 2}]", "when: any_step}]", "within: 5", "[{any: [{answer: x, weight",
)  # fmt: skip


@each_case(
    "text",
    [
        *(task_text(keys) for keys, _ in table_of(test_format_problems.test_invalid_task_keys_are_reported)
          if not any(part in keys for part in BEYOND_A_SCHEMA)),
        *(task_text(f"solution: {steps}") for steps, _ in table_of(test_steps.test_invalid_steps_are_reported)
          if "css=a[" not in steps and "stop, back" not in steps),
    ],
)  # fmt: skip
def test_schema_detects_most_mistakes(text: str, validator: jsonschema.Draft7Validator) -> None:
    assert list(validator.iter_errors(as_data(text)))


def solution(step: str) -> str:
    return task_text("solution:\n" + textwrap.indent(step, "  "))


@each_case(
    "text",
    [test_format.DESIGN, *(solution(step) for step, _ in table_of(test_steps.test_step_notations_become_actions))],
)
def test_schema_accepts_valid_notations(text: str, validator: jsonschema.Draft7Validator) -> None:
    validator.validate(as_data(text))


def test_records_describe_every_key() -> None:
    from pytest_webarena.tasks.format import FILE

    def walk(shape: Any) -> Iterator[Record[Any]]:
        if isinstance(shape, Record):
            yield shape
        for part in shape.parts():
            yield from walk(part)

    for record in walk(FILE):
        for field in record.fields:
            assert field.doc.endswith((".", ")")), (record.name, field.key)
            assert field.example.strip()
