"""Unquoted texts that YAML cuts off at a comment."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import TaskFileWarning
from pytest_webarena.tasks import parse_tasks, validate
from tests.cases import each_case

from .helpers import problems, task_text

CUT = "expected closed quotes and brackets before a comment, found "


def noted(text: str) -> list[str]:
    """Return the warnings of a file."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        parse_tasks(text)
    assert {each.category for each in found} <= {TaskFileWarning}
    return [f"{each.lineno}: {each.message}" for each in found]


@each_case(
    ("keys", "found"),
    [
        ('category: Close "duplicate of #3"', """6:15: {}'Close "duplicate of' before the comment '#3"'"""),
        ('skip: Close "duplicate of #3" # soon', """'Close "duplicate of' before the comment '#3" # soon'"""),
        ("skip:\n  Close the one\n  (like #3) first", "7:7: {}'Close the one (like' before the comment '#3) first'"),
        ("skip: See 'item #3'", "found 'See 'item' before the comment '#3''"),
        ("skip: See “item #3”", "found 'See “item' before the comment '#3”'"),
        ("skip: See [the list # soon", "found 'See [the list' before the comment '# soon'"),
        (
            'checks: [{answer: {includes: "a", excludes: [b, the "c #3"\n  ]}}]',
            """{}'the "c' before the comment '#3"'""",
        ),
        ('each: [{name: A "b #3"\n  }]\nskip: "{{ name }}"', """6:19: {}'A "b' before"""),
        ('each: {one: {name: b}}\nskip: A "{{ name }} #3"', """7:11: {}'A "{{ name }}' before the comment '#3"'"""),
        ('solution:\n  - click: role=button[name="Item #3"]', """{}'role=button[name="Item' before the comment"""),
        (
            "solution:\n  - fill: {css=main: css=main\n  }\n  - fill:\n      css=main #a: b",
            "'#a: b' is a comment: put text",
        ),
    ],
)
def test_comment_that_cuts_off_an_open_text_is_a_problem(keys: str, found: str) -> None:
    text = "\n".join(map(str, problems(task_text(keys))))
    assert found.replace("{}", CUT, 1) in text, text


def test_syntax_error_after_a_cutting_comment_names_the_comment() -> None:
    for keys in ('skip: Close "duplicate of #3" and\n  then leave', 'limits: {steps: "1", seconds: a b #3, user: c}'):
        [problem] = problems(task_text(keys))
        assert problem.hint == "line 6 ends at ' #', where a comment begins: put the text in quotes"
    [problem] = problems(task_text("mutates: false # looks\n    a: b"))
    assert "comment" not in problem.hint


@each_case(
    ("keys", "found"),
    [
        (
            "skip: Close issue #3",
            "6: expected text in quotes before a comment, found 'Close issue' before the comment '#3'",
        ),
        ("skip: The app is late # see the log", "found 'The app is late' before the comment '# see the log'"),
        ("skip:\n  The app\n  is late # again", "7: expected text in quotes before a comment, found 'The app is late'"),
        ("checks: [{answer: {includes: [issue #3\n  ]}}]", "found 'issue' before the comment '#3'"),
        ("each: {one: {name: issue #3\n  }}\nskip: See {{ name }}", "found 'issue' before the comment '#3'"),
        ("solution:\n  - click: css=main #total", "found 'css=main' before the comment '#total'"),
    ],
)
def test_other_comment_after_a_text_is_a_warning(keys: str, found: str) -> None:
    [warning] = noted(task_text(keys))
    assert found in warning


@each_case(
    "keys",
    [
        "threshold: 0.5 # enough",
        "mutates: false #looks",
        "tags: news # what it is about",
        "user: emma #a customer",
        "start: /list # where it begins",
        "category: milk # a name",
        "skip: 'Close issue #3' # soon",
        "skip: C# is a language",
        "skip: >- # folded\n  Close issue #3",
        "# of its own\nskip: Close it",
        'each: {one: {n: 3 # a number\n  }}\nskip: "See {{ n }}"',
        'solution:\n  - click: role=link[name="A list"] # the first',
        "checks:\n  - state: {sql: select (1) # a number\n    , equals: 1}",
    ],
)
def test_usual_comments_give_no_warning(keys: str) -> None:
    assert noted(task_text(keys)) == []


def test_validate_prints_comment_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(task_text("skip: Close issue #3", sites="[homepage]"))
    assert validate([file]).valid
    assert main(["tasks", "validate", str(file)]) == 0
    assert f"note: {file}:6:11: expected text in quotes before a comment" in capsys.readouterr().err
