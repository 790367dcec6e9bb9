"""Login sessions that replicas start with: creation, reuse, and when they are given up."""

from __future__ import annotations

import asyncio
import urllib.parse
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.replica_set import ReplicaDied
from pytest_webarena.sites.broker.service import LeaseService
from pytest_webarena.sites.broker.sessions import AppSessions, Sessions
from pytest_webarena.sites.broker.sizing import ReplicaSetLimits
from pytest_webarena.sites.catalogues.account_checks import no_account_warning
from pytest_webarena.sites.catalogues.manifest import (
    Account,
    AppManifest,
    Catalogue,
    ContainerStep,
    DockerManifest,
    LoginCheck,
    LoginRecipe,
    SiteManifest,
    VolumeManifest,
)
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from pytest_webarena.sites.protocol.report import AppReport
from tests.cases import each_case
from tests.forum import FORUM, SITES
from tests.processes import DEADLINE

from .pool_harness import FakeBackend, KeepingBackend, PoolHarness, rest, run

STATE: dict[str, Any] = {"cookies": [], "origins": []}
USERS = {name: Account(username=name, password="x") for name in ("ann", "bob")}


def recipe(**values: Any) -> LoginRecipe:
    return LoginRecipe(**{"kind": "form", "site": "shop", "portable": False, "check": LoginCheck(path="/me"), **values})


def sessions(*, boot: float = 0.0, **login: Any) -> tuple[AppSessions, list[float]]:
    app = AppManifest(
        name="shop", sites=(), backend="docker", users=USERS, login={"shop": recipe(**login)}, boot_seconds=boot
    )
    now = [0.0]
    return AppSessions(app, clock=lambda: now[0]), now


@each_case(
    ("login", "boot", "visits", "expected"),
    [
        ({}, 0, {"shop": {"ann": 2}}, {"shop": ("ann",)}),
        ({}, 0, {"shop": {"ann": 1}}, {}),  # a single trial signs in itself
        ({}, 0, {"shop": {"ann": 1, "bob": 1}}, {"shop": ("ann", "bob")}),
        ({}, 60, {"shop": {"ann": 7}}, {}),
        ({}, 60, {"shop": {"ann": 8}}, {"shop": ("ann",)}),
        ({}, 0, {"shop": {"ann": 2, "zoe": 9}, "blog": {"ann": 9}}, {"shop": ("ann",)}),
        ({"portable": True}, 0, {"shop": {"ann": 9}}, {}),
        ({"kind": "header"}, 0, {"shop": {"ann": 9}}, {}),
    ],
)
def test_missing_sessions_are_those_worth_sharing(
    login: dict[str, Any], boot: float, visits: dict[str, dict[str, int]], expected: dict[str, tuple[str, ...]]
) -> None:
    assert sessions(boot=boot, **login)[0].missing(visits) == expected


def test_site_refusing_foreign_sessions_is_treated_as_not_portable() -> None:
    shop, _ = sessions(portable=True)
    assert shop.missing({"shop": {"ann": 2}}) == {}
    for _ in range(2):
        shop.refused("shop")
    assert shop.missing({"shop": {"ann": 2}}) == {"shop": ("ann",)}
    (note,) = shop.notes
    assert note.startswith("shop: sessions do not work across replicas")
    assert "portable: false" in note


@each_case(
    ("check", "users", "leases", "noted"),
    [
        (LoginCheck(path="/me"), USERS, 1, True),
        (LoginCheck(path="/me", locate="css=#user", includes="Account"), USERS, 1, True),
        (LoginCheck(path="/me"), USERS, 0, False),
        (LoginCheck(path="/me"), {"ann": USERS["ann"]}, 1, False),
        (LoginCheck(path="/{username}"), USERS, 1, False),
        (LoginCheck(path="/me", includes="{username}"), USERS, 1, False),
        (LoginCheck(path="/me", locate="text={username}"), USERS, 1, False),
    ],
)
def test_ambiguous_login_check_is_noted_once(
    check: LoginCheck, users: dict[str, Account], leases: int, noted: bool
) -> None:
    app = AppManifest(name="shop", sites=(), backend="docker", users=users, login={"shop": recipe(check=check)})
    service: Any = object.__new__(LeaseService)
    service.catalogue = Catalogue(name="x", path=Path("x"), apps={"shop": app})
    service._started, service._recording, service._sessions = 0.0, None, SimpleNamespace(notes=())
    service._pool = SimpleNamespace(
        late_program_changes=tuple, report=lambda: {"shop": AppReport(app="shop", backend="docker", leases=leases)}
    )
    assert list(service.report().notes) == [f"shop: {no_account_warning(check)}"] * noted


@pytest.mark.parametrize(
    ("docker", "expected"),
    [
        ({}, "set 'snapshot: true' in the docker section of shop"),
        ({"snapshot": True, "reset": (ContainerStep(run=("restore",)),)}, "the 'reset' programs of shop would remove"),
        (
            {"snapshot": True, "volumes": (VolumeManifest(source="x", target="/x", mutable=True),)},
            "shop has a volume on each replica",
        ),
    ],
)
def test_sessions_that_cannot_be_kept_are_noted_once(docker: dict[str, Any], expected: str) -> None:
    async def main() -> None:
        section = DockerManifest(image="shop", **docker)
        site = SiteManifest(name="shop", host="shop.test", app="shop")
        app = AppManifest(
            name="shop", sites=(site,), backend="docker", users=USERS, login={"shop": recipe()}, docker=section
        )
        pool = Pool({"shop": app}, lambda _: FakeBackend(), lambda _: ReplicaSetLimits(replicas=1, spares=0))
        kept = Sessions(Catalogue(name="x", path=Path("x"), apps={"shop": app}), pool)
        for _ in range(2):
            assert await kept.turn({"shop": {"ann": 2}}, wait=1) is None
        (note,) = kept.notes
        assert note.startswith("shop: each trial signs in as ann again, because the session can't be stored: ")
        assert expected in note
        await pool.close()

    asyncio.run(main())


def test_replicas_have_sessions_of_their_edition_and_earlier() -> None:
    found, _ = sessions()
    found.keep({"shop": {"ann": STATE}}, born=0, edition=1)
    found.keep({"shop": {"bob": STATE}}, born=1, edition=2)
    assert [sorted(found.of("shop", edition)) for edition in (0, 1, 2)] == [[], ["ann"], ["ann", "bob"]]
    found.keep({"shop": {"bob": STATE}}, born=0, edition=3)  # created on an old replica without sessions
    assert [sorted(found.of("shop", edition)) for edition in (2, 3)] == [[], ["bob"]]
    assert found.missing({"shop": {"ann": 9, "bob": 9}}) == {"shop": ("ann",)}


def test_ended_session_is_recreated_only_if_it_lasted() -> None:
    found, now = sessions()
    visits = {"shop": {"ann": 9}}
    found.keep({"shop": {"ann": STATE}}, born=0, edition=1)
    assert found.of("shop", 1)
    now[0] = 3600.0
    found.ended("shop", "ann", 1, "sent to the form")
    assert found.missing(visits) == {"shop": ("ann",)}
    found.keep({"shop": {"ann": STATE}}, born=1, edition=2)
    found.ended("shop", "ann", 1, "somebody with an old replica")
    assert not found.missing(visits)
    now[0] += 7200.0  # it takes time to boot
    assert found.of("shop", 2)
    now[0] += 5.0
    found.ended("shop", "ann", 2, "sent to the form\nthe page is …")
    assert not found.missing(visits)
    assert not found.of("shop", 2)
    assert found.notes == [
        "shop: each trial signs in as ann again, because the session can't be stored: "
        "after 5 s a new replica did not accept the session: sent to the form"
    ]


def test_sign_in_is_given_up_after_two_failures() -> None:
    found, _ = sessions()
    for missing_users in ({"shop": ("ann",)}, {}):
        found.failed("shop", "ann", "the button has gone")
        assert found.missing({"shop": {"ann": 9}}) == missing_users
    found.failed("shop", "ann", "the button has gone")
    assert len(found.notes) == 1


# --- in the pool


def harness(work: Callable[[PoolHarness, KeepingBackend], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def main(harness: PoolHarness) -> None:
        harness.backend = backend = KeepingBackend()
        await work(harness, backend)

    run(main, **settings)


def test_kept_state_is_used_by_new_replicas_and_replaces_spares() -> None:
    async def work(harness: PoolHarness, backend: KeepingBackend) -> None:
        lease = await harness.lease("a")
        await rest()
        assert harness.states("a") == ["leased", "pristine", "pristine"]
        backend.manual = True
        assert await harness.pool.keep(lease, "a", unsafe={}) == 1
        await rest()
        assert [what for what, _ in backend.pending] == ["reset a-1"]  # old spares remain until this one is ready
        spare = await harness.lease("a")
        assert spare.replicas["a"].edition == 0
        backend.finish()
        await rest()
        assert [what for what, _ in backend.pending] == ["reset a-3"]
        assert (await harness.lease("a")).replicas["a"].edition == 1  # the last in the queue, but the newest edition

    harness(work, replicas=3, spares=2)


def test_no_spares_start_while_a_shared_sign_in_is_running() -> None:
    async def work(harness: PoolHarness, backend: KeepingBackend) -> None:
        harness.pool.preparing("a", True)
        await harness.lease("a")
        await rest()
        assert harness.states("a") == ["leased"]
        harness.pool.preparing("a", False)
        await rest()
        assert harness.states("a") == ["leased", "pristine"]

    harness(work, replicas=3, spares=1)


def test_replica_whose_state_cannot_be_kept_is_replaced() -> None:
    async def work(harness: PoolHarness, backend: KeepingBackend) -> None:
        backend.refuses = "no space left on device"
        with pytest.raises(SiteError, match="no space left"):
            await harness.pool.keep(await harness.lease("a"), "a", unsafe={})
        again = await harness.lease("a")
        assert (again.replicas["a"].edition, again.replicas["a"].generation) == (0, 1)

    harness(work, replicas=1)


def test_replica_that_broke_before_keeping_frees_its_memory() -> None:
    async def work(harness: PoolHarness, backend: KeepingBackend) -> None:
        lease = await harness.lease("a", "b")
        backend.dead["a-1"] = "killed"
        await harness.pool.tick()
        with pytest.raises(ReplicaDied, match="replica a-1 broke: killed"):
            await harness.pool.keep(lease, "a", unsafe={})
        assert harness.states("a") == []
        assert harness.budget.used == 1  # the memory of b
        assert (await harness.lease("a")).replicas["a"].id == "a-2"  # its memory is free again

    harness(work, replicas=1, memory=2)


# --- through the broker, on processes


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[BrokerLauncher]:
    (tmp_path / "forum.py").write_text(FORUM)
    (tmp_path / "sites.yaml").write_text(SITES)
    with BrokerLauncher(BrokerConfig(catalogue=str(tmp_path / "sites.yaml"), max_replicas=3, spares=1)) as launcher:
        yield launcher


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def ask(lease: Lease, path: str, *, user: str = "", cookie: str = "") -> tuple[str, str]:
    """Return the response's text and the cookie that it sets."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.proxy}), NoRedirect())
    body = urllib.parse.urlencode({"user": user}).encode() if user else None
    request = urllib.request.Request(f"http://forum.test{path}", data=body, headers={"Cookie": cookie})
    try:
        answer = opener.open(request, timeout=DEADLINE)
    except urllib.request.HTTPError as error:
        answer = error
    with answer:
        return answer.read().decode(), (answer.headers["Set-Cookie"] or "").partition(";")[0]


def sign_in(lease: Lease, *users: str) -> dict[str, dict[str, Any]]:
    cookies = {user: ask(lease, "/login", user=user)[1] for user in users}
    return {"forum": {user: {"cookies": [cookie], "origins": []} for user, cookie in cookies.items()}}


def test_one_sign_in_serves_all_later_replicas(launcher: BrokerLauncher) -> None:
    visits = {"forum": {"ann": 5}}
    with BrokerClient(launcher.address, name="gw0") as first, BrokerClient(launcher.address, name="gw1") as second:
        lease = first.prepare(visits, holder="first", timeout=DEADLINE)
        assert lease is not None
        with ThreadPoolExecutor() as threads:
            other = threads.submit(second.prepare, visits, holder="second", timeout=DEADLINE)
            lease.keep(sign_in(lease, "ann"), {})
            assert other.result() is None  # it waited for the first client
        digests = set()
        for reset in (True, False):
            with second.lease(["forum"], holder="trial", timeout=DEADLINE) as trial:
                stored = trial.sites["forum"].sessions["ann"]
                assert ask(trial, "/me", cookie=stored.state["cookies"][0])[0] == "<p>You are ann.</p>"
                assert trial.release().clean  # its initial state counts as pristine
                digests |= {replica.digest for replica in trial.replicas}
            assert reset or len(digests) == 1  # signed-in accounts do not change the app
        with second.lease(["forum"], holder="trial", timeout=DEADLINE) as trial:
            trial.session_ended("forum", "ann", stored.number, "so it seems")
        with second.lease(["forum"], holder="trial", timeout=DEADLINE) as trial:
            assert not trial.sites["forum"].sessions
    (note,) = launcher.stop().notes
    assert note.startswith("forum: each trial signs in as ann again, because the session can't be stored: after ")


def test_missing_site_module_is_reported_by_prepare(tmp_path: Path) -> None:
    (tmp_path / "sites.yaml").write_text(SITES)  # without forum.py
    with BrokerLauncher(BrokerConfig(catalogue=str(tmp_path / "sites.yaml"))) as launcher:
        with BrokerClient(launcher.address, name="gw0") as client:
            assert client.look(["forum"])["forum"].default_user == "ann"
            for _ in range(3):
                with pytest.raises(SiteError, match="No module named 'forum'"):
                    client.prepare({"forum": {"ann": 5}}, holder="first", timeout=DEADLINE)
        assert launcher.stop().notes == ()


def test_next_client_signs_in_after_the_first_one_died(launcher: BrokerLauncher) -> None:
    visits = {"forum": {"ann": 5, "bob": 5}}
    with BrokerClient(launcher.address, name="gw1") as second:
        with BrokerClient(launcher.address, name="gw0") as first, ThreadPoolExecutor() as threads:
            assert first.prepare(visits, holder="first", timeout=DEADLINE) is not None
            other = threads.submit(second.prepare, visits, holder="second", timeout=DEADLINE)
            first.close()
            lease = other.result()
        assert lease is not None
        lease.keep(sign_in(lease, "bob"), {"forum": {"ann": "her password has changed"}})
        assert second.prepare(visits, holder="second", timeout=DEADLINE) is None
        with second.lease(["forum"], holder="trial", timeout=DEADLINE) as trial:
            assert list(trial.sites["forum"].sessions) == ["bob"]
    assert ["her password has changed" in note for note in launcher.stop().notes] == [True]
