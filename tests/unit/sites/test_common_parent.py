"""How many processes fork servers are, who forked them, what they share, and what they don't."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.process import ProcessBackend
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest
from tests.processes import DEADLINE, Process, alive, wait_until

from .processes import number

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each fork server is a process of its own")


def get(replica: Replica, path: str = "/") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{replica.port}{path}", timeout=DEADLINE) as answer:
        text: str = answer.read().decode()
    return text


@pytest.fixture
def apps(tiny: Path) -> tuple[AppManifest, AppManifest]:
    """Two of which each preloads what both need."""
    app = load_catalogue(tiny / "sites.yaml").apps["tiny"]
    assert app.process is not None
    one = replace(app, name="one", process=replace(app.process, preload=("tinyapp",)))
    return one, replace(one, name="two")


Work = Callable[[ProcessBackend], Coroutine[Any, Any, None]]


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Work], None]:
    """Runs a coroutine function with a backend, and closes that."""

    def start(work: Work) -> None:
        async def main() -> None:
            backend = ProcessBackend(BackendContext(run="test", owner="", directory=tmp_path, environ={}))
            try:
                await work(backend)
            finally:
                await backend.close()

        asyncio.run(main())

    return start


async def start(backend: ProcessBackend, app: AppManifest, number: int = 0) -> Replica:
    await backend.prepare(app)
    return await backend.start(app, f"{app.name}-{number}")


def server_of(replica: Replica) -> int:
    return number(get(replica), "parent")


async def ends(backend: ProcessBackend, app: AppManifest, replica: Replica) -> str:
    async with asyncio.timeout(DEADLINE):
        while not (why := await backend.alive(app, replica)):
            await asyncio.sleep(0.005)
    return why


def test_what_is_preloaded_is_loaded_once_and_each_app_has_a_server_and_data_of_its_own(
    run: Callable[[Work], None], apps: tuple[AppManifest, AppManifest], tmp_path: Path
) -> None:
    async def work(backend: ProcessBackend) -> None:
        one, two = await asyncio.gather(*(start(backend, app) for app in apps))
        servers = [server_of(one), server_of(two)]
        assert len({*servers, *(os.getsid(pid) for pid in servers)}) == 2
        (common,) = {Process(pid).ppid() for pid in servers}
        assert "notes=2 memory=1" in get(one, "/add")
        assert "notes=1 memory=0" in get(two)
        logs = {path.name: path.read_text().count("tinyapp is loaded") for path in tmp_path.rglob("forkserver*.log")}
        assert logs == {"forkservers-1.log": 1, "forkserver.log": 0}
        await backend.close()
        assert not [pid for pid in (*servers, common) if alive(pid)]

    run(work)


def test_the_end_of_one_server_is_no_other_apps_business(
    run: Callable[[Work], None], apps: tuple[AppManifest, AppManifest]
) -> None:
    async def work(backend: ProcessBackend) -> None:
        one, two = await asyncio.gather(*(start(backend, app) for app in apps))
        doomed, other = server_of(one), server_of(two)
        replica = number(get(one), "pid")
        os.kill(doomed, signal.SIGKILL)
        assert "its fork server ended with signal SIGKILL" in await ends(backend, apps[0], one)
        wait_until(lambda: not alive(replica))
        fresh = await start(backend, apps[0], 1)
        assert Process(server_of(fresh)).ppid() == Process(other).ppid()
        assert server_of(two) == other

    run(work)


def test_all_end_with_their_common_parent_and_have_another_one_then(
    run: Callable[[Work], None], apps: tuple[AppManifest, AppManifest]
) -> None:
    async def work(backend: ProcessBackend) -> None:
        replicas = await asyncio.gather(*(start(backend, app) for app in apps))
        pids = [pid for each in replicas for pid in (server_of(each), number(get(each), "pid"))]
        common = Process(pids[0]).ppid()
        os.kill(common, signal.SIGKILL)
        for app, replica in zip(apps, replicas, strict=True):
            assert "its fork server ended with signal SIGKILL" in await ends(backend, app, replica)
            await backend.stop(app, replica)
        wait_until(lambda: not any(map(alive, pids)))
        again = await asyncio.gather(*(start(backend, app, 1) for app in apps))
        (other,) = {Process(server_of(each)).ppid() for each in again}
        assert other != common

    run(work)


def test_what_an_app_sets_is_seen_by_no_other(
    run: Callable[[Work], None], apps: tuple[AppManifest, AppManifest]
) -> None:
    one, two = apps
    assert one.process is not None
    failing = replace(one, process=replace(one.process, env={"TINY_SEED": "fails"}))

    async def work(backend: ProcessBackend) -> None:
        with pytest.raises(SiteError, match="RuntimeError: no seed today"):
            await backend.prepare(failing)
        assert "notes=1" in get(await start(backend, two))

    run(work)


def test_a_variable_that_is_read_at_the_start_makes_a_process_of_its_own(
    run: Callable[[Work], None], apps: tuple[AppManifest, AppManifest]
) -> None:
    one, two = apps
    assert two.process is not None
    own = replace(two, process=replace(two.process, env={"PYTHONHASHSEED": "7"}))

    async def work(backend: ProcessBackend) -> None:
        replicas = [await start(backend, app) for app in (one, own)]
        parents = [Process(server_of(each)).ppid() for each in replicas]
        assert parents[0] != os.getpid() == parents[1]

    run(work)


def test_what_can_not_be_preloaded_keeps_no_app_from_starting(
    run: Callable[[Work], None], apps: tuple[AppManifest, AppManifest]
) -> None:
    app = apps[0]
    assert app.process is not None
    odd = replace(app, process=replace(app.process, preload=("no_such_module", "tinyapp")))

    async def work(backend: ProcessBackend) -> None:
        assert "notes=1" in get(await start(backend, odd))

    run(work)


@pytest.mark.parametrize("read_only", [False, True])
def test_no_spare_waits_for_what_is_never_reset(run: Callable[[Work], None], tiny: Path, read_only: bool) -> None:
    app = replace(load_catalogue(tiny / "sites.yaml").apps["other"], read_only=read_only)

    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        for index in range(2):  # the second order comes after a spare was made for it, if one ever is
            replica = await backend.start(app, f"other-{index}")
        parent = Process(number(get(replica), "parent"))
        wait_until(lambda: len(parent.children()) == (2 if read_only else 3))
        if read_only:
            assert "notes=1" in get(await backend.start(app, "other-2"))
            assert len(parent.children()) == 3

    run(work)


HELD = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from pytest_webarena.sites.backends.base import BackendContext
from pytest_webarena.sites.backends.process import ProcessBackend
from pytest_webarena.sites.catalogues.loading import load_catalogue

async def main():
    app = load_catalogue(Path(sys.argv[1])).apps["tiny"]
    app = replace(app, process=replace(app.process, preload=("tinyapp",)))
    backend = ProcessBackend(BackendContext(run="test", owner="", directory=Path(sys.argv[2]), environ={}))
    await backend.prepare(app)
    replica = await backend.start(app, "tiny-0")
    print(replica.port, flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


def test_nothing_outlives_the_process_that_had_it_started(tiny: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HELD, str(tiny / "sites.yaml"), str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as held:
        assert held.stdout is not None
        port = int(held.stdout.readline())
        family = Process(held.pid).children(recursive=True)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=DEADLINE) as answer:
            assert number(answer.read().decode(), "parent") in {each.pid for each in family}
        held.kill()
    assert len(family) >= 3
    wait_until(lambda: not any(map(alive, family)))
