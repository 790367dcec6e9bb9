"""Access to the broker: only the run's own processes, and each lease only on its own connection."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import SiteError, TaskError, WebArenaError
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from pytest_webarena.sites.protocol import keys
from pytest_webarena.sites.protocol.messages import VERSION
from tests.processes import DEADLINE, wait_until


@pytest.fixture(scope="module")
def launcher(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerLauncher]:
    run_dir = tmp_path_factory.mktemp("run")
    config = BrokerConfig(catalogue=str(tiny / "sites.yaml"), run_dir=run_dir, max_replicas=2, spares=0)
    with BrokerLauncher(config) as launcher:
        yield launcher


@pytest.fixture
def lease(launcher: BrokerLauncher) -> Iterator[Lease]:
    with (
        BrokerClient(launcher.address, name="gw0") as client,
        client.lease(["tiny"], holder="x", timeout=DEADLINE) as lease,
    ):
        yield lease


def say(address: str, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Send raw protocol messages to the broker, and return its replies."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(DEADLINE)
        stranger.connect(address)
        answers = []
        with stranger.makefile("rw") as lines:
            for number, message in enumerate(messages):
                lines.write(json.dumps({"id": number, **message}) + "\n")
                lines.flush()
                answers.append(json.loads(lines.readline()))
        return answers


@pytest.mark.parametrize("key", [None, "", "0" * 64, "of another client"])
def test_broker_refuses_clients_without_the_key(launcher: BrokerLauncher, lease: Lease, key: str | None) -> None:
    shown = {} if key is None else {"key": keys.key_for(launcher.address, "gw1") if " " in key else key}
    hello = {"op": "hello", "version": VERSION, "name": "gw0", **shown}
    query = {
        "op": "query",
        "lease": lease.id,
        "site": "tiny",
        "sql": "delete from notes",
        "database": "",
        "write": True,
    }
    greeted, *others = say(launcher.address, hello, query, {"op": "status"}, {"op": "look", "sites": ["tiny"]})
    assert "'gw0' has not shown the key" in greeted["error"]["message"]
    assert ["expected hello first" in other["error"]["message"] for other in others] == [True] * 3
    assert lease.query("tiny", "select count(*) from notes").rows == ((1,),)


USES: dict[str, Callable[[Lease, Lease], object]] = {
    "query": lambda lease, own: lease.query("tiny", "select 1"),
    "requests": lambda lease, own: lease.requests(),
    "check": lambda lease, own: lease.check(),
    "headers": lambda lease, own: lease.set_headers("tiny", {"X-User": "ann"}),
    "logs": lambda lease, own: lease.logs("tiny", 3),
    "join": lambda lease, own: lease.join(own),
    "join it": lambda lease, own: own.join(lease),
    "keep": lambda lease, own: lease.keep({"tiny": {"ann": {}}}, {}),
    "refused": lambda lease, own: lease.session_refused("tiny"),
    "ended": lambda lease, own: lease.session_ended("tiny", "ann", 1, "why"),
}


@pytest.mark.parametrize("use", USES)
def test_lease_is_usable_only_on_its_own_connection(launcher: BrokerLauncher, lease: Lease, use: str) -> None:
    with BrokerClient(launcher.address, name="gw0") as same_name, same_name.gateway() as own:
        # The other client knows the lease's id; nothing else about a lease is secret.
        lease._connection, kept = own._connection, lease._connection
        try:
            with pytest.raises(TaskError, match=f"expected a lease of this connection, but {lease.id}"):
                USES[use](lease, own)
        finally:
            lease._connection = kept
    lease.check()


def test_other_connections_cannot_release_a_lease(launcher: BrokerLauncher, lease: Lease) -> None:
    hello = {"op": "hello", "version": VERSION, "name": "gw1", "key": keys.key_for(launcher.address, "gw1")}
    _, released = say(launcher.address, hello, {"op": "release", "lease": lease.id})
    assert released["result"]["problem"] == f"{lease.id} is not held by this connection"
    assert lease.query("tiny", "select count(*) from notes").rows == ((1,),)


def test_key_is_valid_only_for_its_client_name(launcher: BrokerLauncher, monkeypatch: pytest.MonkeyPatch) -> None:
    key = keys.key_for(launcher.address, "gw7")
    monkeypatch.setattr(keys, "_runs", {})  # as in a worker
    keys.store_key(launcher.address, "gw7", key)
    with BrokerClient(launcher.address, name="gw7") as renamed:
        assert renamed.status().catalogue
    with pytest.raises(WebArenaError, match="'gw8' has not shown the key"):
        BrokerClient(launcher.address, name="gw8").status()


CONNECT = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode())\n"
)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_other_users_are_refused_even_with_the_key(launcher: BrokerLauncher) -> None:
    hello = {"id": 1, "op": "hello", "version": VERSION, "name": "gw0", "key": keys.key_for(launcher.address, "gw0")}
    directory = Path(launcher.address).parent
    directory.chmod(0o711)
    Path(launcher.address).chmod(0o666)
    try:
        code = f"{CONNECT}print(s.recv(4096).decode())"
        command = ["/usr/bin/python3", "-c", code, launcher.address, json.dumps(hello) + "\n"]
        stdout = subprocess.run(command, user=65534, capture_output=True, text=True, check=True, cwd="/").stdout
    finally:
        directory.chmod(0o700)
    assert "serves the user 0, and not the user 65534" in stdout


def test_peer_user_of_a_socket() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert keys.peer_user(one) in (os.geteuid(), None)


def test_agents_directory_does_not_reveal_the_broker_path(launcher: BrokerLauncher) -> None:
    broker, agents = Path(launcher.address).parent, launcher.agents_directory
    assert agents.parent != broker
    assert broker.name not in str(agents)
    assert agents.parent.stat().st_mode & 0o777 == 0o700


KILLED = """
import os, sys
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher

launcher = BrokerLauncher(BrokerConfig())
launcher.agents_directory.mkdir()
print(launcher.agents_directory, flush=True)
os.kill(os.getpid(), 9)
"""


def test_agents_directory_is_removed_with_the_run(tiny: Path, tmp_path: Path) -> None:
    with BrokerLauncher(BrokerConfig(catalogue=str(tiny / "sites.yaml"))) as launcher:
        launcher.agents_directory.mkdir()
    assert not launcher.agents_directory.parent.exists()
    assert keys.key_for(launcher.address, "gw0") == ""
    with pytest.raises(SiteError):
        BrokerClient(launcher.address, name="gw0").status()

    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, cwd=Path(__file__).parents[3])
    directory = Path(done.stdout.strip()).parent
    assert directory.name
    wait_until(lambda: not directory.exists())
