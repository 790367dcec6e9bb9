"""Pods outlive their containers: a reset of a replica changes no network interface."""

from __future__ import annotations

import asyncio
import contextlib
import io
import shutil
import tarfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.catalogues.manifest import AppManifest, DockerManifest, HttpReady
from tests.docker.test_backend import get, wait_until_removed
from tests.processes import DEADLINE

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker

Run = Callable[..., Any]


def interfaces(engine: DockerClient, backend: DockerBackend) -> set[str]:
    """Return the machine's network interfaces that lead to the run's containers."""
    (run,) = backend.leftovers().values()
    bridge = str(engine.networks.get(f"pytest-webarena-{run}").id)[:12]
    return {path.name for path in Path(f"/sys/class/net/br-{bridge}/brif").iterdir()}


def pods(engine: DockerClient, backend: DockerBackend) -> list[Any]:
    """Return the containers that keep a pod open."""
    labels = [*(f"{key}={value}" for key, value in backend.leftovers().items()), "pytest-webarena.pod"]
    return list(engine.containers.list(all=True, filters={"label": labels}, ignore_removed=True))


@pytest.mark.exhaustive
def test_reset_changes_no_network_interface(
    engine: DockerClient, backend: DockerBackend, homepage: AppManifest, run: Run
) -> None:
    run(backend.prepare(homepage))
    replica: Replica = run(backend.start(homepage, "homepage-1"))
    run(backend.reset(homepage, replica))  # while the old one is removed, the new one needs a second pod
    wait_until_one(engine, backend, run)
    before, addresses = interfaces(engine, backend), {replica.host}
    assert len(before) == 2
    for _ in range(2):
        run(backend.reset(homepage, replica))
        wait_until_one(engine, backend, run)
        addresses.add(replica.host)
        assert get(replica, "/healthz")[0] == 200
    assert interfaces(engine, backend) == before
    assert len(addresses) == len(pods(engine, backend)) == 2
    run(backend.stop(homepage, replica))
    wait_until_removed(engine, backend, run)


def wait_until_one(engine: DockerClient, backend: DockerBackend, run: Run) -> None:
    """Wait until old containers are removed, which happens in the background."""
    labels = [*(f"{key}={value}" for key, value in backend.leftovers().items()), "pytest-webarena.replica"]
    deadline = time.monotonic() + DEADLINE
    while len(found := engine.containers.list(all=True, filters={"label": labels}, ignore_removed=True)) > 1:
        assert time.monotonic() < deadline, found
        run(asyncio.sleep(0.05))


@pytest.mark.exhaustive
def test_failed_resets_put_no_two_containers_into_one_pod(
    engine: DockerClient, backend: DockerBackend, homepage: AppManifest, run: Run
) -> None:
    """Otherwise a request to one container would be answered by the other, with another trial's data."""
    run(backend.prepare(homepage))
    replica: Replica = run(backend.start(homepage, "homepage-1"))
    never = replace(homepage, ready=(HttpReady(status=(418,)),), start_timeout=1.0)
    for _ in range(2):  # each time the previous container is to be removed, although it no longer exists
        with pytest.raises(SiteError, match="not ready"):
            run(backend.reset(never, replica))
    run(backend.stop(homepage, replica))
    wait_until_removed(engine, backend, run)
    started = [run(backend.start(homepage, f"homepage-{number}")) for number in (2, 3, 4, 5)]
    assert len({replica.host for replica in started}) == 4


def test_lost_pod_is_replaced(engine: DockerClient, backend: DockerBackend, homepage: AppManifest, run: Run) -> None:
    run(backend.prepare(homepage))
    replica: Replica = run(backend.start(homepage, "homepage-1"))
    (pod,) = pods(engine, backend)
    run(backend.stop(homepage, replica))
    pod.remove(force=True)
    with contextlib.suppress(SiteError):  # the engine may not have reported the loss yet
        run(backend.start(homepage, "homepage-2"))
    again: Replica = run(backend.start(homepage, "homepage-3"))
    assert get(again, "/healthz")[0] == 200


def test_image_without_shell_runs_in_its_own_network(engine: DockerClient, backend: DockerBackend, run: Run) -> None:
    """The image contains only its server, so no process can keep a pod open."""
    busybox = shutil.which("busybox")
    assert busybox is not None, "expected busybox-static, as scripts/docker-engine installs it"
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        archive.add(busybox, "httpd")
        recipe = b'FROM scratch\nCOPY httpd /bin/httpd\nCMD ["/bin/httpd", "-f", "-p", "80"]\n'
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(recipe)
        archive.addfile(entry, io.BytesIO(recipe))
    context.seek(0)
    name = "localhost/pytest-webarena-bare"
    engine.images.build(fileobj=context, custom_context=True, tag=name, rm=True)
    app = AppManifest(name="bare", backend="docker", sites=(), ready=(HttpReady(status=(404,)),), start_timeout=20,
                      docker=replace(DockerManifest(image=name), port=80))  # fmt: skip
    run(backend.prepare(app))
    for number in (1, 2):
        replica: Replica = run(backend.start(app, f"bare-{number}"))
        assert get(replica, "/")[0] == 404
    assert not pods(engine, backend)
