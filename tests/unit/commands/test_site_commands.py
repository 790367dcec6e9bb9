"""``webarena sites``: sites that stay up between commands, the list and the doctor."""

from __future__ import annotations

import http.client
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.commands import suite_sites
from pytest_webarena.commands.cli import main
from pytest_webarena.commands.suite_sites import visit_sites
from pytest_webarena.errors import BrowserError, SiteBlocked, SiteError, UsageError, WebArenaError
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.site_addresses import parse_site_urls
from pytest_webarena.sites.doctor import Diagnosis
from pytest_webarena.sites.site_daemon import DaemonClient, state_directory

SITES = """
apps:
  notes:
    backend: process
    sites: {notes: {host: notes.test}}
    process: {command: ["{python}", -u, notes.py, "{port}", "{data_dir}"]}
    ready: [{http: /}]
  lost:
    backend: external
    sites: {lost: {url: "http://127.0.0.1:9"}}
"""
PROGRAM = """
import http.server, pathlib, sys
notes = pathlib.Path(sys.argv[2], "notes")

class Notes(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/add":
            notes.write_text("added")
        body = notes.read_text() if notes.exists() else "pristine"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode())

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Notes).serve_forever()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a catalogue; its sites are stopped afterwards."""
    monkeypatch.setenv("WEBARENA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    (tmp_path / "sites.yaml").write_text(SITES)
    (tmp_path / "notes.py").write_text(PROGRAM)
    yield tmp_path
    if (client := DaemonClient.find("./sites.yaml")) is not None:
        client.end()


def get(proxy: str, url: str) -> str:
    connection = http.client.HTTPConnection(proxy.removeprefix("http://"), timeout=30)
    connection.request("GET", url)
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def test_sites_stay_up_between_commands(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sites", "up", "--sites=./sites.yaml"]) == 0
    stdout = capsys.readouterr().out
    assert "MISSING lost              nothing answers at http://127.0.0.1:9: Connection\n" in stdout
    assert "notes             up for " in stdout
    client = DaemonClient.find("./sites.yaml")
    assert client is not None
    proxy = client.status().proxy
    assert [get(proxy, "http://notes.test/add"), get(proxy, "http://notes.test/")] == ["added", "added"]

    assert main(["sites", "reset", "notes", "--sites=./sites.yaml"]) == 0
    assert get(proxy, "http://notes.test/") == "pristine"  # at the same proxy
    assert main(["sites", "logs", "notes", "--sites=./sites.yaml"]) == 0
    assert '"GET /add HTTP/1.1" 200' not in capsys.readouterr().out  # the reset started another process
    assert main(["sites", "open", "--sites=./sites.yaml"]) == 0
    assert f"curl --proxy {proxy} http://notes.test/" in capsys.readouterr().out

    assert main(["sites", "up", "--sites=./sites.yaml"]) == 2
    assert "sites of ./sites.yaml run already" in capsys.readouterr().err
    assert main(["sites", "status", "nots", "--sites=./sites.yaml"]) == 2
    assert "expected a site that runs (notes), found 'nots'" in capsys.readouterr().err
    assert main(["sites", "down", "--sites=./sites.yaml"]) == 0
    assert DaemonClient.find("./sites.yaml") is None
    with pytest.raises(ConnectionRefusedError):
        get(proxy, "http://notes.test/")


def test_status_and_down_without_running_sites(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sites", "down"]) == 0
    assert capsys.readouterr().out == "no sites of embedded run\n"
    assert main(["sites", "status"]) == 2
    assert "start them with: webarena sites up --sites=embedded" in capsys.readouterr().err
    state = state_directory("embedded")
    state.mkdir(parents=True)
    (state / "standing.json").write_text('{"owner": "1/2/of another boot", "address": "/nowhere"}')
    assert main(["sites", "status"]) == 2  # the file of a dead process is ignored
    assert not (state / "standing.json").exists()


@pytest.mark.parametrize("catalogue", ["embedded", "embedded-docker", "webarena", "webarena-verified"])
def test_catalogues_are_listed_in_80_columns(catalogue: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sites", "list", f"--sites={catalogue}"]) == 0
    stdout = capsys.readouterr().out
    assert "http://homepage.test/" in stdout or catalogue == "webarena-verified"
    assert [line for line in stdout.splitlines() if len(line) > 80 and "http://" not in line] == []


def test_site_urls_are_parsed() -> None:
    assert parse_site_urls(["a=http://x:1/", "b=https://y/z"]) == {"a": "http://x:1", "b": "https://y/z"}


def test_misspelt_site_url_is_an_error_and_a_new_site_is_added() -> None:
    with pytest.raises(UsageError, match=r"'shoping' \(did you mean 'shopping'\?\)"):
        load_catalogue("embedded", site_urls={"shoping": "http://x:1"})
    catalogue = load_catalogue("embedded", site_urls={"shop": "http://x:1", "shopping": "http://y:2"})
    assert {catalogue.apps[catalogue.sites[name].app].backend for name in ("shop", "shopping")} == {"external"}


MEASURED = """
apps:
  reader:
    backend: process
    sites: {reader: {host: reader.test}}
    process: {command: ["{python}", -u, notes.py, "{port}", "{data_dir}"]}
    ready: [{http: /}]
  writer:
    backend: process
    sites: {writer: {host: writer.test, start: /add}}
    process: {command: ["{python}", -u, notes.py, "{port}", "{data_dir}"]}
  boaster:
    backend: process
    reuse: clean
    sites: {boaster: {host: boaster.test, start: /later}}
    process: {command: ["{python}", -u, notes.py, "{port}", "{data_dir}"]}
  knower:
    backend: process
    reuse: never
    sites: {knower: {host: knower.test}}
    process: {command: ["{python}", -u, notes.py, "{port}", "{data_dir}"]}
  breaker:
    backend: process
    sites: {breaker: {host: breaker.test}}
    process: {command: ["{python}", -c, "raise SystemExit('no database')", "{port}"]}
"""


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[Diagnosis]:
    """What visits in a browser find, without visits; tests/browser/test_hosted_sites.py makes them."""
    found: list[Diagnosis] = []
    monkeypatch.setattr("pytest_webarena.commands.suite_sites.visit_sites", lambda *asked: list(found))
    needs = Diagnosis(subject="writer", state="note", text="its pages need pictures.test")
    monkeypatch.setattr("pytest_webarena.commands.sites.examine_other_hosts", lambda *asked: [needs])
    browser = SimpleNamespace(name="chromium", executable="chromium")
    monkeypatch.setattr("pytest_webarena.browser.launching.discovery.find_browser", lambda executable: browser)
    return found


def test_doctor_measures_whether_replicas_can_be_reused_clean(
    project: Path, capsys: pytest.CaptureFixture[str], visited: list[Diagnosis]
) -> None:
    (project / "sites.yaml").write_text(MEASURED)
    late = (
        'import threading; threading.Timer(0.2, notes.write_text, ["late"]).start() if self.path == "/later" else None'
    )
    program = PROGRAM.replace("    def do_GET(self):\n", f"    def do_GET(self):\n        {late}\n")
    (project / "notes.py").write_text(program)
    assert main(["sites", "doctor", "--sites=./sites.yaml"]) == 1
    stdout = " ".join(capsys.readouterr().out.split())
    assert (
        "note reader reuse: clean would be safe: 2 rounds of its start pages changed nothing that can be seen."
        in stdout
    )
    assert "ok writer reuse: clean would not be safe: notes appears, after GET /add, round 1" in stdout
    assert "note boaster it sets reuse: clean, which is not safe: notes appears, after GET /later, round 1" in stdout
    assert "FAILED breaker it could not be started: it ended with exit code 1; last log lines: no database" in stdout
    assert "knower reuse" not in stdout
    main(["sites", "doctor", "--sites=./sites.yaml", "--quick", "writer"])
    assert "reuse" not in capsys.readouterr().out


def test_doctor_fails_when_a_sign_in_fails(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, visited: list[Diagnosis]
) -> None:
    (project / "sites.yaml").write_text(MEASURED)
    monkeypatch.setattr("pytest_webarena.commands.sites._reuse", lambda *asked: ())
    failed = Diagnosis(subject="writer", state="failed", text="signing in to writer as emma: wrong password")
    noted = Diagnosis(subject="writer", state="note", text="one account: nothing to compare with")
    for found, code in ((failed, 1), (noted, 0)):
        visited[:] = [found]
        assert main(["sites", "doctor", "--sites=./sites.yaml", "writer"]) == code
        stdout = capsys.readouterr().out
        assert "its pages need pictures.test" in stdout
        assert ("FAILED" in stdout) is stdout.endswith("nothing is missing, 1 failed\n") is bool(code)


@pytest.mark.parametrize(("error", "state"), [(SiteError, "failed"), (SiteBlocked, "note"), (BrowserError, "note")])
def test_doctor_fails_for_an_app_that_can_not_be_visited_because_of_itself(
    project: Path, monkeypatch: pytest.MonkeyPatch, error: type[WebArenaError], state: str
) -> None:
    def leased(*asked: object) -> None:
        raise error("it ended with exit code 3")

    monkeypatch.setattr("pytest_webarena.commands.suite_sites._Sites._leased", leased)
    options = Namespace(suite=None, report=None, site_url=[])
    catalogue = load_catalogue("./sites.yaml")
    (found,) = suite_sites.visit_sites(options, catalogue, [catalogue.apps["notes"]])
    text = "Its sites could not be examined: it ended with exit code 3"
    assert found == Diagnosis(subject="notes", state=state, text=text)  # type: ignore[arg-type]


def test_doctor_refuses_a_report_of_sites_that_it_does_not_visit(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "sites.yaml").write_text(MEASURED)
    assert main(["sites", "doctor", "--sites=./sites.yaml", "--quick", "--report=r.md"]) == 2
    assert "--quick: expected no --suite and --report" in capsys.readouterr().err


def test_secrets_of_a_catalogue_are_masked_in_output_and_report(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMMA_PW", "opensesame")
    (project / "sites.yaml").write_text(
        "apps:\n  lost:\n    backend: external\n    users: {emma: {password_env: EMMA_PW}}\n"
        '    sites: {lost: {url: "http://127.0.0.1:9"}}\n'
    )

    def examine(*_: object, **__: object) -> list[Diagnosis]:
        print("opensesame", file=sys.stderr)
        return [Diagnosis(subject="lost", state="failed", text="found opensesame")]

    monkeypatch.setattr("pytest_webarena.sites.doctor.examine", examine)
    main(["sites", "doctor", "--sites=./sites.yaml", "--quick"])
    out, err = capsys.readouterr()
    assert ("found [secret]" in out, err.partition("\n")[0]) == (True, "[secret]")
    assert "opensesame" not in out
    catalogue: Any = SimpleNamespace(name="opensesame")
    list(visit_sites(Namespace(suite="", report="r.md"), catalogue, []))
    assert (project / "r.md").read_text().startswith("# Sites of [secret]")
