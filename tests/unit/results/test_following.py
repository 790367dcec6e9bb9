"""Live view of runs: its progress data, and the requests that its server answers."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.recorder.page import server as server_of_recorder
from pytest_webarena.results.following import RunsServer
from pytest_webarena.results.following.progress import LOCKS, Follower, is_held
from pytest_webarena.results.page_handler import PageHandler
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.records import TrialKey
from pytest_webarena.results.run_identity import claim

from ...made_up import make_run, make_trial


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a run with four planned trials: one passed, one failed, one is running."""
    run = make_run(tmp_path / "runs" / "first")
    make_trial(run, "t")
    make_trial(run, "u", "failed", message="answer: expected 'rye', found 'oats'\nand more")
    extend_plan(run.path, [PlannedTrial(key=TrialKey(task, "a", 1)) for task in "tuvw"])
    begun = run.folder(TrialKey("v", "a", 1)).begin(worker="gw0", node_id="v")
    (begun.path / "steps.jsonl").write_text('{"raw": "click [4]"}\n{"raw": "type [7] <b>rye</b>"}\n')
    return run.path.parent


@pytest.fixture
def server(folder: Path) -> Iterator[RunsServer]:
    with RunsServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server: RunsServer, path: str, **headers: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def fetch_json(server: RunsServer, path: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(get(server, path)[1])
    return data


def test_progress_counts_ended_trials_and_lists_running_ones(server: RunsServer) -> None:
    data = fetch_json(server, "/runs/first/progress.json")
    assert (data["planned"], data["ended"], data["unreadable"]) == (4, 2, 0)
    (agent,) = data["agents"]
    assert (agent["passed"], agent["judged"], agent["rate"], agent["planned"]) == (1, 2, 0.5, 4)
    (under_way,) = data["under_way"]
    assert (under_way["task"], under_way["steps"], under_way["latest"]) == ("v", 2, "type [7] <b>rye</b>")
    assert {each["task"]: each["message"] for each in data["recent"]} == {
        "t": "",
        "u": "answer: expected 'rye', found 'oats'",
    }


def test_follower_sees_new_records_and_restarted_trials(folder: Path) -> None:
    follower = Follower(folder / "first")
    assert follower.look()["ended"] == 2
    state = follower.state
    run = make_run(folder / "first")
    make_trial(run, "w", "error", cause="site")
    found = follower.look()
    assert (found["ended"], found["agents"][0]["errors"], found["agents"][0]["causes"]) == (3, 1, {"site": 1})
    assert follower.state != state
    run.folder(TrialKey("t", "a", 1)).begin(worker="gw0", node_id="t")
    found = follower.look()
    assert (found["ended"], found["agents"][0]["passed"]) == (2, 0)
    assert {each["task"] for each in found["under_way"]} == {"t", "v"}


def test_follower_counts_damaged_records_as_unreadable(folder: Path) -> None:
    (failed,) = (folder / "first" / "trials").glob("u.*")
    (failed / "trial.json").write_text("{")
    (begun,) = (folder / "first" / "trials").glob("v.*")
    (begun / "started.json").write_text('{"key": 5}')
    (folder / "first" / "plan.json").write_text("[]")
    found = Follower(folder / "first").look()
    assert (found["ended"], found["unreadable"]) == (1, 1)
    assert [each["task"] for each in found["under_way"]] == [begun.name]


@pytest.mark.skipif(not LOCKS.exists(), reason="only Linux tells who holds a file")
def test_run_state_is_going_on_stopped_or_finished(folder: Path) -> None:
    run = folder / "first"
    assert Follower(run).look()["state"] == "stopped"
    held = claim(run)
    assert held is not None
    try:
        assert is_held(run)
        assert Follower(run).look()["state"] == "going on"
    finally:
        os.close(held)
    (run / "summary.json").write_text("{}")
    assert Follower(run).look()["state"] == "finished"
    assert is_held(run, Path("/nowhere")) is None
    assert is_held(folder / "none") is None


@pytest.mark.skipif(not LOCKS.exists(), reason="only Linux tells who holds a file")
def test_follower_does_not_lock_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a run that begins now would find its folder taken")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert Follower(folder / "first").look()["ended"] == 2


def test_listing_is_newest_first_and_includes_new_and_damaged_runs(server: RunsServer, folder: Path) -> None:
    make_run(folder / "second", started=1_800_000_000.0)
    (folder / "third").mkdir()
    (folder / "third" / "run.json").write_text('{"schema_version": 99}')
    runs = fetch_json(server, "/runs.json")["runs"]
    assert [(run["name"], run.get("ended")) for run in runs] == [("second", 0), ("first", 2), ("third", None)]
    assert "expected a run of schema version" in runs[2]["problem"]


def test_listing_is_empty_before_the_first_run(tmp_path: Path) -> None:
    with RunsServer(tmp_path / "webarena-runs") as server:
        assert server.listing()["runs"] == []


def test_named_run_outside_the_folder_is_listed(folder: Path, tmp_path: Path) -> None:
    with RunsServer(tmp_path / "none", named=[folder / "first"]) as server:
        assert [run["name"] for run in server.listing()["runs"]] == ["first"]


def test_view_page_is_rebuilt_when_there_are_new_records(server: RunsServer, folder: Path) -> None:
    answer, first = get(server, "/runs/first/view.html")
    assert (answer.status, b"</html>" in first) == (200, True)
    page = server.view(folder / "first")
    made = page.stat().st_mtime_ns
    assert server.view(folder / "first").stat().st_mtime_ns == made
    make_trial(make_run(folder / "first"), "w")
    assert get(server, "/runs/first/view.html")[1].count(b"application/x-trial") == 3
    assert not (folder / "first" / "view.html").exists()


def test_screenshots_beyond_the_page_budget_are_served(
    server: RunsServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_webarena.results.following.PICTURE_BUDGET", 0)
    picture = next((folder / "first" / "trials").glob("*/attempt-1/screenshots/*"))
    address = picture.relative_to(folder / "first").as_posix()
    get(server, "/runs/first/view.html")
    answer, body = get(server, f"/runs/first/{address}")
    assert (answer.status, body) == (200, picture.read_bytes())
    assert answer.getheader("Content-Type", "").startswith("image/")


@pytest.mark.parametrize(
    "path",
    [
        "/runs/none/",
        "/runs/none/progress.json",
        "/runs/../first/",
        "/runs/first/run.json",
        "/runs/first/trials/../run.json",
        "/runs/first/trials/%2e%2e/run.json",
        "/runs/first/trials/..%2f..%2f..%2fsecret.png",
        "/runs/first/trials/%2fetc%2fpasswd",
        "/runs/first/trials/none.png",
        "/nothing",
    ],
)
def test_server_answers_404_for_other_paths(server: RunsServer, folder: Path, path: str) -> None:
    (folder.parent / "secret.png").write_bytes(b"secret")
    answer, body = get(server, path)
    assert (answer.status, b"secret" in body) == (404, False)


@pytest.mark.parametrize("place", ["runs/{}", "runs/{}/", "runs/first/trials/{}.png", "{}", "runs/{}/view.html"])
def test_error_pages_do_not_echo_the_requested_path(server: RunsServer, place: str) -> None:
    for name in ("x%0d%0aSet-Cookie:%20a=b", "x%0aSet-Cookie:%20a=b", "%00", "a" * 5000, "<b>aaa</b>"):
        answer, body = get(server, f"/{place.format(name)}")
        assert answer.status in (404, 500)
        assert body in (
            b"There is no such run, or nothing of that name in it.\n",
            b"It can't be read: File name too long\n",
        )
        assert not {"Set-Cookie", "Location"} & set(answer.headers)


def test_redirect_escapes_run_names_in_the_location_header(server: RunsServer, folder: Path) -> None:
    (folder / "first").rename(folder / "odd\r\nSet-Cookie: a=b?#/".rstrip("/"))
    answer, _ = get(server, "/runs/odd%0D%0ASet-Cookie%3A%20a%3Db%3F%23")
    assert (answer.status, answer.headers["Location"]) == (303, "/runs/odd%0D%0ASet-Cookie%3A%20a%3Db%3F%23/")
    assert "Set-Cookie" not in answer.headers


def test_invalid_request_method_is_not_echoed(server: RunsServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("<b>ME</b>", "/")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (501, b"Not Implemented\n")


def test_headers_with_line_breaks_are_refused() -> None:
    handler = PageHandler.__new__(PageHandler)
    with pytest.raises(ValueError, match="expected a header on one line"):
        handler.send_header("Location", "/a\r\nSet-Cookie: a=b")
    assert issubclass(server_of_recorder._Handler, PageHandler)


def test_requests_from_other_origins_are_refused(server: RunsServer) -> None:
    assert get(server, "/runs.json", Host="evil.test")[0].status == 403
    assert get(server, "/runs.json", Host=f"evil.test:{server.server_port}")[0].status == 403
    assert get(server, "/runs.json", Host=f"localhost:{server.server_port}")[0].status == 200
    answer, page = get(server, "/")
    assert answer.getheader("Access-Control-Allow-Origin") is None
    assert answer.getheader("Content-Security-Policy") == "frame-ancestors 'none'"
    assert b"default-src 'none'; script-src 'sha256-" in page
    assert b"<script src" not in page, "one answer: a browser whose network changes breaks off requests"


def test_unusable_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match=r"found \d+, which is taken"):
            RunsServer(tmp_path, port=taken.getsockname()[1])
    with pytest.raises(UsageError, match=r"found 70000, which can not be had"):
        RunsServer(tmp_path, port=70000)


def test_view_serve_refuses_contradicting_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(folder / "first"), "--serve", "-o", "x.html"]) == 2
    assert "expected no --output, found both" in capsys.readouterr().err
    assert main(["view", str(folder / "first"), "--port", "8000"]) == 2
    assert "expected --serve" in capsys.readouterr().err
    assert main(["view", str(folder / "none"), "--serve"]) == 2
    assert "expected a run directory" in capsys.readouterr().err
