"""SciPy for the tests that hold formulas against it: a second to import, and each worker would."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def stats() -> Any:
    """SciPy's statistics."""
    from scipy import stats

    return stats
