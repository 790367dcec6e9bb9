"""Units of apps that depend on each other: leased, checked and reset as one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.errors import TaskError, UsageError
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.broker import replica_health
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.sizing import Demand, ReplicaSetLimits
from pytest_webarena.sites.catalogues.loading import CatalogueError, read_catalogue
from pytest_webarena.sites.catalogues.manifest import (
    AppManifest,
    Catalogue,
    DatabaseManifest,
    ExecReady,
    SiteManifest,
)
from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks
from pytest_webarena.sites.catalogues.units import unit_of, units_of
from tests.cases import each_case
from tests.unit.sites.pool_harness import FakeBackend, rest
from tests.unit.tasks.helpers import problems, task_text

DATABASE = {"main": DatabaseManifest(name="main", engine="sqlite", path="x")}


def app(name: str, *needs: str, backend: str = "docker", read_only: bool = False) -> AppManifest:
    return AppManifest(
        name=name,
        sites=(),
        backend=backend,
        depends_on=needs,
        read_only=read_only,
        databases=DATABASE,
        reuse="clean",
        ready=(ExecReady(run=("pg_isready",)),),
        answer_timeout=0.3,
    )


def catalogue(*apps: AppManifest) -> Mapping[str, AppManifest]:
    return {one.name: one for one in apps}


@pytest.mark.parametrize("name", ["web", "worker", "db"])
def test_unit_contains_all_dependencies_in_start_order(name: str) -> None:
    unit = unit_of(catalogue(app("web", "worker", "db"), app("worker", "db"), app("db"), app("other")), name)
    assert [one.name for one in unit.apps] == ["db", "worker", "web"]
    assert unit.lead.name == "web"
    assert unit.names == ("web", "worker", "db")


def test_apps_with_a_common_dependency_are_one_unit() -> None:
    units = units_of(catalogue(app("shop", "db"), app("admin", "db"), app("db")))
    assert units["shop"] is units["admin"] is units["db"]
    assert units["db"].apps[0].name == "db"


def test_read_only_apps_and_other_backends_are_separate_units() -> None:
    apps = catalogue(
        app("map", "tiles", "near"), app("tiles", read_only=True), app("near", backend="process"), app("twin", "tiles")
    )
    assert all(units_of(apps)[name].names == (name,) for name in apps)


def test_timeouts_of_a_unit_are_sums_of_its_apps() -> None:
    unit = unit_of(catalogue(replace(app("web", "db"), start_timeout=30), replace(app("db"), boot_seconds=4)), "web")
    assert (unit.start_timeout, unit.boot_seconds) == (90, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a: {depends_on: [b]}\n  b: {depends_on: [a]}",
            "expected apps that do not depend on themselves, found a → b → a",
        ),
        (
            "a: {read_only: true, depends_on: [b]}\n  b: {}",
            "expected a read-only app, which all trials share, to depend",
        ),
    ],
)
def test_invalid_dependencies_are_refused(tmp_path: Path, text: str, expected: str) -> None:
    common = "backend: docker, docker: {image: x}, "
    (tmp_path / "sites.yaml").write_text(
        "apps:\n  " + text.replace("{", "{" + common, 1).replace("b: {", "b: {" + common)
    )
    with pytest.raises(CatalogueError, match=expected):
        read_catalogue(tmp_path / "sites.yaml")


# --- in the pool


class UnitBackend(FakeBackend):
    """A backend whose replicas of ``web`` include a database app."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []
        self.health_answers: dict[str, str] = {}
        """What programs inside say that end with another code than 0, by replica."""
        self.full: dict[str, str] = {}
        """Disks without room, by replica."""

    async def execute(self, app: AppManifest, replica: Replica, arguments: Sequence[str]) -> str:
        return self.health_answers.get(replica.id, "")

    async def full_disks(self, app: AppManifest, replica: Replica) -> str:
        return self.full.get(replica.id, "")

    def _pristine(self, app: AppManifest, replica_id: str, generation: int) -> Replica:
        replica = super()._pristine(app, replica_id, generation)
        if app.name == "web":
            replica.parts["db"] = super()._pristine(app, f"{replica_id}-db", generation)
            replica.parts["db"].app = "db"
        return replica

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        self.asked.append((app.name, replica.id))
        return await super().query(app, replica, database, sql, write=write)


class Units:
    """A pool of ``web`` with its ``db``."""

    def __init__(self, *, own: bool = True) -> None:
        """``own``: whether ``web`` has a database itself."""
        self.backend = UnitBackend()
        web = app("web", "db")
        apps = catalogue(web if own else replace(web, databases={}), app("db"))
        limits = ReplicaSetLimits(replicas=2, spares=0)
        self.pool = Pool(apps, lambda _: self.backend, lambda _: limits)


def test_unit_is_leased_as_one_for_any_of_its_apps() -> None:
    async def main() -> None:
        harness = Units()
        both = await harness.pool.lease(["web", "db"], holder="x", timeout=5)
        assert {name: replica.id for name, replica in both.replicas.items()} == {"web": "web-1", "db": "web-1-db"}
        alone = await harness.pool.lease(["db"], holder="y", timeout=5)
        assert alone.replicas["db"].id == "web-2-db"
        assert alone.slot("db") is alone.slot("web") is not None
        assert alone.slot("other") is None
        assert list(harness.pool.report()) == ["web"]
        await harness.pool.close()

    asyncio.run(main())


def test_query_goes_to_the_named_app_of_a_unit() -> None:
    async def main() -> None:
        harness = Units()
        lease = await harness.pool.lease(["web"], holder="x", timeout=5)
        for name in ("db", "web"):
            await harness.pool.query(lease, name, "main", "select 1", write=False)
        assert harness.backend.asked == [("db", "web-1-db"), ("web", "web-1")]
        await harness.pool.close()

    asyncio.run(main())


@pytest.mark.parametrize("change", ["traffic", "data", "nothing"])
def test_a_unit_is_reset_as_one(change: str) -> None:
    async def main() -> None:
        harness = Units()
        lease = await harness.pool.lease(["web"], holder="x", timeout=5)
        if change == "data":
            harness.backend.data["web-1-db"] = "changed"
        reasons = await harness.pool.release(lease, unsafe={"db": "POST x"} if change == "traffic" else {})
        await rest()
        again = await harness.pool.lease(["web"], holder="y", timeout=5)
        generations = {replica.generation for replica in again.replicas.values()}
        if change == "nothing":
            assert (reasons, generations) == ({}, {0})
        else:
            assert reasons == {"web": "POST x" if change == "traffic" else "db: its data differ from pristine"}
            assert generations == {1}
        await harness.pool.close()

    asyncio.run(main())


def test_unit_is_broken_if_a_health_check_of_an_app_fails() -> None:
    async def main() -> None:
        harness = Units()
        lease = await harness.pool.lease(["web"], holder="x", timeout=5)
        await harness.pool.ask(lease)
        harness.backend.health_answers["web-1-db"] = "pg_isready: exit code 2"
        with pytest.raises(Exception, match=r"replica web-1 broke: it runs, but does not answer; db: .*exit code 2"):
            await harness.pool.ask(lease)
        await harness.pool.close()

    asyncio.run(main())


def test_database_is_found_in_dependencies_of_an_app() -> None:
    """As in a compose file: the database is an app of its own, and the application's image has no client."""
    main, stock, jobs = (DatabaseManifest(name=name, engine="sqlite", path="x") for name in ("main", "stock", "jobs"))
    web = replace(app("web", "worker"), databases={})
    worker = replace(app("worker", "db"), databases={"jobs": jobs})
    db = replace(app("db"), databases={"main": main, "stock": stock})
    unit = unit_of(catalogue(web, worker, db), "web")
    holders = {(name, which): unit.holder_of(which, name).name for name in unit.names for which in ("stock", "main")}
    assert set(holders.values()) == {"db"}
    assert unit.holder_of("", "worker").name == unit.holder_of("jobs", "web").name == "worker"
    with pytest.raises(UsageError, match=r"expected one dependency with a database, found worker and db"):
        unit.holder_of("", "web")
    with pytest.raises(
        UsageError, match=r"the app 'web' has no database 'stok'; did you mean 'stock'\? known: jobs, main"
    ):
        unit.holder_of("stok", "web")
    with pytest.raises(UsageError, match="the app 'db' has no database 'jobs'"):  # without dependencies
        unit.holder_of("jobs", "db")


@each_case(
    ("sql", "found"),
    [
        (", database: stock", None),
        ("", "expected 'database', as worker and db have some, found none"),
        (", database: stok", "expected a database of shop, found 'stok' (did you mean 'stock'?)"),
        (", database: same", "expected a database of one app, found 'same' of worker and db"),
        (", site: plain", "expected a site with databases, found 'plain' without"),
        (", site: hosted", None),
    ],
)
def test_database_that_sql_lacks_is_found_in_the_task_file(sql: str, found: str | None) -> None:
    def made(names: str, app: AppManifest) -> AppManifest:
        databases = {name: DatabaseManifest(name=name, engine="sqlite", path="x") for name in names.split()}
        return replace(app, databases=databases)

    apps = [made("", app("web", "worker")), made("jobs same", app("worker", "db")), made("stock same", app("db"))]
    apps += [made("", app("plain")), made("", app("hosted", backend="external"))]
    for number, site in ((0, "shop"), (3, "plain"), (4, "hosted")):
        served = SiteManifest(name=site, host=f"{site}.test", app=apps[number].name)
        apps[number] = replace(apps[number], sites=(served,))
    known = sites_for_tasks(Catalogue(name="x", path=Path("x"), apps=catalogue(*apps)))
    for place, keys in (
        ("t.yaml:6:", "setup: [{sql: {sql: delete from notesEXTRA}}]"),
        ("t.yaml:5:", "checks: [{state: {sql: select 1, equals: 1EXTRA}}]"),
    ):
        text = task_text(keys.replace("EXTRA", sql), sites="[shop, plain, hosted]")
        messages = [str(each) for each in problems(text, sites=known)]
        wrong = [each for each in messages if not (found and each.startswith(place) and found in each)]
        assert (wrong, len(messages)) == ([], 0 if found is None else 1)


def test_query_goes_to_the_app_with_the_database() -> None:
    async def main() -> None:
        harness = Units(own=False)
        lease = await harness.pool.lease(["web"], holder="x", timeout=5)
        await harness.pool.query(lease, "web", "main", "select 1", write=False)
        assert harness.backend.asked == [("db", "web-1-db")]
        with pytest.raises(TaskError, match="the app 'web' has no database 'other'"):
            await harness.pool.query(lease, "web", "other", "select 1", write=False)
        await harness.pool.close()

    asyncio.run(main())


def test_unit_is_broken_after_writes_to_a_full_disk() -> None:
    """A full disk must not count as the agent's failure, although pages respond."""

    async def main() -> None:
        harness = Units()
        lease = await harness.pool.lease(["web"], holder="x", timeout=5)
        harness.backend.full["web-1-db"] = "the disk at /var/lib/mysql is full"
        await harness.pool.ask(lease)  # no writes so far
        with pytest.raises(Exception, match=r"replica web-1 broke: it answers, but can't save: db: the disk at /var"):
            await harness.pool.ask(lease, wrote=True)
        await harness.pool.close()

    asyncio.run(main())


def test_unit_is_broken_if_one_of_its_apps_died() -> None:
    async def main() -> None:
        harness = Units()
        lease = await harness.pool.lease(["web"], holder="x", timeout=5)
        harness.backend.dead["web-1-db"] = "exit code 137"
        with pytest.raises(Exception, match="replica web-1 broke: db: exit code 137"):
            await harness.pool.check(lease)
        await harness.pool.close()

    asyncio.run(main())


@pytest.mark.parametrize(("took", "expected"), [(0.5, 0.5), (45.0, 45.0), (90.0, 60.0)])
def test_health_check_timeout_grows_with_start_time(
    monkeypatch: pytest.MonkeyPatch, took: float, expected: float
) -> None:
    """Under load, a server that takes a minute to start may respond slowly without being broken."""
    patience: list[float] = []

    async def unanswered(backend: object, least: float, app: AppManifest, replica: object) -> str:
        patience.append(least)
        return ""

    async def main() -> None:
        harness = Units()
        lease = await harness.pool.lease(["web"], holder="x", timeout=5)
        await harness.pool.ask(lease)
        await harness.pool.close()

    monkeypatch.setattr(replica_health, "unanswered", unanswered)
    monkeypatch.setattr(Demand, "replaced", lambda demand, seconds: setattr(demand, "replacement", took))
    asyncio.run(main())
    assert set(patience) == {expected}
