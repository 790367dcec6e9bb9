"""YAML files of users: recognises task files by their content, and reads small files. `tasks.nodes` reads task files.

Every pytest session with this package installed loads this module; it imports PyYAML only for a file that may contain
tasks.
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
"""Folders that pytest skips by default, too, as it does folders that begin with a dot or contain a `pyvenv.cfg`."""
_MOST_BYTES = 5_000_000
"""Maximum size of a file in bytes; the same as for a task file (`tasks.nodes`)."""
# The key `tasks` with at most one typing error.
_TASKS = (
    r"""['"]?(?i:task\w?|tasks\w|\w?tasks|\wasks|t\w?asks|t\wsks|ta\w?sks|ta\wks|tas\w?ks|tas\ws"""
    r"""|asks|tsks|taks|tass|atsks|tsaks|takss|tassk)['"]?"""
)
_TASKS_KEY = re.compile(_TASKS)
_WORD = re.compile(rf"(?<!\w){_TASKS}\s*:".encode())
_KEY = re.compile(rf"^{_TASKS}\s*:".encode(), re.MULTILINE)
_INTENT = re.compile(rb"""\bintent['"]?\s*:""")
_OWN_KEYS = frozenset({"checks", "each", "intent", "sites", "solution", "start"})
"""Keys of our tasks; two of them hardly ever occur together in another program's list of tasks."""
_BESIDE = re.compile(rb"^(?:made_of|done_when|items)[ \t]*:", re.MULTILINE)
_KEYS_BESIDE = (
    frozenset({"schema_version", "task", "made_of", "goal", "steps", "done_when"}),
    frozenset({"schema_version", "task", "authored", "items"}),
)
"""Top-level keys of guides and of rubrics."""
_REALLY = re.compile(rb"^tasks[ \t]*:", re.MULTILINE)
_BARE = re.compile(
    rb"""^(?:-|\[).*\b(?:checks|solution)\b|^['"]?(?:checks|solution)['"]?[ \t]*:""", re.MULTILINE | re.DOTALL
)
"""A list, or a single task, without the key `tasks` above it must match this to be parsed: most third-party files have
no such word there."""
_DEEPEST_MERGE = 3
"""Maximum depth of mappings merged into each other (``<<``), because they may form a cycle."""


def read_small(path: Path | str, most: int = _MOST_BYTES) -> bytes:
    """Returns the file's content, at most ``most`` bytes and one more. Raises `OSError` if it is not a regular file,
    because a device or a pipe may never end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "no regular file")
    with open(path, "rb") as file:
        return file.read(most + 1)


def read_yaml(path: Path, where: str) -> Any:
    """Returns the file's content as plain data. Raises `UsageError`, beginning with ``where``, when it can't be
    read."""
    import yaml

    try:
        data = read_small(path)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{where}: expected a file of at most {_MOST_BYTES / 1e6:g} MB, found a larger one")
        return _parsed(data)
    except OSError as error:
        raise UsageError(f"{where}: expected a readable file, found {(error.strerror or 'none').lower()}") from None
    except RecursionError:
        raise UsageError(f"{where}: expected YAML, found lists or mappings nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        fault = (error.problem or error.context or "a syntax error").removeprefix("found ")
        raise UsageError(f"{where}: expected YAML, found an error{place}: {fault}") from None
    except yaml.reader.ReaderError as error:
        raise UsageError(f"{where}: expected YAML, found a binary file ({error.reason})") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError is raised for a number with thousands of digits
        raise UsageError(f"{where}: expected YAML, found an error: {error}") from None


def _parsed(data: bytes) -> Any:
    """Returns the data by libyaml, which is ten times as fast. The parser in Python words the errors better."""
    import yaml

    try:
        return yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return yaml.safe_load(data)


def yaml_files_below(folder: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    """Returns the YAML files in ``folder`` and its subfolders that pytest would search, sorted."""
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
    """Whether the file's name marks it as a task file: ``*.tasks.yaml``."""
    return _OWN_NAME.match(path.name) is not None


def look_for_tasks(path: Path) -> Literal["tasks", "perhaps", "foreign"]:
    """Classify a YAML file by its content. Only files with a key like ``tasks``, and lists with our keys, are
    parsed."""
    try:
        data = read_small(path)[:_MOST_BYTES]
    except OSError:
        return "foreign"
    if _WORD.search(data) is None and _BARE.search(data) is None:
        return "foreign"
    import yaml

    try:
        root = yaml.compose(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):  # broken: report it if meant for us
        return "tasks" if _KEY.search(data) and _INTENT.search(data) else "foreign"
    if isinstance(root, yaml.SequenceNode):
        return "tasks" if any(map(_is_task, root.value)) else "foreign"
    if _is_task(root):
        return "tasks"
    looks = [_look_at(key, value) for key, value in _pairs(root)]
    return "tasks" if "tasks" in looks else "perhaps" if "perhaps" in looks else "foreign"


def is_task_companion(path: Path) -> bool:
    """Whether a YAML file is a guide or a rubric, which are stored next to their tasks and contain none."""
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
    """Classify a top-level key and its value."""
    if _TASKS_KEY.fullmatch(key) is None:
        return "foreign"
    several = value.value if value.id == "sequence" else [entry for _, entry in _pairs(value)]  # perhaps keyed by ids
    entries = [value, *several] if value.id == "mapping" and key != "tasks" else several
    for entry in entries:
        keys = _keys(entry)
        if len(keys & _OWN_KEYS) >= 2 or (key == "tasks" and "intent" in keys):
            return "tasks"
    return "perhaps" if key == "tasks" and value.id == "sequence" and entries else "foreign"


def _is_task(entry: Any) -> bool:
    """Whether an entry without ``tasks:`` above it, as in a document that quotes tasks, is one of our tasks."""
    keys = _keys(entry)
    return "intent" in keys and not keys.isdisjoint({"checks", "solution"})


def _keys(entry: Any) -> set[str]:
    """Returns the keys of an entry, with ``intent`` if one is a misspelling of it."""
    keys = {name for name, _ in _pairs(entry)}
    if difflib.get_close_matches("intent", keys, 1, 0.8):
        keys.add("intent")
    return keys


def _pairs(node: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yields the keys and values of a mapping, merged ones included; nothing for other nodes."""
    for key, value in node.value if node is not None and node.id == "mapping" else ():
        if key.value == "<<":
            for merged in (value.value if value.id == "sequence" else [value]) if depth < _DEEPEST_MERGE else ():
                yield from _pairs(merged, depth + 1)
        elif key.id == "scalar":
            yield key.value, value
