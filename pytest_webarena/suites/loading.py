"""Reads suites by name, or JSON files: returns their tasks, or reports every problem of the file together."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.errors import Problem, TaskFileError, UsageError
from pytest_webarena.suites import arb, mind2web, online_mind2web, verified, webarena
from pytest_webarena.suites.corrections import correct
from pytest_webarena.suites.fields import Fields
from pytest_webarena.suites.forms import Form, make_task
from pytest_webarena.suites.known import known_issues
from pytest_webarena.suites.published import SUITES, Format, Suite, find_data, find_suite, installed, subset_ids
from pytest_webarena.suites.rows import Row, TaskRows, read_rows
from pytest_webarena.tasks.model import Task

__all__ = ["Loaded", "LoadedForms", "is_suite", "load_forms", "load_suite", "read_suite_file"]

_READERS: Mapping[Format, Callable[[Fields], Form | None]] = {
    "webarena": webarena.read_row,
    "webarena-lite": webarena.read_row,
    "visualwebarena": webarena.read_row,
    "webarena-verified": verified.read_row,
}
_MARKS = {"viewport_size", "image", "reasoning_difficulty", "visual_difficulty", "overall_difficulty"}
_FILES = (".json", ".jsonl")
_ID = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Loaded:
    """The tasks of one suite, and their file."""

    name: str
    """Name of the suite; a file's name without its suffix."""
    path: Path
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class LoadedForms:
    """The tasks of one suite in the shape of a task file."""

    name: str
    title: str
    package: str
    """Package, or file name, that the data came from."""
    folder: Path
    """Folder of the suite's file."""
    forms: tuple[Form, ...]


def load_forms(source: str) -> LoadedForms:
    """Like `load_suite`, but returns the content of a task file as plain data."""
    forms: list[Form] = []
    loaded = load_suite(source, forms)
    suite = SUITES.get(loaded.name)
    title = suite.title if suite is not None else loaded.path.name
    package = suite.data[0].package if suite is not None else loaded.path.name
    return LoadedForms(loaded.name, title, package, loaded.path.parent, tuple(forms))


def load_suite(source: str, forms: list[Form] | None = None) -> Loaded:
    """Load a published suite by name, or a JSON file in one of the suites' formats by path. ``forms`` receives the
    plain data.

    Raises `UsageError` for an unknown name or a missing package, `TaskFileError` with all problems.
    """
    named, source = source, source.removeprefix(arb.PREFIX).removeprefix(mind2web.PREFIX)
    if named.startswith(mind2web.PREFIX):
        mind2web.insist(Path(source), source)
    if source not in SUITES and (source.endswith(_FILES) or Path(source).is_file()):
        return Loaded(_stem(source), Path(source), read_suite_file(Path(source), forms))
    suite = find_suite(source)
    path = find_data(suite)
    tasks, problems = _read(path, suite.name, suite, forms)
    if problems:
        raise TaskFileError(problems)
    return Loaded(suite.name, path, tasks)


def is_suite(source: str) -> bool:
    """Whether ``source`` names a published suite or a JSON file, rather than YAML or a folder."""
    return (
        source.startswith((arb.PREFIX, mind2web.PREFIX))
        or source.endswith(_FILES)
        or (source in SUITES and not Path(source).exists())
    )


def read_suite_file(path: Path, forms: list[Form] | None = None) -> tuple[Task, ...]:
    """Returns the tasks of a JSON file. Raises `TaskFileError` with all problems."""
    tasks, problems = _read(path, _stem(str(path)), None, forms)
    if problems:
        raise TaskFileError(problems)
    return tasks


_TAGS = ("type_main", "required_obs")
"""Keys of WebChoreArena (arXiv 2506.01952) that become tags: what makes a task hard, and what must be seen."""


def _stem(path: str) -> str:
    name = Path(path).name
    return _ID.sub("-", name.partition(".")[0]).strip(".-") or "suite"


def _read(
    path: Path, name: str, suite: Suite | None, forms: list[Form] | None
) -> tuple[tuple[Task, ...], tuple[Problem, ...]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: expected a readable JSON file of tasks, found: {reason}") from None
    enabled = gc.isenabled()
    gc.disable()  # reading creates many objects and no cycles
    try:
        kept = forms if forms is not None else []
        if suite is None and arb.is_arb(data, str(path)):
            tasks, rows = arb.read_arb(data, str(path), name, kept)
        elif suite is None and mind2web.is_mind2web(data):
            tasks, rows = mind2web.read_mind2web(data, str(path), name, kept)
        elif suite is None and online_mind2web.is_online_mind2web(data):
            tasks, rows = online_mind2web.read_online_mind2web(data, str(path), name, kept)
        else:
            rows = read_rows(data, str(path))
            tasks = _tasks(rows, name, suite, kept)
    finally:
        if enabled:
            gc.enable()
    problems = sorted(rows.problems, key=lambda problem: (problem.line, problem.column))
    if rows.more:
        last = rows.text.count("\n") + 1
        problems.append(
            Problem(path=str(path), line=last, column=1, expected="no further problems", found=f"{rows.more:,} more")
        )
    return tasks, tuple(problems)


def _tasks(rows: TaskRows, name: str, suite: Suite | None, forms: list[Form]) -> tuple[Task, ...]:
    form_of = suite.format if suite is not None else _format(rows.rows)
    wanted = subset_ids(suite) if suite is not None else None
    issues = known_issues(name) if suite is not None else {}
    others = _verified_rows(suite) if suite is not None else {}
    templates = _Templates(rows.rows)
    first: dict[int, Row] = {}
    tasks: list[Task] = []
    for row in rows.rows:
        fields = Fields(rows, row)
        form = _READERS[form_of](fields)
        number = row.data.get("task_id")
        if isinstance(number, int) and (earlier := first.setdefault(number, row)) is not row:
            fields.fault(("task_id",), "an id used once", f"{number} again", f"first in line {earlier.line}")
        if form is None or not fields.sound or (wanted is not None and number not in wanted):
            continue
        assert isinstance(number, int)
        del form["task_id"]
        form["reach"] = "environment"  # agents of the papers can use all sites, whichever ones a task is about
        _say_dialect(form, form_of)
        if form_of == "webarena":
            correct(form, number)
        other = others.get(number)
        if other is not None and _plain(other["intent"]) == _plain(form["intent"]) and other["sites"] == form["sites"]:
            form["gradings"] = {"verified": [{"verified": {key: other[key] for key in ("sites", "task_id", "eval")}}]}
        source = {"suite": name, "task_id": number, **form.pop("source")}
        form = {"id": f"{name}.{number}", **form, "template": templates.name(row), "source": source}
        if number in issues:
            form["known_issue"] = issues[number]
        tags = ["known-issue"] if "known_issue" in form else []
        tags += ["input-images"] if "images" in form else []
        tags += [f"{key}:{value}" for key in _TAGS if isinstance(value := row.data.get(key), str)]
        if tags:
            form["tags"] = tags
        task = make_task(form, rows, row)
        if task is not None:
            tasks.append(task)
            forms.append(form)
    return tuple(tasks)


def _say_dialect(form: Form, name: Format) -> None:
    """Set the dialect in each check whose evaluators are not WebArena's own."""
    if name in ("webarena", "webarena-verified"):
        return
    for check in form["checks"]:
        for kind in ("string_match", "url_match"):
            if kind in check:
                check[kind]["dialect"] = name
        if "program_html" in check:
            check["program_html"] = {"targets": check["program_html"], "dialect": name}


def _format(rows: Iterable[Row]) -> Format:
    """Returns the format of a file, judged by its first row."""
    row = next(iter(rows), None)
    data: Mapping[str, Any] = row.data if row is not None else {}
    if "start_urls" in data or (isinstance(data.get("eval"), list) and "start_url" not in data):
        return "webarena-verified"
    if "old_task_id" in data:
        return "webarena-lite"
    return "visualwebarena" if _MARKS & data.keys() else "webarena"


def _verified_rows(suite: Suite) -> Mapping[int, Mapping[str, Any]]:
    """Returns WebArena-Verified's rows by task number, if the suite uses them and they are installed."""
    path = installed(suite.also) if suite.also is not None else None
    if path is None:
        return {}
    rows = read_rows(path.read_bytes(), str(path))
    return {row.data["task_id"]: row.data for row in rows.rows if verified.read_row(Fields(rows, row)) is not None}


def _plain(intent: str) -> str:
    return re.sub(r"\W+", " ", intent).strip().lower()


class _Templates:
    """Names of templates: ``t279``, or ``t279-1``, ``t279-2`` if one number has several texts."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.texts: dict[Any, list[Any]] = {}
        for row in rows:
            number, text = row.data.get("intent_template_id"), row.data.get("intent_template")
            if isinstance(number, int) and isinstance(text, str | None):
                texts = self.texts.setdefault(number, [])
                if text not in texts:
                    texts.append(text)

    def name(self, row: Row) -> str:
        """Returns the template's name for a row; the task's own id when it has no template."""
        number = row.data.get("intent_template_id")
        texts = self.texts.get(number)
        if not texts:
            return f"task-{row.data['task_id']}"
        return f"t{number}" if len(texts) == 1 else f"t{number}-{texts.index(row.data.get('intent_template')) + 1}"
