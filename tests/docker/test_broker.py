"""Containers behind the broker: leased, reset, and removed when the controller or the broker dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from tests.processes import parent_of

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("embedded_image")]

COUNT = "select count(*) from notes"
RUN, OWNER = "pytest-webarena.run", "pytest-webarena.owner"
CONTROLLER = """
import sys
from pytest_webarena.sites.client.lease import BrokerClient
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher

with BrokerLauncher(BrokerConfig(catalogue="embedded-docker", spares=1)) as launcher:
    with BrokerClient(launcher.address, name="main") as client:
        with client.lease(["homepage"], holder="test", timeout=60):
            print("leased", flush=True)
            sys.stdin.read()
"""


def test_each_lease_gets_pristine_data(tmp_path: Path) -> None:
    config = BrokerConfig(catalogue="embedded-docker", run_dir=tmp_path, spares=0, max_replicas=1)
    with BrokerLauncher(config) as launcher:
        with BrokerClient(launcher.address, name="main") as client:
            with client.lease(["homepage"], holder="first", timeout=60) as lease:
                open_through = urllib.request.ProxyHandler({"http": lease.proxy})
                with urllib.request.build_opener(open_through).open("http://homepage.test/", timeout=30) as page:
                    assert page.status == 200
                seeded = lease.query("homepage", COUNT).rows
                lease.query("homepage", "delete from notes", write=True)
                assert lease.query("homepage", COUNT).rows == ((0,),)
                (replica,) = lease.replicas
                assert replica.backend == "docker"
                assert replica.digest.startswith("sha256:")
            with client.lease(["homepage"], holder="second", timeout=60) as lease:
                assert lease.query("homepage", COUNT).rows == seeded != ((0,),)
                assert lease.replicas[0].id == replica.id
                assert lease.replicas[0].generation == 1
        report = launcher.stop()
    assert report.problems == ()


@pytest.mark.matrix(1)
@pytest.mark.parametrize("victim", ["controller", "broker"])
def test_containers_are_removed_when_controller_or_broker_is_killed(engine: DockerClient, victim: str) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    controller = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
    )
    try:
        assert controller.stdout is not None
        assert controller.stdout.readline() == "leased\n"
        run, broker = broker_of(engine, controller.pid)
        os.kill(controller.pid if victim == "controller" else broker, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while containers := labelled(engine, run):
            assert time.monotonic() < deadline, containers
            time.sleep(0.1)
    finally:
        controller.kill()
        controller.communicate()


def broker_of(engine: DockerClient, controller: int) -> tuple[str, int]:
    """Return the run label and pid of the broker that ``controller`` started, found by its containers."""
    for container in engine.containers.list(filters={"label": RUN}, ignore_removed=True):
        pid = int(container.labels.get(OWNER, "0").split("/")[0])
        if parent_of(pid) == controller:
            return f"{RUN}={container.labels[RUN]}", pid
    raise AssertionError("the lease was granted, but the broker has no container")


def labelled(engine: DockerClient, label: str) -> list[Any]:
    chosen: dict[str, str | list[str] | bool] = {"label": label}
    containers = engine.containers.list(all=True, filters=chosen, ignore_removed=True)
    return [*containers, *engine.networks.list(filters=chosen)]
