"""Writes annotations of steps: action, parameters, selector path, text, coordinates and screenshot of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import Action
from pytest_webarena.recorder.writing import as_step
from pytest_webarena.results.files import write_atomically
from pytest_webarena.secrets import scrub_plain

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord
    from pytest_webarena.tasks import Task

__all__ = ["FILE", "write_annotation"]

FILE = "annotation.json"
_ELEMENT_KEYS = ("tag", "role", "name", "text")


def write_annotation(
    folder: Path, task: Task, actions: Sequence[Action], records: Sequence[StepRecord], pictures: Sequence[bytes]
) -> Path:
    """Write ``annotation.json`` and a screenshot from before each step; return the former's path.

    Files of an earlier annotation are replaced. An empty picture writes no screenshot.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("step-*.jpg"):
        old.unlink()
    steps = []
    for number, (action, record, picture) in enumerate(zip(actions, records, pictures, strict=True), 1):
        name = f"step-{number:02d}.jpg"
        if picture:
            (folder / name).write_bytes(picture)
        steps.append(_step(number, action, record, name if picture else ""))
    annotation = {
        "schema_version": 1,
        "task": task.id,
        "intent": task.intent,
        "sites": list(task.sites),
        "steps": steps,
    }
    path = folder / FILE
    write_atomically(path, json.dumps(scrub_plain(annotation), indent=2, ensure_ascii=False) + "\n")
    return path


def _step(number: int, action: Action, step: StepRecord, picture: str) -> dict[str, Any]:
    target = step.target
    data: Any = as_step(action)  # a mapping of the action to its parameters, or the name of an action without any
    name, parameters = next(iter(data.items())) if isinstance(data, Mapping) else (data, None)
    return {
        "step": number,
        "action": name,
        "parameters": parameters,
        "solution": data,
        "selector_path": target.selector if target is not None else "",
        "element": {} if target is None else {key: getattr(target, key) for key in _ELEMENT_KEYS},
        "x": target.x if target is not None else None,
        "y": target.y if target is not None else None,
        "url": step.url_before,
        "url_after": step.url_after,
        "value": step.value,
        "error": step.error,
        "screenshot": picture,
    }
