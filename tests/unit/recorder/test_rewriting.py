"""Rewriting selectors of a solution in the text of its file, without other changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.actions import Back, Click, Selector
from pytest_webarena.recorder.rewriting import Change, rewritten
from pytest_webarena.tasks import parse_tasks
from tests.cases import each_case

TEXT = """\
# Of the notes.
tasks:
  - id: a
    intent: i
    sites: [s]
    checks: [{answer: y}]
    solution:
      - goto: /x   # here
      - click: role=button[name="Save"]  # a comment
      - fill: {css=#t: "{{ x }} z"}
        repair_selectors: [css=.t, css=#q]
      - fill:
          role=textbox[name="B"]: |
            two
            lines
      - {click: css=#f, repair_selectors: css=#g}
      - click: {selector: css=canvas, button: right}
        repair_selectors:
          - css=#c
          - css=#d

      - drag: {css=#a: css=#b}
    each: {u: {x: 1}, v: {x: 2}}

  - id: b
    intent: i
    sites: [s]
    checks: [{answer: y}]
    solution: [{click: css=#f}, {fill: {css=#a: x, css=#b: y}}]
  - id: c
    intent: i
    sites: [s]
    checks: [{answer: y}]
    each: {u: {x: 1}, v: {x: 2}}
    solution:
      - click: 'text={{ x }}'
"""
TASKS = {task.id: task for task in parse_tasks(TEXT)}


def to(selector: str, *others: str) -> Selector:
    return Selector(selector, repair_selectors=others)


def change(task: str, number: int, *before: Any, **targets: Selector) -> Change:
    step: Any = (TASKS[task].solution or ())[number]
    return Change(number=number, step=replace(step, **targets), before=before)


@each_case(
    ("number", "targets", "old", "new"),
    [
        (1, {"target": to('role=button[name="Keep"s]', "css=#s", 'text="a, b"')},
         'click: role=button[name="Save"]  # a comment\n',
         'click: role=button[name="Keep"s]  # a comment\n        repair_selectors: [css=#s, \'text="a, b"\']\n'),
        (2, {"target": to("css=#n", "css=.t")},
         '{css=#t: "{{ x }} z"}\n        repair_selectors: [css=.t, css=#q]',
         '{css=#n: "{{ x }} z"}\n        repair_selectors: [css=.t]'),
        (3, {"target": to('role=textbox[name="C: d"s]', "css=.b")},
         'role=textbox[name="B"]: |\n            two\n            lines\n',
         "'role=textbox[name=\"C: d\"s]': |\n            two\n            lines\n        repair_selectors: [css=.b]\n"),
        (4, {"target": to("css=#f2", "css=#g")}, "{click: css=#f, repair_selectors: css=#g}",
         "{click: css=#f2, repair_selectors: css=#g}"),
        (5, {"target": to("css=#k", "css=#d")},
         "selector: css=canvas, button: right}\n        repair_selectors:\n          - css=#c\n          - css=#d\n",
         "selector: css=#k, button: right}\n        repair_selectors:\n          [css=#d]\n"),
        (6, {"target": to("css=#a", "css=.a"), "to": to("css=#c", "css=.c")},
         "{css=#a: css=#b}\n",
         "{css=#a: css=#c}\n        repair_selectors: [css=.a]\n        repair_selectors_to: [css=.c]\n"),
    ],
)  # fmt: skip
def test_selector_and_repair_selectors_are_rewritten(
    number: int, targets: dict[str, Selector], old: str, new: str
) -> None:
    assert TEXT.count(old) == 1
    assert rewritten(TEXT, TASKS["a.u"], [change("a.u", number, **targets)], "f") == TEXT.replace(old, new)


def test_step_is_inserted_before_another() -> None:
    new = rewritten(TEXT, TASKS["a.u"], [change("a.u", 1, Click(Selector("css=#x")), target=to("css=#s"))], "f")
    was = '      - click: role=button[name="Save"]  # a comment\n'
    assert new == TEXT.replace(was, "      - click: css=#x\n      - click: css=#s  # a comment\n")


def test_line_endings_are_kept() -> None:
    text = TEXT.replace("\n", "\r\n")
    made = [change("a.u", 1, Click(Selector("css=#x")), target=to("css=#s", "css=.s"))]
    new = rewritten(text, TASKS["a.u"], made, "f")
    assert new == rewritten(TEXT, TASKS["a.u"], made, "f").replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("task", "made", "why"),
    [
        ("b", change("b", 1, target=to("css=#z")), "step 2 shares a mapping with others"),
        ("b", change("b", 0, Back(), target=to("css=#z")), "are not on separate lines"),
        ("c.u", change("c.u", 0, target=to("css=#z")), "a selector of it is a template"),
    ],
)
def test_unsupported_rewrites_are_errors(task: str, made: Change, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        rewritten(TEXT, TASKS[task], [made], "f")


def test_shared_solution_is_not_rewritten() -> None:
    text = (
        "defaults: {solution: [{click: css=#f}]}\ntasks:\n  - {id: d, intent: i, sites: [s], checks: [{answer: y}]}\n"
    )
    [task] = parse_tasks(text)
    with pytest.raises(ValueError, match="in the file's defaults"):
        rewritten(text, task, [Change(number=0, step=Click(Selector("css=#z")))], "f")
    shared = (
        "tasks:\n  - id: e\n    intent: i\n    sites: [s]\n    checks: [{answer: y}]\n"
        "    solution: &s [{click: css=#f}]\n"
        "  - id: g\n    intent: i\n    sites: [s]\n    checks: [{answer: y}]\n    solution: *s\n"
    )
    with pytest.raises(ValueError, match="other tasks of the file would change with it"):
        rewritten(shared, parse_tasks(shared)[0], [Change(number=0, step=Click(Selector("css=#z")))], "f")
