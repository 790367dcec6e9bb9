"""Containers of dead owners are removed from the engine; those of live owners stay."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.cleanup.reaper import identity

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker

OWNER = """
import asyncio, json, sys
from pathlib import Path
from pytest_webarena.sites.backends.base import BackendContext
from pytest_webarena.sites.backends.docker import DockerBackend
from pytest_webarena.sites.catalogues.manifest import AppManifest, DockerManifest
from pytest_webarena.sites.cleanup.reaper import identity

run, image = sys.argv[1:]
serve = ("python3", "-m", "http.server", "8080")
docker = DockerManifest(image=image, command=serve, port=8080)
app = AppManifest(name="files", backend="docker", sites=(), docker=docker)

async def main():
    backend = DockerBackend(BackendContext(run=run, owner=identity(), directory=Path(), environ={}))
    await backend.prepare(app)
    await asyncio.gather(backend.start(app, "files-1"), backend.start(app, "files-2"))
    print(json.dumps(dict(backend.leftovers())), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
def orphaned(python_image: str) -> Iterator[str]:
    """The label of a run with two containers whose owner was killed without cleanup."""
    run = f"test-{uuid.uuid4().hex[:12]}"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, run, python_image], stdout=subprocess.PIPE, text=True, env=environ
    )
    try:
        assert owner.stdout is not None
        ((key, value),) = json.loads(owner.stdout.readline()).items()
        label = f"{key}={value}"
        owner.send_signal(signal.SIGKILL)
        owner.wait(30)
        yield label
    finally:
        owner.kill()
        owner.communicate()
        from pytest_webarena.sites.backends.docker import remove_labelled

        remove_labelled(f"pytest-webarena.run={run}", settle=0)


def labelled_resources(engine: DockerClient, label: str) -> list[Any]:
    chosen: dict[str, str | list[str] | bool] = {"label": label}
    containers = engine.containers.list(all=True, filters=chosen, ignore_removed=True)
    return [*containers, *engine.networks.list(filters=chosen), *engine.images.list(filters=chosen)]


def test_reaper_removes_everything_with_a_label(engine: DockerClient, orphaned: str) -> None:
    from pytest_webarena.sites.backends.docker import remove_labelled

    assert len(labelled_resources(engine, orphaned)) == 5  # two containers, each in its place, one network
    began = time.monotonic()
    removed = remove_labelled(orphaned, settle=0)
    assert (len(removed.containers), len(removed.networks)) == (4, 1)
    assert not labelled_resources(engine, orphaned)
    assert not remove_labelled(orphaned, settle=0)
    assert time.monotonic() - began < 30


def test_sweep_removes_only_containers_of_dead_owners_on_this_host(
    engine: DockerClient, backend: DockerBackend, homepage: AppManifest, orphaned: str, run: Callable[..., Any]
) -> None:
    from pytest_webarena.sites.backends.docker import sweep
    from pytest_webarena.sites.backends.docker.labels import HOST, OWNER, RUN

    # Its owner is dead, too, but on another machine that uses the same engine, so it is unknown here.
    foreign = f"test-{uuid.uuid4().hex[:12]}"
    dead = f"{identity()}x"
    far = engine.networks.create(f"pytest-webarena-{foreign}", labels={RUN: foreign, OWNER: dead, HOST: "elsewhere"})
    try:
        # A broker's first start sweeps.
        run(backend.prepare(homepage))
        assert not labelled_resources(engine, orphaned)
        replica: Replica = run(backend.start(homepage, "homepage-1"))
        sweep(engine)
        assert run(backend.alive(homepage, replica)) == ""
        assert labelled_resources(engine, f"{RUN}={foreign}") == [far]
    finally:
        far.remove()


def test_reaper_removes_container_created_after_its_owner_died(engine: DockerClient, python_image: str) -> None:
    from pytest_webarena.sites.backends.docker import remove_labelled

    run = f"test-{uuid.uuid4().hex[:12]}"

    def late() -> None:
        engine.containers.create(python_image, ["true"], labels={"pytest-webarena.run": run})

    timer = threading.Timer(0.5, late)
    timer.start()
    removed = remove_labelled(f"pytest-webarena.run={run}", settle=1.5)
    timer.join()
    assert len(removed.containers) == 1
    assert not labelled_resources(engine, f"pytest-webarena.run={run}")


def test_close_during_start_removes_all_containers(
    engine: DockerClient, broker: BackendContext, homepage: AppManifest, run: Callable[..., Any]
) -> None:
    import asyncio

    from pytest_webarena.sites.backends.docker import DockerBackend

    backend = DockerBackend(broker)

    async def cut_off() -> None:
        await backend.prepare(homepage)
        starts = [asyncio.ensure_future(backend.start(homepage, f"homepage-{number}")) for number in range(2)]
        await asyncio.wait(starts, timeout=0.2)
        for start in starts:
            start.cancel()
        await asyncio.gather(*starts, return_exceptions=True)
        await backend.close()
        await backend.close()

    run(cut_off())
    ((key, value),) = backend.leftovers().items()
    assert not labelled_resources(engine, f"{key}={value}")
