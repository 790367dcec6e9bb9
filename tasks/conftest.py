"""How the shipped tasks are run, and only they: a conftest.py speaks for its own directory."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def webarena_context_args() -> dict[str, Any]:
    """The embedded sites write dates and prices the British way, so browsers ask for that."""
    return {"locale": "en-GB", "timezone": "Europe/London"}
