"""The encyclopedia, seeded once: nobody can change it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import clock, wikipedia


@pytest.fixture(autouse=True)
def epoch() -> Iterator[None]:
    clock.restart()
    yield
    clock.restart()


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wikipedia")
    wikipedia.seed(directory)
    return directory


@pytest.fixture
def reader(data_dir: Path) -> Client:
    return Client(wikipedia.create_app(data_dir))
