"""Fixtures shared by the tests of agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.results.rundir import RunDir
from tests.made_up import make_run


@pytest.fixture
def recorded(tmp_path: Path) -> RunDir:
    """An empty run directory for the trials to replay."""
    return make_run(tmp_path / "recorded")
