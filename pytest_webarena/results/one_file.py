"""A recorded trial as one file: a ZIP archive that is a run with a single trial, and its task file.

    webarena-trial.json     what this is: schema version, the trial's key
    run.json                as the run has it
    trials/<folder>/…       the trial's folder, whole
    tasks/<name>.yaml       the file with its task, where it was found

Unpacked it is a run directory: judging again, running agents on it and looking at it work as ever.
"""

from __future__ import annotations

import json
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.rundir import RunDir

__all__ = ["MANIFEST", "is_trial_file", "pack_trial", "task_file_of", "unpack_trial"]

MANIFEST = "webarena-trial.json"
_VERSION = 1
_MOST_FILES = 100_000
_MOST_BYTES = 4_000_000_000
"""Of what is unpacked, in all: a file that says it holds more is not unpacked."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of all entries: the same trial gives the same file."""


def pack_trial(folder: Path, target: Path, *, task_file: Path | None = None) -> TrialRecord:
    """Write the trial in ``folder`` (``RUN/trials/NAME``) to ``target``; whole or not at all.

    `UsageError` when there is no finished trial, or ``target`` exists.
    """
    run = RunDir(folder.parent.parent)
    run.facts()
    record = next((each for each in run.records() if run.folder(each.key).path.name == folder.name), None)
    if record is None:
        known = [path.name for path in run.trials.glob("*") if (path / "trial.json").is_file()]
        raise UsageError(
            f"{folder}: expected the folder of a finished trial, found none; {closest(folder.name, known)}"
        )
    if target.exists():
        raise UsageError(f"{target}: expected a new file, found one; remove it, or name another with -o")
    told = {"schema_version": _VERSION, "key": asdict(record.key)}
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as beside:
        made = Path(beside) / "trial.zip"
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, MANIFEST, json.dumps(told, indent=1).encode())
            _add(archive, "run.json", (run.path / "run.json").read_bytes())
            for name, file in _files(folder):
                _add(archive, f"trials/{folder.name}/{name}", file.read_bytes())
            if task_file is not None:
                _add(archive, f"tasks/{task_file.name}", task_file.read_bytes())
        made.replace(target)
    return record


def task_file_of(record: TrialRecord, roots: Sequence[Path]) -> Path | None:
    """The file with the trial's task: as its node id names it, below one of ``roots``."""
    name = record.node_id.partition("::")[0]
    return next((root / name for root in roots if name and (root / name).is_file()), None)


def is_trial_file(path: Path) -> bool:
    """Whether `pack_trial` wrote it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def unpack_trial(source: Path, target: Path) -> TrialKey:
    """Make the run directory ``target`` of the trial in ``source``, which anybody may have made; whole or not at all.

    `UsageError` for a file that is none, is damaged, or would write elsewhere, and when ``target`` exists.
    """
    if target.exists() and any(target.iterdir() if target.is_dir() else [target]):
        raise UsageError(f"{target}: expected a new directory, found one; name another with -o")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as beside:
        made = Path(beside) / "run"
        try:
            with zipfile.ZipFile(source) as archive:
                told = json.loads(archive.read(MANIFEST))
                if told["schema_version"] > _VERSION:
                    raise UsageError(
                        f"{source}: expected a trial of schema version {_VERSION} or older, found "
                        f"{told['schema_version']}; a newer pytest-webarena reads it"
                    )
                key = TrialKey.from_json(told["key"])
                for entry in _sound(archive, source):
                    file = made / entry.filename
                    file.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(entry) as packed, file.open("xb") as unpacked:
                        shutil.copyfileobj(packed, unpacked)
        except (
            OSError,
            KeyError,
            TypeError,
            ValueError,
            zipfile.BadZipFile,
            zlib.error,
            RuntimeError,
            EOFError,
        ) as error:
            raise UsageError(
                f"{source}: expected a file of 'webarena export', found what can't be read: {error}"
            ) from None
        run = RunDir(made)
        run.facts()
        records = run.records()
        if [each.key for each in records] != [key] or run.folder(key).path.name != next(run.trials.iterdir()).name:
            raise UsageError(f"{source}: expected the one trial {key.task} by {key.agent}, found {len(records)} others")
        if target.exists():
            target.rmdir()
        made.replace(target)
    return key


def _sound(archive: zipfile.ZipFile, source: Path) -> Iterator[zipfile.ZipInfo]:
    """The files of ``archive``, none of which leads out of it."""
    entries = [entry for entry in archive.infolist() if not entry.is_dir() and entry.filename != MANIFEST]
    if len(entries) > _MOST_FILES or sum(entry.file_size for entry in entries) > _MOST_BYTES:
        raise UsageError(f"{source}: expected a trial, found more files or bytes than one can have")
    for entry in entries:
        path = PurePosixPath(entry.filename)
        linked = stat.S_ISLNK(entry.external_attr >> 16)
        known = path.parts[:1] in (("trials",), ("tasks",)) or entry.filename == "run.json"
        if linked or not known or path.is_absolute() or ".." in path.parts or "\\" in entry.filename:
            raise UsageError(f"{source}: expected files of a trial alone, found the entry {entry.filename!r}")
        yield entry


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink():
            yield file.relative_to(folder).as_posix(), file


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    archive.writestr(entry, data)
