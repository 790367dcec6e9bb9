"""Checks of exported runs and trials, while they are imported and afterwards.

The manifest of a package lists the SHA-256 of each of its files, and stays in the folder that ``webarena runs import``
makes. Whoever edits a file can compute digests again. So what follows from the records (figures, tables, texts, which
tasks ran) is computed again and compared. That the records are genuine can't be known from them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena import __version__
from pytest_webarena.errors import UsageError
from pytest_webarena.file_digests import seal
from pytest_webarena.results.export import results_csv, whole_summary
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.leaderboards import leaderboard_files
from pytest_webarena.results.plan_faults import plan_faults
from pytest_webarena.results.run_identity import PACKAGE, PACKED_RUN, PACKED_TRIAL, package_manifest
from pytest_webarena.results.run_readme import readme
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.stored_records import Stored, changed_derived_files
from pytest_webarena.results.tables import Row, gather
from pytest_webarena.results.task_files import task_fault, tasks_without_file
from pytest_webarena.secrets import scrub
from pytest_webarena.text import clip, shorten

__all__ = [
    "Package",
    "computed_files",
    "content_faults",
    "digest",
    "digest_faults",
    "facts_as_packed",
    "figures",
    "mark_imported",
    "package_faults",
]

_SUMMARY = "summary.json"
_OUTPUTS = frozenset({"view.html", "labels.csv", ".gitignore", "har"})
"""Files and folders that commands write into a run's folder and never read."""
_SHOWN = 12
"""Digits of a digest that messages show."""
_EQUAL = 1e-9
"""Relative difference of numbers that machines may compute differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The manifest of a package."""

    name: str
    """Name of the manifest's file."""
    version: str
    """Version of this package that wrote it."""
    files: Mapping[str, str]
    """SHA-256 of each file; empty for trials that an older version exported."""
    figures: Sequence[Mapping[str, Any]]
    without_tasks: frozenset[str] | None
    """Ids of tasks whose file the package lacks; None for packages that do not say so."""

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Package:
        """Return the content of a manifest. Raises `KeyError`, `TypeError` or `ValueError`."""
        files = data["files"] if name == PACKED_RUN else data.get("files", {})
        return cls(
            name=name,
            version=str(data.get("pytest_webarena", "")),
            files={str(each): str(known) for each, known in dict(files).items()},
            figures=[dict(each) for each in data["figures"]] if name == PACKED_RUN else (),
            without_tasks=frozenset(map(str, data["without_tasks"])) if "without_tasks" in data else None,
        )


def package_faults(run: Path) -> list[str]:
    """Return what differs from the package that was imported into ``run``: file, what was expected, what was found.

    Empty for other runs. Raises `UsageError` for a manifest that can't be read.
    """
    file = package_manifest(run)
    if file is None:
        name = RunDir(run).facts().get(PACKAGE)
        return [f"{clip(str(name))}: expected the list of the files that were imported, found none"] if name else []
    try:
        package = Package.from_json(file.name, json.loads(file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{file}: expected the manifest of an imported package, found: {clip(str(error))}") from None
    digests = digest_faults(run, package.files) if package.files else ()
    return [*digests, *content_faults(RunDir(run), package)]


def facts_as_packed(run: Path) -> Path | bytes:
    """Return the ``run.json`` of a run for a package: the file, or its content without the mark of an import."""
    file = run / "run.json"
    data = json.loads(file.read_bytes())
    return (
        seal({name: each for name, each in data.items() if name != PACKAGE}, indent=2).encode()
        if PACKAGE in data
        else file
    )


def mark_imported(run: Path, manifest: Mapping[str, Any], name: str) -> None:
    """Write a package's manifest into the folder of its run, and its name into ``run.json``.

    The run then shows that its manifest is missing. Call it once the package has been checked.
    """
    file = run / "run.json"
    write_atomically(file, seal({**json.loads(file.read_bytes()), PACKAGE: name}, indent=2))
    files = manifest.get("files")
    known = {"files": {**files, file.name: digest(file.read_bytes())}} if files else {}
    (run / name).write_text(json.dumps({**manifest, **known}, indent=1), encoding="utf-8")


def digest_faults(folder: Path, expected: Mapping[str, str]) -> Iterator[str]:
    """Yield a message for each file that the list of digests lacks, or that differs from it."""
    found = _digests(folder)
    for name in sorted({*found, *expected}):
        if name not in found:
            yield f"{clip(name, 200)}: expected a file with the SHA-256 {_shown(expected[name])}, found none"
        elif name not in expected:
            yield f"{clip(name, 200)}: expected only files of the package, found one that it does not list"
        elif found[name] != expected[name]:
            yield (
                f"{clip(name, 200)}: expected the file as it was exported, with the SHA-256 "
                f"{_shown(expected[name])}, found {_shown(found[name])}"
            )


def content_faults(run: RunDir, package: Package) -> Iterator[str]:
    """Yield a message for each file that does not follow from the records, or has another digest of its own."""
    stored = run.read()
    prefix = f"{run.path}/"
    for fault in (
        *map(str, stored.unreadable),
        *(fault for record in stored.records for fault in run.changes(record)),
        *(f"{name}: expected the file as it was written, found it changed" for name in changed_derived_files(run.path)),
    ):
        yield fault.replace(prefix, "").partition(";")[0]
    task_files = sorted((run.path / "tasks").glob("*"))
    for file in task_files:
        if fault := task_fault(file, stored.records):
            yield f"tasks/{file.name}: {fault}"
    if package.name == PACKED_RUN and (package.without_tasks is not None or task_files):
        lacking = tasks_without_file(task_files, stored.records) - (package.without_tasks or frozenset())
        if lacking:
            named = clip(", ".join(sorted(lacking)), 200)
            yield f"tasks: expected the task files of all trials, found none with {named}"
    if package.name == PACKED_RUN:
        yield from (fault.replace(prefix, "") for fault in plan_faults(run.path, run.facts(), stored))
    if not stored.records:
        yield "trials: expected the record of a finished trial, found none"
    if package.name == PACKED_TRIAL or not stored.records:
        return
    rows = gather([run.path])
    yield from _figure_faults(package.figures, figures(rows))
    computed = computed_files(run, rows, stored, has_tasks=bool(task_files))
    is_older = package.version != __version__
    hint = f" (written by version {clip(package.version, 20)}: import the package again)" if is_older else ""
    yield from (f"{fault}{hint}" for fault in _text_faults(run.path, computed))


def computed_files(run: RunDir, rows: Sequence[Row], stored: Stored, *, has_tasks: bool) -> dict[str, bytes]:
    """Return the files that follow from the records."""
    boards = leaderboard_files(run, stored.records)
    text = readme(run, rows, stored, has_tasks=has_tasks, leaderboards=bool(boards))
    summary = whole_summary(run, stored)
    if (found := _read(run.path / _SUMMARY)) and not _summary_fault(json.dumps(summary, default=str).encode(), found):
        text_of_summary = found  # its numbers may differ in the last digit, from another machine
    else:
        text_of_summary = seal(summary, mask=scrub).encode("utf-8", "surrogatepass")
    return {
        "README.md": text.encode(),
        "results.csv": results_csv(stored.records).encode("utf-8", "surrogatepass"),
        _SUMMARY: text_of_summary,
        **boards,
    }


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
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


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def _digests(folder: Path) -> dict[str, str]:
    """Return the digest of each file but manifests and outputs, by its name; a link has none."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if name in (PACKED_RUN, PACKED_TRIAL) or name.partition("/")[0] in _OUTPUTS:
            continue
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            found[name] = "a link"
        elif path.is_file():
            found[name] = digest(path.read_bytes())
    return found


def _shown(found: str) -> str:
    return shorten(found, _SHOWN + 1)


def _figure_faults(claimed: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in (*found, *claimed):
        if not (each in found and each in claimed):
            yield (
                f"{PACKED_RUN}: expected the figures of its records for {clip(str(each.get('agent')))}: "
                f"{clip(json.dumps(list(found)), 300)}, found {clip(json.dumps(list(claimed)), 300)}"
            )
            return


def _text_faults(folder: Path, computed: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a message for each file that readers see and that is missing, not computed, or has another content."""
    boards = (file.relative_to(folder).as_posix() for file in (folder / "leaderboards").rglob("*") if file.is_file())
    for name in sorted({*computed, *boards}):
        content = _read(folder / name)
        if name not in computed:
            yield f"{clip(name, 200)}: expected no such file as its records give none, found one"
        elif content is None:
            yield f"{name}: expected it as its records give it, found none"
        elif content != computed[name]:
            fault = _summary_fault if name == _SUMMARY else _line_fault
            yield f"{name}: expected it as its records give it, {fault(computed[name], content)}"


def _line_fault(expected: bytes, found: bytes) -> str:
    """Return the first place where two texts differ."""
    texts = [text.decode(errors="replace").splitlines() for text in (expected, found)]
    length = max(map(len, texts))
    lines = [[*text, *[""] * (length - len(text))] for text in texts]
    for number, (ours, theirs) in enumerate(zip(*lines, strict=True), start=1):
        if ours != theirs:
            places = (place for place, pair in enumerate(zip(ours, theirs, strict=False)) if len(set(pair)) > 1)
            start = max(0, next(places, min(len(ours), len(theirs))) - 20)
            return f"{clip(ours[start:], 80)!r} in line {number}, found {clip(theirs[start:], 80)!r}"
    return "found other ends of its lines"


def _summary_fault(expected: bytes, found: bytes) -> str:
    """Return the first figure by which two summaries differ; empty if there is none."""
    try:
        ours, theirs = json.loads(expected), json.loads(found)
    except ValueError:
        return "found none that can be read"
    for each in (ours, theirs):
        if isinstance(each, dict):
            each.pop("sha256", None)
    return next(_differences(ours, theirs, "content"), "")


def _differences(ours: Any, theirs: Any, where: str) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in (*ours, *(each for each in theirs if each not in ours)):
            yield from _differences(ours.get(name), theirs.get(name), f"{where}.{name}".removeprefix("content."))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(*pair, f"{where}[{number}]")
    elif not _equal(ours, theirs):
        yield f"{clip(json.dumps(ours), 80)} in {clip(where, 80)}, found {clip(json.dumps(theirs), 80)}"


def _equal(ours: Any, theirs: Any) -> bool:
    numbers = [isinstance(each, int | float) and not isinstance(each, bool) for each in (ours, theirs)]
    if all(numbers):
        return math.isclose(ours, theirs, rel_tol=_EQUAL, abs_tol=_EQUAL)
    return type(ours) is type(theirs) and ours == theirs


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
