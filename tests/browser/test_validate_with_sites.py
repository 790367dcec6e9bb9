"""``webarena tasks validate --with-sites``: mistakes that only running sites show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from tests.desk import CATALOGUE_MISTAKES, TASK_MISTAKES, catalogue, task, write_app
from tests.hosted_app import HostedApp, hosted_app

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]


@pytest.fixture
def shop() -> Any:
    with hosted_app() as app:
        yield app


def _validate(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, Any]], str]:
    """Validate the folder's files on their sites; return the problems, and what was printed for people."""
    capsys.readouterr()
    code = main(["tasks", "validate", "--with-sites", "--format=json", str(folder)])
    output = capsys.readouterr()
    problems: list[dict[str, Any]] = json.loads(output.out)["problems"]
    assert code == bool(problems)
    return problems, output.err


def _found_in(names: Sequence[str], folder: Path, shop: HostedApp, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Validate one file with a task for each mistake; return the names of those with a problem. An unknown name stands
    for a task without a mistake."""
    write_app(folder)
    (folder / "sites.yaml").write_text(catalogue(int(shop.url.rpartition(":")[2])))
    text = "tasks:" + "".join(task(name, TASK_MISTAKES.get(name, ("", ""))) for name in names)
    (folder / "tasks.yaml").write_text(text)
    problems, _ = _validate(folder, capsys)
    lines = text.splitlines()
    ids = [[line for line in lines[: each["line"]] if line.startswith("  - id: ")][-1] for each in problems]
    return {line.removeprefix("  - id: ") for line in ids}


def test_mistake_in_a_task_and_a_host_that_pages_need_are_found(
    tmp_path: Path, shop: HostedApp, capsys: pytest.CaptureFixture[str]
) -> None:
    write_app(tmp_path)
    program = tmp_path / "desk_app.py"
    program.write_text(
        program.read_text().replace("<h1>Notes</h1>", "<h1>Notes</h1><img src=http://pictures.test/a.png>")
    )
    (tmp_path / "sites.yaml").write_text(catalogue(int(shop.url.rpartition(":")[2])))
    (tmp_path / "tasks.yaml").write_text("tasks:" + task("json-path", TASK_MISTAKES["json-path"]))
    problems, printed = _validate(tmp_path, capsys)
    assert len(problems) == 1
    assert "desk: its pages need pictures.test, which no key of the app desk allows" in printed
    assert "loads:" in printed


@pytest.mark.exhaustive
def test_every_mistake_in_a_task_is_found(tmp_path: Path, shop: HostedApp, capsys: pytest.CaptureFixture[str]) -> None:
    assert _found_in([*TASK_MISTAKES, "correct"], tmp_path, shop, capsys) == set(TASK_MISTAKES)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CATALOGUE_MISTAKES)
def test_every_mistake_in_a_catalogue_is_found(
    name: str, tmp_path: Path, shop: HostedApp, capsys: pytest.CaptureFixture[str]
) -> None:
    write_app(tmp_path)
    port = int(shop.url.rpartition(":")[2])
    text = catalogue(port, CATALOGUE_MISTAKES[name])
    (tmp_path / "sites.yaml").write_text(text)
    changed = next(
        number
        for number, lines in enumerate(zip(catalogue(port).splitlines(), text.splitlines(), strict=True), 1)
        if lines[0] != lines[1]
    )
    problems, _ = _validate(tmp_path, capsys)
    app = text.splitlines().index("  shop:") + 1
    assert [(each["line"] > app) == (changed > app) for each in problems] == [True]
