"""Writing of YAML: round trips and layout."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.suites.writing import yaml_lines, yaml_scalar
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import compose


def reread(lines: list[str]) -> Any:
    node, problems = compose("\n".join(lines).encode(), "x.yaml")
    assert not problems
    assert node is not None
    reading = Reading("x.yaml")
    value = reading.json(node)
    assert not reading.problems
    return value


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\x00")).filter(
    lambda text: not any(char < " " and char not in "\t\n\r" for char in text)
)
_WORDS = st.sampled_from(
    [
        "yes",
        "Null",
        "~",
        "0x1F",
        "1_000",
        "1e3",
        ".5",
        "-",
        "- a",
        "a: b",
        "a #b",
        "{{ x }}",
        "{% if %}",
        "[a",
        "=",
        "<<",
    ]
)
_DATA = st.recursive(
    _TEXT
    | _WORDS
    | st.integers(-(10**9), 10**9)
    | st.booleans()
    | st.none()
    | st.floats(-1e9, 1e9).map(lambda x: round(x, 6)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT | _WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(_DATA)
def test_any_data_round_trips(value: Any) -> None:
    assert reread(yaml_lines({"value": value})) == {"value": value}


def test_long_lists_are_written_as_blocks() -> None:
    words = [f"a rather long word number {number}" for number in range(8)]
    assert yaml_lines({"short": ["a", 1], "long": words})[:3] == ["short: [a, 1]", "long:", f"  - {words[0]}"]


@pytest.mark.parametrize("text", ["Coffee Grinder", "Where's the tea (green)", "a/b/c"])
def test_ordinary_words_are_not_quoted(text: str) -> None:
    assert yaml_scalar(text) == text
