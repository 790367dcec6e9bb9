"""Shipped tasks of the map: right answers pass, others fail, and answers match the map."""

from __future__ import annotations

import csv
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.actions import Goto
from pytest_webarena.embedded import homepage, wikipedia
from pytest_webarena.embedded import map as atlas
from pytest_webarena.embedded.gitlab.seeding.drafts import all_drafts
from pytest_webarena.tasks import Task
from tests.cases import each_case
from tests.shipped_tasks import shipped_tasks
from tests.unit.embedded.live import LightSites, Page, PristineJudge, answer_of

pytestmark = pytest.mark.corpus

_FOLDER = Path(__file__).parents[4] / "tasks"
_FILES = sorted(path for name in ("map", "cross_site") for path in _FOLDER.glob(f"{name}/*.yaml"))
_EVERY = [task for path in _FILES for task in shipped_tasks(path) if "map" in task.sites]
_TASKS = [task for task in _EVERY if {"map", "wikipedia", "homepage"}.issuperset(task.sites)]
"""Those with a shop are judged where the shop is."""
_ANSWERED = [task for task in _TASKS if task.category == "information"]


class _Sites(LightSites):
    """Pristine sites whose open page is the start page of a visit."""

    def read_page(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> Page:
        start = f"{next(iter(self.sites.values()))}/"
        return super().read_page(open=open or start, locate=locate, prepare=prepare)


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Path]:
    """The data folders of the start page and the encyclopedia."""
    start, books = tmp_path_factory.mktemp("start-page"), tmp_path_factory.mktemp("encyclopedia")
    homepage.seed(start)
    wikipedia.seed(books)
    return (start / "main.sqlite3").read_bytes(), books


@pytest.fixture
def judged(data_dir: Path, others: tuple[bytes, Path], tmp_path: Path) -> Callable[[Task], PristineJudge]:
    """Return a factory of judges of a task on pristine sites, after the task's set-up."""
    start_page, books = others

    def build(task: Task) -> PristineJudge:
        (tmp_path / "main.sqlite3").write_bytes(start_page)
        every = {
            "map": (Client(atlas.create_app(data_dir)), data_dir),
            "wikipedia": (Client(wikipedia.create_app(books)), books),
            "homepage": (Client(homepage.create_app(tmp_path, sites={})), tmp_path),
        }
        for step in task.setup:
            assert step.kind == "sql"
            assert step.site == "homepage"
            with closing(sqlite3.connect(tmp_path / "main.sqlite3")) as connection, connection:
                connection.execute(step.spec.sql)
        live = _Sites({site: every[site] for site in task.sites})
        return PristineJudge(task, live, live.sites)

    return build


def test_tasks_cover_categories_and_templates() -> None:
    own = [task for task in _TASKS if task.sites == ("map",)]

    assert len({task.id for task in _TASKS}) == len(_TASKS)
    assert len(own) >= 60
    assert len({task.template for task in own}) >= 20
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
def test_right_answer_passes_and_others_fail(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    answer = answer_of(task)
    pristine = judged(task)
    if all(check.kind == "answer" for check in task.checks):
        assert pristine.passes(answer)
    pristine.assert_other_answers_fail(_ANSWERED, off_by=2)


@pytest.mark.parametrize("task", [task for task in _TASKS if task.template == "map-address"], ids=lambda task: task.id)
def test_address_answer_may_begin_with_the_street(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    street, number = task.filling["street"], task.filling["number"]

    assert judged(task).passes(f"{street} {number}")
    assert not judged(task).passes(f"{street} 1{number}")


@pytest.mark.parametrize(
    "task", [task for task in _TASKS if task.template == "map-list-of-kind"], ids=lambda task: task.id
)
def test_category_search_accepts_equivalent_words(
    task: Task, judged: Callable[[Task], PristineJudge], visitor: Client
) -> None:
    pristine, lists = judged(task), set()
    for word in (task.filling["kind"], task.filling["kinds"], str(task.filling["kinds"]).title()):
        page = visitor.get("/search", query_string={"query": word, "page": 2}).get_data(as_text=True)
        lists.add(tuple(re.findall(r'href="/place/(\d+)"', page)))
        assert pristine.passes("", at=f"/search?query={word}&page=2")

    assert len(lists) == 1
    assert not pristine.passes("", at=f"/search?query={task.filling['kinds']}")
    assert not pristine.passes("", at=f"/search?query={task.filling['kind']}+Aldersey&page=2")


@each_case("task", _TASKS, ids=lambda task: task.id)
def test_solution_has_steps_and_few_direct_addresses(task: Task) -> None:
    assert task.solution is not None
    assert len(task.solution) >= 3
    # Solutions use links and forms, like an agent without knowledge of addresses.
    assert {action.url for action in task.solution if isinstance(action, Goto)} <= {"homepage:/", "map:/"}


def _way(visitor: Client, start: str, end: str, engine: str) -> tuple[float, int]:
    """Return kilometres and minutes of a route as the map shows them."""
    html = visitor.get("/directions", query_string={"engine": engine, "from": start, "to": end}).get_data(as_text=True)
    found = re.search(r"Distance: ([\d.]+) (k?m)\. Time: (\d+):(\d\d)\.", html)
    assert found, (start, end)
    return float(found[1]) / (1 if found[2] == "km" else 1000), int(found[3]) * 60 + int(found[4])


def _both(
    visitor: Client, each: Mapping[str, Any], one: str, other: str
) -> tuple[tuple[float, int], tuple[float, int]]:
    return _way(visitor, each["from"], each["to"], one), _way(visitor, each["from"], each["to"], other)


def _saved(visitor: Client, each: Mapping[str, Any]) -> int:
    quick, slow = _both(visitor, each, each["quick"], each["other"])
    return slow[1] - quick[1]


def _longer(visitor: Client, each: Mapping[str, Any]) -> float:
    car, bike = _both(visitor, each, "car", "bike")
    return round(car[0] - bike[0], 1)


def _round(visitor: Client, each: Mapping[str, Any]) -> int:
    legs = (("first", "second"), ("second", "third"), ("third", "first"))
    return sum(_way(visitor, each[a], each[b], "car")[1] for a, b in legs)


def _soonest(visitor: Client, each: Mapping[str, Any]) -> str:
    times: dict[str, int] = {town: _way(visitor, each["from"], town, each["by"])[1] for town in each["towns"]}
    best = min(times, key=lambda town: times[town])
    # Rounding must not be ambiguous.
    assert sorted(times.values())[1] >= times[best] + 2
    return best


def _rows(data_dir: Path, each: Mapping[str, Any]) -> list[sqlite3.Row]:
    with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute(
            "SELECT * FROM places WHERE category = ? AND town = ?", (each["kind"], each["town"])
        ).fetchall()


_WAYS: Mapping[str, tuple[Callable[[Client, Mapping[str, Any]], object], str]] = {
    "map-minutes-of-way": (lambda visitor, each: _way(visitor, each["from"], each["to"], each["by"])[1], "minutes"),
    "map-length-of-way": (lambda visitor, each: _way(visitor, each["from"], each["to"], each["by"])[0], "km"),
    "map-longer-by-car": (_longer, "more"),
    "map-minutes-saved": (_saved, "minutes"),
    "map-round-by-car": (_round, "minutes"),
    "map-nearest-town": (_soonest, "town"),
    "cross-way-to-birthplace": (lambda visitor, each: _way(visitor, each["from"], each["town"], each["by"])[0], "km"),
    "cross-way-in-miles": (lambda visitor, each: _way(visitor, each["from"], each["to"], each["by"])[0], "km"),
    "cross-way-from-note": (lambda visitor, each: _way(visitor, each["from"], each["to"], each["by"])[1], "minutes"),
    "cross-way-to-delivery": (lambda visitor, each: _way(visitor, each["from"], each["to"], each["by"])[1], "minutes"),
}


@pytest.mark.parametrize("task", [task for task in _EVERY if task.template in _WAYS], ids=lambda task: task.id)
def test_route_answers_equal_the_map(task: Task, visitor: Client) -> None:
    truth, wanted = _WAYS[task.template]

    assert truth(visitor, task.filling) == task.filling[wanted]


def test_route_times_in_code_hosting_equal_the_map(visitor: Client) -> None:
    draft = next(draft for draft in all_drafts() if draft.path == "atlas/route-check")
    walks = list(csv.DictReader(filter(None, draft.files["walks.csv"].splitlines())))

    assert len(walks) == 5
    for walk in walks:
        engine = {"bicycle": "bike"}.get(walk["by"], walk["by"])
        assert _way(visitor, walk["from"], walk["to"], engine)[1] == int(walk["said"]), walk


@pytest.mark.parametrize(
    "task", [task for task in _TASKS if task.template == "map-nearest-on-foot"], ids=lambda task: task.id
)
def test_nearest_place_is_clearly_nearest(task: Task, visitor: Client, data_dir: Path) -> None:
    rows = _rows(data_dir, task.filling)
    metres = sorted(
        (_way(visitor, str(task.filling["from"]), f"place:{row['id']}", "foot")[0], str(row["name"])) for row in rows
    )

    assert metres[0][1] == task.filling["name"]
    assert metres[1][0] > metres[0][0] + 0.05
    assert len({name for _, name in metres}) == len(metres)


def _times(hours: str, day: str) -> tuple[str, str] | None:
    """Returns when a place opens and closes on a day of the week; None if it is closed."""
    week = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    for piece in filter(None, hours.split(", ")):
        days, times = piece.split(" ")
        first, _, last = days.partition("-")
        if week.index(first) <= week.index(day) <= week.index(last or first):
            opens, _, closes = times.partition("-")
            return opens, closes
    return None


def _day(hours: str, day: str, time: str) -> bool:
    times = _times(hours, day)
    return times is not None and (not time or times[0] <= time < times[1])


_WHEN = {
    "pharmacies": ("Sun", ""),
    "bakeries": ("Sun", "17:30"),
    "restaurants": ("Sat", "13:00"),
    "cafés": ("Sat", ""),
}


@pytest.mark.parametrize(
    "task",
    [task for task in _TASKS if task.template in ("map-open-then", "map-wheelchairs", "map-how-many")],
    ids=lambda task: task.id,
)
def test_lists_of_places_equal_the_map(task: Task, data_dir: Path) -> None:
    rows = _rows(data_dir, task.filling)
    if task.template == "map-how-many":
        assert len(rows) == task.filling["number"]
        return
    if task.template == "map-wheelchairs":
        fits = {row["name"] for row in rows if row["wheelchair"] == "yes"}
    else:
        fits = {row["name"] for row in rows if _day(row["hours"], *_WHEN[str(task.filling["kinds"])])}
    named, rest = task.filling["named"], task.filling["others"]

    assert isinstance(named, list)
    assert isinstance(rest, list)
    assert fits == set(named)
    assert {row["name"] for row in rows} == {*named, *rest}


@pytest.mark.parametrize(
    "task",
    [
        task
        for task in _TASKS
        if task.template in ("map-telephone", "map-address", "map-position", "map-who-lives-there", "map-hour")
    ],
    ids=lambda task: task.id,
)
def test_place_page_contains_the_answer(task: Task, visitor: Client) -> None:
    each = task.filling
    query = str(each.get("query", each.get("address", each["name"])))
    html = visitor.get("/search", query_string={"query": query}).get_data(as_text=True)
    found = re.findall(r'href="/place/(\d+)">([^<]+)</a>', html)
    numbers = [number for number, name in found if unescape(name) == each["name"]]

    assert len(numbers) == 1
    page = unescape(visitor.get(f"/place/{numbers[0]}").get_data(as_text=True))
    assert answer_of(task) in page
    if task.template == "map-hour":
        hours = ", ".join(map(" ".join, re.findall(r"<dd>([A-Z][a-z-]+(?:[A-Z][a-z]+)?): ([^<]+)</dd>", page)))
        times = _times(hours, str(each["day"])[:3])
        assert times is not None
        assert times[each["verb"] == "close"] == answer_of(task)


@pytest.mark.parametrize(
    "task", [task for task in _TASKS if task.template == "map-open-place"], ids=lambda task: task.id
)
def test_place_number_belongs_to_the_place(task: Task, visitor: Client) -> None:
    page = unescape(visitor.get(f"/place/{task.filling['number']}").get_data(as_text=True))

    assert f"<h1>{task.filling['name']}</h1>" in page
