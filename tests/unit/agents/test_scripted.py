"""Scripted agents: steps listed in the definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Back, Click, Element, Goto, Selector, Stop, Type
from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.errors import TaskError, UsageError
from pytest_webarena.tasks.model import Task

SCRIPT = """
kind: scripted
tasks:
  t:
    - goto: shop:/cart
    - click: role=button[name="Buy"]
    - fill: {css=#a: one, css=#b: two}
    - {kind: go_back}
    - "```click [4]```"
    - {kind: click, target: {id: 4}}
    - stop: done
  "*":
    - stop: "no script"
"""


def script(tmp_path: Path, text: str, task: str = "t") -> Any:
    (tmp_path / "s.yaml").write_text(text)
    view = TaskView(intent="i", sites={"shop": "http://shop.test"})
    return resolve_agent(str(tmp_path / "s.yaml")).make(
        Assignment(view=view, task=Task(id=task, intent="i", sites=("shop",)))
    )


def test_script_steps_are_read_in_every_form(tmp_path: Path) -> None:
    agent = script(tmp_path, SCRIPT)
    assert [agent.act(None) for _ in range(9)] == [
        Goto("http://shop.test/cart"),
        Click(Selector('role=button[name="Buy"]')),
        Type(Selector("css=#a"), "one", clear=True),
        Type(Selector("css=#b"), "two", clear=True),
        Back(),
        "```click [4]```",
        Click(Element("4")),
        Stop("done"),
        Stop(""),
    ]


def test_goto_path_is_resolved_on_the_first_site(tmp_path: Path) -> None:
    script_of = "kind: scripted\ntasks: {t: [{goto: /cart}, {kind: goto, url: /here}]}\n"
    agent = script(tmp_path, script_of)
    assert [agent.act(None) for _ in range(2)] == [Goto("http://shop.test/cart"), Goto("/here")]
    (tmp_path / "s.yaml").write_text(script_of)
    nowhere = Assignment(view=TaskView(intent="i", sites={}), task=Task(id="t", intent="i", sites=()))
    homeless: Any = resolve_agent(str(tmp_path / "s.yaml")).make(nowhere)
    assert homeless.act(None) == Goto("/cart")


def test_task_without_a_script_uses_the_default_or_fails(tmp_path: Path) -> None:
    assert script(tmp_path, SCRIPT, "other").act(None) == Stop("no script")
    with pytest.raises(TaskError, match="expected steps for other"):
        script(tmp_path, "kind: scripted\ntasks: {t: [stop]}\n", "other")


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ("{clik: css=#a}", "t.0.: expected"),
        ("{kind: clik}", "there is no action 'clik'"),
        ("{click: role=}", "t.0.: expected"),
        ("7", "t.0.: expected"),
        ("{goto: cart}", "t.0.: expected an address"),
    ],
)
def test_invalid_step_is_a_usage_error(tmp_path: Path, step: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        script(tmp_path, f"kind: scripted\ntasks: {{t: [{step}]}}\n")


def test_typographic_quotes_in_a_quoted_step_are_text(tmp_path: Path) -> None:
    agent = script(tmp_path, "kind: scripted\ntasks: {t: [{fill: {css=#a: '“one”'}}, {stop: '“x”'}]}\n")
    assert [agent.act(None) for _ in range(2)] == [Type(Selector("css=#a"), "“one”", clear=True), Stop("“x”")]
