"""Files that visitors of the code hosting have at hand; tasks say their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

_FILES = Path(__file__).with_name("files")


@pytest.fixture(scope="session")
def webarena_context_args(webarena_context_args: dict[str, Any]) -> dict[str, Any]:
    """What holds for all shipped tasks, and the files beside these."""
    return {**webarena_context_args, "uploads": {path.name: path for path in sorted(_FILES.iterdir())}}
