"""A trial as one file: export, import, and files from third parties."""

from __future__ import annotations

import json
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.actions import Click, Element, Stop
from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.one_file import MANIFEST, is_trial_file, unpack_trial
from pytest_webarena.results.rundir import RunDir
from tests.recordings import record_trial

SEEN = "[1] link 'Home'"
TASK = "tasks: [{id: buy, sites: [], intent: Say x., checks: [{answer: x}]}]"


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a recorded trial; its task file is in the same folder."""
    attempt = record_trial(
        tmp_path / "run", "buy", [(SEEN, Click(Element("1")), None), (SEEN, Stop("x"), None)], answer="x"
    )
    (tmp_path / "a.tasks.yaml").write_text(TASK)
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "export", str(attempt.parent), "-o", "out/trial.zip", "--tasks", "a.tasks.yaml"]) == 0
    return tmp_path / "out" / "trial.zip"


def test_exported_trial_can_be_imported(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert is_trial_file(packed)
    assert main(["runs", "import", str(packed), "-o", "back"]) == 0
    assert "pytest --rescore=back back/tasks/a.tasks.yaml" in capsys.readouterr().out
    before, after = RunDir(tmp_path / "run"), RunDir(tmp_path / "back")
    assert after.records() == before.records()
    (record,) = after.records()
    folders = [run.folder(record.key).path for run in (before, after)]
    names = [{str(file.relative_to(folder)) for file in folder.rglob("*")} for folder in folders]
    assert names[0] - names[1] == {"started.json"}
    assert names[1] <= names[0]
    assert main(["runs", "verify", "back"]) == 0
    assert read_evidence(folders[1] / "attempt-1") == read_evidence(folders[0] / "attempt-1")
    assert after.facts() == {**before.facts(), "imported": True, "package": "webarena-trial.json"}


def test_import_names_a_task_that_is_not_the_one_that_ran(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDir(tmp_path / "run")
    (record,) = run.records()
    run.folder(record.key).update(replace(record, task_digest="0" * 32))
    folder = run.folder(record.key).path
    assert main(["runs", "export", str(folder), "-o", "other.zip", "--tasks", "a.tasks.yaml"]) == 0
    assert main(["runs", "import", "other.zip", "-o", "back"]) == 0
    captured = capsys.readouterr()
    assert "note: read back/tasks/a.tasks.yaml before you judge the run again: it has another buy than" in captured.err
    assert "--rescore" not in captured.out


def test_export_is_reproducible(packed: Path, tmp_path: Path) -> None:
    folder = next((tmp_path / "run" / "trials").iterdir())
    assert main(["runs", "export", str(folder), "-o", "again.zip", "--tasks", "a.tasks.yaml"]) == 0
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_export_and_import_do_not_overwrite_files(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = next((tmp_path / "run" / "trials").iterdir())
    assert main(["runs", "export", str(folder), "-o", str(packed)]) == 2
    assert main(["runs", "import", str(packed), "-o", str(tmp_path / "run")]) == 2
    assert main(["runs", "export", str(folder.with_name("another"))]) == 2
    assert "expected the folder of a finished trial" in capsys.readouterr().err


def hostile(packed: Path, name: str, *, kind: int = stat.S_IFREG, data: bytes = b"x") -> Path:
    """Copy the file with one more entry; ``TRIAL`` in its name is the trial's folder."""
    target = packed.with_name("hostile.zip")
    with zipfile.ZipFile(packed) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as other:
        for entry in archive.infolist():
            other.writestr(entry, archive.read(entry))
        folder = next(each.split("/")[1] for each in archive.namelist() if each.startswith("trials/"))
        entry = zipfile.ZipInfo(name.replace("TRIAL", folder))
        entry.external_attr, entry.compress_type = (kind | 0o644) << 16, zipfile.ZIP_DEFLATED
        other.writestr(entry, data)
    return target


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(
            (name, stat.S_IFREG)
            for name in (
                "../outside",
                "trials/../../outside",
                "/outside",
                "trials\\..\\outside",
                "outside",
                "trials/other/trial.json",
                "conftest.py",
                "tasks/conftest.py",
                "tasks/pytest.ini",
                "tasks/second.yaml",
                "tasks/A.TASKS.YAML",
                "tasks/sub/a.yaml",
                "trials/TRIAL/conftest.py",
                "trials/TRIAL/attempt-1/test_it.txt",  # a doctest to pytest
                "trials/TRIAL/attempt-1/screenshots/",
                "trials/TRIAL/attempt-1/screenshots/000.pn\N{LATIN SMALL LETTER G WITH ACUTE}",
                "trials/TRIAL/attempt-\N{FULLWIDTH DIGIT ONE}/trial.json",
                "trials/TRIAL/TRIAL.json",
                "Run.json",
                "memory/a/b/00001.json",
                "plan.json",
            )
        ),
        ("trials/TRIAL/attempt-1/screenshots/000.png", stat.S_IFLNK),
        ("trials/TRIAL/attempt-1/screenshots/000.png", stat.S_IFIFO),
    ],
)
def test_import_refuses_entries_that_exports_do_not_write(packed: Path, tmp_path: Path, name: str, kind: int) -> None:
    file = hostile(packed, name, kind=kind)
    known = set(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=r"expected (only (plain )?files|each file of a trial once|one trial)"):
        unpack_trial(file, tmp_path / "back")
    assert set(tmp_path.rglob("*")) == known


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_import_refuses_duplicate_entries(packed: Path, tmp_path: Path) -> None:
    for name in ("trials/TRIAL/trial.json", "run.json", MANIFEST):
        with pytest.raises(UsageError, match="each file of a trial once"):
            unpack_trial(hostile(packed, name), tmp_path / "back")


def test_import_refuses_archives_above_the_unpacked_size_limit(packed: Path, tmp_path: Path) -> None:
    file = hostile(packed, "trials/TRIAL/attempt-1/trace.zip", data=bytes(101_000_000))
    with pytest.raises(UsageError, match=r"found 101,\d+,\d+ bytes, above 100,000,000 for an archive of"):
        unpack_trial(file, tmp_path / "back")


def test_export_leaves_out_files_of_the_agent(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = next((tmp_path / "run" / "trials").iterdir())
    (folder / "attempt-1" / "test_it.txt").write_text(">>> 1")
    assert main(["runs", "export", str(folder), "-o", "again.zip", "--tasks", "a.tasks.yaml"]) == 0
    assert "which are no records: attempt-1/test_it.txt" in capsys.readouterr().out
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (TASK.replace("{answer: x}", "{not: {python: 'os:system'}}"), "its checks call functions, which run as code"),
        ("kind: process\ncommand: [sh, -c, id]\n", "it is no task file of this version"),
        (TASK.replace("id: buy", "id: sell"), "it has no task buy"),
    ],
)
def test_import_does_not_suggest_rescore_with_task_file_that_runs_code(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str, why: str
) -> None:
    folder = next((tmp_path / "run" / "trials").iterdir())
    (tmp_path / "a.tasks.yaml").write_text(task)
    assert main(["runs", "export", str(folder), "-o", "other.zip", "--tasks", "a.tasks.yaml"]) == 0
    capsys.readouterr()
    assert main(["runs", "import", "other.zip", "-o", "back"]) == 0
    out, err = capsys.readouterr()
    assert "--rescore" not in out
    assert "webarena view back" in out
    assert why in err


@pytest.mark.parametrize("damage", ["cut", "none", "version", "key"])
def test_import_refuses_damaged_files(packed: Path, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "damaged.zip"
    if damage == "cut":
        data = packed.read_bytes()
        middle = data.index(b"steps.jsonl") + 60
        file.write_bytes(data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :])
    elif damage == "none":
        file.write_text("no archive")
    else:
        with zipfile.ZipFile(packed) as archive, zipfile.ZipFile(file, "w") as other:
            for entry in archive.infolist():
                content = archive.read(entry)
                if entry.filename == MANIFEST:
                    plain = json.loads(content)
                    plain |= {"schema_version": 99} if damage == "version" else {"key": {**plain["key"], "task": "z"}}
                    content = json.dumps(plain).encode()
                other.writestr(entry, content)
    known = set(tmp_path.iterdir())
    with pytest.raises(UsageError, match="expected"):
        unpack_trial(file, tmp_path / "back")
    assert set(tmp_path.iterdir()) == known
