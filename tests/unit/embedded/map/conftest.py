"""The map, seeded once: nobody can change it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import clock
from pytest_webarena.embedded import map as atlas


@pytest.fixture(autouse=True)
def epoch() -> Iterator[None]:
    clock.restart()
    yield
    clock.restart()


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("map")
    atlas.seed(directory)
    return directory


@pytest.fixture
def visitor(data_dir: Path) -> Client:
    return Client(atlas.create_app(data_dir))
