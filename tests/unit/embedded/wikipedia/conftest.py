"""Fixtures of the encyclopedia, which is read-only and seeded once."""

from __future__ import annotations

from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import wikipedia
from tests.unit.embedded.seeded import epoch, seeded_once

__all__ = ["epoch"]

data_dir = seeded_once(wikipedia)


@pytest.fixture
def reader(data_dir: Path) -> Client:
    return Client(wikipedia.create_app(data_dir))
