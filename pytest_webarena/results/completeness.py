"""Whether a run is all that was asked for, or parts of it (``--shard``) of which others are missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.results.conditions import RESUMED, notes
from pytest_webarena.results.plan import has_plan

__all__ = ["lacking", "sources"]

_SOURCES = "sources"
_SHARD = "--shard"


def sources(path: Path, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each run that a run was merged of was to play; of one that was not merged what it was itself."""
    if _SOURCES in facts and not _made_whole(path, facts):
        return list(facts[_SOURCES])
    part = "" if _SOURCES in facts else _shard(facts)
    return [{"part": part, "of": _of(facts.get("asked") or {}), "planned": has_plan(path)}]


def lacking(path: Path, facts: Mapping[str, Any]) -> str:
    """Why nobody knows all trials that there were to be, as a sentence; empty when the run tells."""
    if not has_plan(path):
        return "there is no plan.json that can be read: nobody knows which trials are missing"
    found = sources(path, facts)
    if unplanned := sum(not each["planned"] for each in found):
        return (
            f"{unplanned} of {len(found)} merged runs had no plan.json that could be read: nobody knows which "
            "trials are missing"
        )
    wanted = {each["of"]: [other["part"] for other in found if other["of"] == each["of"]] for each in found}
    told = [why for parts in wanted.values() if (why := _missing(parts))]
    if not told:
        return ""
    apart = ", of tests that were not all named alike," if len(wanted) > 1 else ""
    return f"{told[0]}{apart}: nobody knows what became of their trials; merge what all parts of a run have left"


def _missing(parts: Sequence[str]) -> str:
    """Which parts there are not, where there is not the whole."""
    if not all(parts):
        return ""
    counts = {part.rpartition("/")[2].strip() for part in parts}
    if len(counts) > 1:
        return f"expected parts of one number, found {', '.join(sorted(set(parts)))}"
    (count,) = counts
    there = {int(part.partition("/")[0]) for part in parts}
    missing = [number for number in range(1, int(count) + 1) if number not in there]
    if not missing:
        return ""
    named = ", ".join(map(str, missing[:8])) + (", …" if len(missing) > 8 else "")
    return f"part{'s' * (len(missing) > 1)} {named} of {count} (--shard) {'are' if len(missing) > 1 else 'is'} missing"


def _made_whole(path: Path, facts: Mapping[str, Any]) -> bool:
    """Whether somebody went on with the merged run, and with all of it."""
    wanted = {each["of"] for each in facts[_SOURCES]}
    return any(
        len(wanted) == 1 and _of(note.get("asked") or {}) in wanted and not _shard(note)
        for note in notes(path / RESUMED)
    )


def _shard(part: Mapping[str, Any]) -> str:
    return str(((part.get("asked") or {}).get("options") or {}).get(_SHARD, ""))


def _of(asked: Mapping[str, Any]) -> str:
    """Which tests were asked for, as if by one who plays all of them."""
    options: Iterable[tuple[str, Any]] = (asked.get("options") or {}).items()
    return json.dumps(
        [sorted(asked.get("tests") or ()), {name: value for name, value in options if name != _SHARD}], sort_keys=True
    )
