"""YAML files of users: what one seems to hold, and the small ones read. Task files have a reader of their own.

Loaded in every pytest session where this package is installed; PyYAML is not, until there is a file that may be ours.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from pytest_webarena.errors import UsageError

__all__ = [
    "YAML_SUFFIXES",
    "is_named_for_tasks",
    "is_task_companion",
    "look_for_tasks",
    "read_small",
    "read_yaml",
    "yaml_files_below",
]

YAML_SUFFIXES = (".yaml", ".yml")

_OWN_NAME = re.compile(r".+\.tasks?\.ya?ml$")
_FOREIGN_FOLDERS = frozenset({"_darcs", "build", "CVS", "dist", "node_modules", "venv", "webarena-runs"})
"""Where pytest does not look either, unless told to; nor in those that begin with a dot or hold a `pyvenv.cfg`."""
_MOST_BYTES = 5_000_000
"""As many as a task file may have: see `tasks.nodes`."""
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
_BESIDE = re.compile(rb"^(?:made_of|done_when|items)[ \t]*:", re.MULTILINE)
_KEYS_BESIDE = (
    frozenset({"schema_version", "task", "made_of", "goal", "steps", "done_when"}),
    frozenset({"schema_version", "task", "authored", "items"}),
)
"""Of guides and of rubrics."""
_REALLY = re.compile(rb"^tasks[ \t]*:", re.MULTILINE)
_BARE = re.compile(
    rb"""^(?:-|\[).*\b(?:checks|solution)\b|^['"]?(?:checks|solution)['"]?[ \t]*:""", re.MULTILINE | re.DOTALL
)
"""What a list, or one task, without the key `tasks` above it must have to be parsed: most files of others have no such
word there."""
_DEEPEST_MERGE = 3
"""How many mappings are merged into each other, ``<<``, before nobody looks any further: they may form a circle."""


def read_small(path: Path | str, most: int = _MOST_BYTES) -> bytes:
    """What the file holds, or one byte more than ``most`` of it. `OSError` where it is no regular file: of a device or
    a pipe there may be no end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "no regular file")
    with open(path, "rb") as file:
        return file.read(most + 1)


def read_yaml(path: Path, where: str) -> Any:
    """What the file holds, as plain data. `UsageError`, beginning with ``where``, when it can't be read."""
    import yaml

    try:
        data = read_small(path)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{where}: expected a file of at most {_MOST_BYTES / 1e6:g} MB, found a larger one")
        return yaml.safe_load(data)
    except OSError as error:
        raise UsageError(f"{where}: expected a readable file: {error.strerror}") from None
    except RecursionError:
        raise UsageError(f"{where}: expected YAML, found lists or mappings nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # the latter of a number with thousands of digits, too
        raise UsageError(f"{where}: expected YAML: {error}") from None


def yaml_files_below(folder: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    """The YAML files in ``folder`` and in the folders that pytest would look into, sorted."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if name[:1] != "."
            and name not in _FOREIGN_FOLDERS
            and not name.endswith(".egg")
            and not Path(place, name, "pyvenv.cfg").exists()
        )
        paths = (Path(place, name) for name in files if name.endswith(YAML_SUFFIXES))
        found += (path for path in paths if path.is_file() and wanted(path))
    return sorted(found)


def is_named_for_tasks(path: Path) -> bool:
    """Whether its name says that it is a task file: ``*.tasks.yaml``."""
    return _OWN_NAME.match(path.name) is not None


def look_for_tasks(path: Path) -> Literal["tasks", "perhaps", "foreign"]:
    """What a YAML file seems to hold. Only files with a key like ``tasks`` are parsed, and lists with our words."""
    try:
        data = read_small(path)[:_MOST_BYTES]
    except OSError:
        return "foreign"
    if _WORD.search(data) is None and _BARE.search(data) is None:
        return "foreign"
    import yaml

    try:
        root = yaml.compose(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):  # broken: ours if it was meant to be, to be told so
        return "tasks" if _KEY.search(data) and _INTENT.search(data) else "foreign"
    if isinstance(root, yaml.SequenceNode):
        return "tasks" if any(map(_is_task, root.value)) else "foreign"
    if _is_task(root):
        return "tasks"
    looks = [_look_at(key, value) for key, value in _pairs(root)]
    return "tasks" if "tasks" in looks else "perhaps" if "perhaps" in looks else "foreign"


def is_task_companion(path: Path) -> bool:
    """Whether a YAML file is a guide or a rubric, which lie next to the tasks they belong to and hold none."""
    try:
        data = read_small(path)[:_MOST_BYTES]
    except OSError:
        return False
    if _BESIDE.search(data) is None:
        return False
    import yaml

    try:
        root = yaml.compose(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        return _REALLY.search(data) is None
    keys = {key for key, _ in _pairs(root)}
    return bool(keys) and any(keys <= known for known in _KEYS_BESIDE)


def _look_at(key: str, value: Any) -> Literal["tasks", "perhaps", "foreign"]:
    """What a top-level key and its value seem to be."""
    if _TASKS_KEY.fullmatch(key) is None:
        return "foreign"
    several = value.value if value.id == "sequence" else [entry for _, entry in _pairs(value)]  # by their ids, perhaps
    entries = [value, *several] if value.id == "mapping" and key != "tasks" else several
    for entry in entries:
        keys = _keys(entry)
        if len(keys & _OWN_KEYS) >= 2 or (key == "tasks" and "intent" in keys):
            return "tasks"
    return "perhaps" if key == "tasks" and value.id == "sequence" and entries else "foreign"


def _is_task(entry: Any) -> bool:
    """Whether what has no ``tasks:`` above it, as documents quote tasks, is one of ours: an entry of a list, a file."""
    keys = _keys(entry)
    return "intent" in keys and not keys.isdisjoint({"checks", "solution"})


def _keys(entry: Any) -> set[str]:
    """The keys of an entry, with ``intent`` if one is a slip of it."""
    keys = {name for name, _ in _pairs(entry)}
    if difflib.get_close_matches("intent", keys, 1, 0.8):
        keys.add("intent")
    return keys


def _pairs(node: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The keys of a mapping, merged ones included, and their values; nothing of what is none."""
    for key, value in node.value if node is not None and node.id == "mapping" else ():
        if key.value == "<<":
            for merged in (value.value if value.id == "sequence" else [value]) if depth < _DEEPEST_MERGE else ():
                yield from _pairs(merged, depth + 1)
        elif key.id == "scalar":
            yield key.value, value
