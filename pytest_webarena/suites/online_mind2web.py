"""Reads tasks of Online-Mind2Web (arXiv 2504.01382): an intent and a live site each, and nothing that decides it.

The paper judges by people and by a model that reads the trajectory. Until such a judge is measured here, people decide:
each verdict is undecided (the check kind ``human``).
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pytest_webarena.suites.fields import Fields
from pytest_webarena.suites.forms import Form, make_task
from pytest_webarena.suites.mind2web import site_names
from pytest_webarena.suites.rows import TaskRows, read_rows
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import clip

__all__ = ["LEVELS", "SUITE", "is_online_mind2web", "read_online_mind2web"]

SUITE = "online-mind2web"
LEVELS = ("easy", "medium", "hard")
_QUESTION = "Was the task done as its intent says, on the live site, with nothing left out?"
_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")


def is_online_mind2web(data: bytes) -> bool:
    """Whether a JSON file looks like this format, judged by keys that no other suite has together."""
    return b'"confirmed_task"' in data and b'"reference_length"' in data


def read_online_mind2web(data: bytes, path: str, name: str, forms: list[Form]) -> tuple[tuple[Task, ...], TaskRows]:
    """Returns the tasks of a file, and its rows with all their problems. ``forms`` receives the plain data."""
    rows = read_rows(data, path)
    first: dict[str, int] = {}
    tasks = []
    for row in rows.rows:
        fields = Fields(rows, row)
        form = _form(fields, name)
        if form is None or not fields.sound:
            continue
        if (line := first.setdefault(form["id"], row.line)) != row.line:
            fields.fault(("task_id",), "an id used once", f"'{form['id']}' again", f"first in line {line}")
            continue
        task = make_task(form, rows, row)
        if task is not None:
            tasks.append(task)
            forms.append(form)
    return tuple(tasks), rows


def _form(fields: Fields, name: str) -> Form | None:
    """Returns the content of a task file; None, with a problem noted, when the row is faulty."""
    number = fields.text("task_id")
    intent = fields.text("confirmed_task")
    website = fields.text("website")
    length = fields.number("reference_length")
    level = fields.text("level", optional=True)
    if number is not None and not _ID.fullmatch(number):
        fields.fault(("task_id",), "an id of letters, digits, '-' and '_'", f"'{clip(number, 40)}'")
    if level is not None and level not in LEVELS:
        fields.fault(("level",), f"{', '.join(LEVELS[:-1])} or {LEVELS[-1]}", f"'{clip(level, 40)}'")
    hosts = site_names([website]) if website is not None else {}
    if website is not None and not hosts:
        fields.fault(("website",), "an address that starts with http:// or https://", f"'{clip(website, 80)}'")
    if number is None or intent is None or website is None or length is None or not fields.sound:
        return None
    (site,) = hosts
    parts = urlsplit(website)
    return {
        "id": f"{name}.{number}",
        "intent": intent.strip(),
        "sites": [site],
        "start": f"{site}:{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}",
        "checks": [{"human": _QUESTION}],
        **({"tags": [f"level:{level}"]} if level else {}),
        "source": {
            "suite": SUITE,
            "task_id": number,
            "reference_length": length,
            "hosts": hosts,
            "recorded": [website],
        },
    }
