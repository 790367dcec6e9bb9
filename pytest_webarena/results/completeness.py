"""Completeness of a run: whether it is all that was requested, or parts (``--shard``) without the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.results.conditions import RESUMED, browsers_of, notes
from pytest_webarena.results.plan import has_plan

__all__ = ["SHARD_DIGEST", "SHARD_OPTIONS", "sources", "why_plan_unknown"]

SHARD_OPTIONS = ("--shard", "--shard-durations")
"""Options that choose a part of a run."""
SHARD_DIGEST = "shard_digest"
"""Key of what a run was asked for: digest of the durations by which parts are balanced; missing without them."""

_SOURCES = "sources"


def sources(path: Path, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what each merged run was asked for; for a run that was not merged, what it was asked for itself."""
    if _SOURCES in facts and not _made_whole(path, facts):
        return list(facts[_SOURCES])
    part = "" if _SOURCES in facts else _shard(facts)
    return [{"part": part, "of": _of(facts), "planned": has_plan(path), **_collected(path, facts)}]


def why_plan_unknown(path: Path, facts: Mapping[str, Any]) -> str:
    """Return why the set of planned trials is unknown, as a sentence; empty when it is known."""
    if not has_plan(path):
        return "plan.json is missing, unreadable or changed, so missing trials are unknown"
    found = sources(path, facts)
    if unplanned := sum(not each["planned"] for each in found):
        return f"{unplanned} of {len(found)} merged runs had no readable plan.json, so missing trials are unknown"
    if failed := sum(each.get("errors", 0) for each in found):
        return f"the tasks of {failed} files or folders were not collected because of errors; mend them, and run again"
    wanted = {each["of"]: [other["part"] for other in found if other["of"] == each["of"]] for each in found}
    reasons = [why for parts in wanted.values() if (why := _missing(parts))]
    for of in wanted:
        if len(lists := _by_tasks([each for each in found if each["of"] == of])) > 1:
            named = "; ".join(", ".join(parts) for parts in lists.values())
            reasons.append(
                f"expected the same collected tasks in all parts, found {len(lists)} lists of tasks: {named}"
            )
    if not reasons:
        return ""
    note = " (parts of different tests, agents, trials or browsers)" if len(wanted) > 1 else ""
    return f"{reasons[0]}{note}: the results of their trials are unknown; merge the run directories of all parts"


def _collected(path: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the run collected: a digest of its tasks, and its errors, unless it was resumed without errors."""
    own = facts.get("collected") or {}
    later = [note.get("collected") for note in notes(path / RESUMED) if _of(note) == _of(facts)] if own else []
    repaired = any(each and not each["errors"] for each in later)
    return {"tasks": own.get("tasks", ""), "errors": 0 if repaired else own.get("errors", 0)}


def _by_tasks(parts: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The parts by the digest of what they collected, without runs that are no parts, and those that have no digest."""
    found: dict[str, list[str]] = {}
    for each in parts:
        if each["part"] and each.get("tasks"):
            found.setdefault(each["tasks"], []).append(each["part"])
    return found


def _missing(parts: Sequence[str]) -> str:
    """The missing parts of a run; empty where it is whole."""
    if not all(parts):
        return ""
    counts = {part.rpartition("/")[2].strip() for part in parts}
    if len(counts) > 1:
        return f"expected parts of one number and of the same --shard-durations, found {', '.join(sorted(set(parts)))}"
    count = counts.pop().partition(" ")[0]
    present = {int(part.partition("/")[0]) for part in parts}
    missing = [number for number in range(1, int(count) + 1) if number not in present]
    if not missing:
        return ""
    named = ", ".join(map(str, missing[:8])) + (", …" if len(missing) > 8 else "")
    return f"part{'s' * (len(missing) > 1)} {named} of {count} (--shard) {'are' if len(missing) > 1 else 'is'} missing"


def _made_whole(path: Path, facts: Mapping[str, Any]) -> bool:
    """Whether the merged run was resumed with all of its tests."""
    wanted = {each["of"] for each in facts[_SOURCES]}
    return any(len(wanted) == 1 and _of(note) in wanted and not _shard(note) for note in notes(path / RESUMED))


def _shard(part: Mapping[str, Any]) -> str:
    """The part as text: ``2/5``, with the digest of the durations that balanced it; empty for a whole run."""
    requested = part.get("asked") or {}
    shard = str((requested.get("options") or {}).get("--shard", ""))
    digest = requested.get(SHARD_DIGEST)
    return f"{shard} by {digest}" if shard and digest else shard


def _of(facts: Mapping[str, Any]) -> str:
    """A key of the requested trials, equal for all parts of a run."""
    requested = facts.get("asked") or {}
    options: Iterable[tuple[str, Any]] = (requested.get("options") or {}).items()
    return json.dumps(
        [
            sorted(requested.get("tests") or ()),
            {name: value for name, value in options if name not in SHARD_OPTIONS},
            sorted(facts.get("agents") or ()),
            facts.get("trials", 1),
            sorted(browsers_of(facts)),
        ],
        sort_keys=True,
    )
