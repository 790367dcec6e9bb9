"""Which files hold tasks, and which node ids name one: told without reading a task."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_webarena.plugin.stash import PASSED_OVER
from pytest_webarena.plugin.suite_options import names_suite

if TYPE_CHECKING:
    import pytest

__all__ = ["holds_tasks", "names_task"]

_SUFFIXES = (".yaml", ".yml")
_OWN_NAME = re.compile(r".+\.tasks?\.ya?ml$")
_MOST_BYTES = 5_000_000
"""As many as a task file may have: see `tasks.nodes`, which is not loaded for files that hold no tasks."""
# The key `tasks` with at most one slip of the keyboard.
_TASKS = (
    r"""['"]?(?i:task\w?|tasks\w|\w?tasks|\wasks|t\w?asks|t\wsks|ta\w?sks|ta\wks|tas\w?ks|tas\ws"""
    r"""|asks|tsks|taks|tass|atsks|tsaks|takss|tassk)['"]?"""
)
_TASKS_KEY = re.compile(_TASKS)
_WORD = re.compile(rf"(?<!\w){_TASKS}\s*:".encode())
_KEY = re.compile(rf"^{_TASKS}\s*:".encode(), re.MULTILINE)
_INTENT = re.compile(rb"""\bintent['"]?\s*:""")
_OWN_KEYS = frozenset({"checks", "each", "intent", "sites", "solution", "start"})
"""Of our tasks; hardly any other program's list of tasks has two of them."""
_DEEPEST_MERGE = 3
"""How many mappings are merged into each other, ``<<``, before nobody looks any further: they may form a circle."""
_IN_TASK_FILE = re.compile(r"\.(?:ya?ml|jsonl?)::")


def holds_tasks(file_path: Path, parent: pytest.Collector) -> bool:
    """Whether ``file_path`` is ours to collect.

    Ours are: files that match the ini globs ``webarena_tasks``, files named on the command line, ``*.tasks.yaml``,
    and YAML files with a top-level list ``tasks`` of which some entry has an ``intent`` or two other keys of ours, in
    whatever style they are written, also if ``tasks`` or ``intent`` has a slip of the keyboard. Compose files,
    workflows and the like are left alone; other lists called ``tasks`` are noted down, for the
    summary to tell of. JSON files have to be named on the command line: most of them are something else.
    """
    if file_path.suffix in (".json", ".jsonl"):
        return parent.session.isinitpath(file_path)
    if file_path.suffix not in _SUFFIXES:
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
    """What a YAML file seems to hold. Only files with a key like ``tasks`` are parsed."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except OSError:
        return "foreign"
    if _WORD.search(data) is None:
        return "foreign"
    import yaml  # late: most projects with this package installed have no such file

    try:
        root = yaml.compose(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):  # broken: ours if it was meant to be, to be told so
        return "tasks" if _KEY.search(data) and _INTENT.search(data) else "foreign"
    looks = [_look_at(key, value) for key, value in _pairs(root)]
    return "tasks" if "tasks" in looks else "perhaps" if "perhaps" in looks else "foreign"


def _look_at(key: str, value: Any) -> Literal["tasks", "perhaps", "foreign"]:
    """What a top-level key and its value seem to be."""
    if _TASKS_KEY.fullmatch(key) is None:
        return "foreign"
    entries = value.value if value.id == "sequence" else [value] if key != "tasks" else []
    for entry in entries:
        keys = {name for name, _ in _pairs(entry)}
        if keys and not keys & {"intent"} and difflib.get_close_matches("intent", keys, 1, 0.8):
            keys.add("intent")
        if len(keys & _OWN_KEYS) >= 2 or (key == "tasks" and "intent" in keys):
            return "tasks"
    return "perhaps" if key == "tasks" and value.id == "sequence" and entries else "foreign"


def _pairs(node: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The keys of a mapping, merged ones included, and their values; nothing of what is none."""
    for key, value in node.value if node is not None and node.id == "mapping" else ():
        if key.value == "<<":
            for merged in (value.value if value.id == "sequence" else [value]) if depth < _DEEPEST_MERGE else ():
                yield from _pairs(merged, depth + 1)
        elif key.id == "scalar":
            yield key.value, value
