"""How the tasks on Debian's applications are run, and only they: a conftest.py speaks for its own directory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.fixtures import SessionConfig


@pytest.fixture(scope="session")
def webarena_context_args() -> dict[str, Any]:
    """WordPress's editor is a large program: on a busy machine its buttons take long to be there."""
    return {"deadlines": replace(SessionConfig().deadlines, selector=25.0)}
