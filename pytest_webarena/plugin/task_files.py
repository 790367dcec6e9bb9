"""Which files hold tasks, and which node ids name one: told without reading a task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.plugin.stash import PASSED_OVER
from pytest_webarena.plugin.suite_options import names_suite
from pytest_webarena.yaml_files import YAML_SUFFIXES, is_named_for_tasks, is_task_companion, look_for_tasks

if TYPE_CHECKING:
    import pytest

__all__ = ["holds_tasks", "names_task"]

_IN_TASK_FILE = re.compile(r"\.(?:ya?ml|jsonl?)::")


def holds_tasks(file_path: Path, parent: pytest.Collector) -> bool:
    """Whether ``file_path`` is ours to collect.

    Ours are: files that match the ini globs ``webarena_tasks`` (but guides and rubrics, which lie beside their tasks),
    files named on the command line, ``*.tasks.yaml``, and YAML files with a top-level list ``tasks`` of which some
    entry has an ``intent`` or two other keys of ours, in whatever style they are written, also if ``tasks`` or
    ``intent`` has a slip of the keyboard. Compose files, workflows and the like are left alone; other lists called
    ``tasks`` are noted down, for the summary to tell of. JSON files have to be named on the command line: most of them
    are something else.
    """
    if file_path.suffix in (".json", ".jsonl"):
        return parent.session.isinitpath(file_path)
    if file_path.suffix not in YAML_SUFFIXES or _on_the_way(file_path, parent.session):
        return False
    relative = (
        Path(*file_path.parts[len(parent.config.rootpath.parts) :])
        if file_path.is_relative_to(parent.config.rootpath)
        else file_path
    )
    if parent.session.isinitpath(file_path) or is_named_for_tasks(file_path):
        return True
    if any(_glob_match(relative, pattern) for pattern in parent.config.getini("webarena_tasks")):
        return not is_task_companion(file_path)
    look = look_for_tasks(file_path)
    if look == "perhaps":
        parent.config.stash.setdefault(PASSED_OVER, []).append(relative.as_posix())
    return look == "tasks"


def _on_the_way(file_path: Path, session: pytest.Session) -> bool:
    """Whether its folder is gone through for something else in it that was named: pytest asks about all of the files,
    and drops what was not named. Reading such a task file, and all of ours with it, would be for nothing."""
    named = any(map(session.isinitpath, (file_path, *file_path.parents)))
    return not named and session.isinitpath(file_path.parent, with_parents=True)


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
