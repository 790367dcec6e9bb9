"""``webarena`` commands that need neither sites nor a browser."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.tasks.reference import json_schema


def test_agents_are_listed_within_the_terminals_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir("/")  # where there are no definitions beside the shipped ones
    assert main(["agents"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80 and not line.startswith("The definitions that came")] == []
    assert "direct           WebArena's baseline that acts without saying why; two examples," in lines


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema()


def test_the_schema_is_written_where_an_editor_finds_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "editor" / "tasks.schema.json"
    assert main(["schema", "--write", str(target)]) == 0
    assert f"# yaml-language-server: $schema={target}" in capsys.readouterr().out
    schema = json.loads(target.read_text("utf-8"))
    with pytest.raises(jsonschema.ValidationError, match="intent"):
        jsonschema.validate({"tasks": [{"id": "a", "sites": [], "checks": [{"answer": "x"}]}]}, schema)


def test_a_schema_that_can_not_be_written_is_said_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", "--write", str(tmp_path)]) == 2
    assert f"webarena schema: --write {tmp_path}: expected a place for a file" in capsys.readouterr().err
