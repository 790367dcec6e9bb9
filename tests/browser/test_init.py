"""``webarena init``: its files are valid, and the user's files are not changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.commands.starter import start_project


def test_init_writes_valid_tasks_and_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`test_docs_run.py` runs them, following the tutorial."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert main(["tasks", "validate", ".", "--sites=./sites.yaml"]) == 0
    output = capsys.readouterr()
    assert "2 files, 2 tasks: no problems" in output.out
    assert not output.err
    tasks = tmp_path / "tasks" / "todo.yaml"
    tasks.write_text(tasks.read_text().replace("- changes:", "- not: {changes: nothing} #"))
    assert main(["tasks", "validate", ".", "--sites=./sites.yaml"]) == 0  # it may be meant
    assert "note: whatever else changes on the sites would pass in todo-milk: a task" in capsys.readouterr().err


def test_init_keeps_existing_files_and_prints_needed_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new"
    target.mkdir()
    (target / "sites.yaml").write_text("apps: {}\n")
    (target / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    assert main(["init", str(target)]) == 0
    output = capsys.readouterr().out
    assert (target / "sites.yaml").read_text() == "apps: {}\n"
    assert not (target / "pytest.ini").exists()
    assert re.search(r"sites\.yaml +exists and is unchanged", output)
    assert 'webarena_sites = "./sites.yaml"' in output
    written, kept, _ = start_project(target)
    assert not written
    assert len(kept) == 8
    assert start_project(target, ci="gitlab")[0] == [".gitlab-ci.yml"]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("tox.ini", "[pytest]\naddopts = -q\n", True),
        ("setup.cfg", "[tool:pytest]\n", True),
        ("setup.cfg", "[metadata]\n", False),
        ("pyproject.toml", "[tool.ruff]\n", False),
        ("pyproject.toml", "[[[", False),
        ("pytest.ini", "[pytest]\naddopts = -q\n", True),
    ],
)
def test_init_finds_existing_pytest_settings(tmp_path: Path, name: str, text: str, found: bool) -> None:
    (tmp_path / name).write_text(text)
    _, _, settings = start_project(tmp_path)
    assert settings == (tmp_path / name if found else None)
    assert (tmp_path / name).read_text() == text


def test_init_into_a_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", str(tmp_path / "file")]) == 2
    assert "expected a place for a file" in capsys.readouterr().err
