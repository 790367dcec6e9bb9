"""Unreadable records: every command names them and exits with a code of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.reporting.allure import write_results
from pytest_webarena.results import RunDir, TrialKey
from pytest_webarena.results.export import export
from tests.made_up import make_run, make_trial

NEWER = {"schema_version": 99}


def damage(file: Path, how: str) -> None:
    text = file.read_text()
    file.unlink()
    if how == "a directory":
        file.mkdir()
        return
    file.write_text(
        {
            "half": text[: len(text) // 2],
            "empty": "",
            "newer": json.dumps({**json.loads(text), **NEWER}),
            "a list": "[]",
            "no key": json.dumps({name: value for name, value in json.loads(text).items() if name != "key"}),
            "a field": json.dumps({**json.loads(text), "brand_new": 1}),
            "an outcome": json.dumps({**json.loads(text), "outcome": "splendid"}),
            "infinite": text.replace('"score": 1.0', '"score": 1e999'),
            "a score": json.dumps({**json.loads(text), "score": "1"}),
            "a time": json.dumps({**json.loads(text), "seconds": {"total": float("nan")}}),
            "attempts": json.dumps({**json.loads(text), "attempts": [1]}),
            "nested": "[" * 100_000,
        }[how]
    )


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    made = make_run(tmp_path / "run")
    make_trial(made, "good")
    make_trial(made, "bad", task_digest="d")
    return made


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("half", "found none that can be read: "),
        ("empty", "found none that can be read: Expecting value"),
        ("newer", "schema version 14 or older, found 99"),
        ("a list", "expected a mapping, found a list"),
        ("no key", "lacks or adds a field: 'key'"),
        ("a field", "lacks or adds a field: .*brand_new"),
        ("an outcome", "outcome: expected passed, failed, error, found 'splendid'"),
        ("infinite", "score: expected finite numbers, found inf"),
        ("a score", "score: expected a number or null, found text"),
        ("a time", "seconds: expected finite numbers, found nan"),
        ("attempts", "lacks or adds a field: "),
        ("nested", "recursion"),
        ("a directory", "found none that can be read: Is a directory"),
    ],
)
def test_unreadable_record_is_reported_with_file_and_reason(run: RunDir, how: str, message: str) -> None:
    file = run.folder(TrialKey("bad", "a", 1)).path / "trial.json"
    damage(file, how)
    stored = run.read()
    assert [record.key.task for record in stored.records] == ["good"]
    (found,) = stored.unreadable
    assert found.folder == file.parent
    assert str(found).startswith(f"{file}: expected the record of a trial")
    with pytest.raises(ValueError, match=message):
        raise ValueError(str(found))


def test_record_in_another_trials_folder_is_unreadable(run: RunDir) -> None:
    folder = run.folder(TrialKey("bad", "a", 1)).path
    shutil.copytree(folder, folder.with_name("copy"))
    (found,) = run.read().unreadable
    assert f"expected the record of the trial in this folder, found that of {folder.name}" in str(found)
    assert len(run.read().records) == 2


@pytest.mark.parametrize(
    "command",
    ["compare tables RUN", "compare tables RUN --format=json", "compare gradings RUN",
     "compare gradings RUN --format=json", "runs har RUN -o OUT", "view RUN -o OUT/x.html", "runs merge RUN -o OUT"],
)  # fmt: skip
def test_commands_name_unreadable_record_and_exit_with_1(
    run: RunDir, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = command.replace("RUN", str(run.path)).replace("OUT", str(out)).split(" ")
    assert main(arguments) == 0
    assert "in no figure" not in capsys.readouterr().err
    shutil.rmtree(out, ignore_errors=True)
    damage(run.folder(TrialKey("bad", "a", 1)).path / "trial.json", "half")
    assert main(arguments) == 1
    assert f"in no figure: {run.path}/trials/bad.a.1" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compare tables", "runs har", "runs export-verified"])
def test_commands_name_unreadable_records_if_no_others_are_left(
    run: RunDir, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for task in ("good", "bad"):
        damage(run.folder(TrialKey(task, "a", 1)).path / "trial.json", "half")
    arguments = [*command.split(), str(run.path), *(["-o", str(tmp_path / "out")] if "tables" not in command else [])]
    assert main(arguments) == 2
    assert f"{run.path}/trials/bad.a.1" in capsys.readouterr().err


def test_merge_keeps_unreadable_record_unless_another_run_has_it(run: RunDir, tmp_path: Path) -> None:
    damage(run.folder(TrialKey("bad", "a", 1)).path / "trial.json", "newer")
    assert main(["runs", "merge", str(run.path), "-o", str(tmp_path / "out")]) == 1
    assert len(RunDir(tmp_path / "out").read().unreadable) == 1
    other = make_run(tmp_path / "other")
    make_trial(other, "bad", task_digest="d")
    assert (
        main(["runs", "merge", str(run.path), str(other.path), "-o", str(tmp_path / "both")]) == 1
    )  # it is reported nevertheless
    assert RunDir(tmp_path / "both").read().unreadable == ()
    assert len(RunDir(tmp_path / "both").records()) == 2


def test_merge_keeps_unfinished_trials(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run.folder(TrialKey("killed", "a", 1)).begin(worker="gw0", node_id="n")
    assert main(["runs", "merge", str(run.path), "-o", str(tmp_path / "out")]) == 0
    assert "cut off: 1 trial" in capsys.readouterr().out
    assert len(RunDir(tmp_path / "out").unfinished()) == 1


def test_exported_files_name_unreadable_records(run: RunDir, tmp_path: Path) -> None:
    damage(run.folder(TrialKey("bad", "a", 1)).path / "trial.json", "half")
    export(run)
    (name,) = json.loads((run.path / "summary.json").read_text())["unreadable"]
    assert "bad.a.1" in name
    write_results(run, tmp_path / "allure")
    assert any("bad.a.1" in file.read_text() for file in (tmp_path / "allure").glob("*globals.json"))


def test_new_attempt_keeps_unreadable_record(run: RunDir) -> None:
    folder = run.folder(TrialKey("bad", "a", 1))
    damage(folder.path / "trial.json", "newer")
    folder.begin(worker="main", node_id="n")
    (kept,) = folder.path.glob("unreadable-*.json")
    assert json.loads(kept.read_text())["schema_version"] == 99


def test_withdrawn_attempt_restores_unreadable_record(run: RunDir) -> None:
    folder = run.folder(TrialKey("bad", "a", 1))
    damage(folder.path / "trial.json", "newer")
    before = (folder.path / "trial.json").read_text()
    folder.withdraw(folder.begin(worker="main", node_id="n").number)
    assert (folder.path / "trial.json").read_text() == before
    assert not list(folder.path.glob("unreadable-*.json"))


@pytest.mark.parametrize("text", ["[]", '{"schema_version": 99}', "{}", "{"])
def test_unreadable_run_json_is_a_usage_error(run: RunDir, text: str) -> None:
    (run.path / "run.json").write_text(text)
    with pytest.raises(UsageError, match=r"expected a run"):
        run.facts()
