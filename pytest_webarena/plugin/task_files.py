"""Which files hold tasks, and which node ids name one: told without reading a task."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_webarena.plugin.stash import PASSED_OVER
from pytest_webarena.plugin.suite_options import names_suite

if TYPE_CHECKING:
    import pytest

__all__ = ["holds_tasks", "names_task"]

_SUFFIXES = (".yaml", ".yml")
_OWN_NAME = re.compile(r".+\.tasks?\.ya?ml$")
_MOST_BYTES = 5_000_000
"""As many as a task file may have: see `tasks.nodes`, which is not loaded for files that hold no tasks."""
_WORD = re.compile(rb"""\btasks['"]?\s*:""")
_KEY = re.compile(rb"""^['"]?tasks['"]?\s*:""", re.MULTILINE)
_INTENT = re.compile(rb"""\bintent['"]?\s*:""")
_IN_TASK_FILE = re.compile(r"\.(?:ya?ml|json)::")


def holds_tasks(file_path: Path, parent: pytest.Collector) -> bool:
    """Whether ``file_path`` is ours to collect.

    Ours are: files that match the ini globs ``webarena_tasks``, files named on the command line, ``*.tasks.yaml``,
    and YAML files with a top-level list ``tasks`` of which some entry has an ``intent``, in whatever style they are
    written. Compose files, workflows and the like are left alone; other lists called ``tasks`` are noted down, for the
    summary to tell of. JSON files have to be named on the command line: most of them are something else.
    """
    if file_path.suffix == ".json":
        return parent.session.isinitpath(file_path)
    if file_path.suffix not in _SUFFIXES or _on_the_way(file_path, parent.session):
        return False
    relative = (
        Path(*file_path.parts[len(parent.config.rootpath.parts) :])
        if file_path.is_relative_to(parent.config.rootpath)
        else file_path
    )
    if (
        parent.session.isinitpath(file_path)
        or _OWN_NAME.match(file_path.name) is not None
        or any(_glob_match(relative, pattern) for pattern in parent.config.getini("webarena_tasks"))
    ):
        return True
    look = _look(file_path)
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


def _look(path: Path) -> Literal["tasks", "perhaps", "foreign"]:
    """What a YAML file seems to hold. Only files with such a key are parsed, and only up to the first intent."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except OSError:
        return "foreign"
    if _WORD.search(data) is None:
        return "foreign"
    import yaml  # late: most projects with this package installed have no such file

    try:
        return _parsed_look(yaml.parse(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, UnicodeDecodeError):  # broken: ours if it was meant to be, for then somebody should be told
        return "tasks" if _KEY.search(data) and _INTENT.search(data) else "foreign"


def _parsed_look(events: Iterable[object]) -> Literal["tasks", "perhaps", "foreign"]:
    """`_look` at the events of a parser: is there a top-level list ``tasks``, and has an entry the key ``intent``?

    Anchored entries may stand anywhere and be merged into the list's, so any mapping's ``intent`` counts.
    """
    import yaml

    open_: list[bool] = []  # of the collections around: whether a mapping
    key_next: list[bool] = []
    listed = intended = top_key_is_tasks = False
    for event in events:
        starts = isinstance(event, yaml.CollectionStartEvent)
        if isinstance(event, yaml.DocumentEndEvent):
            break
        if isinstance(event, yaml.CollectionEndEvent):
            open_.pop()
            key_next.pop()
            continue
        if not (starts or isinstance(event, yaml.ScalarEvent | yaml.AliasEvent)):
            continue
        if not open_ and not isinstance(event, yaml.MappingStartEvent):
            return "foreign"
        is_key = bool(open_) and open_[-1] and key_next[-1]
        if is_key and isinstance(event, yaml.ScalarEvent):
            intended |= event.value == "intent"
            if len(open_) == 1:
                top_key_is_tasks = event.value == "tasks"
        elif len(open_) == 1 and top_key_is_tasks:
            if isinstance(event, yaml.MappingStartEvent | yaml.ScalarEvent):
                return "foreign"  # of another program, such as a Taskfile
            listed = True
        if listed and intended:
            return "tasks"
        if open_ and open_[-1]:
            key_next[-1] = not key_next[-1]
        if starts:
            open_.append(isinstance(event, yaml.MappingStartEvent))
            key_next.append(True)
    return "perhaps" if listed else "foreign"
