"""The script that has tools of others read our archives sees what is wrong with one: faults are planted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.fixture
def foreign_archives(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.delitem(sys.modules, "foreign_archives", raising=False)
    import foreign_archives as module  # type: ignore[import-not-found]

    assert isinstance(module, ModuleType)
    return module


def checked(path: Path) -> bool:
    """What warcio's own check says of an archive."""
    command = [sys.executable, "-c", "from warcio.cli import main; main()", "check", str(path)]
    return subprocess.run(command, capture_output=True).returncode == 0


def test_an_archive_of_ours_is_whole_to_others(foreign_archives: ModuleType, tmp_path: Path) -> None:
    ours = foreign_archives.written(tmp_path / "ours.warc.gz")
    assert checked(ours)
    assert foreign_archives.served(ours) == "served whole"


@pytest.mark.parametrize(("fault", "by_check", "by_serving"), [
    ("digest", True, False), ("body", True, True), ("address", False, True), ("length", False, True),
])  # fmt: skip
def test_a_planted_fault_is_found(
    foreign_archives: ModuleType, tmp_path: Path, fault: str, by_check: bool, by_serving: bool
) -> None:
    ours = foreign_archives.written(tmp_path / "ours.warc.gz")
    foreign_archives.spoil(ours, fault)
    assert (not checked(ours), foreign_archives.served(ours).startswith("FAILED")) == (by_check, by_serving)


def test_no_fault_goes_without_a_test(foreign_archives: ModuleType) -> None:
    assert set(foreign_archives.FAULTS) == {"digest", "body", "address", "length"}
