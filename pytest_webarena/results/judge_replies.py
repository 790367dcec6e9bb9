"""Stored replies of judges in a merged run: those of the run whose verdict counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.results.atomic_folders import copy_plain
from pytest_webarena.results.repeated_trials import Taken

__all__ = ["FOLDER", "merge_replies"]

FOLDER = "judge_replies"
"""Folder of a run with one file per question and judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judging:
    """The run whose verdict on a trial counts."""

    run: str
    at: float
    """Unix time of the judging."""


def merge_replies(sources: Mapping[str, Path], taken: Sequence[Taken], target: Path) -> int:
    """Copy the replies of the runs ``sources``, by their names, to the folder ``target``.

    If runs have different replies of one judge to one question, those of the run whose verdict on the question's trial
    counts are kept; if no trial has this question, those of the run that was judged last. Returns the number of such
    questions.
    """
    latest = dict.fromkeys(sources, 0.0)
    counting: dict[tuple[str, str | None], _Judging] = {}
    for each in taken:
        copy = each.copy
        latest[copy.run] = max(latest[copy.run], copy.judged_at)
        place = copy.record.intent, copy.record.answer
        if copy.record.judge is not None and (place not in counting or counting[place].at < copy.judged_at):
            counting[place] = _Judging(run=copy.run, at=copy.judged_at)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name in sorted(sources, key=lambda name: latest[name]):
        folder = sources[name] / FOLDER
        if not folder.is_dir():
            continue
        copy_plain(folder, target)
        for file in sorted(folder.rglob("*.json")):
            if (data := _read(file)) is not None:
                found.setdefault(file.relative_to(folder).as_posix(), {})[name] = data
    differing = {
        file: by for file, by in found.items() if len({json.dumps(data.get("replies")) for data in by.values()}) > 1
    }
    for name, by in differing.items():
        question = next(iter(by.values()))["question"]
        judging = counting.get((question.get("intent", ""), question.get("answer")))
        if judging is not None and judging.run in by:
            (target / name).write_bytes((sources[judging.run] / FOLDER / name).read_bytes())
    return len(differing)


def _read(file: Path) -> dict[str, Any] | None:
    """The content of a file with replies; None where it can't be read, so that the judge is asked again."""
    try:
        data = json.loads(file.read_bytes())
        return data if isinstance(data.get("question"), dict) else None
    except (OSError, ValueError, AttributeError):
        return None
