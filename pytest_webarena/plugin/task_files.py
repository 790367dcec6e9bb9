"""Which files hold tasks, and which node ids name one: told without reading a task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.plugin.suite_options import names_suite

if TYPE_CHECKING:
    import pytest

__all__ = ["holds_tasks", "names_task"]

_SUFFIXES = (".yaml", ".yml")
_OWN_NAME = re.compile(r".+\.tasks?\.ya?ml$")
_LOOKS_LIKE_TASKS = re.compile(rb"^tasks\s*:", re.MULTILINE)
_HAS_INTENT = re.compile(rb"^[\s-]+intent\s*:", re.MULTILINE)
_IN_TASK_FILE = re.compile(r"\.(?:ya?ml|json)::")


def holds_tasks(file_path: Path, parent: pytest.Collector) -> bool:
    """Whether ``file_path`` is ours to collect.

    Ours are: files that match the ini globs ``webarena_tasks``, files named on the command line, ``*.tasks.yaml``,
    and YAML files that have a top-level ``tasks:`` and an ``intent:`` below it. Compose files, workflows and the
    like are left alone. JSON files have to be named on the command line: most of them are something else.
    """
    if file_path.suffix == ".json":
        return parent.session.isinitpath(file_path)
    if file_path.suffix not in _SUFFIXES:
        return False
    relative = (
        Path(*file_path.parts[len(parent.config.rootpath.parts) :])
        if file_path.is_relative_to(parent.config.rootpath)
        else file_path
    )
    return (
        parent.session.isinitpath(file_path)
        or _OWN_NAME.match(file_path.name) is not None
        or any(_glob_match(relative, pattern) for pattern in parent.config.getini("webarena_tasks"))
        or _looks_like_tasks(file_path)
    )


def names_task(node_id: str) -> bool:
    """Whether it is the id of a trial: of an item in a task file or in a published suite."""
    return _IN_TASK_FILE.search(node_id) is not None or names_suite(node_id)


def _glob_match(relative: Path, pattern: str) -> bool:
    """Whether the whole path matches; ``**`` is any number of folders (which `PurePath.match` lacks on 3.11)."""
    parts = []
    for part in pattern.strip("/").split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
        else:
            literal = re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
            parts.append(literal + "/")
    return re.fullmatch("".join(parts).removesuffix("/"), relative.as_posix()) is not None


def _looks_like_tasks(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(65536)
    except OSError:
        return False
    return _LOOKS_LIKE_TASKS.search(head) is not None and _HAS_INTENT.search(head) is not None
