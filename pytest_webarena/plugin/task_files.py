"""Detection of files with tasks, and of node ids that name one, without parsing tasks."""

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
    """Return whether ``file_path`` is a task file to collect.

    Task files are files that match the ini globs ``webarena_tasks`` (except guides and rubrics, which are next to their
    tasks), files named on the command line, ``*.tasks.yaml``, and YAML files with a top-level list ``tasks`` in which
    an entry has an ``intent`` or two other keys of tasks, in any YAML style, even if ``tasks`` or ``intent`` is
    misspelt. Compose files, workflows and similar ones are ignored; other lists called ``tasks`` are stored for the
    summary. JSON files have to be named on the command line, because most of them are something else.
    """
    if file_path.suffix in (".json", ".jsonl"):
        return parent.session.isinitpath(file_path)
    if file_path.suffix not in YAML_SUFFIXES or _is_not_named(file_path, parent.session):
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


def _is_not_named(file_path: Path, session: pytest.Session) -> bool:
    """Whether the file's folder is visited only for another path in it.

    pytest asks about all files there and drops those that were not named, so reading them would be wasted.
    """
    named = any(map(session.isinitpath, (file_path, *file_path.parents)))
    return not named and session.isinitpath(file_path.parent, with_parents=True)


def names_task(node_id: str) -> bool:
    """Return whether it is the id of a trial: an item in a task file or in a published suite."""
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
