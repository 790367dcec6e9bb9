"""HTTP agents, with real HTTP on loopback and the faults of an endpoint."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element, Stop
from pytest_webarena.agents import TaskView, resolve_agent
from pytest_webarena.agents.http import EndpointFailed, HttpAgent, HttpKeys
from pytest_webarena.agents.protocol import Assignment
from pytest_webarena.agents.wire import ProtocolBroken
from pytest_webarena.browser.observation import Observation
from pytest_webarena.errors import AgentError, UsageError
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.secrets import scrub
from pytest_webarena.tasks.model import Task

SEEN = Observation(text="[4] link 'Rye'", url="http://s.test/", title="t", tabs=())
DONE = b'{"type": "answer", "answer": "rye"}'
ASSIGNMENT = Assignment(view=TaskView(intent="find rye"), task=Task(id="t", intent="i", sites=()))


class Server:
    """Answers with what is left in ``script``: status, headers, body; then with `DONE`."""

    def __init__(self) -> None:
        self.script: list[tuple[int, dict[str, str], bytes]] = []
        self.got: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                server.headers.append(dict(self.headers))
                task = server.got[-1]["type"] == "task"
                scripted = server.script and not (task and server.script[0][0] > 0)
                status, headers, body = server.script.pop(0) if scripted else (200, {}, DONE)
                if "hang" in headers:
                    server.released.wait(30)
                self.send_response(abs(status))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) + int(headers.get("cut", 0))))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/agent?x=1"

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def agent(server: Server) -> Callable[..., HttpAgent]:
    return lambda **keys: HttpAgent(ASSIGNMENT, HttpKeys(url=server.url, **keys))


Make = Callable[..., HttpAgent]


def test_agent_receives_task_then_observation_then_end(server: Server, agent: Make) -> None:
    one = agent(options={"depth": 3})
    assert one.act(SEEN).action == Stop("rye")
    one.close()
    assert [message["type"] for message in server.got] == ["task", "observation", "end"]
    assert (server.got[0]["intent"], server.got[0]["options"]) == ("find rye", {"depth": 3})
    assert len({message["trial"] for message in server.got}) == 1


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (429, {"Retry-After": "0.01"}, b"slow down"),
        (429, {}, b""),
        (500, {}, b"oops"),
        (503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b""),
        (200, {"cut": "50"}, b'{"type": '),
    ],
)
def test_transient_faults_are_retried(
    server: Server, agent: Make, status: int, headers: dict[str, str], body: bytes
) -> None:
    server.script = [(status, headers, body)] * 2
    assert agent(timeout=5).act(SEEN).action == Stop("rye")
    assert [message.get("step") for message in server.got] == [
        None,
        0,
        0,
        0,
    ]  # a repeated step has the same number


@pytest.mark.parametrize(
    ("keys", "answer", "error", "sentence"),
    [
        ({"retries": 1}, (503, {}, b"down"), EndpointFailed, r"found status 503, 'down' \(tried 2 times\)"),
        ({}, (400, {}, b"what?"), EndpointFailed, r"status 400, 'what\?' \(tried 1 times\)"),
        ({}, (302, {"Location": "http://127.0.0.1:1/"}, b""), EndpointFailed, "status 302"),
        ({"retries": 0, "timeout": 0.2}, (200, {"hang": "yes"}, DONE), EndpointFailed, "timed out"),
        ({"max_reply": 1000}, (200, {}, b"x" * 1_000_000), EndpointFailed, "more than 1000 bytes"),
        ({}, (200, {}, b"<html>"), ProtocolBroken, "expected a JSON message"),
        ({}, (200, {}, b""), ProtocolBroken, "expected a JSON message"),
    ],
)
def test_permanent_faults_are_agent_failures(
    server: Server, agent: Make, keys: Any, answer: Any, error: type[Exception], sentence: str
) -> None:
    server.script = [answer] * 5
    with pytest.raises(error, match=sentence):
        agent(**keys).act(SEEN)


def test_unreachable_endpoint_is_an_error_not_an_agent_failure() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        with pytest.raises(AgentError, match=r"did not take the task: .*refused"):
            HttpAgent(ASSIGNMENT, HttpKeys(url=url, retries=0)).act(SEEN)


def test_endpoint_that_disconnects_after_the_task_fails() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/"

    def leave() -> None:
        with listening, listening.accept()[0] as connection:
            connection.recv(65536)
            listening.close()

    thread = threading.Thread(target=leave)
    thread.start()
    agent = HttpAgent(ASSIGNMENT, HttpKeys(url=url, retries=1))
    with pytest.raises(EndpointFailed, match="refused"):
        agent.act(SEEN)
    thread.join()


def test_endpoint_that_refuses_the_task_fails(server: Server, agent: Make) -> None:
    """Otherwise an endpoint could exclude tasks from its success rate by refusing them."""
    server.script = [(403, {}, b"too hard")]
    with pytest.raises(EndpointFailed, match="status 403, 'too hard'"):
        agent().act(SEEN)


def test_pending_request_can_be_cut_off(server: Server, agent: Make) -> None:
    server.script = [(200, {"hang": "yes"}, DONE)]
    one = agent(retries=5)
    failed: list[Exception] = []

    def ask() -> None:
        try:
            one.act(SEEN)
        except EndpointFailed as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while len(server.got) < 2:
        asking.join(0.01)
    one.cut_off()
    asking.join(10)
    assert failed
    assert len(server.got) == 2  # not tried again


def test_api_key_is_sent_but_not_recorded(server: Server, agent: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", "sk-planted-secret")
    server.script = [(200, {}, b'{"type": "answer", "answer": "sk-planted-secret"}')]
    keys = HttpKeys(url=server.url, key_env="AGENT_KEY")
    keys.check_key("agent")
    reply = agent(key_env="AGENT_KEY").act(SEEN)
    assert server.headers[0]["Authorization"] == "Bearer sk-planted-secret"
    assert "planted" not in scrub(reply.raw)


def test_invalid_http_definition_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def error(text: str) -> str:
        (tmp_path / "a.yaml").write_text(f"kind: http\n{text}\n")
        with pytest.raises(UsageError) as raised:
            resolve_agent(str(tmp_path / "a.yaml"))
        return str(raised.value)

    monkeypatch.delenv("AGENT_KEY", raising=False)
    assert "expected http://" in error("url: file:///x")
    assert "0 to 20" in error("url: http://h/\nretries: 99")
    (tmp_path / "a.yaml").write_text("kind: http\nurl: http://h/\nkey_env: AGENT_KEY\n")
    with pytest.raises(UsageError, match="AGENT_KEY to be set"):
        resolve_agent(str(tmp_path / "a.yaml")).check(ModelSettings())


def test_the_worked_example_speaks_the_protocol() -> None:
    from agents import keyword_server

    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Quiet", (keyword_server.Handler,), {"log_message": lambda *_: 0})
    )
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        one = HttpAgent(ASSIGNMENT, HttpKeys(url=f"http://127.0.0.1:{server.server_port}/"))
        assert one.act(SEEN).action == Click(Element("4"))
        assert isinstance(one.act(SEEN).action, Stop)
        one.close()
        assert not keyword_server.Handler.trials
    finally:
        server.shutdown()
        server.server_close()
