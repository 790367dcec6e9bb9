"""Parsers never raise: fuzzing with any text, tool call or object."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_webarena.actions import Action, as_record
from pytest_webarena.browser.grammars import grammar, grammars
from pytest_webarena.browser.grammars.tools import parse_call, tools
from tests.cases import each_case
from tests.unit.browser.test_grammars import EXAMPLES

FUZZ = int(os.environ.get("WEBARENA_FUZZ", "60"))
"""Examples of each fuzzed property; more of them for a longer campaign."""
_WORDS = sorted(
    {
        piece
        for row in EXAMPLES.values()
        for example, _ in row.values()
        for piece in example.replace("(", " ( ").replace(")", " ) ").replace('"', ' " ').split()
    }
    | {
        "```",
        "[",
        "]",
        "{",
        "}",
        "()",
        ".",
        ",",
        "\\",
        "'",
        "re.compile",
        "nan",
        "1e999",
        "-1",
        "\x00",
        "\ud800",
        "9" * 5000,
    }
)
_ALMOST = st.lists(st.sampled_from(_WORDS) | st.text(max_size=5), max_size=12).map(" ".join)
_MANGLED = st.builds(
    lambda example, at, extra, cut: (
        example[: at % (len(example) + 1)] + extra + example[(at + cut) % (len(example) + 1) :]
    ),
    st.sampled_from([example for row in EXAMPLES.values() for example, _ in row.values()]),
    st.integers(0, 200),
    st.text(max_size=4) | st.sampled_from(_WORDS),
    st.integers(0, 8),
)
_TEXTS = st.text(max_size=60) | _ALMOST | _MANGLED
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(_WORDS[:80]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_KEYS = sorted({name for tool in tools(targets="both") for name in tool["parameters"]["properties"]})


def check(action: object) -> None:
    """Assert that this is an action whose record is JSON."""
    assert isinstance(action, Action)
    json.dumps(as_record(action))
    assert asdict(action) is not None


@pytest.mark.parametrize("name", grammars())
@settings(max_examples=FUZZ, deadline=None)
@given(text=_TEXTS, fenced=st.booleans())
def test_any_text_is_parsed(name: str, text: str, fenced: bool) -> None:
    check(grammar(name).parse(f"```{text}```" if fenced else text))


@settings(max_examples=2 * FUZZ, deadline=None)
@given(
    name=st.sampled_from([tool["name"] for tool in tools()]) | st.text(max_size=8),
    arguments=st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=8), _JSON, max_size=4) | _JSON,
)
def test_any_tool_call_is_parsed(name: str, arguments: Any) -> None:
    check(parse_call(name, arguments))


@settings(max_examples=FUZZ, deadline=None)
@given(
    found=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("action", "action_input", "element_id", "name", "arguments", "function"), _JSON)
    ),
    name=st.sampled_from(["tools", "webcanvas"]),
    verb=st.sampled_from(["click", "goto", "switch_tab", "fill_form", "focus_tab"]),
)
def test_any_json_object_is_parsed(found: dict[str, Any], name: str, verb: str) -> None:
    check(grammar(name).parse(json.dumps(found)))
    check(grammar(name).parse(json.dumps({**found, "action": verb, "name": verb})))


@each_case("name", grammars())
@each_case(
    "text",
    [
        "(" * 5000,
        "page" + ".first" * 5000 + ".click()",
        "page.goto(" + "[" * 5000,
        "{" * 5000,
        "[" * 20_000,
        "type [1] " + "[x] " * 20_000,
    ],
)
def test_deep_and_long_replies_are_parsed(name: str, text: str) -> None:
    check(grammar(name).parse(text))
    check(grammar(name).parse(f"```{text}```"))
