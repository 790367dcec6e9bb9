"""An application with its database: one unit with its own network, configured, kept and reset together."""

from __future__ import annotations

import asyncio
import io
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.docker import disk_space
from pytest_webarena.sites.backends.docker.containers import Place, Running
from pytest_webarena.sites.backends.docker.starting import Image, Starter
from pytest_webarena.sites.catalogues.manifest import (
    AppManifest,
    ContainerStep,
    DockerManifest,
    HttpReady,
    PortReady,
    SiteManifest,
)
from pytest_webarena.sites.catalogues.units import Unit, units_of
from tests.docker.test_manifests import get

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker

Run = Callable[..., Any]

SERVER = """
import http.server, os, signal, socket, sys, urllib.parse, urllib.request

def rows():
    return open("/rows").read() if os.path.exists("/rows") else "seed"

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        verb, _, word = urllib.parse.unquote(self.path)[1:].partition("?")
        if verb == "add":
            text = rows() + " " + word
            open("/rows", "w").write(text)
        elif verb == "ask":
            try:
                text = urllib.request.urlopen(word, timeout=2).read().decode()
            except OSError as error:
                text = "refused: " + str(error)
        else:
            text = rows()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args):
        pass

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
http.server.ThreadingHTTPServer(("", 8080), Page).serve_forever()
"""
CONFIGURE = "import urllib.request; urllib.request.urlopen('http://db:8080/add?configured').read()"


@pytest.fixture
def unit(python_image: str) -> Unit:
    """``web``, which writes into its ``db`` when it is configured: neither boots without the other's name."""
    ready = (HttpReady(),)
    docker = DockerManifest(image=python_image, command=("python3", "-u", "-c", SERVER), port=8080)
    db = AppManifest(name="db", sites=(), backend="docker", ready=ready, docker=docker)
    site = SiteManifest(name="web", host="web.test", app="web")
    configure = ContainerStep(run=("python3", "-c", CONFIGURE))
    web = replace(db, name="web", sites=(site,), depends_on=("db",), docker=replace(docker, post_start=(configure,)))
    return units_of({"web": web, "db": db})["web"]


@pytest.fixture
def units(
    engine: DockerClient, broker: BackendContext, unit: Unit, run: Run
) -> Iterator[Callable[[Unit], DockerBackend]]:
    """Make backends that know a unit; after the test all are closed, and none of their containers remain."""
    from pytest_webarena.sites.backends.docker import DockerBackend

    made: list[DockerBackend] = []

    def make(unit: Unit) -> DockerBackend:
        context = replace(broker, run=f"{broker.run}-{len(made)}", units={unit.lead.name: unit})
        made.append(DockerBackend(context))
        return made[-1]

    yield make
    for backend in made:
        run(backend.close())
        (label,) = (f"{key}={value}" for key, value in backend.leftovers().items())
        assert not engine.containers.list(all=True, filters={"label": label})
        assert not engine.networks.list(filters={"label": label})
    for name in unit.names:
        for image in engine.images.list(filters={"label": f"pytest-webarena.snapshot={name}"}):
            engine.images.remove(str(image.id), force=True)


def ask(replica: Replica, url: str) -> str:
    return get(replica, f"/ask?{url}", host="web.test")[1]


def test_each_unit_has_its_own_network_and_is_reset_together(
    units: Callable[[Unit], DockerBackend], unit: Unit, engine: DockerClient, run: Run
) -> None:
    backend, web = units(unit), unit.lead
    run(backend.prepare(web))
    first, second = run(backend.start(web, "web-1")), run(backend.start(web, "web-2"))
    for number in range(10):  # with one alias on one network, some of them would reach the other one
        ask(first, f"http://db:8080/add?{number}")
    assert ask(first, "http://db:8080/") == "seed configured 0 1 2 3 4 5 6 7 8 9"
    assert ask(second, "http://db:8080/") == "seed configured"
    assert ask(first.of("db"), "http://web.test:8080/") == ask(first.of("db"), "http://web:8080/") == "seed"
    assert ask(first, "http://web.test:8080/") == "seed"
    for stranger in (second, second.of("db")):
        assert ask(first, f"http://{stranger.host}:8080/").startswith("refused")
    networks = _networks(engine, first) | _networks(engine, first.of("db"))
    assert len(networks) == 1
    assert networks.isdisjoint(_networks(engine, second))

    again = run(backend.reset(web, first))
    assert ask(again, "http://db:8080/") == "seed configured"
    assert ask(second, "http://db:8080/") == "seed configured"
    third = run(backend.start(web, "web-3"))
    assert _networks(engine, third) == networks  # later units reuse existing networks
    run(backend.pause(web, third))
    assert not any(run(backend.alive(part, third.of(part.name))) for part in unit.apps)
    run(backend.resume(web, third))
    assert run(backend.execute(web, third, ["python3", "-c", ""])) == ""
    assert "exit code 3" in run(backend.execute(web, third.of("db"), ["python3", "-c", "raise SystemExit(3)"]))
    engine.containers.get(third.of("db").handle.id).kill()
    assert "exit code 137" in run(backend.alive(unit.others[0], third.of("db")))


def _networks(engine: DockerClient, replica: Replica) -> set[str]:
    pod = replica.handle.pod  # type: ignore[attr-defined]
    return set(engine.containers.get(pod.keeper).attrs["NetworkSettings"]["Networks"])


@pytest.mark.exhaustive
def test_snapshot_of_unit_contains_configuration_of_all_apps(
    units: Callable[[Unit], DockerBackend], unit: Unit, run: Run
) -> None:
    assert unit.lead.docker is not None
    kept = Unit((*unit.others, replace(unit.lead, docker=replace(unit.lead.docker, snapshot=True))))
    web, digests = kept.lead, set()
    for turn in range(2):
        backend = units(kept)
        run(backend.prepare(web))
        replica = run(backend.start(web, "web-1"))
        assert ask(replica, "http://db:8080/") == "seed configured"  # once, in whichever run
        digests.add((replica.digest, replica.of("db").digest))
        if turn:
            assert backend.keeps(web)
            ask(replica, "http://db:8080/add?signed-in")
            assert run(backend.keep(web, replica)) == 1
            replica = run(backend.reset(web, replica))
            assert (replica.edition, replica.of("db").edition) == (1, 1)
            assert ask(replica, "http://db:8080/") == "seed configured signed-in"
    assert len(digests) == 1


def test_unit_does_not_start_if_one_app_fails(
    units: Callable[[Unit], DockerBackend], unit: Unit, engine: DockerClient, run: Run
) -> None:
    (db,) = unit.others
    assert db.docker is not None
    broken = Unit((replace(db, docker=replace(db.docker, command=("python3", "-c", "raise SystemExit(3)"))), unit.lead))
    backend = units(broken)
    run(backend.prepare(unit.lead))
    with pytest.raises(SiteError, match=r"(?s)db, in one unit with web: .*exit code 3"):
        run(backend.start(unit.lead, "web-1"))


def test_snapshot_includes_volumes_that_images_declare(
    units: Callable[[Unit], DockerBackend], unit: Unit, engine: DockerClient, python_image: str, run: Run
) -> None:
    """Also what an app removed there, and what image and container say of the app."""
    tag = "localhost/webarena-test-volumes"
    made = engine.containers.create(python_image, ["sh", "-c", "mkdir -p /srv/own/sub && touch /srv/own/old"], user="0")
    made.start()
    made.wait()
    repository, _, version = f"{tag}:1".rpartition(":")
    changes = ["VOLUME /srv/own", "ENV KEPT=a\\$b", "WORKDIR /tmp", "USER 0"]
    engine.api.commit(str(made.id), repository=repository, tag=version, changes=changes)
    made.remove()
    server = SERVER.replace('"/rows"', '"/srv/own/rows"').replace(
        "signal.signal", "os.path.exists('/srv/own/old') and os.unlink('/srv/own/old')\nsignal.signal", 1
    )
    try:
        (db,) = unit.others
        assert db.docker is not None
        assert unit.lead.docker is not None
        docker = replace(db.docker, image=f"{tag}:1", command=("python3", "-u", "-c", server))
        lead = replace(unit.lead, docker=replace(unit.lead.docker, snapshot=True))
        whole = Unit((replace(db, docker=docker), lead))
        backend = units(whole)
        run(backend.prepare(lead))
        (snapshot,) = engine.images.list(filters={"label": "pytest-webarena.snapshot=db"})
        config = snapshot.attrs["Config"]
        assert (config.get("Volumes"), config["WorkingDir"], config["User"]) == (None, "/tmp", "0")
        assert "KEPT=a$b" in config["Env"]
        first = run(backend.start(lead, "web-1"))
        assert ask(first, "http://db:8080/") == "seed configured"
        ask(first, "http://db:8080/add?more")
        assert ask(run(backend.reset(lead, first)), "http://db:8080/") == "seed configured"
        look = engine.containers.create(str(snapshot.id), ["true"])
        names = tar_names(look.get_archive("/srv/own")[0])
        look.remove()
        assert names == {"own", "own/rows", "own/sub"}
    finally:
        engine.images.remove(f"{tag}:1", force=True)


def tar_names(stream: Iterator[bytes]) -> set[str]:
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
        return {name.rstrip("/") for name in archive.getnames()}


def test_unit_start_fails_if_another_app_dies_meanwhile(
    unit: Unit, units: Callable[[Unit], DockerBackend], run: Run, engine: DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise such replicas break when they are leased, again and again; a failed start is not repeated forever."""
    start = Starter.container

    async def container(
        self: Starter, app: AppManifest, image: Image, name: str, place: Place | None, earlier: Mapping[str, Running]
    ) -> Running:
        made = await start(self, app, image, name, place, earlier)
        if app is unit.lead:
            (db,) = [
                one for one in engine.containers.list() if re.fullmatch(f"{made.name[:-6]}db-[0-9a-f]+", str(one.name))
            ]
            db.kill()
            db.wait()
        return made

    backend = units(unit)
    run(backend.prepare(unit.lead))
    monkeypatch.setattr(Starter, "container", container)
    with pytest.raises(SiteError, match=r"db, in one unit with web, died after it had become ready: .*137"):
        run(backend.start(unit.lead, "web-1"))


def test_death_of_an_earlier_app_ends_the_start_of_a_later_one(
    unit: Unit, units: Callable[[Unit], DockerBackend], run: Run
) -> None:
    """Otherwise the later app waits for its whole ``start_timeout``, and is blamed."""
    db, web = unit.apps
    assert db.docker is not None
    assert web.docker is not None
    watch = "while not os.path.exists('/rows'): time.sleep(0.05)\n    print('corrupt page', flush=True); os._exit(3)"
    dies = f"import os, threading, time\ndef watch():\n    {watch}\nthreading.Thread(target=watch).start()\n{SERVER}"
    waits = f"print('waiting for db', flush=True); {CONFIGURE}; import time; time.sleep(99)"
    parts = (
        replace(db, docker=replace(db.docker, command=("python3", "-c", dies))),
        replace(web, start_timeout=90.0, docker=replace(web.docker, command=("python3", "-c", waits), post_start=())),
    )
    backend = units(Unit(parts))
    run(backend.prepare(parts[1]))
    with pytest.raises(SiteError) as caught:
        run(asyncio.wait_for(backend.start(parts[1], "web-1"), 60))
    text = str(caught.value)
    assert text.startswith("web: db, on which it may depend, has ended: the container ")
    assert "exit code 3" in text
    assert "corrupt page" in text
    assert "web: last lines of its log:\n  waiting for db" in text


def test_disks_of_a_container_are_read_without_a_program_inside(
    unit: Unit, units: Callable[[Unit], DockerBackend], run: Run
) -> None:
    db = unit.others[0]
    backend = units(Unit((db,)))
    run(backend.prepare(db))
    replica = run(backend.start(db, "db-1"))
    running = replica.handle
    assert isinstance(running, Running)
    found = disk_space.disks_of_process(running.process, running.id)
    assert found is not None
    output = run(backend._starter.execute(running, *disk_space.PROGRAM)).stdout
    own = {path: size for path, size, *_ in disk_space.disks_of_program(output)}
    assert {disk.path: disk.size for disk in found if disk.path in own} == {"/": own["/"], "/dev/shm": own["/dev/shm"]}
    assert disk_space.disks_of_process(running.process, "another") is None  # the number may have been given away


def test_error_for_app_without_port_suggests_ready_exec(
    unit: Unit, units: Callable[[Unit], DockerBackend], run: Run
) -> None:
    """For example a worker of a compose file without a health check."""
    db, web = unit.apps
    assert web.docker is not None
    idle = replace(web.docker, command=("python3", "-u", "-c", "import time; time.sleep(999)"))
    worker = replace(db, name="worker", ready=(PortReady(),), start_timeout=3.0, docker=replace(idle, post_start=()))
    joined = units_of({"web": replace(web, depends_on=("worker",)), "worker": worker})["web"]
    backend = units(joined)
    run(backend.prepare(joined.lead))
    with pytest.raises(SiteError, match=r"worker, in one unit with web: .*'ready: \[\{exec: \[pgrep, …\]\}\]'"):
        run(backend.start(joined.lead, "web-1"))
