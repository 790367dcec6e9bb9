"""The files that make up an app's program, as far as its catalogue names them, and whether they change during a run."""

from __future__ import annotations

import ast
import hashlib
import os
import shlex
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["Program", "ProgramFiles", "code_files", "command_files", "files_identity", "program_files"]

_IGNORED = frozenset({"__pycache__", ".git", "node_modules"})
_PERIOD = 10.0
"""Seconds for which a look at code is valid that is loaded once for all replicas, which start in quick succession."""
_MOST = 2000
"""Maximum number of files that are read; of more, the first ones in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An app's program at one moment."""

    digest: str = ""
    """Digest of names and contents; empty for apps whose files are unknown."""
    changed: tuple[str, ...] = ()
    """Files that differ from those of the first look, relative to the catalogue's folder where they are in it."""


class ProgramFiles:
    """The files of one app, which are read again only when their size or time of modification has changed."""

    def __init__(self, app: AppManifest) -> None:
        self._app = app
        self._known: dict[Path, tuple[tuple[int, int, int], str]] = {}
        self._first: dict[str, str] | None = None
        self._latest = Program()
        self._looked = float("-inf")

    def look(self, *, fresh: bool = False) -> Program:
        """Return the program as it is now, or for a WSGI app, unless ``fresh``, as it was within `_PERIOD`. Unreadable
        files count as missing."""
        now = time.monotonic()
        process = self._app.process
        period = _PERIOD if process is not None and process.factory else 0.0
        if fresh or now - self._looked >= period:
            self._looked = now
            self._latest = self._read()
        return self._latest

    def _read(self) -> Program:
        found = {_shown(path, self._app.folder): self._digest(path) for path in sorted({*program_files(self._app)})}
        if not found and not self._first:
            return Program()
        if self._first is None:
            self._first = found
        first = self._first
        changed = tuple(sorted(name for name in {*first, *found} if first.get(name) != found.get(name)))
        return Program(digest=_whole(found), changed=changed)

    def _digest(self, path: Path) -> str:
        try:
            status = path.stat()
            stamp = status.st_size, status.st_mtime_ns, status.st_ino
            known = self._known.get(path)
            if known is None or known[0] != stamp:
                with path.open("rb") as file:
                    known = stamp, hashlib.file_digest(file, "sha256").hexdigest()
                self._known[path] = known
        except OSError:
            return ""
        return known[1]


def program_files(app: AppManifest) -> Iterator[Path]:
    """Yield the files of the app's program: code of a WSGI app, files that a command names, data, read-only volumes."""
    process = app.process
    if process is not None and process.factory:
        for target in filter(None, (process.factory, process.seed, process.on_fork)):
            yield from code_files(target.partition(":")[0])
    if process is not None and process.command:
        yield from command_files(app)
        if process.data:
            yield from _below(Path(process.data))
    for volume in app.docker.volumes if app.docker is not None else ():
        if not volume.mutable and Path(volume.source).is_absolute():
            yield from _below(Path(volume.source))


def command_files(app: AppManifest) -> Iterator[Path]:
    """Yield the files in the catalogue's folder that the app's command and variables name, and what they import.

    A word names a file by its path, or a Python module as in ``-m shop.server`` and ``shop.server:app``. Imports are
    followed in Python files only, to files next to them.
    """
    assert app.process is not None
    for text in (*app.process.command, *app.process.env.values()):
        try:
            words = [text, *shlex.split(text)]
        except ValueError:  # an unbalanced quotation mark
            words = [text]
        for word in words:
            for part in {word, word.rpartition("=")[2]}:
                yield from _named(part, app.folder)


def _named(word: str, folder: Path) -> Iterator[Path]:
    name = word.partition(":")[0]
    if not name or "{" in name or len(name) > 1000 or "\0" in name:
        return
    module = name.replace(".", "/")
    for path in (folder / word, folder / name, folder / f"{module}.py"):
        if path.is_file():
            yield from _with_imports(path)
            if path.suffix == ".py" and path.parent != folder and (path.parent / "__init__.py").is_file():
                yield from _code_below(path.parent)
            return
    if (folder / module / "__init__.py").is_file():
        yield from _code_below(folder / module)


def _with_imports(path: Path) -> Iterator[Path]:
    found, pending = {path}, [path]
    while pending:
        file = pending.pop()
        yield file
        for other in _imports(file) if file.suffix == ".py" else ():
            if other not in found:
                found.add(other)
                pending.append(other)


def _imports(file: Path) -> Iterator[Path]:
    """Yield the files next to a Python file that it imports by name."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return  # starting the app reports it
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        origin = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for top in {name.partition(".")[0] for name in (*names, *origin)}:
            if (module := file.parent / f"{top}.py").is_file():
                yield module
            elif (file.parent / top / "__init__.py").is_file():
                yield from _code_below(file.parent / top)


def code_files(module: str) -> Iterator[Path]:
    """Yield a module's source files; for a package in a package, including its sibling modules, which it may use."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        return  # starting the app reports it
    origin = Path(spec.origin)
    if not spec.submodule_search_locations:
        yield origin
        return
    yield from _code_below(origin.parent)
    if "." in module:
        yield from origin.parent.parent.glob("*.py")


def _code_below(folder: Path) -> Iterator[Path]:
    return (path for path in _below(folder) if path.suffix != ".pyc")


def _below(path: Path) -> Iterator[Path]:
    """The file itself, or the files below a folder, in order."""
    if path.is_file():
        yield path
        return
    count = 0
    for above, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _IGNORED)
        for name in sorted(names):
            if (file := Path(above, name)).is_file():
                yield file
                count += 1
                if count >= _MOST:
                    return


def _shown(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def files_identity(paths: Iterable[Path], folder: Path) -> str:
    """Return a digest of the names and contents of files; empty for none."""
    found = {_shown(path, folder): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted({*paths})}
    return _whole(found) if found else ""


def _whole(found: dict[str, str]) -> str:
    total = hashlib.sha256()
    for name, digest in sorted(found.items()):
        total.update(f"{Path(name).name}\0{digest}\n".encode())
    return total.hexdigest()[:16]
