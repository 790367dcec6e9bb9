"""Readers of YAML files with labelled answers: the whole file, and typed parts of its entries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.text import clip
from pytest_webarena.yaml_files import read_yaml

__all__ = ["list_in", "mapping_of", "read_labelled", "text_in"]


def read_labelled(path: Path, where: str, key: str) -> tuple[Sequence[Any], str]:
    """Return the entries under ``key``, and the file's version ``name@hash``. Raises `UsageError`."""
    data = read_yaml(path, where)
    if not isinstance(data, Mapping) or not isinstance(data.get(key), list):
        raise UsageError(f"{where}: expected a mapping with a list {key!r}, found {clip(repr(data), 80)}")
    if data.get("schema_version", 1) != 1:
        raise UsageError(f"{where}: expected schema_version 1, found {data['schema_version']!r}")
    return data[key], f"{path.stem}@{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"


def mapping_of(data: Any, keys: Sequence[str], where: str) -> Mapping[str, Any]:
    """Return ``data`` if it is a mapping with no keys but these. Raises `UsageError`."""
    if not isinstance(data, Mapping):
        raise UsageError(f"{where}: expected a mapping with {', '.join(keys)}, found {clip(repr(data), 80)}")
    for key in data:
        if key not in keys:
            raise UsageError(f"{where}: unknown key {key!r}; {closest(str(key), keys)}")
    return data


def list_in(data: Mapping[str, Any], key: str, where: str) -> Sequence[Any]:
    """Return the list under ``key``. Raises `UsageError`."""
    value = data.get(key)
    if not isinstance(value, list):
        found = clip(repr(value), 80) if key in data else "no such key"
        raise UsageError(f"{where}: {key}: expected a list, found {found}")
    return value


def text_in(data: Mapping[str, Any], key: str, where: str) -> str:
    """Return the text under ``key``. Raises `UsageError`."""
    value = data.get(key)
    if not isinstance(value, str):
        raise UsageError(
            f"{where}: {key}: expected a text (in quotes, where it looks like a number), found {clip(repr(value), 80)}"
        )
    return value
