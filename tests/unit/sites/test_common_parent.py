"""Fork servers and their common parent: number of processes, shared preloads, isolation and cleanup."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends import forking, spawning
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.process import ProcessBackend
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest, ProcessManifest
from tests.processes import DEADLINE, Process, alive, of_pids, wait_until

from .preloaded import MODULES
from .processes import number

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each fork server is a process of its own")


def get(replica: Replica, path: str = "/") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{replica.port}{path}", timeout=DEADLINE) as answer:
        text: str = answer.read().decode()
    return text


@pytest.fixture
def apps(tiny: Path) -> tuple[AppManifest, AppManifest]:
    """Two apps that preload the same modules."""
    app = load_catalogue(tiny / "sites.yaml").apps["tiny"]
    assert app.process is not None
    one = replace(app, name="one", process=replace(app.process, preload=("tinyapp",)))
    return one, replace(one, name="two")


Work = Callable[[ProcessBackend], Coroutine[Any, Any, None]]
Odd = Callable[..., AppManifest]
EMPTY: Mapping[str, str] = MappingProxyType({})


@pytest.fixture
def odd(tiny: Path, tmp_path: Path) -> Odd:
    """Return a factory of apps of ``terms`` with a name, preloaded modules, and early and late variables."""
    folder = tmp_path / "modules"
    folder.mkdir()
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    base = load_catalogue(tiny / "sites.yaml").apps["tiny"]

    def make(name: str, *preload: str, env: Mapping[str, str] = EMPTY, late: tuple[str, ...] = ()) -> AppManifest:
        process = ProcessManifest(factory="terms:create_app", preload=preload, env=env, env_after_preload=late)
        return replace(base, name=name, folder=folder, databases={}, process=process)

    return make


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Work], None]:
    """Return a function that runs a coroutine function with a backend, and closes the backend."""

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


def test_shared_preloads_load_once_and_apps_have_own_servers_and_data(
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


def test_dead_fork_server_does_not_affect_other_apps(
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


def test_fork_servers_end_with_their_parent_and_get_a_new_one(
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


def test_app_settings_are_invisible_to_other_apps(
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


def test_preloaded_module_reads_the_apps_own_environment(run: Callable[[Work], None], odd: Odd) -> None:
    given = {"plain": {}, "tokyo": {"TZ": "JST-9", "CURRENCY": "kr"}, "tokyo-too": {"TZ": "JST-9", "CURRENCY": "kr"}}
    shared = [odd(name, "terms", env=env) for name, env in given.items()]
    alone = [odd(f"{name}-alone", env=env) for name, env in given.items()]

    async def work(backend: ProcessBackend) -> None:
        texts = [get(await start(backend, app)) for app in (*shared, *alone)]
        replies = [text.partition(" parent=")[0] for text in texts]
        assert replies == ["EUR late= hour=0", "kr late= hour=9", "kr late= hour=9"] * 2
        plain, tokyo, tokyo_too, *others = (Process(number(text, "parent")).ppid() for text in texts)
        assert tokyo == tokyo_too
        assert len({plain, tokyo, os.getpid()}) == 3
        assert {*others} == {os.getpid()}

    run(work)


def test_late_variables_may_differ_under_one_parent(run: Callable[[Work], None], odd: Odd) -> None:
    shared = [odd(name, "terms", env={"CURRENCY": "kr", "LATE": name}, late=("LATE",)) for name in ("one", "two")]

    async def work(backend: ProcessBackend) -> None:
        texts = [get(await start(backend, app)) for app in shared]
        assert [text.partition(" hour=")[0] for text in texts] == ["kr late=one", "kr late=two"]
        assert len({Process(number(text, "parent")).ppid() for text in texts}) == 1

    run(work)


def test_all_embedded_apps_can_share_one_parent() -> None:
    running = [app.process for app in load_catalogue("embedded").apps.values() if app.process is not None]
    early = [{name: each.env[name] for name in each.env if name not in each.env_after_preload} for each in running]
    assert len({each.preload for each in running}) == 1
    assert early == [{}] * len(running)


def test_module_that_starts_threads_is_not_preloaded(
    run: Callable[[Work], None], odd: Odd, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(backend: ProcessBackend) -> None:
        texts = [get(await start(backend, odd(name, "terms", "threaded", "late"))) for name in ("one", "two")]
        assert {Process(number(text, "parent")).ppid() for text in texts} == {os.getpid()}

    with caplog.at_level(logging.WARNING):
        run(work)
    why = "threaded starts threads when it is imported (ticker)"
    assert caplog.messages == [
        f"{name} starts in a separate process without preloading: {why}" for name in ("one", "two")
    ]
    assert [path.name for path in tmp_path.glob("forkservers-*.log")] == ["forkservers-1.log"]


def test_ended_thread_does_not_prevent_preloading(run: Callable[[Work], None], odd: Odd) -> None:
    async def work(backend: ProcessBackend) -> None:
        text = get(await start(backend, odd("one", "terms", "waited")))
        assert Process(number(text, "parent")).ppid() != os.getpid()

    run(work)


def test_failed_fork_affects_only_its_app(run: Callable[[Work], None], odd: Odd) -> None:
    async def work(backend: ProcessBackend) -> None:
        first = await start(backend, odd("first", "terms", "scarce"))
        with pytest.raises(SiteError, match=r"can't fork another one: \[Errno 11\] no more processes"):
            await backend.prepare(odd("second", "terms", "scarce"))
        third = await start(backend, odd("third", "terms", "scarce"))
        assert Process(server_of(first)).ppid() == Process(server_of(third)).ppid()

    run(work)


def test_endless_import_is_killed_when_its_last_waiter_is_cancelled(
    run: Callable[[Work], None], odd: Odd, tmp_path: Path
) -> None:
    async def work(backend: ProcessBackend) -> None:
        for turn in (1, 2):  # the second attempt starts a new import
            first, second = (asyncio.ensure_future(backend.prepare(odd(name, "endless"))) for name in ("one", "two"))
            log = tmp_path / f"forkservers-{turn}.log"
            async with asyncio.timeout(DEADLINE):
                while not (log.exists() and log.read_text()):
                    await asyncio.sleep(0.005)
            pid = number(log.read_text(), "pid")
            first.cancel()
            await asyncio.wait([first], timeout=DEADLINE)
            assert first.cancelled()
            assert alive(pid)
            second.cancel()
            await asyncio.wait([second], timeout=DEADLINE)
            assert second.cancelled()
            wait_until(lambda pid=pid: not alive(pid))  # type: ignore[misc]
        async with asyncio.timeout(DEADLINE):
            await backend.close()

    run(work)


def test_cancelled_waiter_does_not_affect_other_waiters(run: Callable[[Work], None], odd: Odd, tmp_path: Path) -> None:
    async def work(backend: ProcessBackend) -> None:
        impatient, patient = (asyncio.ensure_future(start(backend, odd(name, "terms", "gated"))) for name in ("a", "b"))
        async with asyncio.timeout(DEADLINE):
            while not (tmp_path / "modules" / "gate").exists():
                await asyncio.sleep(0.005)
        impatient.cancel()
        await asyncio.wait([impatient], timeout=DEADLINE)
        (tmp_path / "modules" / "gate").unlink()
        assert "EUR" in get(await patient)

    run(work)


def test_unresponsive_parent_is_killed(
    run: Callable[[Work], None], apps: tuple[AppManifest, AppManifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spawning, "_KILL_SECONDS", 0.01)
    monkeypatch.setattr(forking, "_END", 0.01)

    async def work(backend: ProcessBackend) -> None:
        server = server_of(await start(backend, apps[0]))
        common = Process(server).ppid()
        for pid in (server, common):
            os.kill(pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(DEADLINE):
                await backend.close()
            wait_until(lambda: not any(map(alive, (server, common))))
        finally:
            for process in of_pids([server, common]):
                process.kill()

    run(work)


def test_failed_start_leaves_no_open_files(run: Callable[[Work], None], odd: Odd) -> None:
    app = odd("large", "terms", env={"LATE": "x" * 70_000}, late=("LATE",))

    async def work(backend: ProcessBackend) -> None:
        opened = []
        for _ in range(3):
            with pytest.raises(SiteError, match=r"has 70\d+ bytes; at most 65536 can go"):
                await backend.prepare(app)
            opened.append(len(os.listdir("/proc/self/fd")))
        assert opened == [opened[0]] * 3

    run(work)


def test_each_parent_has_its_own_log(
    run: Callable[[Work], None], apps: tuple[AppManifest, AppManifest], tmp_path: Path
) -> None:
    async def work(backend: ProcessBackend) -> None:
        for turn in range(3):
            replica = await start(backend, apps[0], turn)
            os.kill(Process(server_of(replica)).ppid(), signal.SIGKILL)
            await ends(backend, apps[0], replica)

    run(work)
    logs = sorted(path.name for path in tmp_path.glob("forkservers-*.log"))
    assert logs == ["forkservers-1.log", "forkservers-2.log", "forkservers-3.log"]


def test_app_starts_without_modules_that_cannot_be_preloaded(
    run: Callable[[Work], None], apps: tuple[AppManifest, AppManifest]
) -> None:
    app = apps[0]
    assert app.process is not None
    odd = replace(app, process=replace(app.process, preload=("no_such_module", "tinyapp")))

    async def work(backend: ProcessBackend) -> None:
        assert "notes=1" in get(await start(backend, odd))

    run(work)


@pytest.mark.parametrize("read_only", [False, True])
def test_apps_that_are_never_reset_get_no_spare_process(
    run: Callable[[Work], None], tiny: Path, read_only: bool
) -> None:
    app = replace(load_catalogue(tiny / "sites.yaml").apps["other"], read_only=read_only)

    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        for index in range(2):  # a spare, if any, exists before the second order
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


def test_all_processes_end_with_the_starting_process(tiny: Path, tmp_path: Path) -> None:
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
