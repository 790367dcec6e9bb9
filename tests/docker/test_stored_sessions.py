"""Sign-ins on one container are kept for all that start later in the run, and removed with the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.base import BackendContext
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest, VolumeManifest
from pytest_webarena.sites.cleanup import reaper
from tests.docker.test_broker import broker_of, labelled
from tests.docker.test_manifests import get
from tests.forum import FORUM, SERVE, SITES, TASKS

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker

Run = Callable[..., Any]
CONTROLLER = """
import sys
from pytest_webarena.sites.client.lease import BrokerClient
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher

with BrokerLauncher(BrokerConfig(catalogue="sites.yaml", spares=0)) as launcher:
    with BrokerClient(launcher.address, name="main") as client:
        client.prepare({"forum": {"ann": 99}}, holder="test", timeout=60).keep({"forum": {"ann": {}}}, {})
        with client.lease(["forum"], holder="test", timeout=60) as lease:
            print(*lease.sites["forum"].sessions, flush=True)
            sys.stdin.read()
"""


@pytest.fixture
def catalogue(tmp_path: Path, python_image: str) -> Path:
    """The forum in a container. Its snapshot stays on the engine for the next session."""
    sites = yaml.safe_load(SITES)
    (app,) = sites["apps"].values()
    del app["process"]
    command = ["python3", "-u", "-c", FORUM + SERVE]
    ready, docker = [{"http": "/"}], {"image": python_image, "command": command, "port": 8080, "snapshot": True}
    app |= {"backend": "docker", "ready": ready, "docker": docker}
    (tmp_path / "sites.yaml").write_text(yaml.safe_dump(sites))
    return tmp_path / "sites.yaml"


@pytest.fixture
def forum(catalogue: Path) -> AppManifest:
    return load_catalogue(catalogue).apps["forum"]


def images(engine: DockerClient, backend: DockerBackend) -> list[Any]:
    (label,) = (f"{key}={value}" for key, value in backend.leftovers().items())
    return images_with(engine, label)


def images_with(engine: DockerClient, label: str) -> list[Any]:
    """Avoids `images.list`, which inspects each image and fails if one is removed meanwhile."""
    return list(engine.api.images(filters={"label": label}))


def mark(name: str) -> list[str]:
    return ["python3", "-c", f"open('/data/{name}', 'w')"]


@pytest.mark.exhaustive
def test_each_edition_contains_earlier_changes(
    engine: DockerClient, backend: DockerBackend, forum: AppManifest, run: Run
) -> None:
    run(backend.prepare(forum))
    replica = run(backend.start(forum, "forum-1"))
    digest = replica.digest
    for edition, name in enumerate(("ann", "bob"), start=1):
        engine.containers.get(replica.handle.id).exec_run(mark(name))
        assert run(backend.keep(forum, replica)) == edition
        replica = run(backend.reset(forum, replica))
        assert (replica.edition, replica.digest) == (edition, digest)
    listing = engine.containers.get(replica.handle.id).exec_run(["ls", "/data"]).output
    assert isinstance(listing, bytes)
    assert {b"ann", b"bob"} <= set(listing.split())
    assert get(replica, host="forum.test")[0] == 200
    assert len(images(engine, backend)) == 2
    run(backend.close())
    assert not images(engine, backend)


def test_only_apps_with_all_state_in_the_container_are_kept(backend: DockerBackend, forum: AppManifest) -> None:
    assert forum.docker is not None
    own = VolumeManifest(source="data", target="/data", mutable=True)
    assert backend.keeps(forum)
    assert not backend.keeps(replace(forum, docker=replace(forum.docker, snapshot=False)))
    assert not backend.keeps(replace(forum, docker=replace(forum.docker, volumes=(own,))))
    assert not backend.keeps(replace(forum, read_only=True))


def test_keeping_a_removed_container_is_an_error(
    engine: DockerClient, backend: DockerBackend, forum: AppManifest, run: Run
) -> None:
    run(backend.prepare(forum))
    replica = run(backend.start(forum, "forum-1"))
    engine.containers.get(replica.handle.id).remove(force=True)
    with pytest.raises(SiteError, match=r"can't make a snapshot of forum: .*No such container"):
        run(backend.keep(forum, replica))
    assert run(backend.reset(forum, replica)).edition == 0


def test_sweep_removes_kept_images_of_dead_owner(
    engine: DockerClient, broker: BackendContext, forum: AppManifest, run: Run
) -> None:
    from pytest_webarena.sites.backends.docker import DockerBackend
    from pytest_webarena.sites.backends.docker.cleanup import sweep

    # It lives until all is there: other tests' brokers sweep, too.
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        backend = DockerBackend(replace(broker, owner=reaper.identity(owner.pid)))
        try:
            run(backend.prepare(forum))
            run(backend.keep(forum, run(backend.start(forum, "forum-1"))))
            assert len(images(engine, backend)) == 1
            owner.kill()
            owner.wait()
            sweep(engine)
            assert not images(engine, backend)
        finally:
            owner.kill()
            run(backend.close())


@pytest.mark.exhaustive
def test_kept_images_are_removed_when_broker_is_killed(engine: DockerClient, catalogue: Path) -> None:
    controller = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=catalogue.parent, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    try:
        assert controller.stdout is not None
        assert controller.stdout.readline() == "ann\n"
        label, broker = broker_of(engine, controller.pid)
        assert len(images_with(engine, label)) == 1
        os.kill(broker, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while leftovers := [*labelled(engine, label), *images_with(engine, label)]:
            assert time.monotonic() < deadline, leftovers
            time.sleep(0.1)
    finally:
        controller.kill()
        controller.communicate()


@pytest.mark.exhaustive
@pytest.mark.browser
def test_trials_start_with_users_signed_in(pytester: pytest.Pytester, catalogue: Path) -> None:
    (pytester.path / "forum.tasks.yaml").write_text(TASKS)
    result = pytester.runpytest_subprocess(f"--sites={catalogue}", "--run-dir=run", "-k", "ann or bob", timeout=280)
    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*signs in as*")
