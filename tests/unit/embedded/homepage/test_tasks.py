"""Shipped tasks of the start page: right answers pass, and others fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.actions import Goto
from pytest_webarena.embedded import homepage
from pytest_webarena.embedded.homepage.manuals import articles
from pytest_webarena.tasks import Task
from tests.cases import each_case
from tests.shipped_tasks import shipped_tasks
from tests.unit.embedded.live import LightSites, PristineJudge, answer_of

pytestmark = pytest.mark.corpus

_FOLDER = Path(__file__).parents[4] / "tasks" / "homepage"
_TASKS = [task for path in sorted(_FOLDER.glob("*.yaml")) for task in shipped_tasks(path)]


def _judge(task: Task, data_dir: Path) -> PristineJudge:
    client = Client(homepage.create_app(data_dir, sites={}))
    if user := task.user.get("homepage", homepage.DEFAULT_USER):
        client.post("/signin", data={"username": user, "password": homepage.ACCOUNTS[user]})
    live = LightSites({"homepage": (client, data_dir)})
    return PristineJudge(task, live, live.sites)


def test_tasks_cover_categories_templates_and_users() -> None:
    by_category = {task.category for task in _TASKS}

    assert by_category == {"information", "navigation", "content", "unachievable"}
    assert len(_TASKS) >= 60
    assert len({task.template for task in _TASKS}) >= 20
    assert len({task.id for task in _TASKS}) == len(_TASKS)
    assert len({task.user.get("homepage") for task in _TASKS}) >= 6
    assert any(len(task.start) > 1 for task in _TASKS)


@pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)
def test_task_fails_without_work(task: Task, data_dir: Path) -> None:
    _judge(task, data_dir).assert_fails_without_work()


@pytest.mark.parametrize("task", [task for task in _TASKS if task.category == "information"], ids=lambda task: task.id)
def test_right_answer_passes_and_recited_text_fails(task: Task, data_dir: Path) -> None:
    answer = answer_of(task)
    pristine = _judge(task, data_dir)
    if all(check.kind != "key_nodes" for check in task.checks):  # key nodes also check the steps
        assert pristine.passes(answer)

    telling = answer.removeprefix("It costs ").removesuffix(".").removesuffix(" crowns")
    pages = [" ".join(section.text for section in article.sections) for article in articles().values()]
    pages = [page for page in pages if telling.split(" and ")[0].split(",")[0] in page]
    assert not any(pristine.passes(page) for page in pages)
    if re.fullmatch(r"\d+(\.\d+)?", telling):
        value = float(telling)
        assert not pristine.passes(" ".join(f"{value + step / 10:.2f}" for step in range(-20, 21)))
        assert not pristine.passes(f"1{telling} crowns")
        assert not pristine.passes(f"{telling}5 crowns" if "." in telling else f"{telling}0 crowns")


@each_case("task", _TASKS, ids=lambda task: task.id)
def test_solution_has_steps_and_few_direct_addresses(task: Task) -> None:
    assert task.solution is not None
    assert len(task.solution) >= 3
    # Solutions use links and forms, like an agent without knowledge of addresses; later steps may repeat addresses.
    addresses = {action.url for action in task.solution[:-1] if isinstance(action, Goto)}
    assert addresses <= {"homepage:/scratchpad/", "homepage:/scratchpad/new"}
    assert not isinstance(task.solution[0], Goto) or len(task.solution) > 5
