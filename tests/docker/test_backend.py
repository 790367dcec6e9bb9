"""The Docker backend on a real engine: confinement, queries, resets, failures and cleanup."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import SiteError, SiteMissing, TaskError
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.catalogues.manifest import AppManifest, DockerManifest

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend
    from tests.docker.conftest import Shared

pytestmark = pytest.mark.docker

COUNT = "select count(*) from notes"
SERVER = "import http.server; http.server.test(http.server.SimpleHTTPRequestHandler, port=8080)"


Run = Callable[..., Any]


@pytest.fixture
def broker(shared: Shared) -> BackendContext:
    return shared.context


@pytest.fixture
def run(shared: Shared) -> Run:
    return shared.run


@pytest.fixture
def backend(shared_backend: DockerBackend) -> DockerBackend:
    return shared_backend


def get(replica: Replica, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(replica.host, replica.port, timeout=10)
    try:
        connection.request("GET", path, headers={"Host": "homepage.test"})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def container_of(engine: DockerClient, backend: DockerBackend, replica: Replica) -> Any:
    labels = {**backend.leftovers(), "pytest-webarena.replica": replica.id}
    chosen: dict[str, str | list[str] | bool] = {"label": [f"{key}={value}" for key, value in labels.items()]}
    (container,) = engine.containers.list(all=True, filters=chosen, ignore_removed=True)
    return container


async def end_of(backend: DockerBackend, app: AppManifest, replica: Replica) -> str:
    """Wait until the backend reports why the replica ended."""
    async with asyncio.timeout(30):
        while not (why := await backend.alive(app, replica)):
            await asyncio.sleep(0.02)
    return why


@pytest.fixture
def replica(backend: DockerBackend, homepage: AppManifest, run: Callable[..., Any]) -> Replica:
    run(backend.prepare(homepage))
    started: Replica = run(backend.start(homepage, "homepage-1"))
    return started


def test_replica_answers_and_is_confined(
    engine: DockerClient, backend: DockerBackend, homepage: AppManifest, broker: BackendContext, run: Callable[..., Any]
) -> None:
    assert homepage.docker
    limited = replace(homepage.docker, memory="200m", cpus=1.5, shm_size="32m", env={"A_SETTING": "of the manifest"})
    app = replace(homepage, docker=limited)
    run(backend.prepare(app))
    replica: Replica = run(backend.start(app, "homepage-1"))
    status, text = get(replica, "/")
    assert status == 200
    assert "<html" in text
    container = container_of(engine, backend, replica)
    config, host = container.attrs["Config"], container.attrs["HostConfig"]
    assert replica.digest == container.attrs["Image"]
    assert (
        config["Labels"].items()
        >= {
            **backend.leftovers(),
            "pytest-webarena.app": "homepage",
            "pytest-webarena.owner": broker.owner,
        }.items()
    )
    assert host["Memory"] == host["MemorySwap"] == 200 << 20
    assert host["NanoCpus"] == 1_500_000_000
    assert host["ShmSize"] == 32 << 20
    assert "A_SETTING=of the manifest" in config["Env"]
    assert host["Init"] is True
    assert not host["Privileged"]
    assert not host["PortBindings"]
    assert not any((container.attrs["NetworkSettings"]["Ports"] or {}).values())
    kind, _, keeper = host["NetworkMode"].partition(":")
    assert kind == "container"
    place = engine.containers.get(keeper)
    assert list(place.attrs["NetworkSettings"]["Networks"]) == [f"pytest-webarena-{broker.run}"]
    assert not any(place.attrs["NetworkSettings"]["Ports"].values())
    assert "A_SETTING=of the manifest" not in place.attrs["Config"]["Env"]


def test_replica_cannot_reach_network_or_other_replicas(
    engine: DockerClient, backend: DockerBackend, replica: Replica, homepage: AppManifest, run: Callable[..., Any]
) -> None:
    neighbour: Replica = run(backend.start(homepage, "homepage-2"))
    assert get(neighbour, "/healthz")[0] == 200  # it would answer
    code = f"""
import json, socket, threading, time
began = time.monotonic()
def connect(name, port):
    try:
        socket.create_connection((name, port), 1.5).close()
        seen[name] = "connected"
    except OSError as error:
        seen[name] = type(error).__name__
seen = {{}}
places = [("127.0.0.1", 8080), ("192.0.2.1", 80), ("{neighbour.host}", 8080), ("shopping.example", 80)]
threads = [threading.Thread(target=connect, args=place) for place in places]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
seen["seconds"] = time.monotonic() - began
print(json.dumps(seen))
"""
    code_, output = container_of(engine, backend, replica).exec_run(["python3", "-c", code])
    answers = json.loads(output)
    assert answers.pop("seconds") < 8  # an app that looks up names must not hang for long
    assert answers.pop("127.0.0.1") == "connected"
    assert answers == {"192.0.2.1": "TimeoutError", neighbour.host: "TimeoutError", "shopping.example": "gaierror"}
    assert code_ == 0


def test_sqlite_queries_return_rows_and_are_read_only_by_default(
    backend: DockerBackend, replica: Replica, homepage: AppManifest, run: Callable[..., Any]
) -> None:
    def query(sql: str, *, write: bool = False, database: str = "") -> Any:
        return run(backend.query(homepage, replica, database, sql, write=write))

    assert query("select 'ü', 1.5, null, x'00ff'").rows == (("ü", 1.5, None, "base64:AP8="),)
    (notes,) = query(COUNT, database="main").rows[0]
    assert notes > 0
    with pytest.raises(TaskError, match="readonly"):
        query("delete from notes")
    with pytest.raises(TaskError, match="no such table: nots"):
        query("select * from nots")
    assert query(COUNT).rows == ((notes,),)
    query("delete from notes; delete from calculations", write=True)
    assert query(COUNT).rows == ((0,),)
    nowhere = replace(homepage, databases={"main": replace(homepage.databases["main"], path="nowhere.sqlite3")})
    with pytest.raises(SiteError, match=r"there is no file /data.*/nowhere\.sqlite3"):
        run(backend.query(nowhere, replica, "", "select 1", write=False))


@pytest.mark.exhaustive
def test_query_program_is_shared_and_restarted_after_it_is_killed(
    engine: DockerClient, backend: DockerBackend, replica: Replica, homepage: AppManifest, run: Callable[..., Any]
) -> None:
    def programs() -> list[str]:
        lines = [" ".join(line) for line in container_of(engine, backend, replica).top()["Processes"]]
        return [line for line in lines if "sqlite3" in line]

    first = run(backend.query(homepage, replica, "", COUNT, write=False))
    assert run(backend.query(homepage, replica, "", "select 'a\nb'", write=False)).rows == (("a\nb",),)
    run(backend.query(homepage, replica, "", "delete from notes", write=True))
    assert run(backend.query(homepage, replica, "", COUNT, write=False)).rows == ((0,),) != first.rows
    assert len(programs()) == 1
    kill = """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) != os.getpid() and b"sqlite3" in open(f"/proc/{pid}/cmdline", "rb").read():
        os.kill(int(pid), 9)
"""
    assert container_of(engine, backend, replica).exec_run(["python3", "-c", kill]).exit_code == 0
    assert run(backend.query(homepage, replica, "", COUNT, write=False)).rows == ((0,),)


def test_reset_restores_data_and_fingerprint(
    engine: DockerClient, backend: DockerBackend, replica: Replica, homepage: AppManifest, run: Callable[..., Any]
) -> None:
    pristine = replica.fingerprint
    assert pristine
    get(replica, "/")
    assert run(backend.fingerprint(homepage, replica)) == pristine  # reading changes nothing
    before = run(backend.query(homepage, replica, "", COUNT, write=False))
    run(backend.query(homepage, replica, "", "delete from notes where id = (select max(id) from notes)", write=True))
    assert run(backend.fingerprint(homepage, replica)) != pristine
    dirty = container_of(engine, backend, replica).id

    fresh = run(backend.reset(homepage, replica))

    assert (fresh.id, fresh.generation, fresh.fingerprint) == ("homepage-1", 1, pristine)
    assert run(backend.query(homepage, fresh, "", COUNT, write=False)) == before
    assert run(backend.fingerprint(homepage, fresh)) == pristine
    assert get(fresh, "/healthz")[0] == 200
    assert container_of(engine, backend, fresh).id != dirty


def test_last_bit_of_a_file_is_inverted_and_restored(
    engine: DockerClient, backend: DockerBackend, replica: Replica, homepage: AppManifest, run: Callable[..., Any]
) -> None:
    assert homepage.docker is not None
    container, file = container_of(engine, backend, replica), f"{homepage.docker.data_dir}/note.txt"
    for code, text in [(f"open('{file}', 'w').write('new')", "nev"), ("", "new")]:
        assert container.exec_run(["python3", "-c", code])[0] == 0
        run(backend.flip(homepage, replica, "note.txt"))
        assert container.exec_run(["python3", "-c", f"print(open('{file}').read())"])[1] == f"{text}\n".encode()
    with pytest.raises(TaskError, match="expected a file absent, found none"):
        run(backend.flip(homepage, replica, "absent"))


def test_killed_container_is_reported_and_stop_is_idempotent(
    engine: DockerClient, backend: DockerBackend, replica: Replica, homepage: AppManifest, run: Callable[..., Any]
) -> None:
    assert run(backend.alive(homepage, replica)) == ""
    container_of(engine, backend, replica).kill()
    why = run(end_of(backend, homepage, replica))
    assert "exit code 137" in why
    assert "http://0.0.0.0:8080" in why  # the last line of its log
    with pytest.raises(SiteError, match="exit code 137"):
        run(backend.query(homepage, replica, "", COUNT, write=False))
    run(backend.stop(homepage, replica))
    run(backend.stop(homepage, replica))
    assert "is gone" in run(end_of(backend, homepage, replica))


def test_stop_kills_container_without_grace_period(
    engine: DockerClient, backend: DockerBackend, nasty: Callable[..., AppManifest], run: Callable[..., Any]
) -> None:
    app = nasty(f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SERVER}")
    run(backend.prepare(app))
    replica = run(backend.start(app, "nasty-1"))
    assert replica.fingerprint is None  # where a foreign image keeps its state is unknown
    container = container_of(engine, backend, replica).id
    began = int(time.time())
    run(backend.stop(app, replica))
    kills = engine.events(
        since=began, until=int(time.time()) + 1, filters={"container": container, "event": "kill"}, decode=True
    )
    # The engine's own way to stop is to ask by signal 15, and to wait for 10 s.
    assert [event["Actor"]["Attributes"]["signal"] for event in kills] == ["9"]


PATIENT = {"start_timeout": 90.0}
"""Much longer than a start takes: those that end are not waited for."""
EXITING = "print('no licence found'); raise SystemExit(3)"
GREEDY = "print('allocating'); hog = b'x' * (200 << 20)"
SLOW = "import time; print('still loading'); time.sleep(60)"
HANGING = """
import socket, time
door = socket.create_server(("", 8080))
print("listening")
while True:
    time.sleep(60)
"""
ILL = """
import http.server
class Failing(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(500)
http.server.HTTPServer(("", 8080), Failing).serve_forever()
"""


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("code", "settings", "expected"),
    [
        pytest.param(EXITING, PATIENT, ["exit code 3", "no licence found"], id="exits"),
        # Seen before its end or after it.
        pytest.param(GREEDY, {"memory": "32m", **PATIENT}, ["memory", "allocating"], id="greedy"),
        pytest.param(SLOW, {"start_timeout": 8.0}, ["not ready within", "still loading"], id="slow"),
        pytest.param(HANGING, {"start_timeout": 8.0}, ["GET / got no answer", "listening"], id="hangs"),
        pytest.param(ILL, {"start_timeout": 8.0}, ["answered 500", "GET / HTTP"], id="ill"),
    ],
)
def test_failed_start_reports_cause_and_removes_container(
    engine: DockerClient,
    backend: DockerBackend,
    nasty: Callable[..., AppManifest],
    run: Callable[..., Any],
    code: str,
    settings: dict[str, Any],
    expected: list[str],
) -> None:
    app = nasty(code, **settings)
    run(backend.prepare(app))
    began = time.monotonic()
    with pytest.raises(SiteError) as caught:
        run(backend.start(app, "nasty-1"))
    assert time.monotonic() - began < 60
    for text in expected:
        assert text in str(caught.value)
    wait_until_removed(engine, backend)


def test_cancelled_start_removes_container(
    engine: DockerClient, backend: DockerBackend, homepage: AppManifest, run: Callable[..., Any]
) -> None:
    async def call_off(seconds: float) -> None:
        async with asyncio.timeout(seconds):
            await backend.start(homepage, "homepage-1")

    run(backend.prepare(homepage))
    for seconds in (0.001, 0.1, 0.4):  # while it is made, while it starts, while it boots
        with pytest.raises(TimeoutError):
            run(call_off(seconds))
    wait_until_removed(engine, backend, run)


def test_unusable_manifest_is_reported(
    backend: DockerBackend, homepage: AppManifest, python_image: str, run: Callable[..., Any]
) -> None:
    absent = replace(homepage, docker=DockerManifest(image="localhost/absent:1"))
    with pytest.raises(SiteMissing, match="docker pull localhost/absent:1"):
        run(backend.prepare(absent))
    misspelt = replace(homepage, docker=DockerManifest(image=python_image, command=("pyhton3",)))
    run(backend.prepare(misspelt))
    with pytest.raises(SiteError, match="pyhton3"):
        run(backend.start(misspelt, "homepage-1"))
    with pytest.raises(SiteError, match="expected a 'docker' section"):
        run(backend.prepare(replace(homepage, docker=None)))


def wait_until_removed(engine: DockerClient, backend: DockerBackend, run: Callable[..., Any] = asyncio.run) -> None:
    """Failed starts are cleaned up in the background, within 30 seconds."""
    labels = [*(f"{key}={value}" for key, value in backend.leftovers().items()), "pytest-webarena.replica"]
    deadline = time.monotonic() + 30
    while containers := engine.containers.list(all=True, filters={"label": labels}, ignore_removed=True):
        assert time.monotonic() < deadline, containers
        run(asyncio.sleep(0.05))


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("code", "detected"),
    [
        ("pass", "nothing"),
        ("open('/data/homepage/seen', 'w')", "data"),
        ("import os; os.mkdir('/data/homepage/empty')", "data"),
        ("import glob, os; os.utime(glob.glob('/data/homepage/*.sqlite3')[0])", "data"),
        ("import subprocess; subprocess.Popen(['sleep', '60'])", "work"),
        ("import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)", "work"),
    ],
    ids=["nothing", "file", "folder", "time", "process", "daemon"],
)
def test_changed_data_and_running_threads_are_detected(
    engine: DockerClient,
    backend: DockerBackend,
    replica: Replica,
    homepage: AppManifest,
    run: Callable[..., Any],
    code: str,
    detected: str,
) -> None:
    assert get(replica, "/")[0] == 200
    done, output = container_of(engine, backend, replica).exec_run(["python3", "-c", code])
    assert done == 0, output
    same = run(backend.fingerprint(homepage, replica)) == replica.fingerprint
    working = run(backend.extra_processes(homepage, replica))
    assert (same, bool(working)) == (detected != "data", detected == "work")
    if working:
        assert working == "something is still at work in it: threads that came after its start (1)"
    assert ("empty" in "".join(run(backend.listing(homepage, replica)))) == ("mkdir" in code)
