"""Conditions on texts in shipped tasks: lists in notes, and dates in sentences."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.checks import judge
from pytest_webarena.checks.text import TextMatch, judge_text
from pytest_webarena.tasks import Task, load_tasks
from tests.cases import each_case

from .helpers import evidence

_TASKS = Path(__file__).parents[3] / "tasks"
_BRIDGES = "Corrin Bridge\nLower Bridge\nOld Bridge\nUpper Bridge\nWend Viaduct"
_MUSEUMS = "Engine Hall, Harbour Museum, Paper and Binding Museum, Slate Museum and the Weaving Sheds"


def _task(file: str, name: str) -> Task:
    return next(each for each in load_tasks(_TASKS / file) if each.id == name)


@each_case(
    ("kind", "body", "right"),
    [
        ("bridges", _BRIDGES, True),
        ("bridges", "Bridges: " + _BRIDGES.replace("\n", ", ") + ".", True),
        ("bridges", _BRIDGES.replace("Old", "The Old"), True),
        ("bridges", _BRIDGES + "\nHarbour Light", False),
        ("bridges", "Harbour Light, " + _BRIDGES, False),
        ("bridges", _BRIDGES.replace("Old Bridge\n", ""), False),
        ("museums", _MUSEUMS, True),
        ("museums", _MUSEUMS + "; Harbour Light", False),
    ],
)
def test_note_must_list_all_names_and_no_others(kind: str, body: str, right: bool) -> None:
    task = _task("cross_site/encyclopedia_and_homepage.yaml", f"cross-category-into-note.{kind}")
    text = next(check.spec.text for check in task.checks if check.kind == "state" and check.spec.text)
    assert isinstance(text, TextMatch)
    assert judge_text(text, body).holds is right


@each_case(
    ("answer", "right"),
    [
        ("2023-11-19", True),
        ("The commit of v3.1.0 was made on 2023-11-19.", True),
        ("2023-11-20", False),
        ("2023-11-19 or 2023-11-20", None),
        ("2023-11-18, 2023-11-19", None),
        ("v3.0.0: 2023-11-19", None),
        ("not 2023-11-19", None),
    ],
)
def test_date_answer_may_be_in_a_sentence(answer: str, right: bool | None) -> None:
    task = _task("gitlab/questions.yaml", "gitlab-day-of-version.fellmap")
    assert judge(task, evidence(answer)).passed is right
