"""Reachable sites of a lease: leased on the first request, without deadlocks."""

from __future__ import annotations

import asyncio
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteUnreached, SiteYielded, UsageError
from pytest_webarena.sites.broker.pool_lease import PoolLease
from pytest_webarena.sites.broker.reachable_sites import reachable
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from tests.processes import DEADLINE, wait_until

from .pool_harness import PoolHarness, rest, run

CATALOGUE = """
apps:
  tiny: &tiny
    backend: process
    reuse: clean
    sites: {tiny: {host: tiny.test}}
    databases: {main: {sqlite: main.sqlite3}}
    process: {factory: "tinyapp:create_app", seed: "tinyapp:seed", on_fork: "tinyapp:on_fork"}
  pad: {<<: *tiny, sites: {pad: {host: pad.test}, pad_admin: {host: pad-admin.test}}}
  wiki: {<<: *tiny, read_only: true, sites: {wiki: {host: wiki.test}}}
  broken: {<<: *tiny, sites: {broken: {host: broken.test}}, process: {factory: "tinyapp:no_such_factory"}}
"""


# --- the pool: who waits for whom


def lease_also(harness: PoolHarness, lease: PoolLease, *apps: str, holder: str) -> asyncio.Task[PoolLease]:
    work = harness.pool.lease(apps, holder=holder, timeout=60, held=lease)
    return asyncio.get_running_loop().create_task(work)


def test_deadlock_of_two_leases_is_resolved() -> None:
    async def work(harness: PoolHarness) -> None:
        first, second = await harness.lease("a", holder="first"), await harness.lease("b", holder="second")
        waits = lease_also(harness, first, "b", holder="first"), lease_also(harness, second, "a", holder="second")
        await rest()
        assert not any(wait.done() for wait in waits)
        await harness.later(0.2)
        assert isinstance(waits[1].exception(), SiteYielded)  # the later one yields, and its trial ends
        assert "second waited for a and held what first waited for" in str(waits[1].exception())
        assert not waits[0].done()
        await harness.pool.release(second, unsafe={})
        assert (await waits[0]).slots.keys() == {"b"}

    run(work, replicas=1)


def test_waiting_without_a_deadlock_continues() -> None:
    async def work(harness: PoolHarness) -> None:
        first, second = await harness.lease("a", holder="first"), await harness.lease("b", holder="second")
        wait = lease_also(harness, first, "b", holder="first")
        for _ in range(5):
            await harness.later(1)
        assert not wait.done()
        await harness.pool.release(second, unsafe={})
        assert (await wait).slots.keys() == {"b"}

    run(work, replicas=1)


def test_release_in_progress_is_no_deadlock() -> None:
    async def work(harness: PoolHarness) -> None:
        first, second = await harness.lease("a", holder="first"), await harness.lease("b", holder="second")
        wait = lease_also(harness, first, "b", holder="first")
        harness.backend.fingerprints = asyncio.Event()
        release = asyncio.get_running_loop().create_task(harness.pool.release(second, unsafe={}))
        await harness.later(0.2)  # it is still checked for changes
        assert not wait.done()
        harness.backend.fingerprints.set()
        await release
        assert (await wait).slots.keys() == {"b"}

    run(work, replicas=1)


def test_deadlock_of_three_leases_is_resolved() -> None:
    async def work(harness: PoolHarness) -> None:
        held = [await harness.lease(app, holder=app) for app in ("a", "b", "never")]
        waits = [
            lease_also(harness, lease, app, holder=app) for lease, app in zip(held, ("b", "never", "a"), strict=True)
        ]
        await rest()
        await harness.later(0.2)
        assert [wait.done() for wait in waits] == [False, False, True]
        await harness.pool.release(held[2], unsafe={})
        await waits[1]

    run(work, replicas=1)


def test_no_deadlock_while_another_replica_can_start() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.manual = True
        pending = harness.ask("a", holder="first"), harness.ask("b", holder="second")
        await rest()
        while harness.backend.pending:
            harness.backend.finish()
        first, second = await pending[0], await pending[1]
        waits = lease_also(harness, first, "b", holder="first"), lease_also(harness, second, "a", holder="second")
        for _ in range(3):
            await harness.later(1)
        assert not any(wait.done() for wait in waits)
        while harness.backend.pending:
            harness.backend.finish()
        await asyncio.gather(*waits)

    run(work, replicas=2)


def test_memory_limit_can_cause_a_deadlock() -> None:
    async def work(harness: PoolHarness) -> None:
        first, second = await harness.lease("a", holder="first"), await harness.lease("b", holder="second")
        waits = lease_also(harness, first, "b", holder="first"), lease_also(harness, second, "a", holder="second")
        await rest()
        await harness.later(0.2)
        assert [wait.done() for wait in waits] == [False, True]
        assert isinstance(waits[1].exception(), SiteYielded)
        await harness.pool.release(second, unsafe={})
        await waits[0]

    run(work, replicas=5, memory=2)


def test_request_for_reachable_site_keeps_its_queue_position() -> None:
    async def work(harness: PoolHarness) -> None:
        first = await harness.lease("b", holder="first")
        holds = await harness.lease("a", holder="holds")
        later = harness.ask("a", holder="later")
        await rest()
        wait = lease_also(harness, first, "a", holder="first")
        await rest()
        await harness.pool.release(holds, unsafe={})
        got = await wait
        assert not later.done()
        await harness.pool.release(got, unsafe={})
        await later

    run(work, replicas=1)


def test_shared_app_causes_no_deadlock() -> None:
    async def work(harness: PoolHarness) -> None:
        first, second = (
            await harness.lease("a", "wiki", holder="first"),
            await harness.lease("b", "wiki", holder="second"),
        )
        both = (
            await lease_also(harness, first, "wiki", holder="first"),
            await lease_also(harness, second, "wiki", holder="second"),
        )
        assert both[0].replicas["wiki"].id == both[1].replicas["wiki"].id

    run(work, replicas=1)


# --- the broker


@pytest.fixture(scope="module")
def launcher(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerLauncher]:
    (tiny / "reach.yaml").write_text(CATALOGUE)
    run_dir = tmp_path_factory.mktemp("run")
    config = BrokerConfig(catalogue=str(tiny / "reach.yaml"), run_dir=run_dir, max_replicas=1, spares=0)
    with BrokerLauncher(config) as launcher:
        yield launcher


@pytest.fixture
def client(launcher: BrokerLauncher) -> Iterator[BrokerClient]:
    with BrokerClient(launcher.address, name="gw0") as client:
        yield client


def ask(lease: Lease, url: str, method: str = "GET", proxy: str = "") -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy or lease.proxy}))
    with opener.open(urllib.request.Request(url, method=method), timeout=DEADLINE) as answer:
        text: str = answer.read().decode()
    return text


def visit(lease: Lease, url: str, answers: dict[str, str]) -> None:
    """Request a page as a browser would, and store its text in ``answers``."""
    try:
        answers[url] = ask(lease, url)
    except urllib.error.HTTPError as error:
        answers[url] = f"{error.code} {error.read().decode()}"
    except OSError as error:
        answers[url] = str(error)


def reach(client: BrokerClient, *sites: str, now: tuple[str, ...] = (), names: tuple[str, ...] = ("*",)) -> Lease:
    return client.lease(sites or ("tiny",), holder=f"a trial on {sites}", timeout=DEADLINE, reach=names, now=now)


def test_lease_without_reachable_sites_refuses_other_sites(client: BrokerClient) -> None:
    with client.lease(["tiny"], holder="a test", timeout=DEADLINE) as lease:
        assert (lease.reach, lease.visited()) == ({}, ())
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask(lease, "http://wiki.test/")


def test_unvisited_reachable_sites_are_not_leased(client: BrokerClient) -> None:
    with reach(client) as lease:
        assert lease.reach == {
            "pad": "http://pad.test", "pad_admin": "http://pad-admin.test", "wiki": "http://wiki.test",
            "broken": "http://broken.test",
        }  # fmt: skip
        assert "host=tiny.test" in ask(lease, "http://tiny.test/")
        assert [app.app for app in client.status().apps if any(one.holders for one in app.replicas)] == ["tiny"]
        assert [replica.app for replica in lease.replicas] == ["tiny"]
        assert lease.visited() == ()


def test_visited_site_is_leased_reported_and_reset(client: BrokerClient) -> None:
    with reach(client) as lease:
        assert "notes=2" in ask(lease, "http://pad.test/add", "POST")
        (visit_record,) = lease.visited()
        assert (visit_record.site, visit_record.app, visit_record.shared) == ("pad", "pad", False)
        assert visit_record.changed == "POST http://pad.test/add"
        assert visit_record.waited > 0
        assert visit_record.replica.startswith("pad-")
        assert len(visit_record.digest) == 16
        assert "notes=2" in ask(lease, "http://pad-admin.test/")  # another site of the same app
        assert [site.site for site in lease.visited()] == ["pad", "pad_admin"]
    assert "pad" in lease.release().reasons
    with reach(client) as lease:
        assert "notes=1" in ask(lease, "http://pad.test/")


def test_read_only_site_is_shared_and_refuses_writes(client: BrokerClient) -> None:
    with reach(client) as one, reach(client, "pad") as other:
        pids = {ask(lease, "http://wiki.test/").split("pid=")[1].split()[0] for lease in (one, other)}
        assert len(pids) == 1
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask(one, "http://wiki.test/add", "POST")
        assert "notes=1" in ask(other, "http://wiki.test/")
        (visit_record,) = one.visited()
        assert (visit_record.shared, visit_record.changed) == (True, "")
        assert [request.refused != "" for request in one.requests() if request.method == "POST"] == [True]


def test_reachable_site_that_cannot_start_is_a_site_error(client: BrokerClient) -> None:
    with reach(client) as lease:
        with pytest.raises(urllib.error.HTTPError, match="502"):
            ask(lease, "http://broken.test/")
        for look in (lease.visited, lease.check):
            with pytest.raises(SiteUnreached, match=r"the site broken, which is reachable .* was not available"):
                look()
        assert [(site.site, site.replica) for site in lease.reached()] == [("broken", "")]


def test_sites_visited_in_an_earlier_attempt_are_leased_immediately(client: BrokerClient) -> None:
    with reach(client, now=("pad",)) as lease:
        holders = {app.app for app in client.status().apps if any(one.holders for one in app.replicas)}
        assert holders == {"tiny", "pad"}
        assert [replica.app for replica in lease.replicas] == ["tiny"]
        assert "host=pad.test" in ask(lease, "http://pad.test/")
        assert [(site.site, site.waited) for site in lease.visited()] == [("pad", 0.0)]
    with pytest.raises(SiteUnreached, match="a site that the task does not list"):
        reach(client, now=("broken",))


def test_harness_can_visit_only_sites_that_the_agent_visited(client: BrokerClient) -> None:
    with reach(client) as lease:
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask(lease, "http://pad.test/", proxy=lease.harness_proxy)
        ask(lease, "http://pad.test/")
        assert "host=pad.test" in ask(lease, "http://pad.test/", proxy=lease.harness_proxy)


def test_trials_that_visit_each_others_sites_both_end(client: BrokerClient, launcher: BrokerLauncher) -> None:
    """One trial yields with the cause ``site``; when it has ended, the other one gets its page."""
    answers: dict[str, str] = {}
    with reach(client, "tiny") as one, reach(client, "pad") as other:
        urls = {"http://pad.test/": one, "http://tiny.test/": other}
        threads = [threading.Thread(target=visit, args=(lease, url, answers)) for url, lease in urls.items()]
        for thread in threads:
            thread.start()
        wait_until(lambda: "502" in str(answers))
        with pytest.raises(SiteYielded, match="gave way"):
            other.visited()
        other.release()
        for thread in threads:
            thread.join(DEADLINE)
        assert "host=pad.test" in answers["http://pad.test/"]
        assert [site.site for site in one.visited()] == ["pad"]


def test_release_while_waiting_for_a_site_cancels_the_request(client: BrokerClient) -> None:
    with reach(client, "pad") as holds:
        lease = reach(client, "tiny")
        thread = threading.Thread(target=visit, args=(lease, "http://pad.test/", {}))
        thread.start()
        wait_until(lambda: bool(client.status().waiting))
        began = time.monotonic()
        lease.release()
        assert time.monotonic() - began < DEADLINE
        wait_until(lambda: not client.status().waiting)
        thread.join(DEADLINE)
        assert "host=pad.test" in ask(holds, "http://pad.test/")


# --- which sites these are


def sites(path: Path, text: str, *names: str, leased: str = "", unreset: bool = False) -> list[str]:
    file = path / "sites.yaml"
    file.write_text(text)
    catalogue = load_catalogue(str(file), site_urls={"shop": "http://shop.example", "secret": "https://x.example"})
    listed = [catalogue.site(leased)] if leased else []
    return [site.name for site in reachable(catalogue, names or ("*",), leased=listed, unreset=unreset)]


OTHERS = """
apps:
  map: {backend: docker, read_only: true, sites: {map: {host: map.test}}, depends_on: [tiles], docker: {image: x}}
  tiles: {backend: docker, read_only: true, sites: {tiles: {host: tiles.test}}, docker: {image: x}}
  pad: {backend: docker, sites: {pad: {host: pad.test}}, docker: {image: x}}
"""


def test_parts_of_units_and_unreset_sites_are_not_reachable(tmp_path: Path) -> None:
    assert sites(tmp_path, OTHERS) == ["map", "pad"]
    assert sites(tmp_path, OTHERS, unreset=True) == ["map", "pad", "shop", "secret"]
    assert sites(tmp_path, OTHERS, leased="pad") == ["map"]
    assert sites(tmp_path, OTHERS, "pad") == ["pad"]
    with pytest.raises(UsageError, match="did you mean 'map'"):
        sites(tmp_path, OTHERS, "maps")
