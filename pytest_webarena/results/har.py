"""Exports of a run: traffic as HAR files, and trials for WebArena-Verified's own command line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import Evidence
from pytest_webarena.har import archive
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.records import TrialRecord, names_of
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.stored_records import Stored

__all__ = ["CONFIG", "Exported", "export_verified", "trial_har", "write_hars"]

CONFIG = "config.json"
"""Configuration file for the package's command line, with the addresses of the sites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Written files, and trials that could not be written."""

    folders: tuple[Path, ...] = ()
    """Written folders: one per agent, browser and trial number, each with a folder per task."""
    trials: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Reason for each trial that was left out, by the name of its folder."""
    stored: Stored
    """The run's trials."""


def trial_har(evidence: Evidence) -> dict[str, Any]:
    """Return the requests of one trial as HAR 1.2."""
    missing = sum(each.count for each in evidence.unrecorded)
    return archive(evidence.requests, version=_version(), missing=missing)


def write_hars(run: RunDir, target: Path) -> Exported:
    """Write ``<trial>.har`` for every finished trial with evidence. Raises `UsageError` when there is none."""
    run.facts()
    stored = run.read()
    count, left_out = 0, {}
    for record, evidence in _evidence(run, stored.records):
        if isinstance(evidence, str):
            left_out[record.key.folder] = evidence
        else:
            _write(target / f"{record.key.folder}.har", trial_har(evidence))
            count += 1
    if not count:
        raise UsageError(f"{run.path}: expected finished trials with evidence, found none{_also(stored)}")
    return Exported(folders=(target,), trials=count, left_out=left_out, stored=stored)


def _also(stored: Stored) -> str:
    """Unreadable trials, as the end of an error message."""
    return "".join(f"\n  {each}" for each in stored.unreadable)


def export_verified(run: RunDir, target: Path) -> Exported:
    """Write ``<task id>/agent_response.json`` and ``network.har`` for ``webarena-verified eval-tasks``.

    Only tasks of WebArena-Verified are written, or of WebArena where they mean the same: those judged by ``verified``.
    With several agents, browsers or trials per task there is one such folder for each, because the command line
    supports only one.
    """
    run.facts()
    stored = run.read()
    records, left_out = [], {}
    for record in stored.records:
        if "verified" not in record.verdicts or not isinstance(record.source.get("task_id"), int):
            left_out[record.key.folder] = "no task of WebArena-Verified, or not judged"
        else:
            records.append(record)
    names = names_of(record.key for record in records)
    several = len({(record.key.entrant, record.key.trial) for record in records}) > 1
    sites: dict[Path, dict[str, set[str]]] = {}
    trials = 0
    for record, evidence in _evidence(run, records):
        if isinstance(evidence, str):
            left_out[record.key.folder] = evidence
            continue
        tried = f"{names[record.key.entrant]}-{record.key.trial}".replace(" (", "-").replace(")", "")
        tried = re.sub(r"[^A-Za-z0-9._-]+", "-", tried).lstrip(".")  # anybody may have written the record
        folder = target / tried if several else target
        task = folder / str(record.source["task_id"])
        if task.exists():
            raise UsageError(f"{task}: expected nothing there, found an earlier export; name another place with -o")
        _write(task / "network.har", trial_har(evidence))
        (task / "agent_response.json").write_text(_answer(evidence.answer), encoding="utf-8", errors="replace")
        for site, address in evidence.sites.items():
            sites.setdefault(folder, {}).setdefault(site, set()).add(address)
        trials += 1
    if not trials:
        raise UsageError(f"{run.path}: expected trials of --suite=webarena-verified, found none{_also(stored)}")
    for folder, addresses in sites.items():
        environments = {f"__{site.upper()}__": {"urls": sorted(urls)} for site, urls in addresses.items()}
        _write(folder / CONFIG, {"environments": environments})
    return Exported(folders=tuple(sites), trials=trials, left_out=left_out, stored=stored)


def _evidence(run: RunDir, records: Sequence[TrialRecord]) -> Iterator[tuple[TrialRecord, Evidence | str]]:
    """Yield each record with its evidence, or why there is none."""
    for record in records:
        try:
            yield (
                record,
                read_evidence(run.folder(record.key).path / f"attempt-{record.attempt}", manifest=record.manifest),
            )
        except (ValueError, KeyError, TypeError) as error:
            yield record, str(error)


def _answer(answer: str | None) -> str:
    """The content of the response file. The package treats an empty file as a missing one."""
    return json.dumps(answer) if answer is None or not answer.strip() else answer


def _write(path: Path, data: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # in a foreign run, a link would lead elsewhere
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")


def _version() -> str:
    try:
        return version("pytest-webarena")
    except PackageNotFoundError:
        return ""
