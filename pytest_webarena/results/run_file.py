"""A whole run as one file, for others who check it: an archive of its records and what was computed from them.

    README.md               rates, commands, conditions, and how to check them
    webarena-run.json       manifest: versions, the agents' figures, the SHA-256 of each file
    run.json, plan.json, …  the run's own files
    trials/<folder>/…       the records in each finished trial's folder (`record_files`)
    judge_replies/…         replies of judge models, so that judging again asks none
    tasks/<name>.yaml       task files that were found
    leaderboards/…          rows for published leaderboards (`leaderboards`)

When unpacked, it is a run directory that keeps the manifest. `package_checks` examines both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_webarena import __version__
from pytest_webarena.errors import UsageError
from pytest_webarena.file_digests import PRUNED, is_prunable, pruned_parts
from pytest_webarena.results.atomic_folders import made_whole
from pytest_webarena.results.conditions import RESCORED, RESUMED, invocations
from pytest_webarena.results.judge_replies import FOLDER as REPLIES
from pytest_webarena.results.one_file import record_files_in, task_file_of
from pytest_webarena.results.package_checks import (
    Package,
    computed_files,
    content_faults,
    digest,
    digest_faults,
    facts_as_packed,
    figures,
    mark_imported,
)
from pytest_webarena.results.record_archive import (
    Layout,
    has_manifest,
    is_task_file,
    is_trial_record,
    read_archive,
    task_entry,
    write_archive,
)
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.run_identity import IMPORTED, PACKED_RUN
from pytest_webarena.results.run_readme import suites_of
from pytest_webarena.results.run_verification import run_faults
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.tables import gather
from pytest_webarena.results.task_files import changed_tasks, tasks_without_file
from pytest_webarena.tasks.loader import read_tasks

__all__ = ["MANIFEST", "PackedRun", "UnpackedRun", "is_run_file", "pack_run", "unpack_run"]

MANIFEST = PACKED_RUN
_OWN = ("plan.json", RESUMED, RESCORED)
_COMPUTED = ("README.md", "summary.json", "results.csv")
_REPLY = re.compile(rf"{REPLIES}/[0-9a-f]{{2}}/[0-9a-f]{{4,64}}\.json")
_LEADERBOARD = re.compile(r"leaderboards/(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,119}/)?[a-z-]+\.(?:json|csv)")


def _is_allowed(name: str) -> bool:
    return (
        name in (*_COMPUTED, *_OWN)
        or is_trial_record(name)
        or is_task_file(name)
        or any(each.fullmatch(name) is not None for each in (_REPLY, _LEADERBOARD))
    )


_LAYOUT = Layout(
    what="a run", manifest=MANIFEST, version=1, allowed=_is_allowed, max_files=2_000_000, max_bytes=400_000_000_000
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedRun:
    """Result of packing a run."""

    trials: int
    """Number of finished trials."""
    left_out: tuple[str, ...]
    """Files of trials that are not records, and folders of unfinished trials."""
    without_tasks: tuple[str, ...]
    """Tasks whose file was not found; empty for runs of suites, which come with packages."""
    changed: tuple[str, ...]
    """Task files that are left out, each with the task that changed after the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackedRun:
    """Result of unpacking a run."""

    trials: int
    """Number of finished trials."""
    rewritten: tuple[str, ...]
    """Files that this version writes differently from the one that exported the run, and wrote again."""


def is_run_file(path: Path) -> bool:
    """Return whether `pack_run` wrote the file."""
    return has_manifest(path, MANIFEST)


def pack_run(run: RunDir, target: Path, *, roots: Sequence[Path], evidence_only: bool = False) -> PackedRun:
    """Write the finished trials of ``run`` to ``target`` atomically.

    Args:
        roots: Folders below which task files are looked for.
        evidence_only: Leave out screenshots, observations, model calls, videos and traces: no verdict depends on them.

    Raises `UsageError` for a run without finished trials, with a record that was changed or can't be read, and where
    ``target`` exists.
    """
    stored = run.read()
    faults = [str(each) for each in stored.unreadable]
    faults += (fault for record in stored.records for fault in run.changes(record, every_file=not evidence_only))
    if not faults and (other := run_faults(run, stored, rescored=True)):
        raise UsageError(f"{other[0]}; webarena runs verify {run.path} names all that differs")
    if faults:
        raise UsageError(
            f"{faults[0]}. Bring the file back, or keep it as it is: webarena runs verify {run.path} --accept TRIAL "
            "--because TEXT"
        )
    rows = gather([run.path])
    suites = suites_of(invocations(run.path, run.facts()))
    included = _included_tasks(run)
    tasks = {
        record.key.task: included.get(record.key.task) or task_file_of(record, roots)
        for record in stored.records
        if not record.source
    }
    changed = {file: name for file in set(tasks.values()) if file and (name := changed_tasks(file, stored.records))}
    included_files = {file for file in tasks.values() if file is not None and file not in changed}
    task_files = _task_entries(file for file in tasks.values() if file in included_files)
    files, left_out = _files_of(run, stored.records, evidence_only=evidence_only)
    files |= task_files
    left_out += [f"trials/{name}" for name in stored.unfinished]
    made = {
        **computed_files(run, rows, stored, has_tasks=bool(task_files)),
        **{name: content for name, content in files.items() if isinstance(content, bytes)},
    }
    paths = {name: content for name, content in files.items() if isinstance(content, Path)}
    digests = {name: digest(content) for name, content in made.items()}
    digests |= {name: digest(path.read_bytes()) for name, path in paths.items()}
    manifest = {
        "schema_version": _LAYOUT.version,
        "pytest_webarena": __version__,
        "figures": figures(rows),
        "without_tasks": sorted(tasks_without_file(included_files, stored.records)),
        "files": dict(sorted(digests.items())),
    }

    def entries() -> Iterator[tuple[str, bytes]]:
        for name in sorted(digests):
            yield name, made[name] if name in made else paths[name].read_bytes()

    write_archive(target, _LAYOUT, json.dumps(manifest, indent=1).encode(), entries())
    return PackedRun(
        trials=len(stored.records),
        left_out=tuple(left_out),
        without_tasks=() if suites else tuple(name for name, found in tasks.items() if found is None),
        changed=tuple(sorted(f"{file.name} ({name})" for file, name in changed.items())),
    )


def _included_tasks(run: RunDir) -> dict[str, Path]:
    """Return the task files that came with an imported run, by the ids of their tasks."""
    if not run.facts().get(IMPORTED):
        return {}
    files = (file for file in sorted((run.path / "tasks").glob("*")) if is_task_file(f"tasks/{file.name}"))
    return {task.id: file for file in files for task in read_tasks(file)[0]}


def _files_of(
    run: RunDir, records: Sequence[TrialRecord], *, evidence_only: bool
) -> tuple[dict[str, Path | bytes], list[str]]:
    """Return the run's files by their names in the archive, and the names of files that are left out."""
    found: dict[str, Path | bytes] = {name: run.path / name for name in _OWN if (run.path / name).is_file()}
    found["run.json"] = facts_as_packed(run.path)
    for file in sorted((run.path / REPLIES).glob("*/*.json")):
        if _REPLY.fullmatch(name := file.relative_to(run.path).as_posix()):
            found[name] = file
    left_out = []
    for record in records:
        folder = run.folder(record.key).path
        names, others = record_files_in(folder)
        left_out += [f"trials/{folder.name}/{name}" for name in others]
        removed: dict[str, set[str]] = {}
        for name in names:
            attempt, _, inner = name.partition("/")
            if evidence_only and inner and is_prunable(inner):
                removed.setdefault(attempt, set()).add(inner.partition("/")[0])
            else:
                found[f"trials/{folder.name}/{name}"] = folder / name
        for attempt, parts in removed.items():
            known = pruned_parts(folder / attempt)
            found[f"trials/{folder.name}/{attempt}/{PRUNED}"] = json.dumps(sorted(known | parts)).encode()
    return found, left_out


def _task_entries(files: Iterable[Path | None]) -> dict[str, Path | bytes]:
    """Return task files by their names in the archive; equal names get a number."""
    found: dict[str, Path | bytes] = {}
    taken: set[str] = set()
    for file in dict.fromkeys(filter(None, files)):
        name = first = task_entry(file)
        number = 2
        while name.lower() in taken:
            stem, _, suffix = first.rpartition(".")
            name, number = f"{stem.removesuffix('.tasks')}-{number}.tasks.{suffix}", number + 1
        taken.add(name.lower())
        found[name] = file
    return found


def unpack_run(source: Path, target: Path) -> UnpackedRun:
    """Create the run directory ``target`` from the run in ``source``, which may be hostile.

    Raises `UsageError` for a file with anything that `pack_run` does not write, for one whose digests, figures, texts
    or task files do not fit its records, and when ``target`` exists.
    """
    with made_whole(target) as made:
        with read_archive(source, _LAYOUT, made) as manifest:
            package = Package.from_json(MANIFEST, manifest)
            _refuse(source, made, next(digest_faults(made, package.files), ""))
        run = RunDir(made)
        stored = run.read()
        rewritten: list[str] = []
        if package.version != __version__:
            rewritten = _write_again(run)
            files = {name: known for name, known in package.files.items() if name not in rewritten}
            files |= {name: digest((made / name).read_bytes()) for name in rewritten if (made / name).is_file()}
            package = replace(package, version=__version__, files=files)
            manifest |= {"pytest_webarena": __version__, "files": files}
        _refuse(source, made, next(content_faults(run, package), ""))
        mark_imported(made, manifest, MANIFEST)
    return UnpackedRun(trials=len(stored.records), rewritten=tuple(rewritten))


def _refuse(source: Path, made: Path, fault: str) -> None:
    if fault:
        raise UsageError(f"{source}: {fault.replace(f'{made}/', '')}")


def _write_again(run: RunDir) -> list[str]:
    """Write what this version computes otherwise than the one that exported the run; return the files' names.

    Leaderboard rows that it does not compute stay, and are refused.
    """
    stored = run.read()
    if not stored.records:
        return []
    computed = computed_files(run, gather([run.path]), stored, has_tasks=any((run.path / "tasks").glob("*")))
    found = {name: run.path / name for name in computed}
    names = [name for name, file in found.items() if not file.is_file() or file.read_bytes() != computed[name]]
    for name in names:
        found[name].parent.mkdir(parents=True, exist_ok=True)
        found[name].write_bytes(computed[name])
    boards = {file.relative_to(run.path).as_posix(): file for file in (run.path / "leaderboards").rglob("*.*")}
    for name in (obsolete := boards.keys() - computed.keys()):
        boards[name].unlink()
    return sorted({*names, *obsolete})
