"""A trial as one file: there and back, and files that somebody else made."""

from __future__ import annotations

import json
import stat
import zipfile
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


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a trial that was recorded, with a task file beside."""
    attempt = record_trial(
        tmp_path / "run", "buy", [(SEEN, Click(Element("1")), None), (SEEN, Stop("x"), None)], answer="x"
    )
    (tmp_path / "a.tasks.yaml").write_text("tasks: []")
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(attempt.parent), "-o", "out/trial.zip", "--tasks", "a.tasks.yaml"]) == 0
    return tmp_path / "out" / "trial.zip"


def test_there_and_back(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert is_trial_file(packed)
    assert main(["import", str(packed), "-o", "back"]) == 0
    assert "pytest --rescore=back back/tasks/a.tasks.yaml" in capsys.readouterr().out
    before, after = RunDir(tmp_path / "run"), RunDir(tmp_path / "back")
    assert after.records() == before.records()
    (record,) = after.records()
    folders = [run.folder(record.key).path for run in (before, after)]
    names = [sorted(str(file.relative_to(folder)) for file in folder.rglob("*")) for folder in folders]
    assert names[0] == names[1]
    assert read_evidence(folders[1] / "attempt-1") == read_evidence(folders[0] / "attempt-1")


def test_the_same_trial_is_the_same_file(packed: Path, tmp_path: Path) -> None:
    folder = next((tmp_path / "run" / "trials").iterdir())
    assert main(["export", str(folder), "-o", "again.zip", "--tasks", "a.tasks.yaml"]) == 0
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_nothing_is_written_over(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = next((tmp_path / "run" / "trials").iterdir())
    assert main(["export", str(folder), "-o", str(packed)]) == 2
    assert main(["import", str(packed), "-o", str(tmp_path / "run")]) == 2
    assert main(["export", str(folder.with_name("another"))]) == 2
    assert "expected the folder of a finished trial" in capsys.readouterr().err


def hostile(packed: Path, target: Path, name: str, *, link: bool = False) -> Path:
    """A copy of the file with one more entry."""
    with zipfile.ZipFile(packed) as archive, zipfile.ZipFile(target, "w") as other:
        for entry in archive.infolist():
            other.writestr(entry, archive.read(entry))
        entry = zipfile.ZipInfo(name)
        entry.external_attr = ((stat.S_IFLNK | 0o777) if link else (stat.S_IFREG | 0o644)) << 16
        other.writestr(entry, "/etc/passwd")
    return target


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("../outside", False),
        ("trials/../../outside", False),
        ("/outside", False),
        ("trials\\..\\outside", False),
        ("outside", False),
        ("trials/link", True),
        ("trials/other/trial.json", False),
    ],
)
def test_entries_that_lead_elsewhere_are_refused(packed: Path, tmp_path: Path, name: str, link: bool) -> None:
    file = hostile(packed, tmp_path / "hostile.zip", name, link=link)
    known = set(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=r"expected (files of a trial alone|the one trial)"):
        unpack_trial(file, tmp_path / "back")
    assert set(tmp_path.rglob("*")) == known


@pytest.mark.parametrize("damage", ["cut", "none", "version", "key"])
def test_what_is_no_trial_is_told(packed: Path, tmp_path: Path, damage: str) -> None:
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
                told = archive.read(entry)
                if entry.filename == MANIFEST:
                    plain = json.loads(told)
                    plain |= {"schema_version": 99} if damage == "version" else {"key": {**plain["key"], "task": "z"}}
                    told = json.dumps(plain).encode()
                other.writestr(entry, told)
    known = set(tmp_path.iterdir())
    with pytest.raises(UsageError, match="expected"):
        unpack_trial(file, tmp_path / "back")
    assert set(tmp_path.iterdir()) == known
