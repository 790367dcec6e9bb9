"""The cache of built seed data."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from pytest_webarena.embedded.shop import prebuilt
from pytest_webarena.errors import SiteError


def test_concurrent_builders_leave_one_complete_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path / "cache"))
    gate = threading.Barrier(4)

    def build(database: Path) -> None:
        gate.wait(10)
        with database.open("wb") as file:
            for _ in range(64):
                file.write(b"x" * 1024)

    monkeypatch.setattr(prebuilt, "_build", build)
    threads = [threading.Thread(target=prebuilt.seed, args=(tmp_path / str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(tmp_path / str(number) / "main.sqlite3").read_bytes() for number in range(4)} == {b"x" * 65536}
    folders = list((tmp_path / "cache").iterdir())
    assert [path.name for path in folders] == [f"shop-{prebuilt.digest()}"]
    assert [path.name for path in folders[0].iterdir()] == ["main.sqlite3"]


def test_failed_build_leaves_no_file_and_reports_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(SiteError, match="could not be built"):
        prebuilt.seed(tmp_path / "data")
    assert not list((tmp_path / "cache").rglob("*.sqlite3"))


def test_cached_seed_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pristine: Path) -> None:
    folder = tmp_path / f"shop-{prebuilt.digest()}"
    folder.mkdir()
    (folder / "main.sqlite3").write_bytes((pristine / "main.sqlite3").read_bytes())
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(prebuilt, "_build", lambda _: pytest.fail("built again"))
    prebuilt.seed(tmp_path / "data")
    assert (tmp_path / "data" / "main.sqlite3").read_bytes() == (pristine / "main.sqlite3").read_bytes()
