"""Shipped tasks of the encyclopedia: right answers pass, others fail, and answers match the articles."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.actions import Goto
from pytest_webarena.embedded import homepage, landscape, wikipedia, world
from pytest_webarena.embedded.wikipedia import tables
from pytest_webarena.embedded.wikipedia.land import titles_of_rivers
from pytest_webarena.embedded.wikipedia.seed import all_drafts
from pytest_webarena.tasks import Task
from tests.cases import each_case
from tests.shipped_tasks import shipped_tasks
from tests.unit.embedded.live import LightSites, PristineJudge, answer_of

pytestmark = pytest.mark.corpus

_FOLDER = Path(__file__).parents[4] / "tasks"
_FILES = sorted(path for name in ("wikipedia", "cross_site") for path in _FOLDER.glob(f"{name}/*.yaml"))
_TASKS = [
    task
    for path in _FILES
    for task in shipped_tasks(path)
    if "wikipedia" in task.sites and {"wikipedia", "homepage"}.issuperset(task.sites)
]
"""Those with a shop are tested where the shop is."""
_ANSWERED = [task for task in _TASKS if task.category == "information"]


@pytest.fixture(scope="session")
def start_page(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    directory = tmp_path_factory.mktemp("start-page")
    homepage.seed(directory)
    return (directory / "main.sqlite3").read_bytes()


@pytest.fixture
def judged(
    data_dir: Path, start_page: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Task], PristineJudge]:
    """Return a factory of judges of a task on pristine sites, after the task's set-up."""
    monkeypatch.syspath_prepend(str(_FOLDER / "cross_site"))

    def build(task: Task) -> PristineJudge:
        visits = {"wikipedia": (Client(wikipedia.create_app(data_dir)), data_dir)}
        if "homepage" in task.sites:
            (tmp_path / "main.sqlite3").write_bytes(start_page)
            visits["homepage"] = (Client(homepage.create_app(tmp_path, sites={})), tmp_path)
        for step in task.setup:
            assert step.kind == "sql"
            assert step.site == "homepage"
            with closing(sqlite3.connect(tmp_path / "main.sqlite3")) as connection, connection:
                connection.execute(step.spec.sql)
        live = LightSites(visits)
        return PristineJudge(task, live, live.sites)

    return build


def test_tasks_cover_categories_and_templates() -> None:
    own = [task for task in _TASKS if task.sites == ("wikipedia",)]

    assert len({task.id for task in _TASKS}) == len(_TASKS)
    assert len(own) >= 45
    assert len({task.template for task in own}) >= 15
    assert len(_TASKS) - len(own) >= 12
    assert set(Counter(task.category for task in own)) == {"information", "navigation", "unachievable"}
    assert {tag for task in own if task.category == "unachievable" for tag in task.tags} == {
        "no-evidence",
        "no-function",
    }
    assert not any(task.mutates for task in own)


@each_case("task", _TASKS, ids=lambda task: task.id)
def test_task_fails_without_work(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    judged(task).assert_fails_without_work()


@each_case("task", _ANSWERED, ids=lambda task: task.id)
def test_right_answer_passes_and_recited_article_fails(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    answer = answer_of(task)
    pristine = judged(task)
    if all(check.kind == "answer" for check in task.checks):
        assert pristine.passes(answer)
    pristine.assert_other_answers_fail(_ANSWERED, off_by=1)
    recited = [draft for draft in _RECITED if answer.lower() in draft.body.lower()] or _RECITED[:1]
    assert not any(pristine.passes(draft.body) for draft in recited)


@pytest.mark.exhaustive
@each_case("task", _ANSWERED, ids=lambda task: task.id)
def test_no_recited_article_passes(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    pristine = judged(task)
    assert not any(pristine.passes(draft.body) for draft in _RECITED)


_RECITED = [draft for draft in all_drafts() if draft.title.startswith(("List of", "Climate", "Crown", "Wool trade"))]


@each_case("task", _TASKS, ids=lambda task: task.id)
def test_solution_has_steps_and_few_direct_addresses(task: Task) -> None:
    assert task.solution is not None
    assert len(task.solution) >= 3
    # Solutions use links and forms, like an agent without knowledge of addresses, except to open the other site.
    assert {action.url for action in task.solution if isinstance(action, Goto)} <= {"homepage:/"}


_PEOPLE = {person.name: person for person in tables.NOTABLES}
_BUILDINGS = {building.name: building for building in landscape.BUILDINGS}
_TOWN_KEYS = {town.name: town.key for town in world.TOWNS}
_TOWNS = {town.key: town.name for town in world.TOWNS}
_DRAFTS = {draft.title: draft for draft in all_drafts()}


def _source(river: str) -> int:
    found = next(each for each in landscape.RIVERS if titles_of_rivers()[each.name] == river)
    return next(hill.height for hill in landscape.HILLS if hill.name == found.source)


def _climate(filling: Mapping[str, Any]) -> int:
    rows = re.findall(r"^\| (?!Month)\w+ \| (.*) \|$", _DRAFTS["Climate of Tarnmark"].body, flags=re.MULTILINE)
    months = [tuple(map(float, row.split(" | "))) for row in rows]
    conditions: dict[str, Callable[[tuple[float, ...]], bool]] = {
        "80 mm": lambda month: month[3] > 80,
        "warmer in Brackwater": lambda month: month[1] > month[0],
        "below 5": lambda month: month[2] < 5,
    }
    meets = next(meets for words, meets in conditions.items() if words in filling["condition"])
    assert len(months) == 12
    return sum(map(meets, months))


_TRUTHS: dict[str, tuple[Callable[[Mapping[str, Any]], object], str]] = {
    "wikipedia-hills-near": (
        lambda filling: sum(hill.town == _TOWN_KEYS[filling["town"]] for hill in landscape.HILLS),
        "number",
    ),
    "wikipedia-people-in-villages": (
        lambda filling: sum(
            village.population for village in landscape.VILLAGES if village.town == _TOWN_KEYS[filling["town"]]
        ),
        "number",
    ),
    "wikipedia-age-of-builder": (
        lambda filling: _BUILDINGS[filling["article"]].built - _PEOPLE[filling["builder"]].born,
        "age",
    ),
    "wikipedia-years-between": (
        lambda filling: _BUILDINGS[filling["second"]].built - _BUILDINGS[filling["first"]].built,
        "years",
    ),
    "wikipedia-height-of-source": (lambda filling: _source(filling["article"]), "height"),
    "wikipedia-person-on-note": (lambda filling: _TOWNS[_PEOPLE[filling["person"]].town], "town"),
    "wikipedia-count-natives": (
        lambda filling: sum(person.town == _TOWN_KEYS[filling["town"]] for person in tables.NOTABLES),
        "number",
    ),
    "wikipedia-count-category": (
        lambda filling: sum(filling["category"] in draft.categories for draft in _DRAFTS.values()),
        "number",
    ),
    "wikipedia-months": (_climate, "number"),
    "cross-depth-in-feet": (
        lambda filling: round(
            next(lake.depth for lake in landscape.LAKES if filling["lake"].endswith(lake.name)) / 0.3048, 1
        ),
        "feet",
    ),
    "cross-category-into-note": (
        lambda filling: sorted(
            draft.title.removesuffix(" (bridge)")
            for draft in _DRAFTS.values()
            if filling["category"] in draft.categories
        ),
        "named",
    ),
}


@each_case("task", [task for task in _TASKS if task.template in _TRUTHS], ids=lambda task: task.id)
def test_answer_equals_the_articles(task: Task) -> None:
    truth, wanted = _TRUTHS[task.template]

    assert truth(task.filling) == task.filling[wanted]


@pytest.mark.parametrize(
    "task", [task for task in _TASKS if task.template == "wikipedia-count-links"], ids=lambda task: task.id
)
def test_number_of_links_equals_the_links_page(task: Task, reader: Client) -> None:
    html = reader.get(f"/links/{str(task.filling['article']).replace(' ', '_')}").get_data(as_text=True)

    assert re.findall(r"(\d+) articles", html) == [str(task.filling["number"])]
