"""Properties of all shipped task files."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.embedded import world
from tests.cases import each_case

_TASKS = Path(__file__).parents[3] / "tasks"
_FILES = sorted(_TASKS.rglob("*.yaml"))


@each_case("path", _FILES, ids=lambda path: path.relative_to(_TASKS).as_posix())
def test_every_file_carries_the_canary(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith(f"# {world.CANARY}\n")
