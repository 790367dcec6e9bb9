"""The suite reads once what is installed, and what a test installs each time; what was collected is no garbage."""

from __future__ import annotations

import gc
from importlib.metadata import distribution, distributions, entry_points, version
from pathlib import Path

import pytest


def install(folder: Path, number: str, group: str) -> None:
    info = folder / "made_up_package.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: made-up-package\nVersion: {number}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nthing = made_up:thing\n")


def test_packages_of_this_interpreter_are_read_once() -> None:
    first, second = ([each for each in distributions() if each.name == "pytest"] for _ in range(2))
    assert len(first) == 1
    assert first[0] is second[0]
    assert first[0].files is second[0].files
    assert first[0].files
    assert version("pytest") == pytest.__version__
    assert distribution("pytest").metadata is distribution("pytest").metadata


def test_what_a_test_installs_is_read_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for number in ("1", "2"):
        install(tmp_path, number, f"made.up{number}")
        assert version("made-up-package") == number
        assert [point.value for point in entry_points(group=f"made.up{number}")] == ["made_up:thing"]
        assert not entry_points(group="made.up0")
    monkeypatch.undo()
    assert "made-up-package" not in [each.name for each in distributions()]


def test_what_was_collected_is_not_searched_for_garbage() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000
