"""Checks before Ray is used, and requirements that nodes must share; needs no Ray."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.cluster import cluster_address
from pytest_webarena.cluster.node import differences
from pytest_webarena.errors import UsageError


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine with Ray, without a cluster or a token."""
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS", "RAY_TMPDIR"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name == "ray" else found(name))
    return monkeypatch


@pytest.fixture
def listening() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_missing_token_is_an_error_unless_insecure(clean: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"expected a cluster that asks for a token .* set --ray-insecure"):
        cluster_address.prepare_environment(insecure=False)
    cluster_address.prepare_environment(insecure=True)
    assert os.environ["RAY_AUTH_MODE"] == "disabled"
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


@pytest.mark.parametrize("place", ["RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "home"])
def test_token_is_found_in_every_location(clean: pytest.MonkeyPatch, tmp_path: Path, place: str) -> None:
    (tmp_path / ".ray").mkdir()
    file = tmp_path / (".ray/auth_token" if place == "home" else "token")
    file.write_text("t" * 64)
    if place != "home":
        clean.setenv(place, "t" * 64 if place == "RAY_AUTH_TOKEN" else str(file))
    cluster_address.prepare_environment(insecure=False)
    assert os.environ["RAY_AUTH_MODE"] == "token"


def test_token_mode_without_a_token_is_a_usage_error(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(UsageError, match="expected a token with RAY_AUTH_MODE=token"):
        cluster_address.prepare_environment(insecure=True)


def test_missing_ray_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'pytest-webarena\[ray\]'"):
        cluster_address.prepare_environment(insecure=True)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "found none that answers"),
        ("ray://head:10001", "a cluster that this machine is in"),
        ("head", "expected auto or HOST:PORT"),
        ("head:0", "expected auto or HOST:PORT"),
        ("auto", "found none; `ray start --head` starts one"),
    ],
)
def test_invalid_cluster_address_is_a_usage_error(
    clean: pytest.MonkeyPatch, tmp_path: Path, address: str, message: str
) -> None:
    clean.setattr(cluster_address, "_local_cluster", lambda: "")
    with pytest.raises(UsageError, match=message):
        cluster_address.find_address(address)


def test_address_auto_is_the_local_cluster(clean: pytest.MonkeyPatch, tmp_path: Path, listening: str) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(f"{listening}\n")
    clean.setenv("RAY_TMPDIR", str(tmp_path))
    assert cluster_address.find_address("auto") == listening


def test_probe_of_a_silent_server_times_out(clean: pytest.MonkeyPatch, listening: str) -> None:
    clean.setattr(cluster_address, "_HEALTH", 0.5)  # it listens and never responds
    clean.setattr(cluster_address, "_ASK", "import socket, sys; h, p = sys.argv[1].split(':')\n"
                  "socket.create_connection((h, int(p))).recv(1)")  # fmt: skip
    with pytest.raises(UsageError, match="something that does not answer as one within"):
        cluster_address.probe(listening)


def test_probe_error_quotes_the_cluster(clean: pytest.MonkeyPatch) -> None:
    clean.setattr(
        cluster_address, "_ASK", "import sys; print('noise', file=sys.stderr); sys.exit('Version mismatch: 2.1')"
    )
    with pytest.raises(UsageError, match=r"this machine can join, found: Version mismatch: 2\.1"):
        cluster_address.probe("127.0.0.1:1")


def test_differences_between_nodes_are_named() -> None:
    here: dict[str, Any] = {"Python": "3.12", "Ray": "2.60.0", "pytest-webarena": "0.1.0"}
    assert differences(here, here) == ""
    there = {"Python": "3.12", "Ray": "2.59.0"}
    assert differences(here, there) == (
        "Ray 2.59.0 where this machine has 2.60.0, pytest-webarena none where this machine has 0.1.0"
    )
