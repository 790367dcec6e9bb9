"""Edits of an imported package: ``webarena runs verify`` names each file, with what was expected and found."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.file_digests import seal
from pytest_webarena.results import RunDir
from pytest_webarena.results.conditions import RESCORED, add_note
from pytest_webarena.results.package_checks import digest, package_faults
from pytest_webarena.results.run_file import MANIFEST
from tests.unit.results.packed_runs import (
    DIGEST,
    TASKS,
    Change,
    add,
    break_tasks,
    claim_more,
    drop,
    edit_csv,
    edit_evidence,
    edit_readme,
    edit_sealed_summary,
    edit_summary,
    edit_tasks,
    make_run,
    remove_trial,
    rename_task,
)  # fmt: skip


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the run ``run``, its package ``mine.zip``, and what was imported of it, ``theirs``."""
    folder = tmp_path_factory.mktemp("package")
    make_run(folder / "run", answers={"buy": "x", "sell": "y"}, task_digest=DIGEST)
    (folder / "a.tasks.yaml").write_text(TASKS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["runs", "export", "run", "-o", "mine.zip"]) == 0
        assert main(["runs", "import", "mine.zip", "-o", "theirs"]) == 0
    return folder


@pytest.fixture
def theirs(exported: Path, tmp_path: Path) -> Path:
    """Return a copy of the imported run."""
    shutil.copytree(exported / "theirs", tmp_path / "theirs")
    return tmp_path / "theirs"


def edit(run: Path, change: Change, *, digests: bool) -> None:
    """Apply ``change`` to the files of a folder; with ``digests``, its manifest lists the new ones."""
    files = {file.relative_to(run).as_posix(): file for file in run.rglob("*") if file.is_file()}
    entries = {name: file.read_bytes() for name, file in files.items()}
    change(entries)
    if digests:
        manifest = json.loads(entries[MANIFEST])
        manifest["files"] = {name: digest(content) for name, content in entries.items() if name != MANIFEST}
        entries[MANIFEST] = json.dumps(manifest).encode()
    for file in files.values():
        file.unlink()
    for name, content in entries.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_bytes(content)


def test_imported_package_has_no_fault(theirs: Path) -> None:
    assert package_faults(theirs) == []


def older(entries: dict[str, bytes]) -> None:
    edit_readme(entries)
    entries[MANIFEST] = entries[MANIFEST].replace(b'"pytest_webarena": "', b'"pytest_webarena": "0.0.')


@pytest.mark.parametrize(
    ("change", "digests", "name", "found"),
    [
        (edit_csv, False, "results.csv", "with the SHA-256 "),
        (edit_csv, True, "results.csv", "failed"),
        (edit_readme, False, "README.md", "with the SHA-256 "),
        (edit_readme, True, "README.md", "90.0%"),
        (older, True, "README.md", "import the package again"),
        (drop("README.md"), True, "README.md", "found none"),
        (edit_tasks, False, "tasks/a.tasks.yaml", "with the SHA-256 "),
        (edit_tasks, True, "tasks/a.tasks.yaml", "that its trials ran"),
        (break_tasks, True, "tasks/a.tasks.yaml", "expected a task file"),
        (rename_task, True, "tasks/a.tasks.yaml", "found hire"),
        (add("trials/sell/started.json"), False, "trials/sell/started.json", "that it does not list"),
        (add("memory/a.json"), False, "memory/a.json", "that it does not list"),
        (edit_evidence, False, "evidence.json", "with the SHA-256 "),
        (edit_evidence, True, "evidence.json", "found it cut or changed"),
        (edit_summary, True, "summary.json", "found it changed"),
        (edit_sealed_summary, True, "summary.json", "1 in agents.clerk.rate.passed, found 2"),
        (claim_more, True, MANIFEST, "expected the figures of its records for clerk"),
        (remove_trial, False, "trial.json", "found none"),
        (add("leaderboards/webarena.csv"), True, "leaderboards/webarena.csv", "expected no such file"),
    ],
)
def test_verify_names_what_was_edited_after_the_import(
    theirs: Path, capsys: pytest.CaptureFixture[str], change: Change, digests: bool, name: str, found: str
) -> None:
    edit(theirs, change, digests=digests)
    assert main(["runs", "verify", str(theirs)]) == 1
    out = capsys.readouterr().out
    assert "judged again" not in out
    (line, *_) = [line for line in out.splitlines() if name in line and found in line]
    assert line.startswith(str(theirs))
    assert ": expected" in line


def test_link_in_an_imported_run_is_named(theirs: Path) -> None:
    (theirs / "README.md").rename(theirs / "view.html")
    (theirs / "README.md").symlink_to("view.html")
    assert package_faults(theirs)[0].endswith("…, found a link")


def test_outputs_of_commands_are_no_part_of_the_package(theirs: Path) -> None:
    assert main(["view", str(theirs)]) == 0
    assert main(["judge", "annotate", "sheet", str(theirs)]) == 0
    assert package_faults(theirs) == []


def test_verify_says_that_the_run_was_judged_again_here(theirs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_note(theirs / RESCORED, {"grading": {"name": "", "without": []}, "judge": None})
    assert main(["runs", "verify", str(theirs)]) == 1
    assert "it was judged again here" in capsys.readouterr().out


def test_imported_run_is_exported_as_the_same_package(
    exported: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(theirs.parent)  # without the original task file
    capsys.readouterr()
    assert main(["runs", "export", "theirs", "-o", "again.zip"]) == 0
    assert "sell" in capsys.readouterr().out  # the only task whose file never existed
    assert Path("again.zip").read_bytes() == (exported / "mine.zip").read_bytes()
    assert main(["runs", "import", "again.zip", "-o", "back"]) == 0
    assert RunDir(Path("back")).records() == RunDir(exported / "run").records()


def test_digests_of_a_package_are_those_of_its_files(exported: Path) -> None:
    with zipfile.ZipFile(exported / "mine.zip") as archive:
        listed = json.loads(archive.read(MANIFEST))["files"]
        assert listed == {name: digest(archive.read(name)) for name in archive.namelist() if name != MANIFEST}


def empty_plan(entries: dict[str, bytes]) -> None:
    plan = json.loads(entries["plan.json"])
    entries["plan.json"] = seal({**plan, "trials": []}).encode()


def hide_missing_task(entries: dict[str, bytes]) -> None:
    manifest = json.loads(entries[MANIFEST])
    entries[MANIFEST] = json.dumps({**manifest, "without_tasks": []}).encode()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (drop("plan.json"), "plan.json: expected the planned trials, found none"),
        (empty_plan, "plan.json: expected all trials that have a record, found no buy"),
        (hide_missing_task, "tasks: expected the task files of all trials, found none with sell"),
    ],
)
def test_records_without_a_plan_or_a_task_are_named(
    theirs: Path, capsys: pytest.CaptureFixture[str], change: Change, found: str
) -> None:
    edit(theirs, change, digests=True)
    assert main(["runs", "verify", str(theirs)]) == 1
    assert found in capsys.readouterr().out


def test_missing_list_of_imported_files_is_named(theirs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (theirs / MANIFEST).unlink()
    assert main(["runs", "verify", str(theirs)]) == 1
    assert f"{MANIFEST}: expected the list of the files that were imported" in capsys.readouterr().out


def test_rescoring_without_a_digest_is_refused(theirs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (theirs / RESCORED).write_text(json.dumps([{"grading": {"name": "", "without": []}, "judge": None}]))
    assert main(["runs", "verify", str(theirs)]) != 0
    assert "expected its entries as they were written" in "".join(capsys.readouterr())


@pytest.mark.parametrize("forge", ["trial", "records"])
def test_run_that_verify_rejects_is_not_exported(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], forge: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(exported / "run", run)
    if forge == "trial":
        shutil.rmtree(next((run / "trials").glob("sell*")))
        (run / "plan.json").unlink()
    else:
        entries = {file.as_posix(): file.read_bytes() for file in (run / "trials").glob("sell*/trial.json")}
        for name, content in entries.items():
            Path(name).write_text(seal({**json.loads(content), "outcome": "passed"}))
    assert main(["runs", "verify", str(run)]) == 1
    (sentence, *_) = capsys.readouterr().out.splitlines()
    assert main(["runs", "export", str(run), "-o", str(tmp_path / "out.zip")]) != 0
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out.zip").exists()
