"""Shipped tasks of the code hosting: right answers pass, others fail, and answers match the data."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.actions import Goto
from pytest_webarena.embedded import gitlab, reddit, wikipedia
from pytest_webarena.embedded import map as atlas
from pytest_webarena.tasks import Task
from tests.cases import each_case
from tests.shipped_tasks import shipped_tasks
from tests.unit.embedded.live import LightSites, PristineJudge, answer_of

pytestmark = pytest.mark.corpus

_SITES: Mapping[str, ModuleType] = {"gitlab": gitlab, "reddit": reddit, "wikipedia": wikipedia, "map": atlas}
_FOLDER = Path(__file__).parents[4] / "tasks"
_FILES = [*sorted(_FOLDER.glob("gitlab/*.yaml")), _FOLDER / "cross_site/code_hosting.yaml"]
_TASKS = [task for path in _FILES for task in shipped_tasks(path)]
_OWN = [task for task in _TASKS if task.sites == ("gitlab",)]
_ANSWERED = [task for task in _TASKS if task.category == "information"]

Query = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Folders with the data of the pristine sites; tests must not change them."""
    found = {}
    for name, site in _SITES.items():
        found[name] = tmp_path_factory.mktemp(f"{name}-of-tasks")
        site.seed(found[name])
    return found


@pytest.fixture
def judged(folders: Mapping[str, Path]) -> Callable[[Task], PristineJudge]:
    """Return a factory of judges of a task on pristine sites."""

    def build(task: Task) -> PristineJudge:
        assert not task.setup
        live = LightSites(
            {name: (Client(_SITES[name].create_app(folders[name])), folders[name]) for name in task.sites}
        )
        return PristineJudge(task, live, live.sites)

    return build


@pytest.fixture
def query(folders: Mapping[str, Path]) -> Callable[..., list[tuple[Any, ...]]]:
    """Return a function that queries the code hosting's database."""

    def run(sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(folders["gitlab"] / "main.sqlite3")) as connection:
            return connection.execute(sql, values).fetchall()

    return run


def test_tasks_cover_categories_templates_and_users() -> None:
    assert len({task.id for task in _TASKS}) == len(_TASKS)
    assert len(_OWN) >= 45
    assert len({task.template for task in _OWN}) >= 45
    assert len(_TASKS) - len(_OWN) >= 15
    assert set(Counter(task.category for task in _OWN)) == {"information", "navigation", "content", "unachievable"}
    assert {tag for task in _OWN if task.category == "unachievable" for tag in task.tags} == {
        "no-evidence",
        "no-function",
        "no-permission",
    }
    assert len({user for task in _OWN for user in task.user.values()}) >= 15


@each_case("task", _TASKS, ids=lambda task: task.id)
def test_task_fails_without_work(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    judged(task).assert_fails_without_work()


@each_case("task", _ANSWERED, ids=lambda task: task.id)
def test_right_answer_passes_and_others_fail(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    answer = answer_of(task)
    pristine = judged(task)
    assert pristine.passes(answer)
    pristine.assert_other_answers_fail(_ANSWERED)
    hedged = [f"{answer} or {other}" for other in task.filling.get("others", ())]
    assert not [each for each in hedged if pristine.passes(each)]


@each_case(
    "task",
    [task for task in _ANSWERED if task.template in ("gitlab-last-to-change", "gitlab-who-closed")],
    ids=lambda task: task.id,
)
def test_person_may_be_answered_by_name_or_user_name(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    pristine = judged(task)
    person, other = (name.lower().replace(" ", ".") for name in (answer_of(task), task.filling["others"][0]))

    assert pristine.passes(f"It was @{person}.")
    assert not pristine.passes(other)
    assert not pristine.passes(f"{person} or {other}")


@pytest.mark.parametrize(
    "task", [task for task in _OWN if task.template == "gitlab-show-old-file"], ids=lambda task: task.id
)
def test_version_task_accepts_the_commits_page(
    task: Task, judged: Callable[[Task], PristineJudge], query: Query
) -> None:
    given = task.filling
    tagged = query(
        "SELECT substr(CAST(data AS TEXT), 8, 40) FROM refs JOIN projects ON projects.id = project_id"
        " JOIN objects ON objects.sha = refs.sha WHERE full_path = ? AND refs.name = ?",
        given["project"],
        f"refs/tags/v{given['version']}",
    )

    assert tagged == [(given["commit"],)]
    assert judged(task).passes("", at=f"/{given['project']}/-/blob/{given['commit']}/{given['file']}")
    assert not judged(task).passes("", at=f"/{given['project']}/-/blob/main/{given['file']}")


@each_case("task", _TASKS, ids=lambda task: task.id)
def test_solution_has_steps_and_few_direct_addresses(task: Task) -> None:
    assert task.solution is not None
    assert len(task.solution) >= 3
    # Solutions use links and forms, like an agent without knowledge of addresses.
    addresses = {action.url for action in task.solution if isinstance(action, Goto)}
    assert (
        not {url for url in addresses if not url.startswith("reddit:/user/")}
        or task.id == "gitlab-correct-file.cardamom"
    )


_REACHED = """
    WITH RECURSIVE reached(sha) AS (
      SELECT refs.sha FROM refs JOIN projects ON projects.id = project_id
      WHERE full_path = ? AND refs.name = 'refs/heads/main'
      UNION SELECT parent FROM reached JOIN parents USING (sha))
    SELECT author, author_email, authored FROM reached JOIN commits USING (sha)
    WHERE (SELECT count(*) FROM parents WHERE parents.sha = reached.sha) < 2
"""
_LABELLED = """
    SELECT count(*) FROM issues JOIN projects ON projects.id = issues.project_id
    JOIN labelled ON item = 'issue' AND item_id = issues.id JOIN labels ON labels.id = label_id
    WHERE full_path = ? AND labels.title = ? AND state = 'opened'
"""
_OPEN = """
    SELECT count(*) FROM issues JOIN projects ON projects.id = project_id WHERE full_path = ? AND state = 'opened'
"""
_ROLE = """
    SELECT role FROM members JOIN namespaces ON namespaces.id = namespace_id JOIN users ON users.id = members.user_id
    WHERE namespaces.name = ? AND users.name = ?
"""
_FORKS = """
    SELECT namespaces.path FROM projects JOIN namespaces ON namespaces.id = namespace_id
    WHERE forked_from = (SELECT id FROM projects WHERE full_path = ?)
"""
_STARRED = """
    SELECT full_path, count(user_id) FROM projects LEFT JOIN stars ON project_id = projects.id
    WHERE instr(',' || topics || ',', ',' || ? || ',') GROUP BY 1 ORDER BY 2 DESC
"""
_DUE = "SELECT due_date FROM issues JOIN projects ON projects.id = project_id WHERE full_path = ? AND title = ?"
_CLOSED = """
    SELECT users.name FROM issues JOIN projects ON projects.id = project_id JOIN users ON users.id = closed_by_id
    WHERE full_path = ? AND title = ?
"""
_SEEN = "SELECT text FROM texts WHERE project = ? AND branch = 'main' AND path = ?"


def _busiest(query: Query, filling: Mapping[str, Any]) -> object:
    (first, most), (_, next_most) = Counter(mail for _, mail, _ in query(_REACHED, filling["project"])).most_common(2)
    assert most > next_most
    return first


def _in_year(query: Query, filling: Mapping[str, Any]) -> object:
    rows = query(_REACHED, filling["project"])
    return sum(author == filling["author"] and day.startswith(f"{filling['year']}-") for author, _, day in rows)


def _most_starred(query: Query, filling: Mapping[str, Any]) -> object:
    (first, most), (_, next_most) = query(_STARRED, filling["topic"])[:2]
    assert most > next_most
    return first


def _recipe(query: Query, filling: Mapping[str, Any]) -> object:
    prices = dict(line.split(",") for line in query(_SEEN, "makers/quern", "prices.csv")[0][0].split("\n")[1:-1])
    lines = query(_SEEN, "makers/quern", f"recipes/{filling['file']}")[0][0].split("\n")[1:]
    found = [line.rsplit(" ", 1) for line in lines if re.search(r" \d+$", line)]
    assert len(found) == 3
    return round(sum(float(prices[what]) * int(grams) / 1000 for what, grams in found), 2)


def _fee(query: Query, filling: Mapping[str, Any]) -> object:
    assert "A night is 2 crowns a metre, from the third night on 1.50." in query(
        _SEEN, "harbour/harbour-log", "README.md"
    )[0][0]  # fmt: skip
    first = min(filling["nights"], 2)
    return filling["metres"] * (2 * first + 1.5 * (filling["nights"] - first))


_TRUTHS: dict[str, tuple[Callable[[Query, Mapping[str, Any]], object], str]] = {
    "gitlab-address-of-busiest": (_busiest, "mail"),
    "gitlab-commits-in-year": (_in_year, "number"),
    "gitlab-count-labelled": (lambda query, given: query(_LABELLED, given["project"], given["label"])[0][0], "number"),
    "gitlab-more-open-issues": (
        lambda query, given: query(_OPEN, given["more"])[0][0] - query(_OPEN, given["fewer"])[0][0],
        "number",
    ),
    "gitlab-role-in-group": (
        lambda query, given: query(_ROLE, given["group"], given["person"])[0][0].capitalize(),
        "role",
    ),
    "gitlab-who-forked": (lambda query, given: ",".join(row[0] for row in query(_FORKS, given["project"])), "person"),
    "gitlab-most-starred": (_most_starred, "path"),
    "gitlab-when-due": (lambda query, given: query(_DUE, given["project"], given["title"])[0][0], "day"),
    "gitlab-who-closed": (
        lambda query, given: ",".join(row[0] for row in query(_CLOSED, given["project"], given["title"])),
        "person",
    ),
    "gitlab-cost-of-recipe": (_recipe, "crowns"),
    "gitlab-fee-of-berth": (_fee, "crowns"),
    "cross-project-as-post": (_most_starred, "project"),
}


@pytest.mark.parametrize("task", [task for task in _TASKS if task.template in _TRUTHS], ids=lambda task: task.id)
def test_answer_equals_the_database(task: Task, query: Query) -> None:
    truth, wanted = _TRUTHS[task.template]

    assert truth(query, task.filling) == task.filling[wanted]


@pytest.mark.parametrize(
    "task",
    [task for task in _TASKS if task.template in ("cross-way-into-readme", "cross-walk-as-row")],
    ids=lambda task: task.id,
)
def test_distances_equal_those_of_the_map(task: Task, folders: Mapping[str, Path]) -> None:
    given = task.filling
    query = {
        "engine": given.get("engine", "foot"),
        "from": given.get("start_at", given["from"]),
        "to": given.get("place", given.get("to")),
    }

    page = Client(atlas.create_app(folders["map"])).get("/directions", query_string=query).get_data(as_text=True)
    found = re.search(r"Distance: (.+?)\. Time: (\d+):(\d+)\.", page)

    assert found is not None
    if "distance" in given:
        assert found[1].replace("\xa0", " ") == given["distance"]
    else:
        assert int(found[2]) * 60 + int(found[3]) == given["said"]


def test_forum_posts_for_issue_tasks_are_unique(folders: Mapping[str, Path]) -> None:
    tasks = [task for task in _TASKS if task.template == "cross-post-as-issue"]
    with closing(sqlite3.connect(folders["reddit"] / "main.sqlite3")) as connection:
        for task in tasks:
            found = connection.execute(
                "SELECT users.name FROM posts JOIN users ON users.id = user WHERE title = ?", (task.filling["title"],)
            )
            assert found.fetchall() == [(task.filling["author"],)]
    assert len(tasks) == 3
