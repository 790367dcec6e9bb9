"""What tests of agents have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.results.rundir import RunDir
from tests.made_up import make_run


@pytest.fixture
def recorded(tmp_path: Path) -> RunDir:
    """A run in which trials are recorded that are replayed."""
    return make_run(tmp_path / "recorded")
