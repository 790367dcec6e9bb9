"""Readiness checks of an app, and messages of their timeouts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.ready import wait_ready
from pytest_webarena.sites.catalogues.manifest import ExecReady, HttpReady, PortReady, Readiness
from tests.cases import each_case

OK = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


async def nobody_died() -> str:
    return ""


def wait_for(strategy: Readiness, answers: Sequence[str], *, timeout: float = 30.0) -> str:
    """Wait for a server that gives ``answers`` in turn, repeating the last one; return its first request."""
    requests: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(answers[min(len(requests), len(answers)) - 1].encode())
        writer.close()

    async def main() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await wait_ready([strategy], "127.0.0.1", port, server_name="shop.test", timeout=timeout, died=nobody_died)

    asyncio.run(main())
    return requests[-1]


def test_http_check_uses_the_sites_host_and_repeats_until_ready() -> None:
    unready = "HTTP/1.1 503 Starting\r\n\r\n"
    request = wait_for(HttpReady(path="/health", status=(200,), includes="hello"), [unready, "", unready, OK])
    assert request.startswith("GET /health HTTP/1.0\r\nHost: shop.test\r\n")


@each_case(
    ("strategy", "answer", "message"),
    [
        (HttpReady(), "HTTP/1.1 502 Bad Gateway\r\n\r\n", "GET / answered 502, expected a status below 500"),
        (HttpReady(status=(200, 302)), "HTTP/1.1 404 No\r\n\r\n", "GET / answered 404, expected 200/302"),
        (HttpReady(includes="Sign in"), OK, "GET / did not contain 'Sign in'"),
        (HttpReady(), "SSH-2.0\r\n", r"GET / was not answered in HTTP: b'SSH-2\.0"),
    ],
)
def test_readiness_timeout_reports_the_last_response(strategy: HttpReady, answer: str, message: str) -> None:
    with pytest.raises(SiteError, match=r"it was not ready within 1 s \(start_timeout\): " + message):
        wait_for(strategy, [answer], timeout=1.0)


def test_readiness_timeout_reports_time_left_after_start() -> None:
    message = r"it was not ready within 5 s \(start_timeout, with 0\.05 s left after its start\): "

    async def main() -> None:
        await wait_ready([PortReady()], "127.0.0.1", 1, server_name="x", timeout=0.05, died=nobody_died, of=5)

    with pytest.raises(SiteError, match=message):
        asyncio.run(main())


def test_interrupted_last_request_keeps_the_previous_reason() -> None:
    """On a busy machine, the last request may be cut off by the timeout."""

    async def main() -> None:
        requests: list[bytes] = []
        disconnected = asyncio.Event()

        async def fail_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            if len(requests) == 1:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            else:
                await reader.read()
            writer.close()
            await writer.wait_closed()
            if len(requests) == 2:
                disconnected.set()

        async with await asyncio.start_server(fail_once, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(SiteError, match="GET / answered 502, expected a status below 500"):
                await wait_ready([HttpReady()], "127.0.0.1", port, server_name="x", timeout=1.0, died=nobody_died)
            assert len(requests) == 2
            await disconnected.wait()

    asyncio.run(main())


def test_app_that_never_responds_times_out() -> None:
    async def main() -> None:
        disconnected = asyncio.Event()

        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(65536)
            while await reader.read(65536):
                pass
            writer.close()
            await writer.wait_closed()
            disconnected.set()

        async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(SiteError, match=f"GET / got no answer on 127.0.0.1:{port}"):
                await wait_ready([HttpReady()], "127.0.0.1", port, server_name="x", timeout=0.2, died=nobody_died)
            await disconnected.wait()

    asyncio.run(main())


def test_death_of_the_app_ends_waiting() -> None:
    async def died() -> str:
        return "it ended with exit code 3"

    async def main() -> None:
        with pytest.raises(SiteError, match=re.escape("it ended with exit code 3")):
            await wait_ready([PortReady()], "127.0.0.1", 1, server_name="x", timeout=60, died=died)

    asyncio.run(main())


def redirected(location: str) -> str:
    return f"HTTP/1.1 302 Found\r\nLocation: {location}\r\n\r\n"


def test_redirect_check_compares_the_path_on_any_host() -> None:
    signed_out = HttpReady(redirect="/users/sign_in?new=1")
    wait_for(signed_out, [redirected("/setup"), OK, redirected("http://10.0.0.1:8023/users/sign_in?new=1")])
    with pytest.raises(SiteError, match="GET / answered 302 to /setup, expected a redirect to /users/sign_in"):
        wait_for(signed_out, [redirected("/setup")], timeout=1.0)
    with pytest.raises(SiteError, match="GET / answered 200, expected a redirect"):
        wait_for(signed_out, [OK], timeout=1.0)


def test_readiness_program_is_repeated_until_exit_code_0() -> None:
    outcomes = ["exit code 1: no such table", "exit code 1: still importing", ""]
    commands: list[Sequence[str]] = []

    async def execute(arguments: Sequence[str]) -> str:
        commands.append(arguments)
        return outcomes[len(commands) - 1] if len(commands) <= 3 else "asked too often"

    async def main(timeout: float) -> None:
        strategy = ExecReady(run=("pg_isready", "-q"))
        await wait_ready([strategy], "127.0.0.1", 1, server_name="", timeout=timeout, died=nobody_died, execute=execute)

    asyncio.run(main(5))
    assert commands == [("pg_isready", "-q")] * 3
    with pytest.raises(SiteError, match=r"not ready within 0\.1 s \(start_timeout\): asked too often"):
        asyncio.run(main(0.1))
