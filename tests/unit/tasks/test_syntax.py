"""Syntax checks of selectors, SQL and patterns: only certain mistakes are reported."""

from __future__ import annotations

import pytest

from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode, compose
from pytest_webarena.tasks.syntax import LOCATE, QUERY, REGEX, regex_fault, selector_fault, sql_fault
from tests.cases import each_case


@each_case(
    "selector",
    [
        "css=#a > .b:has-text('x')",
        "a[href='/x']",
        "#title",
        "*",
        ".a:not(.b)",
        "div:has(> a)",
        'role=button[name="Save (1)"]',
        "role=button[name='It\\'s']",
        'role=link[name="x"i]',
        "role=heading[level=2]",
        "role=link[name=/a[b]/i]",
        "role=checkbox[checked]",
        "role=checkbox[checked=false][include-hidden]",
        "text=Don't stop",
        "text=(",
        '"quoted text"',
        "xpath=//a[@href='x']",
        "//div[1]/a",
        "(//a)[2]",
        "id=main",
        "data-testid=x",
        "css=div >> text=a >> nth=0",
        "*css=li >> text=x",
        "internal:label=x",
        "_react=Button",
        'css=a:has-text("a >> b")',
        "article:nth-child(2) >> visible=true",
        "input[name=q]",
        "h1 ~ p + span",
        "role=document",
    ],
)
def test_possibly_valid_selectors_have_no_fault(selector: str) -> None:
    assert selector_fault(selector) is None


@each_case(
    ("selector", "found", "hint"),
    [
        ("roel=button", "'roel=button'", "did you mean 'role'?"),
        ("css=a[b", "no ] in 'css=a[b'", ""),
        ("css=a]", "a ] too many in 'css=a]'", ""),
        ("a:has(b", "no ) in 'a:has(b'", ""),
        ("css=a[b='x]", "a ' that is never closed in 'css=a[b='x]'", ""),
        ("css=", "'css='", "nothing after 'css='"),
        ("css=a >> ", "an empty part in 'css=a >>'", "parts are joined by '>>'"),
        (">>", "an empty part in '>>'", "parts are joined by '>>'"),
        ("role=buton", "'buton'", "did you mean 'button'?"),
        ("role=", "'role='", "nothing after 'role='"),
        ("role=button[nam='x']", "'nam'", "did you mean 'name'?"),
        ("role=button[name='x'", "no ] in 'role=button[name='x''", ""),
        ("role=button name=x", "' name=x' after the role in 'role=button name=x'", ""),
        ("css=a >> js=b", "'js=b'", "'js=' works only as a whole, in 'locate'"),
        ("1234", "'1234'", "CSS names don't begin with a digit; for text write text=…"),
        ("//a[@x='y'", "no ] in '//a[@x='y''", ""),
    ],
)
def test_invalid_selectors_are_reported(selector: str, found: str, hint: str) -> None:
    fault = selector_fault(selector)
    assert fault is not None
    assert fault.found == found.replace("' name=x'", "'name=x'")
    assert hint in fault.hint


@each_case(
    "sql",
    [
        "select 1",
        "SELECT count(*) FROM a WHERE b = 'it''s; (x' -- comment '",
        "with x as (select 1) select * from x;",
        "(select 1) union (select 2)",
        'select "a b" from `c` where [d] = $tag$ \' $tag$',
        "/* ' */ values (1)",
        "pragma table_info(x)",
    ],
)
def test_possibly_valid_queries_have_no_fault(sql: str) -> None:
    assert sql_fault(sql, write=False) is None


@each_case(
    ("sql", "write", "found"),
    [
        ("select (1", False, "no ) in 'select (1'"),
        ("select 1)", False, "a ) too many in 'select 1)'"),
        ("select 'a", False, "a quote that is never closed"),
        ("-- nothing", False, "nothing but space and comments"),
        ("select 1; drop table x", False, "2 of them"),
        ("update x set a = 1", False, "'update …', which changes data"),
        ("selct 1", True, "'selct 1'"),
        ("insert into x values (1", True, "no ) in 'insert into x values (1'"),
    ],
)
def test_invalid_sql_is_reported(sql: str, write: bool, found: str) -> None:
    fault = sql_fault(sql, write=write)
    assert fault is not None
    assert fault.found == found


def test_write_statements_are_accepted_with_write() -> None:
    assert sql_fault("update x set a = ';'", write=True) is None


@pytest.mark.parametrize("shape", [LOCATE, QUERY, REGEX])
def test_very_long_texts_are_refused_quickly(shape: object) -> None:
    root, _ = compose(b"a: '" + b"$x$" * 30_000 + b"'", "t")
    assert isinstance(root, MapNode)
    reading = Reading("t")
    shape.read(root.items[1], reading)  # type: ignore[attr-defined]
    assert reading.problems[0].expected == "at most 20,000 characters"


@each_case("pattern", ["a{" + "9" * 5000 + "}", "a{99999999999}", "(" * 5000 + ")" * 5000, "(?P<a"])
def test_patterns_with_unusual_python_errors_are_reported(pattern: str) -> None:
    fault = regex_fault(pattern)
    assert fault is not None
    assert len(fault.found) < 100


@pytest.mark.filterwarnings("error")
def test_patterns_with_python_warnings_are_accepted() -> None:
    root, _ = compose(b"a: '[[a-z]--x]'", "t")
    assert isinstance(root, MapNode)
    assert REGEX.read(root.items[1], Reading("t")) == "[[a-z]--x]"
