"""``webarena tasks monitor`` on a real site that changes between two checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.monitoring.history import History
from tests.model_server import model_server
from tests.sealed import sealed

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

APP = """
NEW = {new}

def create_app(data_dir):
    def app(environ, start_response):
        path, status = environ["PATH_INFO"], "200 OK"
        if NEW and path == "/members":
            status = "403 Forbidden"
        elif NEW and path == "/news":
            status = "500 Sorry"
        button = "<button class=purchase>Buy now</button>" if NEW else "<button id=buy>Buy now</button>"
        if status != "200 OK":
            body = "<h1>" + status + "</h1>"
        elif path == "/kettle":
            body = button + "<p>A kettle <a id=pour href=" + ("/sink" if NEW else "/pour") + ">Pour</a>"
        else:
            body = "<nav><a id=kettle href=/kettle>Kettle</a> <a id=news href=/news>News</a></nav>" + path
        start_response(status, [("Content-Type", "text/html")])
        return [("<title>Shop</title>" + body).encode()]
    return app
"""
SITES = """
schema_version: 1
apps:
  moving:
    backend: process
    sites:
      moving: {host: moving.localhost}
    process: {factory: "moving:create_app"}
"""
TASKS = """
tasks:
  - id: same
    sites: [moving]
    intent: Look at the kettle.
    checks: [{key_nodes: [{url: {includes: /kettle}, name: kettle}]}, {url: moving:/kettle}]
    solution: [{click: css=#kettle}]
  - id: renamed
    sites: [moving]
    intent: Buy the kettle.
    checks: [{key_nodes: [{element: {locate: "#buy", event: click}, name: bought}]}]
    solution: [{goto: /kettle}, {click: css=#buy}]
  - id: gone
    sites: [moving]
    intent: Pour.
    checks: [{key_nodes: [{url: {includes: /kettle}}, {url: {includes: /pour}, name: poured}]}]
    solution: [{goto: /kettle}, {click: css=#pour}]
  - id: members
    sites: [moving]
    intent: See the members.
    checks: [{page: {locate: css=nav, includes: Kettle}}, {key_nodes: [{url: {includes: /members}}]}]
    solution: [{goto: /members}]
  - id: news
    sites: [moving]
    intent: Read the news.
    checks: [{page: {locate: css=nav, includes: Kettle}}]
    solution: [{click: css=#news}]
  - id: recorded
    sites: [moving]
    intent: Find the kettle.
    checks: [{key_nodes: [{url: {includes: /kettle}}, {element: "css=#pour", name: pour}]}]
    source:
      hosts: {moving: www.moving.example}
      recorded: ["https://www.moving.example/kettle", "https://www.moving.example/kettle"]
"""


@pytest.mark.exhaustive
def test_monitor_reports_changes_between_two_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sites.yaml").write_text(SITES)
    (tmp_path / "a.tasks.yaml").write_text(TASKS)

    def check(*, new: bool) -> tuple[int, dict[str, Any]]:
        (tmp_path / "moving.py").write_text(APP.replace("{new}", str(new)))
        code = main(["tasks", "monitor", "a.tasks.yaml", "--sites=sites.yaml"])
        capsys.readouterr()
        return code, {
            each["task"]: each for each in json.loads(Path("webarena-monitor/report.json").read_text())["tasks"]
        }

    code, found = check(new=False)
    assert {name: (each["status"], each["why"]) for name, each in found.items()} == dict.fromkeys(found, ("valid", ""))
    assert code == 0
    code, found = check(new=True)
    assert {name: each["status"] for name, each in found.items()} == {
        "same": "valid",
        "renamed": "drifted",
        "gone": "broken",
        "members": "blocked",
        "news": "site down",
        "recorded": "valid",
    }
    assert code == 1
    assert [part["status"] for part in found["renamed"]["parts"]] == ["valid", "drifted", "valid", "drifted"]
    assert "found by role and name" in found["renamed"]["why"]
    assert "moving.localhost/members answered 403" in found["members"]["why"]
    screenshots = Path(found["renamed"]["attempt"]) / "screenshots"
    assert {path.stem for path in screenshots.iterdir()} >= {"000", "001", "002"}
    assert Path("webarena-monitor/report.html").read_text().count("data:image/jpeg") >= 8
    alerts = json.loads(Path("webarena-monitor/alerts.json").read_text())["alerts"]
    assert {each["task"]: each["was"] for each in alerts} == dict.fromkeys(
        ["renamed", "gone", "members", "news"], "valid"
    )
    assert len(History(Path("webarena-monitor")).entries) == 12


RULED = """
tasks:
  - id: ruled
    sites: [moving]
    intent: Look at the kettle.
    checks: [{key_nodes: [{url: {semantic: It is of a kettle}, name: kettle}]}]
    solution: [{click: css=#kettle}]
"""


@pytest.mark.exhaustive
def test_monitor_asks_judge_about_key_nodes_with_a_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sites.yaml").write_text(SITES)
    (tmp_path / "moving.py").write_text(APP.replace("{new}", "False"))
    (tmp_path / "a.tasks.yaml").write_text(RULED)

    def check(*judge: str) -> tuple[int, dict[str, Any]]:
        code = main(["tasks", "monitor", "a.tasks.yaml", "--sites=sites.yaml", *judge])
        capsys.readouterr()
        return code, json.loads(Path("webarena-monitor/report.json").read_text())["tasks"][0]

    with model_server(sealed("GRADE: 1")) as server:
        named = ("--judge=scripted-1", f"--judge-url={server.url}", "--judge-key-env=none")
        code, found = check(*named)
        assert (code, found["status"], server.requests) == (0, "valid", 1), found
        code, found = check(*named)
        assert (code, found["status"], server.requests) == (0, "valid", 1)  # its replies are stored
    code, found = check()
    assert (code, found["status"]) == (3, "untried")
    assert "--judge" in found["parts"][-1]["why"]
