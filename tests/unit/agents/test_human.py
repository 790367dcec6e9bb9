"""The human agent, with a pseudo-terminal in place of a person."""

from __future__ import annotations

import json
import os
import pty
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.agents import Assignment, TaskView, human, resolve_agent
from pytest_webarena.browser.observation import Observation
from pytest_webarena.errors import AgentError, UsageError
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.tasks.model import Task

SEEN = Observation(text="[4] link 'Rye'", url="http://s.test/", title="t", tabs=())
ASSIGNMENT = Assignment(view=TaskView(intent="find rye"), task=Task(id="t", intent="find rye", sites=()))


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """File descriptor that types into the agent's terminal and reads its output."""
    master, slave = pty.openpty()
    monkeypatch.setattr(human, "_TERMINAL", os.ttyname(slave))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    yield master
    os.close(master)
    os.close(slave)


def agent(tmp_path: Path, mode: str = "terminal") -> Any:
    (tmp_path / "me.yaml").write_text(f"kind: human\nmode: {mode}\n")
    definition = resolve_agent(str(tmp_path / "me.yaml"))
    definition.check(ModelSettings())
    assert definition.self_driving == (mode == "window")
    return definition.make(ASSIGNMENT)


def test_participant_is_recorded_and_not_part_of_the_digest(tmp_path: Path) -> None:
    found = []
    for who in ("ada", "lin"):
        (tmp_path / "me.yaml").write_text(f"kind: human\nparticipant: {who}\n")
        found.append(resolve_agent(str(tmp_path / "me.yaml")))
    assert [each.participant for each in found] == ["ada", "lin"]
    assert len({each.digest for each in found}) == 1  # their trials share one success rate


def test_typed_lines_become_actions(keyboard: int, tmp_path: Path) -> None:
    me = agent(tmp_path)
    os.write(keyboard, b"help\nclick [4]\nstop [r\xc3\xa9e]\n")
    assert [me.act(SEEN).action for _ in range(2)] == ["```click [4]```", "```stop [rée]```"]
    shown = b""
    while b"[step 2 of 30] find rye" not in shown:
        shown += os.read(keyboard, 65536)
    assert b"[4] link 'Rye'" in shown
    me.close()


@pytest.mark.parametrize(
    ("typed", "reason"), [(b"give up\n", "the human gave up"), (b"\x04", "no more input at the terminal")]
)
def test_give_up_or_end_of_input_ends_the_trial(keyboard: int, tmp_path: Path, typed: bytes, reason: str) -> None:
    me = agent(tmp_path)
    os.write(keyboard, typed)
    assert me.act(SEEN).ended == ("invalid", reason)
    me.close()


def test_waiting_for_input_can_be_cut_off(keyboard: int, tmp_path: Path) -> None:
    me = agent(tmp_path)
    replies: list[Any] = []
    waiting = threading.Thread(target=lambda: replies.append(me.act(SEEN)))
    waiting.start()
    me.cut_off()
    waiting.join(10)
    assert replies[0].ended == ("invalid", "no more input at the terminal")
    me.close()


def test_window_mode_reads_only_the_answer_from_the_terminal(keyboard: int, tmp_path: Path) -> None:
    class Version(BaseHTTPRequestHandler):
        agent = "Mozilla/5.0 Chrome/1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"User-Agent": self.agent}).encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Version) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        me = agent(tmp_path, "window")
        os.write(keyboard, b"42\n")
        assert me.drive("ws://x", url) == "42"
        Version.agent = "Mozilla/5.0 HeadlessChrome/1"
        with pytest.raises(AgentError, match="--headed"):
            me.drive("ws://x", url)
        me.close()
        server.shutdown()


def test_human_agent_needs_a_terminal_and_no_xdist_workers(
    keyboard: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    with pytest.raises(AgentError, match="-n 0"):
        agent(tmp_path)
    monkeypatch.setattr(human, "_TERMINAL", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="expected a terminal to type at"):
        agent(tmp_path)
