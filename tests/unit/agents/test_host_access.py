"""Agents that can end processes of this machine."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.agents.definitions import define
from pytest_webarena.agents.host_access import can_signal_processes
from pytest_webarena.agents.registry import resolve_agent
from tests.cases import each_case

PROGRAM = {"kind": "process", "command": ["/bin/cat"]}
DRIVER = {"kind": "cdp", "command": ["/bin/cat"]}


@each_case(
    "definition, expected",
    [
        ({"python": f"{__name__}:answer"}, True),
        (PROGRAM, True),
        (PROGRAM | {"sandbox": ["docker", "run"]}, True),  # nothing shows what a command of the user isolates
        (PROGRAM | {"sandbox": "bubblewrap"}, False),
        (DRIVER, True),
        (DRIVER | {"sandbox": "bubblewrap"}, False),
        ({"kind": "cdp", "python": f"{__name__}:answer"}, True),
        ({"kind": "cdp", "url": "http://192.0.2.7:8000/"}, False),
        ({"kind": "http", "url": "http://192.0.2.7:8000/"}, False),
        ({"kind": "http", "url": "http://[2001:db8::7]/"}, False),
        ({"kind": "http", "url": "http://127.0.0.1:8000/"}, True),
        ({"kind": "http", "url": "http://localhost:8000/"}, True),
        ({"kind": "human"}, False),
        ({"kind": "model", "model": "m"}, False),
        ({"kind": "model", "model": "m", "search": {"program": ["/bin/cat"]}}, True),
    ],
)
def test_agent_is_harmless_only_if_its_code_is_known_to_run_elsewhere(
    definition: dict[str, Any], expected: bool, tmp_path: Path
) -> None:
    agent = define(definition, id="a", where="here", base=tmp_path, source="")
    assert can_signal_processes(agent) == expected


def answer(observation: object) -> None:
    """An agent that does nothing."""


def test_harness_own_agents_are_harmless() -> None:
    assert not can_signal_processes(resolve_agent("oracle"))


def test_agent_at_a_name_of_this_machine_runs_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = {"me.test": "127.0.0.1", "other.test": "192.0.2.8"}

    def getaddrinfo(host: str, port: None, **more: Any) -> list[Any]:
        if host not in names:
            raise socket.gaierror("unknown")
        return [(socket.AF_INET, socket.SOCK_DGRAM, 0, "", (names[host], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    found = {}
    for name in ("me.test", "other.test", "unknown.test"):
        definition = {"kind": "http", "url": f"http://{name}/"}
        found[name] = can_signal_processes(define(definition, id="a", where="here", base=tmp_path, source=""))
    assert found == {"me.test": True, "other.test": False, "unknown.test": True}
