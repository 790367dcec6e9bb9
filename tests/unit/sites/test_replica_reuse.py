"""Reuse of clean replicas of real processes, and detection of hidden changes."""

from __future__ import annotations

import os
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from tests.processes import DEADLINE, wait_until

APP = """
import os, pathlib, subprocess, sys, threading
from urllib.parse import urlsplit

HERE = pathlib.Path(__file__).parent
LATE = "import os, sys\\nopen(sys.argv[1]).read()\\nopen(sys.argv[2], 'w').close()"

def wait():
    (HERE / "waiting").touch()
    (HERE / "gate").read_text()  # until somebody has opened and closed the other end

def late(data):
    wait()
    (data / "late").touch()

def serve(path, data):
    if path == "/slow":
        late(data)
    elif path == "/thread":
        threading.Thread(target=late, args=[data]).start()
    elif path == "/process":
        subprocess.Popen([sys.executable, "-c", LATE, HERE / "gate", data / "late"])
    elif path == "/daemon":  # twice removed, in a session of its own
        code = "import os, subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True)"
        subprocess.run([sys.executable, "-c", code, sys.executable, "-c", LATE, HERE / "gate", data / "late"])
    elif path == "/folder":
        (data / "empty").mkdir()
    elif path == "/mode":
        (data / "seeded").chmod(0o400)
    elif path == "/touch":
        os.utime(data / "seeded", (0, 0))
    return " ".join(sorted(entry.name for entry in data.iterdir()))

def seed(data):
    pathlib.Path(data, "seeded").touch()

def create_app(data):
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [serve(environ["PATH_INFO"], pathlib.Path(data)).encode()]
    return app
"""
PROGRAM = """
import http.server, pathlib, sys
sys.path.insert(0, sys.argv[3])
import app

class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        text = app.serve(self.path, pathlib.Path(sys.argv[2])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Site).serve_forever()
"""
SITES = """
schema_version: 1
apps:
  forked:
    backend: process
    reuse: clean
    sites: {forked: {host: forked.test}}
    process: {factory: "app:create_app", seed: "app:seed"}
  program:
    backend: process
    reuse: clean
    sites: {program: {host: program.test}}
    process: {command: ["{python}", program.py, "{port}", "{data_dir}", FOLDER], data: seed}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "app.py").write_text(APP)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "sites.yaml").write_text(SITES.replace("FOLDER", str(folder)))
    (folder / "seed").mkdir()
    (folder / "seed" / "seeded").touch()
    return folder


@pytest.fixture
def folder(project: Path) -> Path:
    """The project's folder without files of other tests."""
    for name in ("gate", "waiting"):
        (project / name).unlink(missing_ok=True)
    return project


@pytest.fixture(scope="module")
def client(project: Path) -> Iterator[BrokerClient]:
    """A client of one broker with one replica per site; each test gets the replica reset."""
    config = BrokerConfig(catalogue=str(project / "sites.yaml"), max_replicas=1, spares=0)
    with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="gw0") as client:
        yield client


@pytest.fixture(params=["forked", "program"])
def site(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def get(lease: Lease, path: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.proxy}))
    (site,) = lease.sites.values()
    with opener.open(site.url + path, timeout=DEADLINE) as answer:
        text: str = answer.read().decode()
    return text


def lease(client: BrokerClient, site: str) -> Lease:
    return client.lease([site], holder="a test", timeout=DEADLINE)


def release_reader(gate: Path) -> bool:
    """Release a reader that waits at the gate; return whether there was one."""
    try:
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def test_replica_is_reused_after_reads(client: BrokerClient, site: str) -> None:
    generations = set()
    for _ in range(3):
        with lease(client, site) as held:
            assert get(held, "/") == "seeded"
            generations.add(held.replicas[0].generation)
            assert held.release().clean
    assert len(generations) == 1


@pytest.mark.parametrize("path", ["/folder", "/mode", "/touch"])
def test_change_by_get_without_changed_contents_is_detected(client: BrokerClient, site: str, path: str) -> None:
    with lease(client, site) as held:
        get(held, path)
        assert held.release().reasons == {site: "its data differ from pristine"}


@pytest.mark.parametrize("stays", [True, False])
def test_unfinished_get_makes_the_replica_dirty(folder: Path, client: BrokerClient, site: str, stays: bool) -> None:
    os.mkfifo(folder / "gate")
    with lease(client, site) as held:
        before = held.replicas[0].generation
        port = int(held.proxy.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as browser:
            browser.sendall(f"GET http://{site}.test/slow HTTP/1.1\r\nHost: {site}.test\r\n\r\n".encode())
            wait_until((folder / "waiting").exists)
            if not stays:
                browser.close()
                wait_until(lambda: held.requests()[0].status is None)
            assert held.release().reasons == {site: f"GET http://{site}.test/slow was not over"}
    with lease(client, site) as after:
        assert after.replicas[0].generation == before + 1
        assert get(after, "/") == "seeded"


@pytest.mark.matrix(2)
@pytest.mark.parametrize("path", ["/thread", "/process", "/daemon"])
def test_replica_with_background_work_is_not_reused(folder: Path, client: BrokerClient, site: str, path: str) -> None:
    os.mkfifo(folder / "gate")
    with lease(client, site) as held:
        before = held.replicas[0].generation
        get(held, path)
        assert "something is still at work in it" in held.release().reasons[site]
    with lease(client, site) as after:
        assert after.replicas[0].generation == before + 1
        wait_until(lambda: not release_reader(folder / "gate"))
        assert get(after, "/") == "seeded"
