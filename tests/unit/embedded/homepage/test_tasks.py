"""The shipped tasks: right answers pass, and nobody passes for nothing."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.checks import collect, judge
from pytest_webarena.embedded import homepage, world
from pytest_webarena.embedded.homepage.manuals import articles
from pytest_webarena.evidence import Evidence, TabState
from pytest_webarena.tasks import Task, load_tasks
from tests.unit.embedded.live import Page, Rows, rows_of, text_of

_FOLDER = Path(__file__).parents[4] / "tasks" / "homepage"
_TASKS = [task for path in sorted(_FOLDER.glob("*.yaml")) for task in load_tasks(path)]
_SITE = "http://homepage.test"


class _Live:
    """The pristine site as checks see it, without a browser: a page is all its text, whatever is located."""

    def __init__(self, data_dir: Path, task: Task) -> None:
        self._data_dir = data_dir
        self._client = Client(homepage.create_app(data_dir, sites={}))
        if user := task.user.get("homepage", homepage.DEFAULT_USER):
            self._client.post("/signin", data={"username": user, "password": homepage.ACCOUNTS[user]})

    @property
    def sites(self) -> Mapping[str, str]:
        return {"homepage": _SITE}

    def read_page(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> Page:
        assert open is not None
        response = self._client.get(open.removeprefix(_SITE))
        return Page(url=open, status=response.status_code, texts=(text_of(response.get_data(as_text=True)),))

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        with closing(sqlite3.connect(self._data_dir / "main.sqlite3")) as connection:
            return rows_of(connection, sql)

    def fetch(
        self,
        site: str,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> tuple[int, str]:
        raise AssertionError("no task here asks an API")


class _Judge:
    """Whether somebody passes a task who changes nothing, says ``answer`` and ends at ``url``."""

    def __init__(self, task: Task, data_dir: Path) -> None:
        self._task = task
        self._probes = collect(task.checks, _Live(data_dir, task), state="end")
        assert not [probe.error for probe in self._probes if probe.error]

    def passes(self, answer: str, url: str = "/") -> bool:
        tabs = (TabState(url=_SITE + url, title="", html="", active=True),)
        sites = {"homepage": _SITE}
        evidence = Evidence(answer=answer, stop_reason="answered", tabs=tabs, probes=self._probes, sites=sites)
        verdict = judge(self._task, evidence)
        assert not verdict.inconclusive
        return verdict.passed is True


def _said(task: Task) -> str:
    assert task.solution is not None
    last = task.solution[-1]
    assert isinstance(last, Stop)
    return last.answer


def test_there_are_enough_of_every_kind() -> None:
    by_category = {task.category for task in _TASKS}

    assert by_category == {"information", "navigation", "content", "unachievable"}
    assert len(_TASKS) >= 60
    assert len({task.template for task in _TASKS}) >= 20
    assert len({task.id for task in _TASKS}) == len(_TASKS)
    assert len({task.user.get("homepage") for task in _TASKS}) >= 6
    assert any(len(task.start) > 1 for task in _TASKS)


def test_every_file_carries_the_canary() -> None:
    for path in _FOLDER.glob("*.yaml"):
        assert path.read_text(encoding="utf-8").startswith(f"# {world.CANARY}\n"), path.name


@pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)
def test_task_is_not_passed_for_nothing(task: Task, data_dir: Path) -> None:
    start = task.start[0].path if task.start else "/"
    pristine = _Judge(task, data_dir)

    assert not pristine.passes("", start)
    assert not pristine.passes("Done.", start)
    assert not pristine.passes(task.intent, start)
    assert pristine.passes("N/A", start) is (task.category == "unachievable")
    if task.category in ("content", "navigation"):
        assert not pristine.passes(_said(task) or "Yes", start)


@pytest.mark.parametrize("task", [task for task in _TASKS if task.category == "information"], ids=lambda task: task.id)
def test_answer_is_right_but_reciting_is_not(task: Task, data_dir: Path) -> None:
    said = _said(task)
    pristine = _Judge(task, data_dir)
    if all(check.kind != "key_nodes" for check in task.checks):  # of those the way counts as well
        assert pristine.passes(said)

    telling = said.removeprefix("It costs ").removesuffix(".").removesuffix(" crowns")
    pages = [" ".join(section.text for section in article.sections) for article in articles().values()]
    pages = [page for page in pages if telling.split(" and ")[0].split(",")[0] in page]
    assert not any(pristine.passes(page) for page in pages)
    if re.fullmatch(r"\d+(\.\d+)?", telling):
        value = float(telling)
        assert not pristine.passes(" ".join(f"{value + step / 10:.2f}" for step in range(-20, 21)))
        assert not pristine.passes(f"1{telling} crowns")
        assert not pristine.passes(f"{telling}5 crowns" if "." in telling else f"{telling}0 crowns")


@pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)
def test_task_takes_some_steps(task: Task) -> None:
    assert task.solution is not None
    assert len(task.solution) >= 3
    # The way leads over links and forms, as an agent's does that knows no addresses; later it may remember some.
    gone = {action.url for action in task.solution[:-1] if isinstance(action, Goto)}
    assert gone <= {"homepage:/scratchpad/", "homepage:/scratchpad/new"}
    assert not isinstance(task.solution[0], Goto) or len(task.solution) > 5
