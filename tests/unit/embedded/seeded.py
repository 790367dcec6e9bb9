"""Fixtures of a site that is seeded once a session: its conftest takes what it needs from here."""

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
    """Each test begins when the world does."""
    clock.restart()
    yield
    clock.restart()


def seeded_once(site: ModuleType) -> Any:
    """A fixture: the folder of the pristine site, for tests that only read."""

    @pytest.fixture(scope="session")
    def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
        directory = tmp_path_factory.mktemp(site.__name__.rpartition(".")[2])
        site.seed(directory)
        return directory

    return folder


def copied(pristine: str) -> Any:
    """A fixture: a copy of the folder that the fixture ``pristine`` made, for one test to change."""

    @pytest.fixture
    def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        source: Path = request.getfixturevalue(pristine)
        (tmp_path / "main.sqlite3").write_bytes((source / "main.sqlite3").read_bytes())
        return tmp_path

    return folder


@pytest.fixture
def rows(data_dir: Path) -> Callable[..., list[tuple[Any, ...]]]:
    """Looks straight into the database."""

    def run(sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection, connection:
            return connection.execute(sql, values).fetchall()

    return run
