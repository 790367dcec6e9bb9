"""Real processes on a tiny app: forks, resets, deaths, commands."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import smtplib
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import SiteError, SiteUnready, TaskError, UsageError
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.process import ProcessBackend
from pytest_webarena.sites.catalogues.loading import load_catalogue, problems_of
from pytest_webarena.sites.catalogues.manifest import AppManifest, HttpReady, ProcessManifest, SiteManifest
from pytest_webarena.sites.doctor import examine
from tests.processes import DEADLINE, Process, alive, everybody, of_command, wait_until

from .processes import number


def get(replica: Replica, path: str = "/", method: str = "GET") -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{replica.port}{path}", method=method)
    with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
        text: str = answer.read().decode()
    return text


@pytest.fixture
def backend_run(tmp_path: Path) -> Callable[[Callable[[ProcessBackend], Coroutine[Any, Any, None]]], None]:
    """Return a function that runs a coroutine function with a backend, and closes the backend."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def start(work: Callable[[ProcessBackend], Coroutine[Any, Any, None]]) -> None:
        async def main() -> None:
            backend = ProcessBackend(
                BackendContext(run="test", owner="", directory=scratch, environ={"TINY_MARK": "yes"})
            )
            try:
                await work(backend)
            finally:
                await backend.close()

        asyncio.run(main())

    return start


Run = Callable[[Callable[[ProcessBackend], Coroutine[Any, Any, None]]], None]


@pytest.fixture
def app(tiny: Path) -> AppManifest:
    return load_catalogue(tiny / "sites.yaml").apps["tiny"]


@pytest.fixture
def program(tiny: Path) -> Callable[..., AppManifest]:
    """Return a factory of manifests of ``program.py`` with the given kind of behaviour."""

    def make(kind: str, **more: Any) -> AppManifest:
        process = ProcessManifest(
            command=("{python}", "program.py", "{port}", "{data_dir}", kind), env={"GREETING": "to {port}"}
        )
        app = load_catalogue(tiny / "sites.yaml").apps["tiny"]
        return replace(app, process=process, ready=(HttpReady(),), start_timeout=DEADLINE, **more)

    return make


def test_replicas_are_isolated_and_reset_restores_memory_and_data(backend_run: Run, app: AppManifest) -> None:
    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        one, two = await asyncio.gather(backend.start(app, "tiny-1"), backend.start(app, "tiny-2"))
        assert "notes=2 memory=1" in get(one, "/add")
        assert "notes=1 memory=0" in get(two)
        pid = number(get(one), "pid")
        fresh = await backend.reset(app, one)
        assert (fresh.id, fresh.generation, one.generation) == ("tiny-1", 1, 0)
        assert "notes=1 memory=0" in get(fresh)
        wait_until(lambda: not alive(pid))
        assert fresh.digest == two.digest != ""

    backend_run(work)


def test_fingerprint_changes_with_the_data_only(backend_run: Run, app: AppManifest) -> None:
    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        replica = await backend.start(app, "tiny-1")
        get(replica)
        assert replica.fingerprint is not None
        assert await backend.fingerprint(app, replica) == replica.fingerprint
        get(replica, "/add")
        assert await backend.fingerprint(app, replica) != replica.fingerprint
        assert (await backend.reset(app, replica)).fingerprint == replica.fingerprint

    backend_run(work)


def test_queries_and_the_app_see_each_others_writes(backend_run: Run, app: AppManifest) -> None:
    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        replica = await backend.start(app, "tiny-1")
        get(replica, "/add")
        rows = await backend.query(app, replica, "", "select text from notes order by id", write=False)
        assert rows.rows == (("seeded",), ("added",))
        await backend.query(app, replica, "main", "delete from notes", write=True)
        assert "notes=0" in get(replica)
        with pytest.raises(TaskError, match="no such table: notebook"):
            await backend.query(app, replica, "", "select * from notebook", write=False)

    backend_run(work)


def test_app_created_before_forking_uses_each_replicas_data(backend_run: Run, tiny: Path) -> None:
    app = load_catalogue(tiny / "sites.yaml").apps["other"]

    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        one, two = await backend.start(app, "other-1"), await backend.start(app, "other-2")
        assert "notes=2" in get(one, "/add")
        assert "notes=1" in get(two)
        assert one.fingerprint is None  # never reused, so never needed

    backend_run(work)


def test_reset_uses_a_spare_process_and_survives_its_death(backend_run: Run, tiny: Path, tmp_path: Path) -> None:
    app = load_catalogue(tiny / "sites.yaml").apps["other"]

    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        replica = await backend.start(app, "other-1")
        parent = Process(number(get(replica), "parent"))
        used: set[int] = set()  # an old spare may still be exiting

        def spares() -> set[int]:
            return {child.pid for child in parent.children()} - used

        for _ in range(3):
            get(replica, "/add")
            used.add(number(get(replica), "pid"))
            wait_until(lambda: len(spares()) == 1)
            (spare,) = spares()
            replica = await backend.reset(app, replica)
            assert f"notes=1 memory=0 pid={spare} " in get(replica)
        for asleep in (False, True):  # it dies before its order arrives, or before reading it
            used.add(number(get(replica), "pid"))
            wait_until(lambda: len(spares()) == 1)
            (spare,) = spares()
            used.add(spare)
            get(replica, "/add")
            if not asleep:
                os.kill(spare, signal.SIGKILL)
                replica = await backend.reset(app, replica)
            else:
                os.kill(spare, signal.SIGSTOP)
                reset = asyncio.create_task(backend.reset(app, replica))
                await asyncio.to_thread(
                    wait_until, lambda: len(spares()) == 1
                )  # the next spare exists, so the order was sent
                os.kill(spare, signal.SIGKILL)
                replica = await reset
            assert "notes=1 memory=0" in get(replica)
            assert number(get(replica), "pid") != spare

    backend_run(work)


def test_the_app_is_loaded_and_seeded_once(backend_run: Run, app: AppManifest, tmp_path: Path) -> None:
    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        for index in range(3):
            await backend.start(app, f"tiny-{index}")
        assert (tmp_path / "scratch" / "tiny" / "forkserver.log").read_text().count("tinyapp is loaded") == 1

    backend_run(work)


def test_dead_replica_is_reported_with_its_last_log_lines(backend_run: Run, app: AppManifest) -> None:
    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        replica = await backend.start(app, "tiny-1")
        assert await backend.alive(app, replica) == ""
        with pytest.raises((urllib.error.URLError, ConnectionError, OSError)):
            get(replica, "/crash")
        async with asyncio.timeout(DEADLINE):
            while not (why := await backend.alive(app, replica)):
                await asyncio.sleep(0.005)
        assert "it ended with exit code 7; last log lines:" in why
        assert "about to crash" in why
        assert not await backend.signalled(app, replica)
        assert "notes=1" in get(await backend.reset(app, replica))

    backend_run(work)


def test_dead_fork_server_ends_its_replicas_and_is_replaced(backend_run: Run, app: AppManifest) -> None:
    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        replica = await backend.start(app, "tiny-1")
        text = get(replica)
        os.kill(number(text, "parent"), signal.SIGKILL)
        async with asyncio.timeout(DEADLINE):
            while not (why := await backend.alive(app, replica)):
                await asyncio.sleep(0.005)
        assert "its fork server ended with signal SIGKILL" in why
        wait_until(lambda: not alive(number(text, "pid")))
        await backend.stop(app, replica)
        assert "notes=1" in get(await backend.start(app, "tiny-2"))

    backend_run(work)


def test_cancelled_start_does_not_block_the_next(backend_run: Run, app: AppManifest, tmp_path: Path) -> None:
    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        starting = asyncio.ensure_future(backend.start(app, "tiny-1"))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert "notes=1" in get(await backend.start(app, "tiny-2"))

    backend_run(work)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"factory": "tinyapp:none"}, "AttributeError: module 'tinyapp' has no attribute 'none'"),
        ({"factory": "no_such_module:create_app"}, "ModuleNotFoundError: No module named 'no_such_module'"),
        ({"warm": ("/notfound",)}, "RuntimeError: warming up, GET /notfound answered 404 Not Found"),
        ({"env": {"TINY_SEED": "fails"}}, "RuntimeError: no seed today"),
    ],
)
def test_failed_load_is_reported_with_the_log(
    backend_run: Run, app: AppManifest, changes: dict[str, Any], message: str
) -> None:
    assert app.process is not None
    bad = replace(app, process=replace(app.process, **changes))

    async def work(backend: ProcessBackend) -> None:
        with pytest.raises(SiteError, match=re.escape(message)) as error:
            await backend.prepare(bad)
        assert "Traceback" in str(error.value)

    backend_run(work)


def test_requirements_are_checked_before_import(backend_run: Run, app: AppManifest) -> None:
    assert app.process is not None
    needy = replace(app.process, factory="imports_what_is_missing:app", needs=("json", "no_such"), install="get it")

    async def work(backend: ProcessBackend) -> None:
        with pytest.raises(SiteUnready) as error:
            await backend.prepare(replace(app, process=needy))
        assert str(error.value) == "the app 'tiny' needs no_such, not installed here; run: get it"

    backend_run(work)


def test_missing_extra_is_reported_with_pip_command(backend_run: Run, tmp_path: Path) -> None:
    hiding = tmp_path / "hiding"
    hiding.mkdir()
    (hiding / "sitecustomize.py").write_text(HIDE)
    app = replace(load_catalogue("embedded").apps["shop"], folder=hiding)

    async def work(backend: ProcessBackend) -> None:
        with pytest.raises(SiteUnready) as error:
            await backend.prepare(app)
        assert re.fullmatch(
            r"the app 'shop' needs (django, )?oscar, not installed here; run: "
            r"pip install 'pytest-webarena\[shop\]'",
            str(error.value),
        )

    backend_run(work)


HIDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "oscar":
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hidden())
"""


def test_wsgi_app_can_have_readiness_checks(backend_run: Run, app: AppManifest) -> None:
    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        await backend.start(replace(app, ready=(HttpReady(path="/", includes="host=tiny.test"),)), "tiny-1")
        late = replace(app, ready=(HttpReady(path="/notfound", status=(200,)),), start_timeout=2.0)
        with pytest.raises(SiteError, match=r"(?s)answered 404, expected 200; last log lines:\n.*404 Not Found"):
            await backend.start(late, "tiny-2")

    backend_run(work)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


BAD_DATA: dict[str, Callable[[Path], object]] = {
    "a link to /": lambda path: path.symlink_to("/"),
    "a link to ../../outside": lambda path: path.symlink_to("../../outside"),
    "a link to ../../data/inner": lambda path: path.symlink_to("../../data/inner"),
    "a link to up/outside": lambda path: path.symlink_to("up/outside"),
    "a FIFO": _fifo,
    "a socket": _socket,
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_data_with_files_that_cannot_be_copied_are_refused(
    backend_run: Run, program: Callable[..., AppManifest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (data / "inner").write_text("")
    (data / "sub" / "good").symlink_to("../inner")
    (data / "gone").symlink_to("later")
    app = program("slow")
    assert app.process is not None
    app = replace(app, process=replace(app.process, data=str(data)))
    text = "apps:\n  shop:\n    backend: process\n    sites: {shop: {host: shop.test}}\n    ready: [{http: /}]\n"
    catalogue = tmp_path / "sites.yaml"
    catalogue.write_text(text + '    process: {command: [x, "{port}"], data: data}\n')
    assert problems_of(catalogue) == ()
    if "up" in kind:
        (tmp_path / "data" / "sub" / "up").symlink_to("../../")
    monkeypatch.chdir(data)  # paths of sockets must be short
    BAD_DATA[kind](data / "sub" / "bad")

    async def work(backend: ProcessBackend) -> None:
        with pytest.raises(UsageError, match=f"the data in {data}: found {data}/sub/(bad|up), {kind[:6]}"):
            await backend.prepare(app)

    backend_run(work)
    (problem,) = problems_of(catalogue)
    assert (problem.line, problem.expected) == (6, "data that can be copied for each replica")
    (diagnosis,) = (found for found in examine([app]) if found.subject == app.name)
    assert diagnosis.state == "missing"
    assert kind[:6] in diagnosis.text


def test_command_app_starts_resets_and_stops(
    backend_run: Run, program: Callable[..., AppManifest], tmp_path: Path
) -> None:
    data = tmp_path / "fixtures"
    data.mkdir()
    (data / "shipped").write_text("")
    app = program("slow")
    assert app.process is not None
    app = replace(app, process=replace(app.process, data=str(data)))

    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        replica = await backend.start(app, "tiny-1")
        assert get(replica, method="POST") == "posted ready shipped"
        fresh = await backend.reset(app, replica)
        assert get(fresh) == "ready shipped"
        assert fresh.port != replica.port
        log = tmp_path / "scratch" / "tiny" / "tiny-1.1.log"
        assert f"starting as slow to {fresh.port}" in log.read_text()
        pid = int((await pids(str(tmp_path)))[-1])
        assert not await backend.signalled(app, fresh)
        os.kill(pid, signal.SIGSTOP)
        async with asyncio.timeout(DEADLINE):
            while not await backend.signalled(app, fresh):
                await asyncio.sleep(0.005)
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGTERM)
        async with asyncio.timeout(DEADLINE):
            while not (why := await backend.alive(app, fresh)):
                await asyncio.sleep(0.005)
        assert "it ended with signal SIGTERM" in why
        assert await backend.signalled(app, fresh)

    backend_run(work)


async def pids(needle: str) -> list[str]:
    """Return the pids of processes with ``needle`` in their command line, oldest first."""
    return [str(process.pid) for process in of_command(needle, everybody())]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("exits", "it ended with exit code 1; last log lines:\n    starting as exits.*\n    bad configuration"),
        ("elsewhere", "it was not ready within 1 s .*no connection to 127.0.0.1.*(last log lines|its log is empty)"),
    ],
)
def test_command_that_fails_to_start_reports_why(
    backend_run: Run, program: Callable[..., AppManifest], tmp_path: Path, kind: str, message: str
) -> None:
    app = program(kind)
    if kind == "elsewhere":
        app = replace(app, start_timeout=1.0)

    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        with pytest.raises(SiteError) as error:
            await backend.start(app, "tiny-1")
        assert re.search(message, str(error.value)), error.value
        assert await pids(str(tmp_path)) == []

    backend_run(work)


def test_missing_program_or_data_folder_is_reported(backend_run: Run, app: AppManifest) -> None:
    bad = replace(app, process=ProcessManifest(command=("no-such-program",)))

    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(bad)
        with pytest.raises(SiteUnready, match="the app 'tiny': its command 'no-such-program' can't be run"):
            await backend.start(bad, "tiny-1")
        missing = replace(app, process=ProcessManifest(command=("x",), data="/no/such/folder"))
        with pytest.raises(UsageError, match="/no/such/folder, which is no directory"):
            await backend.prepare(missing)

    backend_run(work)


def test_closing_ends_every_process(
    backend_run: Run, app: AppManifest, program: Callable[..., AppManifest], tmp_path: Path
) -> None:
    process_ids: list[int] = []

    async def work(backend: ProcessBackend) -> None:
        await backend.prepare(app)
        text = get(await backend.start(app, "tiny-1"))
        process_ids.extend([number(text, "pid"), number(text, "parent")])
        command = replace(program("plain"), name="command")
        await backend.prepare(command)
        await backend.start(command, "command-1")
        (program_pid,) = await pids(str(tmp_path / "scratch" / "command"))
        process_ids.append(int(program_pid))

    backend_run(work)
    assert len(process_ids) == 3
    assert not any(alive(pid) for pid in process_ids)


def test_stand_ins_live_as_long_as_their_replica(
    backend_run: Run, program: Callable[..., AppManifest], tmp_path: Path
) -> None:
    async def work(backend: ProcessBackend) -> None:
        app = program("slow")
        mail = SiteManifest(name="mail", app="tiny", host="mail.test", stand_in="mailbox")
        app = replace(app, sites=(*app.sites, mail))
        assert app.process is not None
        app = replace(app, process=replace(app.process, env={"GREETING": "{port:mail} {smtp:mail}"}))
        await backend.prepare(app)
        replica = await backend.start(app, "tiny-1")
        url = f"http://127.0.0.1:{replica.ports['mail']}/api/messages"
        log = (tmp_path / "scratch" / "tiny" / "tiny-1.0.log").read_text()
        port, smtp = map(int, log.partition("starting as slow ")[2].split()[:2])
        assert port == replica.ports["mail"]
        with smtplib.SMTP("127.0.0.1", smtp, timeout=DEADLINE) as client:
            client.sendmail("a@b.test", ["c@d.test"], "Subject: kept\r\n\r\nx")
        before = await backend.fingerprint(app, replica)
        assert '"kept"' in urllib.request.urlopen(url, timeout=DEADLINE).read().decode()
        with smtplib.SMTP("127.0.0.1", smtp, timeout=DEADLINE) as client:
            client.sendmail("a@b.test", ["c@d.test"], "Subject: more\r\n\r\nx")
        assert await backend.fingerprint(app, replica) != before
        await backend.stop(app, replica)
        with pytest.raises(urllib.error.URLError, match="refused"):
            urllib.request.urlopen(url, timeout=DEADLINE)

    backend_run(work)
