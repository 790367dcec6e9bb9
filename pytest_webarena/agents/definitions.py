"""Reads an agent definition: a YAML file in ``agents/`` that names an agent and its options."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pytest_webarena.errors import UsageError, closest

__all__ = ["Definition", "read_definition"]

_KEYS = {"python", "options", "grammar", "description"}
_GRAMMARS = ("webarena",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One agent as written by a user. The file's stem is its name."""

    id: str
    python: str
    """``module:attribute``, or ``file.py:attribute`` relative to the definition."""
    options: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of the class, factory or function."""
    grammar: str = "webarena"
    description: str = ""


def read_definition(path: Path) -> Definition:
    """Read ``path``; `UsageError` says what is wrong and where."""
    try:
        data = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise UsageError(f"agent definition {path}: expected a readable file: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"agent definition {path}: expected YAML: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(
            f"agent definition {path}: expected a mapping with the key 'python', found {type(data).__name__}"
        )
    for key in data:
        if key not in _KEYS:
            raise UsageError(f"agent definition {path}: unknown key {key!r}; {closest(str(key), _KEYS)}")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", path.stem):
        raise UsageError(f"agent definition {path}: expected a file name of letters, digits, '.', '_', '-'")
    python, options, grammar = data.get("python"), data.get("options") or {}, data.get("grammar", "webarena")
    if not isinstance(python, str):
        raise UsageError(f"agent definition {path}: expected 'python: module:attribute', found {python!r}")
    if not isinstance(options, dict) or not all(isinstance(key, str) for key in options):
        raise UsageError(f"agent definition {path}: expected 'options' to map names to values, found {options!r}")
    if grammar not in _GRAMMARS:
        raise UsageError(f"agent definition {path}: unknown grammar {grammar!r}; {closest(str(grammar), _GRAMMARS)}")
    return Definition(
        id=path.stem, python=python, options=options, grammar=grammar, description=str(data.get("description", ""))
    )
