"""The form in which people answer drafts: one HTML file per person, and another one for the adjudicator.

A person's page contains no other person's answers. A page opened from a file can't write a file, so answers are offered
as a download. Ideas are never interpreted as HTML, and the page may not load anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_webarena.errors import writing
from pytest_webarena.results.self_contained_page import as_json, head
from pytest_webarena.task_generation.answers import PersonAnswer, answer_text
from pytest_webarena.tasks import Task

__all__ = ["write_form"]


def write_form(
    drafts: Sequence[Task], target: Path, *, source: str, answers: Sequence[Mapping[str, PersonAnswer]] = ()
) -> None:
    """Write the page. ``source``: name of the drafts' file; ``answers``: two people's answers to each draft, for the
    adjudicator. Raises `UsageError` when it can't be written."""
    rows = [_row(task, [each[task.id] for each in answers]) for task in drafts]
    data = {"source": source, "deciding": bool(answers), "ideas": rows}
    with writing(target):
        target.write_text(_page(data), encoding="utf-8", errors="replace")


def _row(task: Task, answers: Sequence[PersonAnswer]) -> dict[str, Any]:
    pages = task.source.get("pages")
    # In an order that does not show whose answer is whose.
    shuffled = sorted(answers, key=lambda each: hashlib.sha256(f"{task.id} {answer_text(each)}".encode()).digest())
    return {
        "task": task.id,
        "digest": task.digest,
        "intent": task.intent,
        "kind": task.category,
        "sites": list(task.sites),
        "pages": [str(page) for page in pages] if isinstance(pages, Sequence) and not isinstance(pages, str) else [],
        "answers": [{"says": each.kind, "text": each.text, "description": answer_text(each)} for each in shuffled],
    }


def _page(data: Mapping[str, Any]) -> str:
    folder = files(__package__)
    script, style, page = (folder.joinpath(name).read_text("utf-8") for name in ("form.js", "form.css", "page.html"))
    body, _, tail = page.partition("<!-- data -->\n")
    before = head("ideas for tasks", script=script, style=style)
    packed = f'<script type="application/json" id="data">{as_json(data)}</script>\n'
    return f"{before}{body}{packed}<script>{script}</script>\n{tail}"
