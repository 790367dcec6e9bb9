"""Brokers and controllers that are killed, hang or stop responding, and the cleanup after them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.client import connection as connecting
from pytest_webarena.sites.client import launcher as launching
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from pytest_webarena.sites.protocol.waits import Waits, read_waits
from tests.processes import DEADLINE, alive, wait_until
from tests.unit.sites.brokers import client, directory, get, launcher, own, until_broken

from .processes import number

__all__ = ["client", "launcher", "own"]


def test_a_killed_broker_leaves_nothing_and_is_replaced(own: BrokerLauncher) -> None:
    with BrokerClient(own.address, name="gw0") as client:
        lease = client.lease(["tiny"], holder="x", timeout=DEADLINE)
        text = get(lease, "http://tiny.test/add", "POST")
        broker = client.status().pid
        os.kill(broker, signal.SIGKILL)
        assert re.search("the site broker ended while it was needed; its log: .*broker.log", until_broken(lease))
        assert "the site broker ended" in lease.release().problem
        wait_until(lambda: not alive(number(text, "pid")) and not alive(number(text, "parent")))
        wait_until(lambda: not (directory(own) / "broker-0").exists())
        with client.lease(["tiny"], holder="y", timeout=DEADLINE) as lease:
            assert "notes=1" in get(lease, "http://tiny.test/")
        assert client.status().pid != broker
    assert "signal SIGKILL" in own.stop().problems[0]


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_missing_broker_log_does_not_end_the_broker(tiny: Path, tmp_path: Path) -> None:
    config = BrokerConfig(catalogue=str(tiny / "sites.yaml"), run_dir=tmp_path / "run")
    with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="gw0") as client:
        broker = client.status().pid
        shutil.rmtree(tmp_path / "run")
        os.kill(broker, signal.SIGKILL)
        wait_until(lambda: bool(launcher._problems))
        connection = client._connection
        assert connection is not None
        wait_until(lambda: connection.ended)  # earlier requests would end with the old broker
        assert "broker.log can't be read: No such file" in launcher._problems[0]
        (tmp_path / "run").write_text("no directory any more")
        with client.lease(["tiny"], holder="y", timeout=DEADLINE) as lease:
            assert "notes=1" in get(lease, "http://tiny.test/")
        assert client.status().pid != broker


@pytest.mark.exhaustive
def test_silent_broker_is_replaced(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "_PAUSE", 0.05)
    monkeypatch.setattr(launching, "_SILENCE", 8.0)
    with (
        BrokerLauncher(BrokerConfig(catalogue=str(tiny / "sites.yaml"))) as launcher,
        BrokerClient(launcher.address, name="gw0") as client,
    ):
        lease = client.lease(["tiny"], holder="x", timeout=DEADLINE)
        text = get(lease, "http://tiny.test/")
        broker = client.status().pid
        os.kill(broker, signal.SIGSTOP)
        with pytest.raises(SiteError, match="the site broker ended while it was needed"):
            lease.check()
        wait_until(lambda: not alive(number(text, "pid")))
        with client.lease(["tiny"], holder="y", timeout=DEADLINE) as lease:
            assert "notes=1" in get(lease, "http://tiny.test/")
        assert client.status().pid != broker
        (problem,) = launcher.stop().problems
    assert "the site broker gave no sign of life for 8 s, and was ended" in problem


def test_stopped_broker_is_reported_as_awaited(
    own: BrokerLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped broker cannot report its own waits, so the client does."""
    monkeypatch.setattr(connecting, "_PATIENCE", 0.2)
    waits = Waits(tmp_path, "gw0")
    with BrokerClient(own.address, name="gw0", waiting=waits.on) as client, ThreadPoolExecutor() as threads:
        broker = client.status().pid
        os.kill(broker, signal.SIGSTOP)
        try:
            pending = threads.submit(client.lease, ["tiny"], holder="x", timeout=DEADLINE)
            wait_until(lambda: bool(read_waits(tmp_path)))
            assert [wait.what for wait in read_waits(tmp_path)] == ["the site broker to answer"]
        finally:
            os.kill(broker, signal.SIGCONT)
        with pending.result(DEADLINE) as lease:
            assert "notes=1" in get(lease, "http://tiny.test/")
        wait_until(lambda: not read_waits(tmp_path))


def test_closing_a_client_does_not_wait_for_the_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C does this while many clients wait for a slow broker."""
    monkeypatch.chdir(tmp_path)  # paths of sockets must be short
    with socket.socket(socket.AF_UNIX) as silent, ThreadPoolExecutor() as threads:
        silent.bind("silent")
        silent.listen()
        client = BrokerClient("silent", name="gw0")
        pending = [threads.submit(client.lease, ["tiny"], holder="x") for _ in range(3)]
        with silent.accept()[0] as met:
            assert met.recv(10)
            threads.submit(client.close, for_good=True).result(DEADLINE / 2)
            for each in pending:
                with pytest.raises(SiteError, match="this client was closed"):
                    each.result(DEADLINE / 2)
        with pytest.raises(SiteError, match="this client was closed"):
            client.status()


def test_hanging_broker_is_killed_at_stop(own: BrokerLauncher) -> None:
    with BrokerClient(own.address, name="gw0") as client, client.lease(["tiny"], holder="x", timeout=DEADLINE) as lease:
        text = get(lease, "http://tiny.test/")
        os.kill(client.status().pid, signal.SIGSTOP)
        report = own.stop(timeout=0.1)
    assert "did not end in good order: signal SIGKILL" in report.problems[-1]
    wait_until(lambda: not alive(number(text, "pid")))
    assert not directory(own).exists()


CONTROLLER = """
import os, sys, time, urllib.request
from pytest_webarena.sites.client.lease import BrokerClient
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher

launcher = BrokerLauncher(BrokerConfig(catalogue=sys.argv[1]))
client = BrokerClient(launcher.address, name="gw0")
lease = client.lease(["tiny"], holder="x", timeout=15)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.proxy}))
if len(sys.argv) > 2 and os.fork() == 0:  # a child of the controller that lives on must keep nothing alive
    time.sleep(60)
print(launcher.address, client.status().pid, opener.open("http://tiny.test/").read().decode(), os.getpid(), flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("forks", [False, True], ids=["alone", "with a forked child"])
def test_a_killed_controller_leaves_nothing(tiny: Path, forks: bool) -> None:
    command = [sys.executable, "-c", CONTROLLER, str(tiny / "sites.yaml"), *(["fork"] if forks else [])]
    controller = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=Path(__file__).parents[3]
    )
    try:
        assert controller.stdout is not None
        address, broker, text = controller.stdout.readline().split(" ", 2)
        processes = [int(broker), number(text, "pid"), number(text, "parent")]
        assert all(map(alive, processes))
        controller.kill()
        controller.wait()
        wait_until(lambda: not any(map(alive, processes)))
        wait_until(lambda: not Path(address).parent.exists())
    finally:
        os.killpg(controller.pid, signal.SIGKILL) if forks else controller.kill()
        assert controller.stdout is not None
        controller.stdout.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_worker_does_not_keep_its_parents_leases(launcher: BrokerLauncher, client: BrokerClient) -> None:
    other = BrokerClient(launcher.address, name="gw1")
    other.lease(["tiny"], holder="x", timeout=DEADLINE)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    other.close()
    wait_until(lambda: not any(replica.holders for app in client.status().apps for replica in app.replicas))
    os.close(writing)
    os.waitpid(child, 0)
    os.close(reading)


def test_stop_during_broker_start_leaves_nothing(tiny: Path) -> None:
    launcher = BrokerLauncher(BrokerConfig(catalogue=str(tiny / "sites.yaml")))
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            BrokerClient(launcher.address, name="gw0").lease(["tiny"], holder="x", timeout=DEADLINE)
        except SiteError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    launcher.stop()
    thread.join(DEADLINE)
    assert not thread.is_alive()
    assert not directory(launcher).exists()
