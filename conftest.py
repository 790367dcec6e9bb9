"""What a project may set for its own runs: every policy is a fixture, overridden by name."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def webarena_context_args() -> dict[str, Any]:
    """The embedded sites write dates and prices the British way, so browsers ask for that."""
    return {"locale": "en-GB", "timezone": "Europe/London"}
