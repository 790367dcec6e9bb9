"""Apps that depend on each other: one unit, one replica, one lease."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.errors import TaskError, UsageError
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.broker import replica_set
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.sizing import Demand, ReplicaSetLimits
from pytest_webarena.sites.catalogues.loading import CatalogueError, read_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest, DatabaseManifest, ExecReady
from pytest_webarena.sites.catalogues.units import unit_of, units_of
from tests.unit.sites.pool_house import FakeBackend, rest

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
def test_a_unit_is_an_app_with_all_it_needs_and_starts_with_what_others_need(name: str) -> None:
    unit = unit_of(catalogue(app("web", "worker", "db"), app("worker", "db"), app("db"), app("other")), name)
    assert [one.name for one in unit.apps] == ["db", "worker", "web"]
    assert unit.lead.name == "web"
    assert unit.names == ("web", "worker", "db")


def test_two_apps_with_one_database_are_one_unit() -> None:
    units = units_of(catalogue(app("shop", "db"), app("admin", "db"), app("db")))
    assert units["shop"] is units["admin"] is units["db"]
    assert units["db"].apps[0].name == "db"


def test_what_is_read_only_or_on_another_backend_is_no_part_of_a_unit() -> None:
    apps = catalogue(
        app("map", "tiles", "near"), app("tiles", read_only=True), app("near", backend="process"), app("twin", "tiles")
    )
    assert all(units_of(apps)[name].names == (name,) for name in apps)


def test_times_and_sizes_of_a_unit_are_those_of_its_apps() -> None:
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
def test_what_can_not_start_as_one_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    common = "backend: docker, docker: {image: x}, "
    (tmp_path / "sites.yaml").write_text(
        "apps:\n  " + text.replace("{", "{" + common, 1).replace("b: {", "b: {" + common)
    )
    with pytest.raises(CatalogueError, match=expected):
        read_catalogue(tmp_path / "sites.yaml")


# --- in the pool


class UnitBackend(FakeBackend):
    """One whose replicas of ``web`` have a database beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []
        self.said: dict[str, str] = {}
        """What programs inside say that end with another code than 0, by replica."""
        self.full: dict[str, str] = {}
        """Disks without room, by replica."""

    async def execute(self, app: AppManifest, replica: Replica, arguments: Sequence[str]) -> str:
        return self.said.get(replica.id, "")

    async def crowded(self, app: AppManifest, replica: Replica) -> str:
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


def test_a_unit_is_leased_as_one_whichever_of_its_apps_is_asked_for() -> None:
    async def main() -> None:
        house = Units()
        both = await house.pool.lease(["web", "db"], holder="x", timeout=5)
        assert {name: replica.id for name, replica in both.replicas.items()} == {"web": "web-1", "db": "web-1-db"}
        alone = await house.pool.lease(["db"], holder="y", timeout=5)
        assert alone.replicas["db"].id == "web-2-db"
        assert alone.slot("db") is alone.slot("web") is not None
        assert alone.slot("other") is None
        assert list(house.pool.report()) == ["web"]
        await house.pool.close()

    asyncio.run(main())


def test_each_app_of_a_unit_is_asked_by_its_own_name() -> None:
    async def main() -> None:
        house = Units()
        lease = await house.pool.lease(["web"], holder="x", timeout=5)
        for name in ("db", "web"):
            await house.pool.query(lease, name, "main", "select 1", write=False)
        assert house.backend.asked == [("db", "web-1-db"), ("web", "web-1")]
        await house.pool.close()

    asyncio.run(main())


@pytest.mark.parametrize("change", ["traffic", "data", "nothing"])
def test_a_unit_is_reset_as_one(change: str) -> None:
    async def main() -> None:
        house = Units()
        lease = await house.pool.lease(["web"], holder="x", timeout=5)
        if change == "data":
            house.backend.data["web-1-db"] = "changed"
        reasons = await house.pool.release(lease, unsafe={"db": "POST x"} if change == "traffic" else {})
        await rest()
        again = await house.pool.lease(["web"], holder="y", timeout=5)
        generations = {replica.generation for replica in again.replicas.values()}
        if change == "nothing":
            assert (reasons, generations) == ({}, {0})
        else:
            assert reasons == {"web": "POST x" if change == "traffic" else "db: its data differ from pristine"}
            assert generations == {1}
        await house.pool.close()

    asyncio.run(main())


def test_a_unit_is_broken_when_a_program_inside_one_of_its_apps_says_so() -> None:
    async def main() -> None:
        house = Units()
        lease = await house.pool.lease(["web"], holder="x", timeout=5)
        await house.pool.ask(lease)
        house.backend.said["web-1-db"] = "pg_isready: exit code 2"
        with pytest.raises(Exception, match=r"replica web-1 broke: it runs, but does not answer; db: .*exit code 2"):
            await house.pool.ask(lease)
        await house.pool.close()

    asyncio.run(main())


def test_a_database_is_looked_for_in_what_an_app_depends_on() -> None:
    """As in a compose file: the application has none of its own, and its image no client."""
    main, stock, jobs = (DatabaseManifest(name=name, engine="sqlite", path="x") for name in ("main", "stock", "jobs"))
    web = replace(app("web", "worker"), databases={})
    worker = replace(app("worker", "db"), databases={"jobs": jobs})
    db = replace(app("db"), databases={"main": main, "stock": stock})
    unit = unit_of(catalogue(web, worker, db), "web")
    asked = {(name, which): unit.holder_of(which, name).name for name in unit.names for which in ("stock", "main")}
    assert set(asked.values()) == {"db"}
    assert unit.holder_of("", "worker").name == unit.holder_of("jobs", "web").name == "worker"
    with pytest.raises(UsageError, match=r"expected one app that it depends on to have it, found worker and db"):
        unit.holder_of("", "web")
    with pytest.raises(
        UsageError, match=r"'stok' was asked of the app 'web'; did you mean 'stock'\? known: jobs, main"
    ):
        unit.holder_of("stok", "web")
    with pytest.raises(UsageError, match="a database named 'jobs' was asked of the app 'db'"):  # which needs nobody
        unit.holder_of("jobs", "db")


def test_rows_come_from_the_app_that_has_the_database() -> None:
    async def main() -> None:
        house = Units(own=False)
        lease = await house.pool.lease(["web"], holder="x", timeout=5)
        await house.pool.query(lease, "web", "main", "select 1", write=False)
        assert house.backend.asked == [("db", "web-1-db")]
        with pytest.raises(TaskError, match="a database named 'other' was asked of the app 'web'"):
            await house.pool.query(lease, "web", "other", "select 1", write=False)
        await house.pool.close()

    asyncio.run(main())


def test_a_unit_that_has_no_room_for_what_was_written_is_broken() -> None:
    """Its pages answered, so an agent whose article a full disk had swallowed was blamed for it."""

    async def main() -> None:
        house = Units()
        lease = await house.pool.lease(["web"], holder="x", timeout=5)
        house.backend.full["web-1-db"] = "the disk at /var/lib/mysql is full"
        await house.pool.ask(lease)  # nobody wanted to save anything
        with pytest.raises(Exception, match=r"replica web-1 broke: it answers, but can't save: db: the disk at /var"):
            await house.pool.ask(lease, wrote=True)
        await house.pool.close()

    asyncio.run(main())


def test_a_unit_is_broken_when_one_of_its_apps_is() -> None:
    async def main() -> None:
        house = Units()
        lease = await house.pool.lease(["web"], holder="x", timeout=5)
        house.backend.dead["web-1-db"] = "exit code 137"
        with pytest.raises(Exception, match="replica web-1 broke: db: exit code 137"):
            await house.pool.check(lease)
        await house.pool.close()

    asyncio.run(main())


@pytest.mark.parametrize(("took", "asked"), [(0.5, 0.5), (45.0, 45.0), (90.0, 60.0)])
def test_what_took_long_to_start_may_think_as_long(monkeypatch: pytest.MonkeyPatch, took: float, asked: float) -> None:
    """Under load a server that needs a minute to start was called broken after ten seconds, and the agent blamed."""
    patience: list[float] = []

    async def unanswered(backend: object, least: float, app: AppManifest, replica: object) -> str:
        patience.append(least)
        return ""

    async def main() -> None:
        house = Units()
        lease = await house.pool.lease(["web"], holder="x", timeout=5)
        await house.pool.ask(lease)
        await house.pool.close()

    monkeypatch.setattr(replica_set, "unanswered", unanswered)
    monkeypatch.setattr(Demand, "replaced", lambda demand, seconds: setattr(demand, "replacement", took))
    asyncio.run(main())
    assert set(patience) == {asked}
