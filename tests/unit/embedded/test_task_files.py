"""Properties of all shipped task files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_webarena.checks.answer_form import answer_form
from pytest_webarena.checks.grading import REPAIRED
from pytest_webarena.embedded import world
from tests.cases import each_case
from tests.shipped_tasks import shipped_tasks

_TASKS = Path(__file__).parents[3] / "tasks"
_FILES = sorted(_TASKS.rglob("*.yaml"))


@each_case("path", _FILES, ids=lambda path: path.relative_to(_TASKS).as_posix())
def test_every_file_carries_the_canary(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith(f"# {world.CANARY}\n")


@pytest.mark.corpus
def test_instruction_does_not_reveal_that_a_task_cannot_be_done() -> None:
    for task in (task for path in _FILES for task in shipped_tasks(path) if task.category == "unachievable"):
        asks = "?" in re.sub(r'"[^"]*"', "", task.intent) or "Tell me" in task.intent
        assert bool(answer_form(task, REPAIRED)) is asks, task.id
