"""A run as one file: what it contains, that others can check it, and what an import refuses."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.results import RunDir, TrialRecord
from pytest_webarena.results.export import export
from pytest_webarena.results.run_file import MANIFEST, unpack_run
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
    pass_all,
    remove_trial,
    rename_task,
)  # fmt: skip


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a run with a passed and a failed trial."""
    make_run(tmp_path / "run", answers={"buy": "x", "sell": "y"}, task_digest=DIGEST)
    (tmp_path / "a.tasks.yaml").write_text(TASKS)
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "export", "run", "-o", "mine.zip"]) == 0
    return tmp_path / "mine.zip"


def test_imported_run_is_verified_offline(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["runs", "import", str(packed), "-o", "theirs"]) == 0
    assert "pytest --rescore=theirs theirs/tasks/a.tasks.yaml" in capsys.readouterr().out
    assert main(["runs", "verify", "theirs"]) == 0
    assert "2 trials: all files are as they were written" in capsys.readouterr().out
    assert RunDir(tmp_path / "theirs").records() == RunDir(tmp_path / "run").records()
    assert RunDir(tmp_path / "theirs").facts()["imported"]


def test_readme_has_rates_commands_and_how_to_check_them(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        text = archive.read("README.md").decode()
    assert "| clerk | 50.0% |" in text
    assert "$ pytest a.tasks.yaml\n" in text
    assert "$ webarena runs import FILE -o checked" in text
    assert "$ pytest --rescore=checked checked/tasks" in text
    assert "Leaderboards" not in text


def test_same_run_gives_the_same_file(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert main(["runs", "export", "run", "-o", "other/mine.zip"]) == 0
    assert (tmp_path / "other" / "mine.zip").read_bytes() == packed.read_bytes()


def test_evidence_only_leaves_out_what_no_verdict_depends_on(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "export", "run", "-o", "small.zip", "--evidence-only"]) == 0
    with zipfile.ZipFile(packed) as whole, zipfile.ZipFile("small.zip") as small:
        missing = set(whole.namelist()) - set(small.namelist())
    assert {name.split("/")[3] for name in missing} == {"observations"}
    assert main(["runs", "import", "small.zip", "-o", "theirs"]) == 0
    assert main(["runs", "verify", "theirs"]) == 0


def changed(packed: Path, change: Change, *, digests: bool = True) -> Path:
    """Copy the file after ``change`` of its entries; with ``digests``, its manifest fits them."""
    with zipfile.ZipFile(packed) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        kinds = {entry.filename: entry.external_attr for entry in archive.infolist()}
    change(entries)
    if digests:
        manifest = json.loads(entries[MANIFEST])
        manifest["files"] = {n: hashlib.sha256(c).hexdigest() for n, c in entries.items() if n != MANIFEST}
        entries[MANIFEST] = json.dumps(manifest).encode()
    target = packed.with_name("changed.zip")
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = kinds.get(name, next(iter(kinds.values())))
            archive.writestr(entry, content)
    return target


@pytest.mark.parametrize(
    ("change", "digests", "message"),
    [
        (remove_trial, True, "found it removed"),
        (remove_trial, False, "trials/sell.*: expected a file with the SHA-256 .*, found none"),
        (pass_all, True, "it was changed after it was written"),
        (pass_all, False, "trial.json: expected the file as it was exported, with the SHA-256 .*, found "),
        (edit_evidence, True, "expected the file as written, found it cut or changed"),
        (edit_csv, True, r"results.csv: expected it as its records give it, '.*failed.* in line 3, found '.*passed"),
        (edit_summary, True, "summary.json: expected the file as it was written, found it changed"),
        (edit_sealed_summary, True, r"summary.json: .*, 1 in agents.clerk.rate.passed, found 2"),
        (claim_more, False, "expected the figures of its records for clerk: .*, found "),
        (edit_readme, True, "README.md: expected it as its records give it, .*50.0%.*, found .*90.0%"),
        (add("leaderboards/webarena.csv"), True, "leaderboards/webarena.csv: expected no such file"),
        (edit_tasks, True, "tasks/a.tasks.yaml: expected the task buy that its trials ran, with the digest "),
        (break_tasks, True, "tasks/a.tasks.yaml: expected a task file of this version"),
        (rename_task, True, "tasks/a.tasks.yaml: expected a task that its trials ran, found hire"),
        (add("trials/sell/started.json"), False, "trials/sell/started.json: expected only files of the package"),
        (add("README.md"), False, "README.md: expected the file as it was exported"),
        (drop("README.md"), False, "README.md: expected a file with the SHA-256 .*, found none"),
        (drop("run.json"), True, "found one without run.json"),
        (add("conftest.py"), True, "expected only files of a run, found 'conftest.py'"),
        (add("trials/x/conftest.py"), True, "expected only files of a run"),
        *(
            (add(name), True, "expected only files of a run")
            for name in ("leaderboards/../x.csv", "trials/../trial.json")
        ),
        (add("memory/a/b/00001.json"), True, "expected only files of a run"),
        (add("Plan.json"), True, "expected only files of a run"),
    ],
    ids=(
        *(
            "removed",
            "removed, old digests",
            "edited",
            "edited, old digests",
            "evidence",
            "csv",
            "summary",
            "sealed summary",
            "claim",
            "better readme",
            "leaderboard",
            "tasks",
            "broken tasks",
            "other tasks",
            "started",
            "other readme",
            "no readme",
        ),
        *("no run.json", "conftest", "conftest of a trial", "path upwards", "trial upwards", "memory", "other case"),
    ),
)
def test_import_refuses_a_file_that_does_not_fit_its_records(
    packed: Path, tmp_path: Path, change: Change, digests: bool, message: str
) -> None:
    file = changed(packed, change, digests=digests)
    known = set(tmp_path.iterdir())
    with pytest.raises(UsageError, match=message):
        unpack_run(file, tmp_path / "theirs")
    assert set(tmp_path.iterdir()) == known


def test_texts_of_another_version_are_written_again(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def older(entries: dict[str, bytes]) -> None:
        edit_readme(entries)
        entries[MANIFEST] = entries[MANIFEST].replace(b'"pytest_webarena": "', b'"pytest_webarena": "0.0.')

    assert main(["runs", "import", str(changed(packed, older)), "-o", "theirs"]) == 0
    assert "another version exported the run: README.md" in capsys.readouterr().out
    assert "50.0%" in (tmp_path / "theirs" / "README.md").read_text()


def test_archive_that_another_program_packed_again_is_read(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as archive, zipfile.ZipFile("again.zip", "w") as again:
        again.mkdir("trials")
        for name in archive.namelist():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0
            again.writestr(entry, archive.read(name))
    assert unpack_run(tmp_path / "again.zip", tmp_path / "theirs").trials == 2


def test_link_in_an_archive_is_refused(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed, "a") as archive:
        entry = zipfile.ZipInfo("plan2.json")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    with pytest.raises(UsageError, match=r"expected only plain files, found a link or device 'plan2\.json'"):
        unpack_run(packed, tmp_path / "theirs")


def test_task_file_that_changed_after_the_run_is_not_exported(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tasks.yaml").write_text(TASKS.replace("Say x.", "Say y."))
    assert main(["runs", "export", "run", "-o", "second.zip"]) == 0
    assert "without a.tasks.yaml (buy): changed after the run" in capsys.readouterr().out
    with zipfile.ZipFile("second.zip") as archive:
        assert "tasks/a.tasks.yaml" not in archive.namelist()


def test_damaged_run_is_not_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "run", answers={"buy": "x"})
    record = next((tmp_path / "run" / "trials").glob("*/trial.json"))
    record.write_text(record.read_text().replace("passed", "failed"))
    assert main(["runs", "export", str(tmp_path / "run"), "-o", str(tmp_path / "mine.zip")]) == 2
    assert "runs verify" in capsys.readouterr().err
    assert not (tmp_path / "mine.zip").exists()


def graded(record: TrialRecord, *, original: bool | None) -> TrialRecord:
    verdicts = {} if original is None else {"original": {"passed": original, "grading": "original"}}
    verdicts["repaired"] = {"passed": True, "grading": "repaired"}
    source = {"suite": "webarena", "task_id": 1, "template_id": 7}
    return replace(record, outcome="passed", grading="repaired", verdicts=verdicts, source=source, model="gpt-x")


def test_leaderboard_rows_count_the_original_verdicts_and_errors_as_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "run"
    make_run(path, answers={"1": "x", "2": "x", "3": "x", "4": "x"})
    for record, original in zip(RunDir(path).records(), (True, True, False, None), strict=True):
        RunDir(path).folder(record.key).update(graded(record, original=original))
    export(RunDir(path))
    assert main(["runs", "export", "run", "-o", "mine.zip"]) == 0
    with zipfile.ZipFile("mine.zip") as archive:
        (row,) = csv.DictReader(io.StringIO(archive.read("leaderboards/webarena.csv").decode()))
        (entry,) = json.loads(archive.read("leaderboards/clerk/webarena.json"))
    assert (row["Model"], row["Success Rate (%)"], row["Release Date"]) == ("gpt-x", "50.0", "01/2027")
    assert (entry["score"], entry["std_err"], entry["benchmark"]) == (50.0, 25.0, "WebArena")
    assert entry["followed_evaluation_protocol"] == "Yes/No"
    assert "4 of 812 tasks" in entry["comments"] == row["Note"]
    assert main(["runs", "import", "mine.zip", "-o", "theirs"]) == 0
