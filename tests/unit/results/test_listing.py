"""The list of a project's runs, and the default run of commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.results.listing import chosen_run, find_runs, list_runs

RATE = {"passed": 3, "judged": 4, "errors": 0}


def make(project: Path, name: str, started: float, *, agents: dict[str, object] | None = None) -> Path:
    folder = project / "webarena-runs" / name
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"schema_version": 1, "started": started}))
    if agents is not None:
        (folder / "summary.json").write_text(json.dumps({"agents": agents}))
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with three runs, the newest unfinished; the working directory is a folder of the project."""
    make(tmp_path, "b-first", 1e9, agents={"mine": {"rate": RATE}, "theirs": {"rate": {**RATE, "errors": 2}}})
    make(tmp_path, "a-second", 1.1e9, agents={"mine": {"rate": RATE}})
    make(tmp_path, "0-third", 1.2e9)
    (tmp_path / "webarena-runs" / "latest").symlink_to("b-first")
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    return tmp_path


def test_runs_list_is_newest_first_without_duplicates(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list"]) == 0
    *lines, elsewhere = capsys.readouterr().out.splitlines()
    assert elsewhere.strip() == "not here: runs of --run-dir elsewhere; webarena runs list DIR"
    assert [line.split("/")[-1] for line in lines[::2]] == ["0-third", "a-second", "b-first"]
    assert [line.strip() for line in lines[1::2]] == [
        "not finished; pytest --resume=../webarena-runs/0-third",
        "mine 3/4",
        "mine 3/4, theirs 3/4 +2E",
    ]
    assert max(map(len, lines)) <= 80


def test_runs_list_shows_undecided_trials_as_a_range(project: Path) -> None:
    make(project, "d", 1.3e9, agents={"mine": {"rate": {**RATE, "errors": 1}, "undecided": 1}})
    assert list_runs(find_runs(project))[0].rates == ("mine 3–4/4 +1E",)


def test_runs_list_limits_rows_and_counts_the_rest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list", "-n", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].strip() == "and 2 older ones (-n 0)"
    assert main(["runs", "list", "-n", "0", "--format", "json"]) == 0
    assert [run["finished"] for run in json.loads(capsys.readouterr().out)] == [False, True, True]


def test_damaged_runs_are_listed_without_rates(project: Path) -> None:
    folder = project / "webarena-runs"
    (folder / "a-second" / "summary.json").write_text('{"agents": {"mine": {"rate": 5}, "theirs": []}}')
    (folder / "b-first" / "run.json").write_text("{")
    (folder / "stray.txt").write_text("x")
    assert [(run.path.name, run.rates) for run in list_runs(folder)] == [("0-third", ()), ("a-second", ())]


def test_default_run_is_the_newest(project: Path) -> None:
    newest = project / "webarena-runs" / "0-third"
    assert chosen_run(None) == chosen_run(Path("latest")) == newest
    assert chosen_run(Path("other")) == Path("other")
    (project / "deep" / "latest").mkdir()
    assert chosen_run(Path("latest")) == Path("latest")


@pytest.mark.parametrize("fact", [{"audit": True}, {"on_record": "webarena-runs/a-second"}])
def test_default_run_with_rates_skips_audits_and_replays(project: Path, fact: dict[str, Any]) -> None:
    newest = project / "webarena-runs" / "0-third"
    facts = json.loads((newest / "run.json").read_text())
    (newest / "run.json").write_text(json.dumps({**facts, **fact}))
    assert chosen_run(None) == newest
    assert (
        chosen_run(None, with_rates=True) == chosen_run(Path("latest"), with_rates=True) == newest.parent / "a-second"
    )


def test_commands_print_the_default_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "gradings"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"of {project / 'webarena-runs' / '0-third'}\n"
    assert "no task of this run knows gradings" in captured.out


def test_missing_run_folder_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="expected a folder webarena-runs here or above"):
        find_runs(Path.cwd())
    (tmp_path / "webarena-runs").mkdir()
    with pytest.raises(UsageError, match="expected a run in"):
        chosen_run(None)


def test_runs_list_accepts_a_run_outside_the_folder(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make(project, "d", 1.3e9, agents={"mine": {"rate": RATE}}).rename(project / "elsewhere")
    assert main(["runs", "list", str(run)]) == 0
    assert [line.split("  ")[-1].strip() for line in capsys.readouterr().out.splitlines()] == [
        "../elsewhere",
        "mine 3/4",
    ]
