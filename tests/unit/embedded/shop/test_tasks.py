"""Shipped tasks of the store: right answers pass, others fail, and answers match the seed data."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from werkzeug.test import Client

from pytest_webarena.actions import Goto, NewTab
from pytest_webarena.embedded import homepage
from pytest_webarena.tasks import Check, Task
from tests.cases import each_case
from tests.shipped_tasks import shipped_tasks
from tests.unit.embedded.live import Page, PristineJudge, Rows, answer_of, rows_of, text_of

from .conftest import Visitor

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

_FOLDER = Path(__file__).parents[4] / "tasks"
_FILES = sorted(
    path for name in ("shopping", "shopping_admin", "cross_site") for path in _FOLDER.glob(f"{name}/*.yaml")
)
_SHOPS = {"shopping", "shopping_admin"}
_TASKS = [task for path in _FILES for task in shipped_tasks(path) if _SHOPS.intersection(task.sites)]
_BY_ID = {task.id: task for task in _TASKS}
_SITES = {
    "shopping": "http://shopping.test",
    "shopping_admin": "http://shopping-admin.test",
    "homepage": "http://homepage.test",
    "wikipedia": "http://wikipedia.test",
    "reddit": "http://reddit.test",
    "map": "http://map.test",
}
_USERS = {
    "shopping": "mara.linden",
    "shopping_admin": "clementine.rusk",
    "homepage": "mara.linden",
    "wikipedia": "",
    "reddit": "",
    "map": "",
}
_KINDS = {"answer", "url", "page", "state", "network", "python", "all", "not"}
_ANSWERS = {"NumberValue", "Name", "Names", "Date", "json", "unachievable"}
_CAUSES = {"no-evidence", "no-permission", "no-function"}
"""Tags of tasks that can't be done, by why they can't."""
_PRICES = {"shopping-price-of-basket", "shopping-price-with-voucher"}
"""Questions with a check that nothing was ordered."""


class _Live:
    """The pristine sites for checks, without a browser: a page is its whole text.

    Clients sign in with the first page that is read, because most checks only query the database.
    """

    def __init__(self, task: Task, store: WSGIApplication, data: Mapping[str, Path]) -> None:
        self.sites = {site: _SITES[site] for site in task.sites}
        self._users = {site: task.user.get(site, _USERS[site]) for site in task.sites}
        self._store = store
        self._data = data
        self._visitors: dict[str, Visitor] = {}
        self._start = f"{_SITES[task.sites[0]]}/"

    def _visitor(self, site: str) -> Visitor:
        assert site in _SHOPS
        if site not in self._visitors:
            self._visitors[site] = Visitor(self._store, urlsplit(_SITES[site]).netloc)
            if user := self._users[site]:
                self._visitors[site].sign_in(user)
        return self._visitors[site]

    @cached_property
    def _homepage(self) -> Client:
        client = Client(homepage.create_app(self._data["homepage"], sites={}))
        if user := self._users["homepage"]:
            client.post("/signin", data={"username": user, "password": homepage.ACCOUNTS[user]})
        return client

    def read_page(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> Page:
        url = open or self._start
        site = next(site for site, base in _SITES.items() if url.startswith(f"{base}/"))
        if site == "homepage":
            response = self._homepage.get(url.removeprefix(_SITES[site]))
            text = text_of(response.get_data(as_text=True))
            return Page(url=url, status=response.status_code, texts=(text,))
        visitor = self._visitor(site)
        text = visitor.get(url)
        return Page(url=visitor.url, status=visitor.status, texts=(text,))

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        with closing(_connect(self._data, site)) as connection:
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
        assert method == "GET"
        visitor = self._visitor(site)
        visitor.get(path)
        return visitor.status, visitor.html


def _connect(data: Mapping[str, Path], site: str) -> sqlite3.Connection:
    folder = data["homepage" if site == "homepage" else "shop"]
    return sqlite3.connect(folder / "main.sqlite3")


@pytest.fixture(scope="session")
def start_page(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    directory = tmp_path_factory.mktemp("start-page")
    homepage.seed(directory)
    return (directory / "main.sqlite3").read_bytes()


@pytest.fixture
def judged(
    data_dir: Path,
    store: WSGIApplication,
    start_page: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Task], PristineJudge]:
    """Return a factory of judges of a task on pristine sites, after the task's set-up."""
    monkeypatch.syspath_prepend(str(_FOLDER / "cross_site"))
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "main.sqlite3").write_bytes(start_page)
    data = {"shop": data_dir, "homepage": tmp_path / "start"}

    def build(task: Task) -> PristineJudge:
        for step in task.setup:
            assert step.kind == "sql"
            with closing(_connect(data, step.site)) as connection, connection:
                connection.execute(step.spec.sql)
        live = _Live(task, store, data)
        return PristineJudge(task, live, live.sites)

    return build


def _all(checks: Iterable[Check]) -> Iterable[Check]:
    for check in checks:
        yield check
        yield from _all(check.children)


def _given(task: Task, kind: str) -> set[str]:
    """Return the conditions that the task's checks of this kind use."""
    return {name for check in _all(task.checks) if check.kind == kind for name in _fields(check.spec)}


def _fields(spec: Any) -> set[str]:
    names = set()
    for name in ("api", "sql", "unachievable", "json", "locate", "any_order"):
        if getattr(spec, name, None) not in (None, "", False):
            names.add(name)
    if value := getattr(spec, "value", None):
        names.add(type(value).__name__)
    return names


_answered = [task for task in _TASKS if task.category == "information"]


def test_tasks_cover_categories_templates_and_lengths() -> None:
    assert len(_BY_ID) == len(_TASKS) >= 60
    assert len({task.template for task in _TASKS}) >= 20
    counted = Counter(task.category for task in _TASKS)
    assert set(counted) == {"information", "navigation", "content", "unachievable"}
    assert min(counted.values()) >= 12
    assert {task.sites[0] for task in _TASKS} == _SHOPS
    # Short and long ones; the shortest takes three actions and an answer.
    lengths = [len(task.solution or ()) for task in _TASKS if task.category != "unachievable"]
    assert min(lengths) >= 4
    assert sum(length >= 10 for length in lengths) >= 15


def test_tasks_use_every_kind_of_check() -> None:
    assert {check.kind for task in _TASKS for check in _all(task.checks)} >= _KINDS
    assert {name for task in _TASKS for name in _given(task, "answer")} >= _ANSWERS
    assert {name for task in _TASKS for name in _given(task, "state")} >= {"sql", "api"}
    opened = [check.spec.open for task in _TASKS for check in _all(task.checks) if check.kind == "page"]
    assert {address is None for address in opened} == {True, False}
    assert any(check.when == "any_step" for task in _TASKS for check in task.checks)
    assert any(check.weight != 1 for task in _TASKS for check in task.checks)


def test_unachievable_tasks_have_one_cause_tag() -> None:
    hopeless = [task for task in _TASKS if task.category == "unachievable"]
    for task in hopeless:
        assert len(_CAUSES.intersection(task.tags)) == 1, task.id
    assert {cause for task in hopeless for cause in task.tags} == _CAUSES
    for task in _TASKS:
        assert task in hopeless or not _CAUSES.intersection(task.tags), task.id


def test_tasks_cover_several_users_and_sites() -> None:
    users = {(site, task.user.get(site, _USERS[site])) for task in _TASKS for site in task.sites}
    assert {user for site, user in users if site == "shopping_admin"} == {"clementine.rusk", "thea.winslade"}
    assert len({user for site, user in users if site == "shopping"}) >= 8
    assert ("shopping", "") in users
    assert {task.sites for task in _TASKS} >= {
        ("shopping", "homepage"),
        ("shopping_admin", "homepage"),
        ("shopping_admin", "shopping"),
        ("shopping_admin", "shopping", "homepage"),
    }
    assert any(len(task.start) > 1 for task in _TASKS)
    assert any(isinstance(step, NewTab) for task in _TASKS for step in task.solution or ())


@each_case("task", _TASKS, ids=lambda task: task.id)
def test_task_fails_without_work(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    judged(task).assert_fails_without_work()


@each_case("task", _answered, ids=lambda task: task.id)
def test_right_answer_passes_and_others_fail(task: Task, judged: Callable[[Task], PristineJudge]) -> None:
    answer = answer_of(task)
    pristine = judged(task)
    if all(check.kind in ("answer", "any") or task.template in _PRICES for check in task.checks):
        assert pristine.passes(answer)

    for other in _answered:
        if other.template == task.template and other is not task:
            assert not pristine.passes(answer_of(other)), other.id
    telling = answer.removesuffix(" crowns").removesuffix(" %")
    if re.fullmatch(r"\d+(\.\d+)?", telling):
        value = float(telling)
        assert not pristine.passes(" ".join(f"{value + step / 10:.2f}" for step in range(-20, 21)))
        assert not pristine.passes(f"1{telling} crowns")
        assert not pristine.passes(f"{telling}5 crowns" if "." in telling else f"{telling}0 crowns")


@each_case("task", _TASKS, ids=lambda task: task.id)
def test_solution_has_steps_and_few_direct_addresses(task: Task) -> None:
    assert task.solution is not None
    assert len(task.solution) >= 4 or task.category == "unachievable"
    # Solutions use links and forms, like an agent without knowledge of addresses, except to open other sites.
    addresses = {action.url for action in task.solution if isinstance(action, Goto)}
    assert addresses <= {"homepage:/", "shopping:/", "shopping:/accounts/addresses/"}


_OWN_LINES = (
    "from order_line l join order_order o on o.id = l.order_id join auth_user u on u.id = o.user_id"
    " where u.username = 'mara.linden' and l.title = :product"
)
_STARS = "from reviews_productreview r join catalogue_product p on p.id = r.product_id where p.title = :product"
_SOLD = (
    "from order_line l join order_order o on o.id = l.order_id join catalogue_product p on p.id = l.product_id"
    " left join catalogue_product q on q.id = p.parent_id"
    " where o.status <> 'Cancelled' and date(o.date_placed) between :from and :to"
)
_RANGE = "date(o.date_placed) between :from and :to"
_TRUTHS = {
    "shopping-spent": (
        "select round(sum(total_incl_tax), 2) from order_order o join auth_user u on u.id = o.user_id"
        f" where u.username = :user and o.status not in ('Cancelled', 'Returned') and {_RANGE}",
        "total",
    ),
    "shopping-paid-for-product": (
        f"select round(sum(line_price_incl_tax), 2) {_OWN_LINES} and o.status <> 'Cancelled'",
        "total",
    ),
    "shopping-date-of-order": (
        "select d from (select date(o.date_placed) as d, row_number() over (order by o.date_placed) as n,"
        f" count(*) over () as c {_OWN_LINES})"
        " where n = case :which when 'first' then 1 when 'second' then 2 else c end",
        "iso",
    ),
    "shopping-saved-by-voucher": (
        "select round(sum(d.amount), 2) from order_orderdiscount d join order_order o on o.id = d.order_id"
        " join auth_user u on u.id = o.user_id where u.username = :user",
        "saved",
    ),
    "shopping-lowest-rating": (
        "select group_concat((select u.first_name || ' ' || u.last_name from auth_user u where u.id = r.user_id))"
        f" {_STARS} and r.status = 1 and r.score = (select min(r.score) {_STARS} and r.status = 1)",
        "customer",
    ),
    "shopping-five-star-share": (
        f"select cast(round(100.0 * sum(r.score = 5) / count(*)) as integer) {_STARS} and r.status = 1",
        "percent",
    ),
    "shopping-admin-best-seller": (
        f"with sold as (select coalesce(q.title, p.title) as title, sum(l.quantity) as copies {_SOLD}"
        " group by coalesce(q.id, p.id))"
        " select group_concat(title, ' / ') from sold where copies = (select max(copies) from sold)",
        "product",
    ),
    "shopping-admin-revenue": (
        "select round(case when :when like '%best%' then max(total) else sum(total) end, 2) from"
        f" (select sum(total_incl_tax) as total from order_order o where o.status <> 'Cancelled' and {_RANGE}"
        " group by strftime('%m', date_placed))",
        "revenue",
    ),
    "shopping-admin-customer-card": (
        "select round(r.total_spent, 2) from analytics_userrecord r join auth_user u on u.id = r.user_id"
        " where u.first_name || ' ' || u.last_name = :name and u.email = :email and r.num_orders = :orders",
        "spent",
    ),
    "shopping-admin-biggest-order": (
        "select group_concat(u.first_name || ' ' || u.last_name)"
        " from order_order o join auth_user u on u.id = o.user_id"
        f" where {_RANGE} and o.total_incl_tax = (select max(o.total_incl_tax) from order_order o where {_RANGE})",
        "customer",
    ),
    "shopping-admin-stock-of-sizes": (
        "select sum(s.num_in_stock) from partner_stockrecord s join catalogue_product c on c.id = s.product_id"
        " join catalogue_product p on p.id = c.parent_id where p.title = :product",
        "pieces",
    ),
    "cross-average-order": (
        "select round(avg(total_incl_tax), 2) from order_order o join auth_user u on u.id = o.user_id"
        f" where u.username = 'mara.linden' and {_RANGE}",
        "average",
    ),
}


@pytest.mark.parametrize("task", [task for task in _TASKS if task.template in _TRUTHS], ids=lambda task: task.id)
def test_answer_equals_the_seed_data(task: Task, pristine: Path) -> None:
    sql, wanted = _TRUTHS[task.template]
    with closing(sqlite3.connect(pristine / "main.sqlite3")) as connection:
        values = {name: value for name, value in task.filling.items() if isinstance(value, str | int | float)}
        (found,) = connection.execute(sql, values).fetchone()
    assert found == task.filling[wanted]
