"""A recorded trial as one file: an archive of a run with a single trial, and its task file.

    webarena-trial.json     manifest: schema version, the trial's key, the SHA-256 of each file
    run.json                the run's file
    trials/<folder>/…       the records in the trial's folder (`record_files`)
    tasks/<name>.yaml       the file with its task, if it was found

When unpacked, it is a run directory that can be rescored, replayed and viewed, and keeps the manifest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_webarena import __version__
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.record_files import is_record
from pytest_webarena.results.atomic_folders import made_whole
from pytest_webarena.results.package_checks import Package, content_faults, digest, digest_faults, mark_imported
from pytest_webarena.results.record_archive import (
    Layout,
    has_manifest,
    is_task_file,
    is_trial_record,
    read_archive,
    task_entry,
    write_archive,
)
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.run_identity import PACKED_TRIAL
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.text import clip

__all__ = ["MANIFEST", "Packed", "is_trial_file", "pack_trial", "record_files_in", "task_file_of", "unpack_trial"]

MANIFEST = PACKED_TRIAL
_PROCESS = "started.json"
"""File that is read only until the trial has its record."""
_LAYOUT = Layout(
    what="a trial",
    manifest=MANIFEST,
    version=1,
    allowed=lambda name: is_trial_record(name) or is_task_file(name),
    place=lambda name: "tasks/" if name.startswith("tasks/") else name.lower(),  # one task file
)


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
    records, others = record_files_in(folder)
    paths = {"run.json": run.path / "run.json"}
    paths |= {f"trials/{folder.name}/{name}": folder / name for name in records}
    if task_file is not None:
        paths[task_entry(task_file)] = task_file
    manifest = {
        "schema_version": _LAYOUT.version,
        "pytest_webarena": __version__,
        "key": asdict(record.key),
        "files": {name: digest(path.read_bytes()) for name, path in sorted(paths.items())},
    }
    entries = ((name, path.read_bytes()) for name, path in paths.items())
    write_archive(target, _LAYOUT, json.dumps(manifest, indent=1).encode(), entries)
    return Packed(record=record, left_out=others)


def record_files_in(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the records in a finished trial's folder, and of other files: the agent's own, and links."""
    names = [file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*")) if not file.is_dir()]
    names = [name for name in names if name != _PROCESS]
    records = tuple(name for name in names if is_record(name))
    return records, tuple(name for name in names if not is_record(name))


def task_file_of(record: TrialRecord, roots: Sequence[Path]) -> Path | None:
    """Return the trial's task file, which its node id names, below the first root that has it; None if none has."""
    name = record.node_id.partition("::")[0]
    return next((root / name for root in roots if name and (root / name).is_file()), None)


def is_trial_file(path: Path) -> bool:
    """Return whether `pack_trial` wrote the file."""
    return has_manifest(path, MANIFEST)


def unpack_trial(source: Path, target: Path) -> TrialKey:
    """Create the run directory ``target`` from the trial in ``source``, which may be hostile; atomically.

    Raises `UsageError` for a file with anything that `pack_trial` does not write, a damaged one, and when ``target``
    exists.
    """
    with made_whole(target) as made:
        with read_archive(source, _LAYOUT, made) as manifest:
            key = TrialKey.from_json(manifest["key"])
            package = Package.from_json(MANIFEST, manifest)
        run = RunDir(made)
        run.facts()
        records = run.records()
        folders = [folder.name for folder in run.trials.glob("*")]
        if [each.key for each in records] != [key] or folders != [run.folder(key).path.name]:
            raise UsageError(
                f"{source}: expected one trial, of {clip(key.task)} by {clip(key.agent)}, found {len(folders)}"
            )
        digests = digest_faults(made, package.files) if package.files else ()
        for fault in (*digests, *content_faults(run, package)):
            if not fault.startswith("tasks/"):  # somebody may have named another file; the caller reports it
                raise UsageError(f"{source}: {fault}")
        mark_imported(made, manifest, MANIFEST)
    return key
