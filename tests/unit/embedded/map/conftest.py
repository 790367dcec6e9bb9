"""Fixtures of the map, which is read-only and seeded once."""

from __future__ import annotations

from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import map as atlas
from tests.unit.embedded.seeded import epoch, seeded_once

__all__ = ["epoch"]

data_dir = seeded_once(atlas)


@pytest.fixture
def visitor(data_dir: Path) -> Client:
    return Client(atlas.create_app(data_dir))
