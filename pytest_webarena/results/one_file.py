"""A recorded trial as one file: a ZIP archive of a run with a single trial, and its task file.

    webarena-trial.json     manifest: schema version, the trial's key
    run.json                the run's file
    trials/<folder>/…       the records in the trial's folder (`record_files`)
    tasks/<name>.yaml       the file with its task, if it was found

When unpacked, it is a run directory that can be rescored, replayed and viewed. Other files are neither packed nor
unpacked, because pytest executes files with certain names.
"""

from __future__ import annotations

import json
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.file_digests import seal
from pytest_webarena.record_files import is_record
from pytest_webarena.results.atomic_folders import made_whole
from pytest_webarena.results.conditions import IMPORTED
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.text import clip

__all__ = ["MANIFEST", "Packed", "is_trial_file", "pack_trial", "task_file_of", "unpack_trial"]

MANIFEST = "webarena-trial.json"
_VERSION = 1
_MAX_FILES = 100_000
_MAX_BYTES = 4_000_000_000
_UNRATED_BYTES = 100_000_000
_MAX_RATIO = 100
"""Limits of an archive: number of files, bytes, and bytes for each packed byte beyond the first 100 MB.

Traces and pictures are hardly compressible, and pages shrink to about a tenth.
"""
_FOLDER = re.compile(r"[A-Za-z0-9._-]{1,120}")
_TASK_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}\.ya?ml")
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of all entries, so that the same trial gives the same file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Result of packing a trial."""

    record: TrialRecord
    left_out: tuple[str, ...]
    """Files of the trial's folder that are not records: an agent's own files, and links."""


def pack_trial(folder: Path, target: Path, *, task_file: Path | None = None) -> Packed:
    """Write the trial in ``folder`` (``RUN/trials/NAME``) to ``target`` atomically.

    Raises `UsageError` when there is no finished trial, or ``target`` exists.
    """
    run = RunDir(folder.parent.parent)
    run.facts()
    stored = run.read()
    record = next((each for each in stored.records if run.folder(each.key).path.name == folder.name), None)
    own = [str(each) for each in stored.unreadable if each.folder.name == folder.name]
    if changed := own or (run.changes(record) if record is not None else []):
        raise UsageError(
            f"{changed[0]}. Bring the file back, or keep it as it is: webarena runs verify {run.path} --accept "
            f"{folder.name} --because TEXT"
        )
    if record is None:
        known = [path.name for path in run.trials.glob("*") if (path / "trial.json").is_file()]
        raise UsageError(
            f"{folder}: expected the folder of a finished trial, found none; {closest(folder.name, known)}"
        )
    if target.exists():
        raise UsageError(f"{target}: expected a new file, found an existing one; remove it, or name another with -o")
    manifest = {"schema_version": _VERSION, "key": asdict(record.key)}
    names = [file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*")) if not file.is_dir()]
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / "trial.zip"
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, MANIFEST, json.dumps(manifest, indent=1).encode())
            _add(archive, "run.json", (run.path / "run.json").read_bytes())
            for name in filter(is_record, names):
                _add(archive, f"trials/{folder.name}/{name}", (folder / name).read_bytes())
            if task_file is not None:
                _add(archive, f"tasks/{_task_name(task_file)}", task_file.read_bytes())
            sizes = [entry.file_size for entry in archive.infolist()]
        if fault := _excess(sizes, made.stat().st_size):
            raise UsageError(f"{folder}: expected a trial within the limits of an export, found {fault}")
        made.replace(target)
    return Packed(record=record, left_out=tuple(name for name in names if not is_record(name)))


def task_file_of(record: TrialRecord, roots: Sequence[Path]) -> Path | None:
    """Return the trial's task file, which its node id names, below the first root that has it; None if none has."""
    name = record.node_id.partition("::")[0]
    return next((root / name for root in roots if name and (root / name).is_file()), None)


def is_trial_file(path: Path) -> bool:
    """Return whether `pack_trial` wrote the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def unpack_trial(source: Path, target: Path) -> TrialKey:
    """Create the run directory ``target`` from the trial in ``source``, which may be hostile; atomically.

    Raises `UsageError` for a file with anything that `pack_trial` does not write, a damaged one, and when ``target``
    exists.
    """
    with made_whole(target) as made:
        try:
            with zipfile.ZipFile(source) as archive:
                entries = _validated_entries(archive, source)
                manifest = json.loads(archive.read(entries.pop(MANIFEST)))
                if manifest["schema_version"] > _VERSION:
                    raise UsageError(
                        f"{source}: expected a trial of schema version {_VERSION} or older, found "
                        f"{manifest['schema_version']}; update pytest-webarena"
                    )
                key = TrialKey.from_json(manifest["key"])
                for name, entry in entries.items():
                    file = made / name
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
                f"{source}: expected a file of 'webarena runs export', found an unreadable one: {clip(str(error), 200)}"
            ) from None
        run = RunDir(made)
        facts = run.facts()
        records = run.records()
        folders = [folder.name for folder in run.trials.glob("*")]
        if [each.key for each in records] != [key] or folders != [run.folder(key).path.name]:
            raise UsageError(
                f"{source}: expected one trial, of {clip(key.task)} by {clip(key.agent)}, found {len(records)}"
            )
        write_atomically(made / "run.json", seal({**facts, IMPORTED: True}, indent=2))
    return key


def _validated_entries(archive: zipfile.ZipFile, source: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by name, including the manifest and ``run.json``.

    Raises `UsageError` for anything that exports do not contain.
    """
    found: dict[str, zipfile.ZipInfo] = {}
    taken: set[str] = set()
    for entry in archive.infolist():
        name = entry.filename
        if not _is_exported(name) or not stat.S_ISREG(entry.external_attr >> 16):
            raise UsageError(f"{source}: expected only files of a trial, found {clip(name)!r}")
        place = (
            "tasks/" if name.startswith("tasks/") else name.lower()
        )  # one task file; no names that differ only in case
        if place in taken:
            raise UsageError(f"{source}: expected each file of a trial once, found {clip(name)!r} again")
        taken.add(place)
        found[name] = entry
    trials = {name.split("/")[1] for name in found if name.startswith("trials/")}
    if missing := sorted({MANIFEST, "run.json"} - set(found)):
        raise UsageError(f"{source}: expected a file of 'webarena runs export', found one without {missing[0]}")
    if len(trials) != 1:
        raise UsageError(f"{source}: expected one trial, found {len(trials)}")
    if fault := _excess([entry.file_size for entry in found.values()], source.stat().st_size):
        raise UsageError(f"{source}: expected a trial within the limits of an export, found {fault}")
    return found


def _is_exported(name: str) -> bool:
    """Return whether exports contain files with this name."""
    if name in (MANIFEST, "run.json"):
        return True
    above, _, rest = name.partition("/")
    if above == "tasks":
        return _TASK_FILE.fullmatch(rest) is not None
    folder, _, record = rest.partition("/")
    return above == "trials" and _FOLDER.fullmatch(folder) is not None and is_record(record)


def _excess(sizes: Collection[int], packed: int) -> str:
    """Return the limit that files of these sizes exceed in an archive of ``packed`` bytes, as text; empty if none."""
    total = sum(sizes)
    if len(sizes) > _MAX_FILES:
        return f"{len(sizes):,} files, above {_MAX_FILES:,}"
    limit = min(_MAX_BYTES, max(_UNRATED_BYTES, _MAX_RATIO * packed))
    return f"{total:,} bytes, above {limit:,} for an archive of {packed:,}" if total > limit else ""


def _task_name(file: Path) -> str:
    """Return a name for the copy of a task file that is valid on every system and has no other meaning for pytest."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).lstrip(".-")[:100] or "tasks"
    return f"{stem}{file.suffix}" if _TASK_FILE.fullmatch(f"{stem}{file.suffix}") else f"{stem}.yaml"


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    archive.writestr(entry, data)
