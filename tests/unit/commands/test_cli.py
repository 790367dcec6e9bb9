"""``webarena`` commands without sites and browser."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from pytest_webarena.commands import suites
from pytest_webarena.commands.cli import main
from pytest_webarena.commands.project import import_as_pytest
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.tasks.reference import SCHEMA_PATH


def test_agents_list_fits_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir("/")  # a folder with no other definitions
    assert main(["agents"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80 and not line.startswith("The definitions that came")] == []
    begun = [line.split(maxsplit=1) for line in lines if not line.startswith(" ")]
    assert ["direct", "WebArena's baseline that acts without saying why; two"] in begun, "the rest is on the next line"


@pytest.mark.parametrize("watched", [True, False])
def test_control_sequences_of_run_names_are_escaped_in_ci_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, watched: bool
) -> None:
    RunDir(tmp_path / "webarena-runs" / "a\x1b[2J\n::stop-commands::X").describe({"started": 1.0})
    monkeypatch.setenv("GITHUB_ACTIONS", "true" if watched else "")
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "list"]) == 0
    out = capsys.readouterr().out
    assert ("\x1b" in out) is not watched
    assert (r"\::stop-commands::X" in out) is watched
    assert main(["runs", "merge", "no\n::stop-commands::X", "-o", "out"]) == 2
    assert "\n::" not in capsys.readouterr().err


def test_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(SCHEMA_PATH.read_text("utf-8"))


def test_schema_is_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "editor" / "tasks.schema.json"
    assert main(["tasks", "schema", "--write", str(target)]) == 0
    assert f"# yaml-language-server: $schema={target}" in capsys.readouterr().out
    schema = json.loads(target.read_text("utf-8"))
    with pytest.raises(jsonschema.ValidationError, match="intent"):
        jsonschema.validate({"tasks": [{"id": "a", "sites": [], "checks": [{"answer": "x"}]}]}, schema)


def test_unwritable_schema_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "schema", "--write", str(tmp_path)]) == 2
    assert f"webarena tasks schema: --write {tmp_path}: expected a place for a file" in capsys.readouterr().err


CATALOGUE = "apps: {todo: {backend: process, sites: {todo: {host: todo.test}}, process: {command: [x, '{port}']}}}\n"
TASK = "tasks: [{id: a, intent: Say x, sites: [todo], checks: [{answer: x}]}]\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a catalogue, a task on its site and an unrelated folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("sites.yaml", CATALOGUE), ("tasks/a.yaml", TASK), ("sub/x.txt", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nwebarena_sites = sites.yaml\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\nwebarena_sites = 'sites.yaml'\n"),
        ("pytest.toml", "[pytest]\nwebarena_sites = 'sites.yaml'\n"),
    ],
)
def test_commands_use_the_catalogue_of_the_ini_file(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    assert main(["tasks", "validate", "tasks"]) == 1
    assert "'todo'" in capsys.readouterr().out
    (project / name).write_text(text)
    assert main(["tasks", "validate", "tasks"]) == 0
    assert main(["tasks", "validate", "tasks", "--sites=embedded"]) == 1  # the option takes precedence
    monkeypatch.chdir(project / "sub")
    capsys.readouterr()
    assert main(["sites", "list"]) == 0
    assert "http://todo.test" in capsys.readouterr().out


def test_commands_use_the_site_urls_of_the_ini_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pytest.ini").write_text("[pytest]\nwebarena_site_urls = homepage=http://home.example:8080\n")
    assert main(["sites", "list"]) == 0
    assert "http://home.example:8080" in capsys.readouterr().out
    (project / "pytest.ini").write_text("[pytest\n")
    assert main(["sites", "list"]) == 2
    assert "pytest.ini" in capsys.readouterr().err


def test_validate_uses_a_catalogue_named_with_the_tasks(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "validate", "tasks", "sites.yaml"]) == 0
    assert main(["tasks", "validate", "."]) == 0
    assert main(["tasks", "validate", "tasks", "sites.yaml", "--sites=embedded"]) == 1
    (project / "sites.yaml").write_text(CATALOGUE.replace("host", "hots"))
    capsys.readouterr()
    assert main(["tasks", "validate", "tasks", "sites.yaml"]) == 1
    stdout = capsys.readouterr().out
    assert "'hots'" in stdout
    assert "'todo'" not in stdout  # the catalogue must be fixed first


def test_commands_import_modules_as_pytest_does(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("tasks/own/conftest.py", "tasks/package/__init__.py", "tasks/package/conftest.py", "tasks/own/a.yaml"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
    (project / "pytest.ini").write_text("[pytest]\npythonpath = library\n")
    import_as_pytest([project / "tasks/own/a.yaml", project / "tasks/package/b.yaml"])
    found = {path for path in sys.path if Path(path).is_relative_to(project)}
    assert found == {str(project / name) for name in ("library", "tasks/own", "tasks")}


def test_validate_suggests_exact_for_equals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(
        "tasks: [{id: a, intent: x, sites: [homepage], checks: [{answer: {equals: x}}, {page: {open: /, equals: x}}]}]"
    )
    assert main(["tasks", "validate", str(tmp_path / "a.yaml")]) == 1
    assert capsys.readouterr().out.count("found 'equals' (did you mean 'exact'?)") == 2


def test_image_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_webarena.sites.container_images import DEBIAN_RECIPES, RECIPES

    with pytest.raises(SystemExit) as ended:
        main(["sites", "images", "build", "--help"])
    assert ended.value.code == 0
    listed = capsys.readouterr().out.partition("recipes:\n")[2].splitlines()
    assert {line.split()[0] for line in listed} == {*RECIPES, *DEBIAN_RECIPES, "debian"}
    assert "  debian-redmine    tracker: Redmine" in listed


def test_unknown_option_shows_usage_and_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["judge", "measure", "m", "--min-kappa", "0.3"])
    assert ended.value.code == 2
    stderr = capsys.readouterr().err
    assert stderr.startswith("usage: webarena judge measure ")
    assert stderr.endswith("unrecognized arguments: --min-kappa 0.3; did you mean --judge-min-kappa?\n")


def test_stats_of_the_shipped_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("tasks: [{id: a, intent: x, sites: [map], checks: [{answer: x}]}]")
    monkeypatch.setattr(suites, "shipped", lambda what: tmp_path)
    assert main(["tasks", "stats", "shipped"]) == 0
    assert "1 task" in capsys.readouterr().out


def test_an_interrupted_command_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_webarena.commands.cli.fill_in", interrupt)
    assert main(["tasks", "schema"]) == 130
    assert capsys.readouterr().err == "webarena tasks schema: interrupted\n"
