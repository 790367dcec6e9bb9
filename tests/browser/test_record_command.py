"""``webarena tasks record`` on the command line, without a display."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.recorder.writing import as_step
from pytest_webarena.tasks import load_tasks

from ..processes import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable"), pytest.mark.timeout(180)]

_MAIN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # commands that a shell starts in the background ignore it
from pytest_webarena.commands.cli import main
sys.exit(main(sys.argv[1:]))
"""
HIDDEN = ("DISPLAY", "WAYLAND_DISPLAY")


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _MAIN, "tasks", "record", "homepage:/scratchpad/", "--annotator", "ada"]
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


def ask(address: str, path: str, body: Any = None) -> dict[str, Any]:
    where = urlsplit(address)
    connection = HTTPConnection(where.netloc, timeout=60)
    method, heads = ("GET", {}) if body is None else ("POST", {"Content-Type": "application/json"})
    connection.request(method, where.path + path, None if body is None else json.dumps(body), heads)
    found: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return found


def address_of(recording: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the first message and the page's address; the browser is ready then."""
    assert recording.stdout is not None
    greeting, shown = recording.stdout.readline(), recording.stdout.readline()
    found = re.match(r"(http://127\.0\.0\.1:\d+/[\w-]{32}/) is the recording page", shown)
    assert found, shown
    wait_until(lambda: ask(found[1], "state.json")["browser"] is not None, seconds=100)
    return greeting, found[1]


def rest_of(recording: subprocess.Popen[str]) -> str:
    """Return the remaining output. ``communicate`` would lose lines that were read together with earlier ones."""
    assert recording.stdout is not None
    output = recording.stdout.read()
    recording.wait(timeout=60)
    return output


@pytest.mark.exhaustive
def test_record_without_display_serves_a_page_and_reports_it(recording: subprocess.Popen[str]) -> None:
    greeting, address = address_of(recording)
    assert (
        greeting
        == "there is no display here (DISPLAY is not set), so the browser is shown on a page, as with --serve\n"
    )
    assert ask(address, "state.json")["intent"] == ""  # the page asks for it
    assert "expected what the agent is to do" in ask(address, "ask", {"what": "finish"})["problem"]
    assert ask(address, "ask", {"what": "leave"}) == {}
    output = rest_of(recording)
    who, made = output.splitlines()
    assert who.startswith("homepage: signed in as mara.linden; --user homepage=NAME for tobin.ashgrove, ")
    assert who.endswith(" more")
    assert len(who) < 200
    assert (recording.returncode, made) == (1, "no task was recorded")


@pytest.mark.exhaustive
def test_recording_of_killed_command_can_be_continued(
    recording: subprocess.Popen[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, address = address_of(recording)
    assert ask(address, "change", {"intent": "Look at the notes."}) == {}
    assert ask(address, "act", {"do": "goto", "address": "/calculator"}) == {"problem": ""}
    kept = tmp_path / "recorded.recording.json"
    wait_until(lambda: kept.exists() and "/calculator" in kept.read_text(), seconds=60)
    recording.kill()
    recording.wait()
    made = tmp_path / "made.yaml"
    assert main(["tasks", "record", "--from", str(kept), "--all-checks", "-o", str(made)]) == 0, capsys.readouterr()
    [task] = load_tasks(made)
    assert (task.intent, [start.path for start in task.start]) == ("Look at the notes.", ["/scratchpad/"])
    assert [as_step(step) for step in task.solution or ()] == [{"goto": "homepage:/calculator"}, "stop"]
    assert kept.exists()


def test_ctrl_c_ends_record_without_traceback(recording: subprocess.Popen[str]) -> None:
    address_of(recording)
    recording.send_signal(signal.SIGINT)
    output = rest_of(recording)
    assert recording.returncode != 0
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--serve", "--from", "."], "--serve: expected no --from"),
        (["homepage", "--intent", "x", "--port", "8"], "--port: expected --serve or --panel"),
    ],
)
def test_contradicting_record_options_are_reported(
    given: list[str], why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    assert main(["tasks", "record", *given]) == 2
    assert why in capsys.readouterr().err
