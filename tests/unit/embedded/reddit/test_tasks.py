"""Shipped tasks of the forum: right answers pass, others fail, and answers match the threads."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.actions import Goto
from pytest_webarena.changes import RowChange, TableChanges
from pytest_webarena.embedded import homepage, landscape, reddit, wikipedia
from pytest_webarena.tasks import Task
from tests.cases import each_case
from tests.shipped_tasks import shipped_tasks
from tests.unit.embedded.live import LightSites, PristineJudge, answer_of

pytestmark = pytest.mark.corpus

_FOLDER = Path(__file__).parents[4] / "tasks"
_FILES = [*sorted(_FOLDER.glob("reddit/*.yaml")), _FOLDER / "cross_site" / "forum_and_others.yaml"]
_ALL = [task for path in _FILES for task in shipped_tasks(path)]
_TASKS = [task for task in _ALL if "shopping" not in task.sites]
"""Those with the store are tested where the store is."""
_ANSWERED = [task for task in _TASKS if task.category == "information"]


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Folders with the data of the other sites; tests must not change them."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("homepage", "wikipedia")}
    homepage.seed(folders["homepage"])
    wikipedia.seed(folders["wikipedia"])
    return folders


@pytest.fixture
def judged(data_dir: Path, others: Mapping[str, Path]) -> Callable[[Task], PristineJudge]:
    """Return a factory of judges of a task on pristine sites."""

    def build(task: Task) -> PristineJudge:
        visits = {"reddit": (Client(reddit.create_app(data_dir)), data_dir)}
        if "homepage" in task.sites:
            visits["homepage"] = (Client(homepage.create_app(others["homepage"], sites={})), others["homepage"])
        if "wikipedia" in task.sites:
            visits["wikipedia"] = (Client(wikipedia.create_app(others["wikipedia"])), others["wikipedia"])
        live = LightSites(visits)
        return PristineJudge(task, live, live.sites)

    return build


def _asked(data_dir: Path, sql: str, values: Mapping[str, Any]) -> list[Any]:
    plain = {key: str(value) for key, value in values.items()}
    with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection:
        return [str(value) for (value,) in connection.execute(sql, plain)]


def test_tasks_cover_categories_templates_and_users() -> None:
    own = [task for task in _TASKS if task.sites == ("reddit",)]

    assert len({task.id for task in _ALL}) == len(_ALL)
    assert len(own) >= 100
    assert len({task.template for task in own}) >= 35
    assert len(_ALL) - len(own) >= 10
    assert set(Counter(task.category for task in own)) == {"information", "navigation", "content", "unachievable"}
    assert {tag for task in own if task.category == "unachievable" for tag in task.tags} == {
        "no-evidence",
        "no-function",
        "no-permission",
    }
    assert len({user for task in own for user in task.user.values()}) >= 10


@each_case("task", _TASKS, ids=lambda task: task.id)
def test_task_fails_without_work(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    judged(task).assert_fails_without_work()


@each_case("task", _ANSWERED, ids=lambda task: task.id)
def test_right_answer_passes_and_others_fail(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    answer = answer_of(task)
    pristine = judged(task)
    assert pristine.passes(answer)
    pristine.assert_other_answers_fail(_ANSWERED, off_by=1)


@pytest.mark.parametrize(
    "task", [task for task in _TASKS if task.template == "reddit-add-to-own-post"], ids=lambda task: task.id
)
def test_task_to_extend_a_post_requires_its_old_text(
    task: Task, judged: Callable[[Task], PristineJudge], data_dir: Path
) -> None:
    added = f"char(10) || char(10) || '{task.filling['text']}'"
    for body, right in ((f"substr(body, 20) || {added}", False), (f"body || ' ' || {added}", True)):
        with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection, connection:
            before = connection.execute("SELECT body FROM posts WHERE title = ?", (task.filling["title"],)).fetchone()
            connection.execute(
                f"UPDATE posts SET body = {body}, edited = '2025-05-14T09:01:00' WHERE title = ?",
                (task.filling["title"],),
            )
        changed = TableChanges(
            table="posts", changed=1, columns=("body", "edited"), rows=(RowChange(kind="changed", key={"id": 1}),)
        )
        assert judged(task).passes("", changed=[changed]) is right
        with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection, connection:
            connection.execute("UPDATE posts SET body = ? WHERE title = ?", (*before, task.filling["title"]))


@each_case("task", _ALL, ids=lambda task: task.id)
def test_solution_has_steps_and_no_direct_addresses(task: Task) -> None:
    assert task.solution is not None
    assert len(task.solution) >= 3
    # Solutions use links and forms, like an agent without knowledge of addresses.
    assert not [action for action in task.solution if isinstance(action, Goto)]


_SEEN = (
    "from posts p join forums f on f.id = p.forum join users u on u.id = p.user where not p.removed and not p.deleted"
)
_OF_FORUM = "select count(*) from subscriptions s join forums f on f.id = s.forum where f.name = "
_TRUTHS: dict[str, tuple[str, str]] = {
    # Queries for a single best select two, so that a tie gives two rows.
    "reddit-author-of-best-post": (
        f"with seen as (select u.name, p.up - p.down as score {_SEEN} and f.name = :forum)"
        " select name from seen where score = (select max(score) from seen)",
        "author",
    ),
    "reddit-author-of-best-comment": (
        "with said as (select u.name, c.up - c.down as score from comments c join users u on u.id = c.user"
        " join posts p on p.id = c.post where p.title = :title)"
        " select name from said where score = (select max(score) from said)",
        "author",
    ),
    "reddit-count-comments-of": (
        "select count(*) from comments c join users u on u.id = c.user join posts p on p.id = c.post"
        " where p.title = :title and u.name = :who",
        "number",
    ),
    "reddit-who-banned": (
        "select m.name from bans b join users m on m.id = b.by_user join users u on u.id = b.user"
        " join forums f on f.id = b.forum where u.name = :who and f.name = :forum",
        "moderator",
    ),
    "reddit-more-subscribers": (f"select ({_OF_FORUM} :more) - ({_OF_FORUM} :less)", "number"),
    "reddit-other-forum-of-moderator": (
        "select f.name from moderators m join forums f on f.id = m.forum join users u on u.id = m.user"
        " where u.name = :who and f.name != :forum",
        "other",
    ),
    "reddit-count-posts-of-week": (
        f"select count(*) {_SEEN} and f.name = :forum and p.created >= '2025-05-07T09:00:00'",
        "number",
    ),
    "reddit-member-for-longer": (
        "select name from users where name in (:first, :second) order by joined limit 1",
        "longer",
    ),
    "reddit-show-comments-of-author": (f"select u.name {_SEEN} and p.title = :title", "who"),
    "reddit-block-author": (f"select u.name {_SEEN} and p.title = :title and f.name = :forum", "who"),
    "reddit-open-most-commented": (
        f"with seen as (select p.id, p.comments {_SEEN} and f.name = :forum)"
        " select id from seen where comments = (select max(comments) from seen)",
        "number",
    ),
}


@pytest.mark.parametrize("task", [task for task in _TASKS if task.template in _TRUTHS], ids=lambda task: task.id)
def test_answer_equals_the_threads(task: Task, data_dir: Path) -> None:
    truth, wanted = _TRUTHS[task.template]

    assert _asked(data_dir, truth, task.filling) == [str(task.filling[wanted])]


@pytest.mark.parametrize(
    "task", [task for task in _TASKS if {"title", "words"} <= set(task.filling)], ids=lambda task: task.id
)
def test_named_post_is_unique(task: Task, data_dir: Path) -> None:
    # If a note has the title, the filling names the post separately.
    named = {"title": task.filling.get("post", task.filling["title"])}
    found = _asked(data_dir, "select count(*) from posts where title = :title and not removed", named)

    assert found == ["1"]


def test_heights_equal_those_of_the_hills() -> None:
    heights = {hill.name: hill.height for hill in landscape.HILLS}
    tasks = [task for task in _TASKS if task.template == "cross-height-of-hill-in-post"]

    assert len(tasks) == 3
    assert all(heights[str(task.filling["hill"])] == task.filling["height"] for task in tasks)
