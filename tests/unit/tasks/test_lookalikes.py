"""Characters, calls and commas that look right in a file but mean something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.sites.catalogues.loading import CatalogueError, load_catalogue
from tests.cases import each_case

from .helpers import problems, task, task_text

NBSP = "which YAML does not read as a space)"


@each_case(
    ("keys", "message"),
    [
        ("checks:\n- url:\u00a0/x", f"column 11 has U+00A0 (no-break space), {NBSP}"),
        ("checks:\n-\u00a0url: /x", f"column 6 has U+00A0 (no-break space), {NBSP}"),
        ("threshold:\u202f0.5", f"line 6, column 15, has U+202F (narrow no-break space), {NBSP}"),
        ("\u200bthreshold: 0.5", f"column 5 has U+200B (zero width space), {NBSP}"),
        (
            "threshold: \u20180.5\u2019",
            "column 16 has U+2018 (left single quotation mark), which YAML does not read as a straight",
        ),
        (
            "checks:\n- answer: {name: “Bob”}",
            "6:22: expected straight quotes around a text, found '“Bob”'",
        ),
        ("checks:\n- page: {includes: „Bob“}", "expected straight quotes around a text, found '„Bob“'"),
        ("solution:\n- click: page.get_by_role('button', name='Buy')", "(a call is no selector: write role="),
        ("checks:\n- page: {locate: get_by_text('Buy'), includes: x}", "(a call is no selector: write role="),
        ("checks:\n- state: {sql: select a, b from t, exact: 1}", "found 'b from t' (inside { } a comma ends a text"),
    ],
)
def test_problem_names_what_only_looks_right(keys: str, message: str) -> None:
    assert message in " ".join(map(str, problems(task_text(keys))))


@pytest.mark.parametrize(
    "keys",
    [
        "checks: [{answer: {name: '“Bob”'}}]",
        "checks: [{answer: {name: “Bob” Lee}}]",
        "checks: [{answer: {name: Bob\u00a0Lee}}]",
        "checks: [{page: {locate: 'css=a:not(.b)', includes: x}}]",
        "checks: [{page: {locate: 'xpath=id(\"x\")', includes: x}}]",
        "checks: [{page: {locate: '//a[contains(text(), \"x\")]', includes: x}}]",
        "checks: [{page: {locate: 'text=total(3)', includes: x}}]",
    ],
)
def test_such_characters_are_valid_in_text(keys: str) -> None:
    assert task(keys)


@each_case(
    ("keys", "message"),
    [
        ("checks: [{answer: “x”}\nthreshold: 1", "(line 5, column 23, has U+201C (left double quotation mark), which"),
        ("checks: [{answer: “x”}]", "found '“x”' (column 23 has U+201C (left double quotation mark), which YAML does"),
        ("“threshold”: 1", "found '“threshold”' (column 5 has U+201C (left double quotation mark), which YAML does"),
        ("intnt: He said “x”", "found 'intnt' (did you mean 'intent'?)"),
    ],
)
def test_one_cause_has_one_hint(keys: str, message: str) -> None:
    found = problems(task_text(keys))
    assert message in " ".join(map(str, found))
    assert [each.hint.count("; ") for each in found] == [0] * len(found)


def test_hint_ignores_characters_in_quotes() -> None:
    [problem] = problems(task_text('tags: {"a\u00a0b": 1}'))
    assert "U+00A0" not in str(problem)


def test_catalogue_problem_names_the_character(tmp_path: Path) -> None:
    path = tmp_path / "x.sites.yaml"
    path.write_text("apps:\n  a:\n    backend:\u00a0process\n", encoding="utf-8")
    with pytest.raises(CatalogueError, match=r"column 13 has U\+00A0"):
        load_catalogue(str(path))
