"""The registry of embedded apps, and the command that serves one."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from werkzeug.test import Client

from pytest_webarena.embedded import APPS, EmbeddedApp, get, serve, world
from pytest_webarena.errors import UsageError


def test_app_is_found_by_name_and_can_be_seeded(tmp_path: Path) -> None:
    app = get("homepage")

    assert app is APPS["homepage"]
    assert app.available
    app.seed(tmp_path / "new")
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"main.sqlite3"}
    assert Client(app.create_app(tmp_path / "new")).get("/healthz").status_code == 200


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=rf"'homepgae': did you mean 'homepage'\? known: {', '.join(sorted(APPS))}"):
        get("homepgae")


def test_missing_requirement_names_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("{extra: x, process: {needs: [yaml, no_such_thing]}}")
    app = EmbeddedApp(folder=tmp_path)

    assert not app.available
    with pytest.raises(UsageError, match=r"needs no_such_thing, .*pip install 'pytest-webarena\[x\]'"):
        app.seed(tmp_path)


def test_naming_apps_imports_none() -> None:
    code = "import sys, pytest_webarena.embedded; print(sorted({'flask', 'django', 'waitress'} & set(sys.modules)))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_serve_refuses_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.main(["nothing"]) == 2
    assert f"known: {', '.join(sorted(APPS))}" in capsys.readouterr().err


def test_serve_refuses_a_taken_port(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert serve.main(["homepage", "--port", str(port), "--data", str(tmp_path)]) == 2
    assert f"can't serve 'homepage' on 127.0.0.1:{port}" in capsys.readouterr().err


def test_serve_runs_until_terminated(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = [sys.executable, "-m", "pytest_webarena.embedded.serve", "homepage", "--port", "0", "--data", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            match = re.fullmatch(r"homepage: (http://127\.0\.0\.1:\d+/)\n", line)
            assert match, line
            with urllib.request.urlopen(match[1] + "healthz", timeout=10) as response:
                assert response.read() == b"ok\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()
    assert [path.name for path in data.iterdir()] == ["main.sqlite3"]


def test_serve_keeps_data_without_reseed_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_serve", lambda *_: None)
    serve.main(["homepage", "--data", str(tmp_path)])
    pristine = (tmp_path / "main.sqlite3").read_bytes()
    (tmp_path / "main.sqlite3").write_bytes(b"mine")

    serve.main(["homepage", "--data", str(tmp_path)])
    assert (tmp_path / "main.sqlite3").read_bytes() == b"mine"

    serve.main(["homepage", "--data", str(tmp_path), "--reseed"])
    assert (tmp_path / "main.sqlite3").read_bytes() == pristine


def test_every_site_has_a_title_on_the_start_page() -> None:
    sites = {site for app in APPS.values() for site in yaml.safe_load((app.folder / "site.yaml").read_bytes())["sites"]}
    named = {site.name for site in world.SITES}
    assert sites == named, (
        "add Site(name=…, title=…, blurb=…) to SITES in embedded/world.py: the start page links no other"
    )
