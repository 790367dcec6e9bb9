"""Fixtures of sites that are seeded once per session, for their conftest files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_webarena.embedded import clock

__all__ = ["copied", "epoch", "rows", "seeded_once"]


@pytest.fixture(autouse=True)
def epoch() -> Iterator[None]:
    """Start the world's clock at its epoch for each test."""
    clock.restart()
    yield
    clock.restart()


def seeded_once(site: ModuleType) -> Any:
    """Return a fixture with the folder of the pristine site, for tests that only read."""

    @pytest.fixture(scope="session")
    def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
        directory = tmp_path_factory.mktemp(site.__name__.rpartition(".")[2])
        site.seed(directory)
        return directory

    return folder


def copied(pristine: str) -> Any:
    """Return a fixture with a copy of the fixture ``pristine``, which a test may change."""

    @pytest.fixture
    def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        source: Path = request.getfixturevalue(pristine)
        (tmp_path / "main.sqlite3").write_bytes((source / "main.sqlite3").read_bytes())
        return tmp_path

    return folder


@pytest.fixture
def rows(data_dir: Path) -> Callable[..., list[tuple[Any, ...]]]:
    """Return a function that queries the database."""

    def run(sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection, connection:
            return connection.execute(sql, values).fetchall()

    return run
