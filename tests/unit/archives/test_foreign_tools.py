"""The script that checks our archives with third-party tools finds injected faults."""

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


def passes_warcio_check(path: Path) -> bool:
    """Return whether warcio's own check passes."""
    command = [sys.executable, "-c", "from warcio.cli import main; main()", "check", str(path)]
    return subprocess.run(command, capture_output=True).returncode == 0


def test_our_archive_is_valid_for_third_party_tools(foreign_archives: ModuleType, tmp_path: Path) -> None:
    ours = foreign_archives.written(tmp_path / "ours.warc.gz")
    assert passes_warcio_check(ours)
    assert foreign_archives.served(ours) == "served whole"


@pytest.mark.parametrize(("fault", "by_check", "by_serving"), [
    ("digest", True, False), ("body", True, True), ("address", False, True), ("length", False, True),
])  # fmt: skip
def test_injected_fault_is_found(
    foreign_archives: ModuleType, tmp_path: Path, fault: str, by_check: bool, by_serving: bool
) -> None:
    ours = foreign_archives.written(tmp_path / "ours.warc.gz")
    foreign_archives.spoil(ours, fault)
    assert (not passes_warcio_check(ours), foreign_archives.served(ours).startswith("FAILED")) == (by_check, by_serving)


def test_every_fault_of_the_script_is_tested(foreign_archives: ModuleType) -> None:
    assert set(foreign_archives.FAULTS) == {"digest", "body", "address", "length"}
