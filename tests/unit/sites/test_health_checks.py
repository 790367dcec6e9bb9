"""Health checks of running replicas: whether they still respond in time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.gateway.authority import Authority
from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.backends.ready import answers
from pytest_webarena.sites.broker.health_checks import unanswered
from pytest_webarena.sites.catalogues.manifest import AppManifest, ExecReady, HttpReady, PortReady, Readiness
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from tests.cases import each_case
from tests.processes import DEADLINE

from .brokers import get
from .processes import number

Answer = Callable[[bytes], bytes]


def ask(
    strategies: list[Readiness], answer: Answer | None, *, timeout: float, authority: Authority | None = None
) -> str:
    """Check an app whose ``answer`` maps request lines to responses; None accepts connections without responding."""

    served: list[asyncio.Future[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(over := asyncio.get_running_loop().create_future())
        line = await reader.readline()
        if answer is None:
            await reader.read()
        else:
            writer.write(answer(line))
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        over.set_result(None)

    async def main() -> str:
        tls = authority.context("127.0.0.1") if authority is not None else None
        secure = ssl.create_default_context(cadata=authority.certificate) if authority is not None else None
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        try:
            return await answers(strategies, "127.0.0.1", port, server_name="a.test", timeout=timeout, secure=secure)
        finally:
            server.close()
            await asyncio.gather(*served)

    return asyncio.run(main())


@each_case(
    ("outcome", "expected"),
    [("", ""), ("pg_isready: exit code 2", "pg_isready: exit code 2"), (SiteError("it hangs"), "it hangs")],
)
@each_case("visited", [False, True])
def test_readiness_program_is_also_the_health_check(visited: bool, outcome: str | SiteError, expected: str) -> None:
    """Detects a dead server in a running container."""

    async def execute(arguments: Sequence[str]) -> str:
        assert arguments == ("pg_isready",)
        if isinstance(outcome, SiteError):
            raise outcome
        return outcome

    async def main() -> str:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert visited
            await reader.readline()
            writer.write(says(200)(b""))
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            ready = [ExecReady(run=("pg_isready",))]
            timeout = 0.3 if expected else DEADLINE
            return await answers(
                ready, "127.0.0.1", port, server_name="a.test", timeout=timeout, visited=visited, execute=execute
            )

    assert asyncio.run(main()).endswith(expected)


def says(status: int) -> Answer:
    return lambda line: f"HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n".encode()


def only_at(path: str) -> Answer:
    return lambda line: says(200 if line.split()[1].decode() == path else 500)(line)


@each_case(
    ("strategies", "answer"),
    [
        ([PortReady()], says(500)),  # the expected front page is unknown; any response is fine
        ([ExecReady(run=("true",))], says(404)),
        ([HttpReady(path="/healthz")], only_at("/healthz")),
        ([HttpReady(path="/healthz"), PortReady()], only_at("/healthz")),
        ([HttpReady(status=(503,))], says(503)),
        ([HttpReady(includes="Welcome", redirect="/login")], says(200)),  # visitors may have changed the page
    ],
)
def test_responding_app_passes_the_health_check(strategies: list[Readiness], answer: Answer) -> None:
    assert ask(strategies, answer, timeout=DEADLINE) == ""


@each_case(
    ("strategies", "answer", "message"),
    [
        ([PortReady()], None, "got no answer"),
        ([HttpReady(path="/healthz")], None, "GET /healthz got no answer"),
        ([HttpReady()], says(500), "GET / answered 500"),
        ([PortReady()], lambda line: b"", "not answered in HTTP"),
    ],
)
def test_unresponsive_app_fails_the_health_check(
    strategies: list[Readiness], answer: Answer | None, message: str
) -> None:
    assert message in ask(strategies, answer, timeout=0.3 if answer is None else 1.0)


@each_case(("answer", "message"), [(says(200), ""), (says(500), "GET / answered 500"), (None, "GET / got no answer")])
def test_health_check_by_https_asks_like_one_by_http(answer: Answer | None, message: str) -> None:
    timeout = DEADLINE if not message else 0.3 if answer is None else 1.0
    problem = ask([HttpReady()], answer, timeout=timeout, authority=Authority())
    assert message in problem if message else not problem, problem


@pytest.fixture
def client(tiny: Path, tmp_path: Path) -> Iterator[BrokerClient]:
    config = BrokerConfig(catalogue=str(tiny / "sites.yaml"), run_dir=tmp_path, max_replicas=2)
    with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="gw0") as client:
        yield client


def test_frozen_replica_is_detected_and_not_reused(client: BrokerClient) -> None:
    lease = client.lease(["tiny"], holder="a test", timeout=DEADLINE)
    frozen = number(get(lease, "http://tiny.test/"), "pid")
    os.kill(frozen, signal.SIGSTOP)
    lease.check()  # it runs, and no request waited for it
    with pytest.raises(SiteError, match=r"tiny-\d+ broke: it runs, but does not answer; no success within 3 s"):
        lease.check(ask=True)
    with pytest.raises(SiteError, match="does not answer"):
        lease.check()
    lease.release()
    with client.lease(["tiny"], holder="a test", timeout=DEADLINE) as other:
        other.check(ask=True)
        assert number(get(other, "http://tiny.test/"), "pid") != frozen


def test_gateway_answers_are_distinguished_from_those_of_sites(client: BrokerClient) -> None:
    with client.lease(["tiny"], holder="a test", timeout=DEADLINE) as lease:
        get(lease, "http://tiny.test/")
        with pytest.raises(urllib.request.HTTPError, match="403"):
            get(lease, "http://other.test/")
        assert lease.own_answer("http://tiny.test/") == ""
        assert "not one of this task's sites" in lease.own_answer("http://other.test/")
        assert lease.answers("GET", "http://tiny.test/") == (("whole", 200),)
        assert lease.answers("GET", "http://tiny.test/", harness=True) == ()
        assert lease.unrecorded() == ()


class LoggingBackend:
    """A backend whose only method is that of its logs."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def logs(self, app: AppManifest, replica: Replica, lines: int) -> str:
        return self.text or f"{1 / len(self.text)}"


@each_case(("log", "expected"), [("a\nno route to db\n", "\nlast lines of its log:\n  a\n  no route to db"), ("", "")])
def test_replica_that_does_not_answer_shows_its_log(log: str, expected: str) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # nothing listens
        app = AppManifest(name="web", sites=(), backend="docker", ready=(HttpReady(),), answer_timeout=0.1)
        replica = Replica(id="web-1", app="web", host="127.0.0.1", port=reserved.getsockname()[1])
        backend: Any = LoggingBackend(log)
        first, _, rest = asyncio.run(unanswered(backend, 0, app, replica)).partition("\n")
    assert "no success within" in first
    assert rest == expected.lstrip("\n")
