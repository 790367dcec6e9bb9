"""The published suites, where their packages are installed: all of them as tasks, and the same tasks from YAML."""

from __future__ import annotations

import dataclasses
import functools
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.suites import published as module
from pytest_webarena.suites.export import export
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.suites.published import SUITES, DataFile, Suite, find_data, find_suite
from pytest_webarena.suites.selecting import evaluation_types
from pytest_webarena.suites.stats import distribution
from pytest_webarena.tasks import Check, Location, Task, load_tasks
from tests.unit.suites.made import raw, write

pytestmark = pytest.mark.corpus


def installed(name: str) -> str:
    try:
        find_data(find_suite(name))
    except UsageError as error:
        pytest.skip(str(error))
    return name


@functools.cache
def tasks_of(name: str) -> tuple[Task, ...]:
    """Read a suite once for all tests; skip the test if its package is not installed."""
    return load_suite(installed(name)).tasks


def plain(value: Any) -> Any:
    """Return a task without its locations in a file."""
    if isinstance(value, Location):
        return None
    if isinstance(value, Check):
        return value.path, value.kind, plain(value.spec), plain(value.children), value.weight, value.when
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def by_id(tasks: Iterable[Task]) -> dict[str, Any]:
    return {task.id: plain(task) for task in tasks}


def test_hard_subset_is_part_of_its_suite() -> None:
    hard = tasks_of("webarena-verified-hard")
    whole = {task.source["task_id"]: task.digest for task in tasks_of("webarena-verified")}
    assert len(hard) == 258
    assert all(whole[task.source["task_id"]] == task.digest for task in hard)


@pytest.mark.parametrize("name", ["webarena", "webarena-verified", "webarena-lite", "visualwebarena"])
def test_suite_round_trips_through_yaml(name: str, tmp_path: Path) -> None:
    tasks = tasks_of(name)
    assert len(tasks) == SUITES[name].tasks
    assert tasks[0].id == f"{name}.{tasks[0].source['task_id']}"
    files = export(name, tmp_path / "out")
    assert sum(file.tasks for file in files) == len(tasks)
    assert by_id(task for file in files for task in load_tasks(file.path)) == by_id(tasks)


def test_reading_a_suite_imports_no_heavy_modules() -> None:
    heavy = {"webarena_verified", "pydantic", "jsonschema", "jinja2", "openai", "docker", "playwright", "pytest"}
    suites = [installed(name) for name in ("webarena", "webarena-verified")]
    code = f"""
import sys
from pytest_webarena.suites.loading import load_suite
for name in {suites}: load_suite(name)
print(*sorted({heavy} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_webarena_counts_equal_the_papers() -> None:
    tasks = tasks_of("webarena")
    assert Counter(evaluation_types(task) for task in tasks) == {
        ("string_match",): 325,
        ("program_html",): 282,
        ("url_match", "program_html"): 129,
        ("url_match",): 66,
        ("string_match", "url_match"): 10,
    }
    sites = Counter(task.sites[0] if len(task.sites) == 1 else "several" for task in tasks)
    assert sites == {"shopping": 187, "shopping_admin": 182, "gitlab": 180, "map": 109, "reddit": 106, "several": 48}
    assert sum(task.category == "unachievable" for task in tasks) == 36
    assert len({task.template for task in tasks}) == 241
    assert len({task.template.partition("-")[0] for task in tasks}) == 190
    assert sum(len(task.start) > 1 for task in tasks) == 5


def test_tasks_with_equal_intent_have_the_verified_checks() -> None:
    tasks = tasks_of("webarena")
    both = [task for task in tasks if task.gradings]
    assert len(both) == 158
    assert all([check.kind for check in task.gradings["verified"]] == ["verified"] for task in both)


def test_known_issues_belong_to_existing_tasks() -> None:
    tasks = tasks_of("webarena")
    known = {task.source["task_id"]: task.known_issue for task in tasks if task.known_issue}
    assert "#275" in known[386]
    assert all(not task.skip and not task.xfail for task in tasks)


def test_missing_suite_package_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "installed", lambda file: None)
    with pytest.raises(UsageError) as caught:
        find_data(SUITES["webarena"])
    assert str(caught.value) == (
        "suite webarena: expected the package webarena-verified, which carries its tasks, found none; "
        "pip install webarena-verified"
    )


def test_first_installed_package_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = write(tmp_path, raw())
    monkeypatch.setattr(module, "installed", lambda file: there if file.package == "heavy" else None)
    suite = Suite(
        name="x", title="X", tasks=1, format="webarena", data=(DataFile("light", "a"), DataFile("heavy", "b"))
    )
    assert find_data(suite) == there


def test_rows_with_unusual_texts_round_trip_through_yaml(tmp_path: Path) -> None:
    odd = [
        "no",
        "1e5",
        "007",
        "a: b",
        "# c",
        "- d",
        "{{ x }}",
        "{% y %}\r\n z",
        "a\u2028b",
        "'",
        '"',
        "\\",
        "null",
        "é ☃",
    ]
    rows = [
        raw(number, eval__reference_answers={"must_include": [text]}, intent=text) for number, text in enumerate(odd)
    ]
    source = write(tmp_path, *rows)
    export(str(source), tmp_path / "all.yaml")
    assert by_id(load_tasks(tmp_path / "all.yaml")) == by_id(load_suite(str(source)).tasks)


def test_export_does_not_overwrite_files(tmp_path: Path) -> None:
    source = str(write(tmp_path, raw()))
    export(source, tmp_path / "out")
    with pytest.raises(UsageError, match="expected a new file"):
        export(source, tmp_path / "out")


def test_distribution_fits_80_columns(tmp_path: Path) -> None:
    rows = [raw(0), raw(1, sites=["gitlab", "reddit"], start_url="__GITLAB__ |AND| __REDDIT__"), raw(2)]
    lines = distribution("mine", load_suite(str(write(tmp_path, *rows))).tasks)
    assert max(map(len, lines)) <= 80
    assert lines[0] == "mine: 3 tasks"
    assert any(line.startswith("  shopping         2  67%") for line in lines)
    assert any("1 on several sites, 1 with several tabs" in line for line in lines)
