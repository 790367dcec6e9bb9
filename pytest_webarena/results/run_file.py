"""A whole run as one file, for others who check it: an archive of its records and what was computed from them.

    README.md               rates, commands, conditions, and how to check them
    webarena-run.json       manifest: versions, the agents' figures, the SHA-256 of each file
    run.json, plan.json, …  the run's own files
    trials/<folder>/…       the records in each finished trial's folder (`record_files`)
    judge_replies/…         replies of judge models, so that judging again asks none
    tasks/<name>.yaml       task files that were found
    leaderboards/…          rows for published leaderboards (`leaderboards`)

When unpacked, it is a run directory. Everything that was computed from the records is computed again and compared, and
task files are those that the records name. Nothing can show that a trial took place.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena import __version__
from pytest_webarena.errors import UsageError
from pytest_webarena.file_digests import PRUNED, is_prunable, pruned_parts, seal
from pytest_webarena.results.atomic_folders import made_whole
from pytest_webarena.results.conditions import IMPORTED, RESCORED, RESUMED, invocations
from pytest_webarena.results.export import results_csv
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.judge_replies import FOLDER as REPLIES
from pytest_webarena.results.leaderboards import leaderboard_files
from pytest_webarena.results.one_file import record_files_in, task_file_of
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
from pytest_webarena.results.run_readme import readme, suites_of
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.stored_records import Stored, changed_derived_files
from pytest_webarena.results.tables import Row, gather
from pytest_webarena.results.task_files import changed_tasks
from pytest_webarena.text import clip

__all__ = ["MANIFEST", "PackedRun", "UnpackedRun", "is_run_file", "pack_run", "unpack_run"]

MANIFEST = "webarena-run.json"
_OWN = ("plan.json", RESUMED, RESCORED, "summary.json", "results.csv")
_REPLY = re.compile(rf"{REPLIES}/[0-9a-f]{{2}}/[0-9a-f]{{4,64}}\.json")
_LEADERBOARD = re.compile(r"leaderboards/(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,119}/)?[a-z-]+\.(?:json|csv)")


def _is_allowed(name: str) -> bool:
    return (
        name in ("README.md", *_OWN)
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
    if faults:
        raise UsageError(
            f"{faults[0]}. Bring the file back, or keep it as it is: webarena runs verify {run.path} --accept TRIAL "
            "--because TEXT"
        )
    rows = gather([run.path])
    suites = suites_of(invocations(run.path, run.facts()))
    tasks = {record.key.task: task_file_of(record, roots) for record in stored.records if not record.source}
    changed = {file: name for file in set(tasks.values()) if file and (name := changed_tasks(file, stored.records))}
    task_files = _task_entries(file for file in tasks.values() if file not in changed)
    files, left_out = _files_of(run, stored.records, evidence_only=evidence_only)
    files |= task_files
    left_out += [f"trials/{name}" for name in stored.unfinished]
    made = {
        **_computed(run, rows, stored, has_tasks=bool(task_files)),
        **{name: content for name, content in files.items() if isinstance(content, bytes)},
    }
    paths = {name: content for name, content in files.items() if isinstance(content, Path)}
    digests = {name: _digest(content) for name, content in made.items()}
    digests |= {name: _digest(path.read_bytes()) for name, path in paths.items()}
    manifest = {
        "schema_version": _LAYOUT.version,
        "pytest_webarena": __version__,
        "figures": _figures(rows),
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


def _computed(run: RunDir, rows: Sequence[Row], stored: Stored, *, has_tasks: bool) -> dict[str, bytes]:
    """Return the files for readers, which follow from the records."""
    boards = leaderboard_files(run, stored.records)
    text = readme(run, rows, stored, has_tasks=has_tasks, leaderboards=bool(boards))
    return {"README.md": text.encode(), **boards}


def _files_of(
    run: RunDir, records: Sequence[TrialRecord], *, evidence_only: bool
) -> tuple[dict[str, Path | bytes], list[str]]:
    """Return the run's files by their names in the archive, and the names of files that are left out."""
    found: dict[str, Path | bytes] = {
        name: run.path / name for name in ("run.json", *_OWN) if (run.path / name).is_file()
    }
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


def _figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the counts behind each agent's rate."""
    return [
        {
            "agent": row.agent,
            "browser": row.browser,
            "grading": row.grading,
            "passed": row.metrics.rate.passed,
            "judged": row.metrics.rate.judged,
            "undecided": row.metrics.rate.undecided,
            "errors": row.metrics.rate.errors,
            "stopped": row.metrics.rate.stopped,
        }
        for row in rows
    ]


def unpack_run(source: Path, target: Path) -> UnpackedRun:
    """Create the run directory ``target`` from the run in ``source``, which may be hostile.

    Raises `UsageError` for a file with anything that `pack_run` does not write, for one whose digests, figures, texts
    or task files do not fit its records, and when ``target`` exists.
    """
    with made_whole(target) as made:
        with read_archive(source, _LAYOUT, made) as manifest:
            _require_digests(source, made, {str(name): str(value) for name, value in manifest["files"].items()})
            figures = list(manifest["figures"])
            is_same_version = manifest.get("pytest_webarena") == __version__
        run = RunDir(made)
        facts = run.facts()
        stored = run.read()
        faults = [str(each) for each in stored.unreadable]
        faults += (fault for record in stored.records for fault in run.changes(record))
        faults += (f"{name}: found it changed after it was written" for name in changed_derived_files(made))
        if faults:
            fault = faults[0].replace(f"{made}/", "").partition(";")[0]
            raise UsageError(f"{source}: expected records as their trials wrote them, found: {clip(fault, 300)}")
        if (found := _figures(rows := gather([made]))) != figures:
            named = next(each for each in (*found, *figures) if not (each in found and each in figures))
            raise UsageError(
                f"{source}: expected the figures of its records, found other ones for {clip(str(named.get('agent')))}: "
                f"{clip(json.dumps(figures), 300)}; its records say {clip(json.dumps(found), 300)}"
            )
        task_files = sorted((made / "tasks").glob("*"))
        for file in task_files:
            if name := changed_tasks(file, stored.records):
                raise UsageError(
                    f"{source}: expected the tasks that its trials ran, found another {clip(name)} in tasks/{file.name}"
                )
        computed = _computed(run, rows, stored, has_tasks=bool(task_files))
        if (made / "results.csv").exists():
            computed["results.csv"] = results_csv(stored.records).encode()
        rewritten = _differing(made, computed)
        if rewritten and is_same_version:
            raise UsageError(f"{source}: expected {rewritten[0]} as its records give it, found another content")
        for name in rewritten:
            (made / name).unlink(missing_ok=True)
            if name in computed:
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(computed[name])
        write_atomically(made / "run.json", seal({**facts, IMPORTED: True}, indent=2))
    return UnpackedRun(trials=len(stored.records), rewritten=tuple(rewritten))


def _differing(made: Path, computed: Mapping[str, bytes]) -> list[str]:
    """Return the files for readers that are missing, not computed, or have another content."""
    found = {file.relative_to(made).as_posix() for file in (made / "leaderboards").rglob("*") if file.is_file()}
    names = sorted({*computed, *found})
    return [
        name for name in names
        if name not in computed or not (made / name).is_file() or (made / name).read_bytes() != computed[name]
    ]  # fmt: skip


def _require_digests(source: Path, made: Path, expected: Mapping[str, str]) -> None:
    found = {
        file.relative_to(made).as_posix(): _digest(file.read_bytes()) for file in made.rglob("*") if file.is_file()
    }
    for name in sorted({*found, *expected}):
        if name not in found:
            raise UsageError(f"{source}: expected {clip(name)}, found none")
        if found[name] != expected.get(name):
            raise UsageError(f"{source}: expected {clip(name)} as it was exported, found another content")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
