"""Connection to the Docker engine, ownership of leftovers, and cleanup."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from pytest_webarena.errors import SiteError, SiteMissing
from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.bridge_routes import unrouted
from pytest_webarena.sites.backends.docker.cleanup import remove_labelled
from pytest_webarena.sites.backends.docker.engine import connect, require_local
from pytest_webarena.sites.backends.docker.labels import HOST, OWNER, RUN, is_orphan, owner_labels
from pytest_webarena.sites.catalogues.manifest import DockerManifest
from pytest_webarena.sites.cleanup.reaper import identity
from tests.cases import each_case


@each_case(
    ("state", "paused", "expected"),
    [
        ({"Running": True, "Paused": False}, False, False),
        ({"Running": True, "Paused": True}, False, True),
        ({"Running": True, "Paused": True}, True, False),  # by the harness
        ({"Running": False, "ExitCode": 137}, False, True),
        ({"Running": False, "ExitCode": 137, "OOMKilled": True}, False, False),
        ({"Running": False, "ExitCode": 1}, False, False),
        (None, False, True),
    ],
)
def test_signals_and_pauses_of_other_programs_are_noticed(
    state: dict[str, Any] | None, paused: bool, expected: bool
) -> None:
    def inspect(container: str) -> dict[str, Any]:
        if state is None:
            raise NotFound("gone")
        return {"State": state}

    client: Any = SimpleNamespace(api=SimpleNamespace(inspect_container=inspect))
    assert containers.signalled(client, "c", paused=paused) is expected


def test_missing_engine_is_reported_with_its_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/absent.sock"
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(SiteError) as caught:
        connect()
    for text in (f"expected a Docker engine at {address}", "systemctl start docker", "DOCKER_HOST", "'embedded'"):
        assert text in str(caught.value)


def test_invalid_docker_host_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "carrier-pigeon://loft")
    with pytest.raises(SiteError, match="expected a Docker engine at carrier-pigeon://loft"):
        connect()


def test_current_docker_context_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/of-the-context.sock"
    folder = tmp_path / "contexts" / "meta" / hashlib.sha256(b"lab").hexdigest()
    folder.mkdir(parents=True)
    endpoints = {"docker": {"Host": address, "SkipTLSVerify": False}}
    (folder / "meta.json").write_text(json.dumps({"Name": "lab", "Metadata": {}, "Endpoints": endpoints}))
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "lab"}))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with pytest.raises(SiteError, match=r"of-the-context\.sock"):
        connect()


@each_case(
    ("url", "system", "security", "usable"),
    [
        ("http+docker://localhost", "Debian GNU/Linux 12 (bookworm)", "seccomp", sys.platform == "linux"),
        ("http+docker://localhost", "Debian GNU/Linux 12 (bookworm)", "rootless", False),
        ("http+docker://localhost", "Docker Desktop", "seccomp", False),
        ("https://far.example:2376", "Ubuntu 24.04 LTS", "seccomp", False),
        ("http+docker://ssh", "Ubuntu 24.04 LTS", "seccomp", False),
    ],
)
def test_containers_must_be_reachable(url: str, system: str, security: str, usable: bool) -> None:
    info = {"OperatingSystem": system, "SecurityOptions": [f"name={security}"]}
    client: Any = SimpleNamespace(api=SimpleNamespace(base_url=url), info=lambda: info)
    if usable:
        require_local(client)
    else:
        with pytest.raises(SiteError, match=r"can't be reached by their address"):
            require_local(client)


@each_case(
    "address", ["ssh://lab@far.example", "tcp://10.0.0.7:2375", "tcp://localhost:2376", "https://far.example:2376"]
)
def test_engine_of_another_machine_is_refused_before_it_is_asked(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    def ask(**_: object) -> None:
        raise AssertionError("the engine was asked")

    monkeypatch.setenv("DOCKER_HOST", address)
    monkeypatch.setattr("docker.DockerClient.from_env", ask)
    with pytest.raises(SiteMissing) as caught:
        connect()
    what, remedy = str(caught.value).splitlines()
    assert what.startswith(f"containers of this Docker engine ({address}) can't be reached by their address from here")
    assert remedy.startswith("Run the tests on Linux, on the engine's own machine")


TABLE = """Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0
br-1 0000590A 00000000 0001 0 0 0 0000FFFF 0 0 0
eth1 0001590A 00000000 0001 0 0 0 00FFFFFF 0 0 0
"""


@each_case(
    ("address", "where"),
    [
        ("10.89.0.5", ""),
        ("10.89.1.5", "out by eth1"),  # a narrower route
        ("10.88.0.5", "out by eth0"),
        ("fd00::5", ""),
    ],
)
@pytest.mark.skipif(sys.byteorder != "little", reason="the table is in native order")
def test_container_address_must_lead_to_a_bridge(tmp_path: Path, address: str, where: str) -> None:
    (tmp_path / "net" / "br-1" / "bridge").mkdir(parents=True, exist_ok=True)
    (tmp_path / "net" / "eth1").mkdir(exist_ok=True)
    (tmp_path / "route").write_text(TABLE)
    assert unrouted(address, routes=tmp_path / "route", interfaces=tmp_path / "net") == where
    (tmp_path / "route").write_text(TABLE.splitlines()[0] + "\n")
    assert unrouted("10.89.0.5", routes=tmp_path / "route") == "nowhere"


def test_container_whose_address_leads_elsewhere_is_removed_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Podman keeps internal networks to itself, so a request would leave by the default route."""
    removed: list[str] = []
    container = SimpleNamespace(
        id="c" * 64, start=lambda: None, reload=lambda: None, remove=lambda **_: removed.append("c"),
        attrs={"NetworkSettings": {"Networks": {"run": {"IPAddress": "10.88.0.5"}}}, "State": {}},
    )  # fmt: skip
    client: Any = SimpleNamespace(
        containers=SimpleNamespace(create=lambda *_, **__: container),
        api=SimpleNamespace(inspect_container=lambda _: {"State": {"Running": True}}),
    )
    order = containers.Order(image="i", name="n", labels={}, manifest=DockerManifest(image="i"), network="run")
    monkeypatch.setattr(containers, "unrouted", lambda ip: "out by eth0")
    with pytest.raises(SiteMissing, match=r"\(packets to 10\.88\.0\.5 go out by eth0, and not to a bridge"):
        containers.launch(client, order)
    assert removed == ["c"]
    monkeypatch.setattr(containers, "unrouted", lambda ip: "")
    assert containers.launch(client, order).ip == "10.88.0.5"


def test_is_orphan_only_if_the_owner_is_known_to_be_dead() -> None:
    labels = owner_labels("r1", identity())
    assert labels[RUN] == "r1"
    assert not is_orphan(labels)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        owned = owner_labels("r2", identity(child.pid))
        assert not is_orphan(owned)
        child.kill()
    assert is_orphan(owned)
    assert not is_orphan({**owned, HOST: "another/machine"})
    assert not is_orphan({RUN: "r2"})  # without our labels
    pid, start, boot = identity().split("/")
    assert is_orphan({**labels, OWNER: f"{pid}/{start}/{boot}0"})  # before the last boot


@pytest.mark.parametrize(("refusals", "message"), [(3, ""), (1_000, "can't pause the container 0123456789ab: .*")])
def test_refused_container_pause_is_retried(monkeypatch: pytest.MonkeyPatch, refusals: int, message: str) -> None:
    """A busy machine may refuse to pause; the trial must not fail."""
    failures_left = iter(range(refusals))

    def pause(container: str) -> None:
        if next(failures_left, None) is not None:
            raise APIError("Cannot pause container: OCI runtime pause failed: unable to freeze: unknown")

    monkeypatch.setattr(containers, "_FREEZE_PAUSE", 0)
    inspected = {"State": {"Running": True}}
    client: Any = SimpleNamespace(api=SimpleNamespace(pause=pause, inspect_container=lambda container: inspected))
    with pytest.raises(SiteError, match=message) if message else nullcontext():
        containers.set_paused(client, "0123456789abcdef", True)


@pytest.mark.parametrize("label", ["", "pytest-webarena.run", "pytest-webarena.run="])
def test_reaper_rejects_label_without_value(label: str) -> None:
    with pytest.raises(ValueError, match="key=value"):
        remove_labelled(label)


def test_resources_of_a_run_are_removed_concurrently_by_kind() -> None:
    """Containers are removed concurrently, and their network after them."""
    both, removals = threading.Barrier(2, timeout=30), []

    def made(name: str, *, refusal: Exception | None = None, wait: bool = False) -> Any:
        def remove(**how: Any) -> None:
            if wait:
                both.wait()
            if refusal is not None:
                raise refusal
            removals.append(name)

        return SimpleNamespace(name=name, id=name, remove=remove)

    containers = [made("app", wait=True), made("db", wait=True), made("late", refusal=NotFound("no such container"))]
    engine: Any = SimpleNamespace(
        containers=SimpleNamespace(list=lambda **how: containers),
        networks=SimpleNamespace(list=lambda **how: [made("network")]),
        volumes=SimpleNamespace(list=lambda **how: []),
        api=SimpleNamespace(images=lambda **how: [{"Id": "gone"}]),
        images=SimpleNamespace(get=no_such_image),
    )
    removed = remove_labelled("run=x", client=engine, settle=0)
    assert sorted(removed.containers) == ["app", "db"]
    assert (removed.networks, removed.images, removals[-1]) == (("network",), (), "network")
    engine.networks = SimpleNamespace(list=lambda **how: [made("busy", refusal=APIError("has active endpoints"))])
    engine.containers = SimpleNamespace(list=lambda **how: [])
    with pytest.raises(SiteError, match=r"(?s)labelled run=x:\nnetworks busy: has active endpoints"):
        remove_labelled("run=x", client=engine, settle=0, patience=0)


def no_such_image(name: str) -> None:
    raise NotFound(name)
