"""SciPy as a fixture: its import takes a second, so only workers that use it import it."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def stats() -> Any:
    """SciPy's statistics."""
    from scipy import stats

    return stats
