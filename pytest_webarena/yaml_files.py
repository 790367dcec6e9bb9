"""Reads a small YAML file of the user's (an agent definition, a price table); task files have a reader of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from pytest_webarena.errors import UsageError

__all__ = ["read_yaml"]


def read_yaml(path: Path, where: str) -> Any:
    """What the file holds, as plain data. `UsageError`, beginning with ``where``, when it can't be read."""
    try:
        return yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{where}: expected a readable file: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: expected YAML: {error}") from None
