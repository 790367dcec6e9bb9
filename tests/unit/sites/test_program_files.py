"""An app's program that is edited while a run uses it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.results import RunDir
from pytest_webarena.results.conditions import mixed, source_of
from pytest_webarena.results.export import export
from pytest_webarena.results.program_changes import program_changes
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest, ProcessManifest, VolumeManifest
from pytest_webarena.sites.catalogues.program_files import ProgramFiles, program_files
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from pytest_webarena.sites.protocol.messages import ReplicaInfo
from tests.made_up import make_run, make_trial

CATALOGUE = """
apps:
  shop:
    backend: process
    sites: {shop: {host: shop.test}}
    ready: [{http: /}]
    max_replicas: 1
    spares: 0
    process: {command: ["%s", app.py, "{port}"], data: ./data}
"""
SERVER = """
import http.server, sys
import words

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(words.GREETING.encode())

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def shop(tmp_path: Path) -> AppManifest:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "prices.csv").write_text("tea,3")
    (tmp_path / "app.py").write_text(SERVER)
    (tmp_path / "words.py").write_text("GREETING = 'Good morning'\n")
    (tmp_path / "my_agent.py").write_text("")  # next to the app, and none of its files
    (tmp_path / "sites.yaml").write_text(CATALOGUE % sys.executable)
    return load_catalogue(tmp_path / "sites.yaml").apps["shop"]


def names(app: AppManifest) -> list[str]:
    return sorted({path.name for path in program_files(app) if path.is_relative_to(app.folder)})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("{python}", "app.py", "{port}"), ["app.py", "words.py"]),
        (("{python}", "-m", "app", "--config=settings.toml"), ["app.py", "settings.toml", "words.py"]),
        (("gunicorn", "package.shop:app", "-b", "127.0.0.1:{port}"), ["__init__.py", "page.html", "shop.py"]),
        (("flask", "--app", "package", "run"), ["__init__.py", "page.html", "shop.py"]),
        (("sh", "-c", "exec node 'server.js' --port={port}"), ["server.js"]),
        (("./serve", "{port}"), ["serve"]),
        (("an unbalanced ' quote", "\0", "x" * 5000, "", ".", "/"), []),
    ],
)
def test_files_named_by_a_command(shop: AppManifest, command: tuple[str, ...], expected: list[str]) -> None:
    folder = shop.folder
    (folder / "package").mkdir()
    for name in ("settings.toml", "server.js", "other.js", "serve", "package/__init__.py", "package/page.html"):
        (folder / name).write_text("")
    (folder / "package" / "shop.py").write_text("import words")
    app = replace(shop, process=ProcessManifest(command=command))
    assert names(app) == expected


def test_variables_and_read_only_volumes_are_part_of_the_program(shop: AppManifest) -> None:
    assert names(replace(shop, process=ProcessManifest(command=("flask", "run"), env={"FLASK_APP": "app:make"}))) == [
        "app.py", "words.py",
    ]  # fmt: skip
    from pytest_webarena.sites.catalogues.manifest import DockerManifest

    volumes = (
        VolumeManifest(source=str(shop.folder / "data"), target="/x"),
        VolumeManifest(source=str(shop.folder / "words.py"), target="/y", mutable=True),
    )
    assert names(replace(shop, process=None, docker=DockerManifest(image="i", volumes=volumes))) == ["prices.csv"]


def test_change_names_the_file_and_reverting_it_ends_the_change(shop: AppManifest) -> None:
    files = ProgramFiles(shop)
    first = files.look(fresh=True)
    assert first.digest
    assert first.changed == ()
    (shop.folder / "my_agent.py").write_text("changed")
    assert files.look(fresh=True) == first
    words = (shop.folder / "words.py").read_text()
    (shop.folder / "words.py").write_text(words.replace("Good", "Fine"))
    os.utime(shop.folder / "words.py", ns=(1, 1))
    (shop.folder / "data" / "more.csv").write_text("")
    second = files.look(fresh=True)
    assert second.digest != first.digest
    assert second.changed == ("data/more.csv", "words.py")
    (shop.folder / "words.py").write_text(words)
    (shop.folder / "data" / "more.csv").unlink()
    assert files.look(fresh=True) == first


def test_catalogue_digest_depends_on_the_files_of_a_command(shop: AppManifest) -> None:
    file = shop.folder / "sites.yaml"
    assert load_catalogue(file).apps["shop"].digest == shop.digest
    (shop.folder / "words.py").write_text("GREETING = 'Bye'\n")
    assert load_catalogue(file).apps["shop"].digest != shop.digest


def test_broker_reports_with_which_program_each_replica_started(shop: AppManifest, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    config = BrokerConfig(catalogue=str(shop.folder / "sites.yaml"), run_dir=run_dir, max_replicas=1, spares=0)
    found: list[ReplicaInfo] = []
    with BrokerLauncher(config) as launcher:
        with BrokerClient(launcher.address, name="gw0") as client:
            for words in ("", "GREETING = 'Good evening'\n"):
                if words:
                    (shop.folder / "words.py").write_text(words)
                for _ in range(2):
                    with client.lease(["shop"], holder="t") as lease:
                        found += lease.replicas
        (shop.folder / "app.py").write_text(SERVER + "\n")
        report = launcher.stop()
    assert found[0].program_changes == ()
    assert found[-1].program_changes == ("words.py",)
    assert found[0].program != found[-1].program
    assert found[0].digest != found[-1].digest
    assert [note for note in report.notes if note.startswith("shop: app.py, words.py changed after its last replica")]


def program(digest: str, *changed: str) -> dict[str, object]:
    return {"programs": {"shop": {"digest": digest, "changed": list(changed)}}}


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    made = make_run(tmp_path / "made")
    for number in range(1, 7):
        environment = program("old") if number in (1, 2, 4) else program("new", "app.py")
        make_trial(made, f"t{number}", started=float(number), environment=environment, replicas={"shop": "d"})
    return made


def test_changed_program_is_reported_with_its_trials(run: RunDir) -> None:
    (change,) = program_changes(run.records())
    assert str(change) == (
        "shop: program file app.py changed during the run: trials 1-2, 4 ran with the old, 3, 5-6 with the new one"
    )
    export(run)
    assert '"files": [\n    "app.py"\n   ]' in (run.path / "summary.json").read_text()


def test_trials_with_different_programs_make_no_rate(run: RunDir) -> None:
    source = source_of(run.path, {}, run.records())
    assert [each.short for each in mixed(source)["a"]] == [
        "program of the site shop as at the start / app.py changed during the run"
    ]
    same = [record for record in run.records() if record.environment == program("old")]
    assert mixed(source_of(run.path, {}, same)) == {}
    assert program_changes(same) == []
