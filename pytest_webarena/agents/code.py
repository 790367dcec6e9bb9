"""Finds the files that an agent consists of, for its digest: equal digests mean the same agent.

For Python code these are the module and every project module that it imports, directly or indirectly, also within
functions. They are found by parsing, not by inspecting loaded modules, because all processes of a run must compute the
same digest. Installed code (the standard library, other packages, this one), modules with computed names
and data that code opens itself are not included; a definition can name them (``files``).
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import pytest_webarena

__all__ = ["contents", "imported_files"]

_INSTALLED = tuple(
    Path(place).resolve()
    for place in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
        str(Path(pytest_webarena.__file__).parent),
    }
)


def contents(base: Path, names: Iterable[str]) -> list[Path]:
    """Return all files of ``names``, which are files and folders relative to ``base``; sorted within each folder."""
    paths = [base / name for name in names]
    return [
        file
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if file.is_file() and "__pycache__" not in file.parts
    ]


def imported_files(file: Path, module: str = "", *, script: bool = False) -> list[Path]:
    """Return ``file`` and the project's files that it imports, directly or indirectly; ``module`` is its full name, if
    it has one.

    For a module that is installed, its own package counts as the project. A ``script`` runs in a separate process,
    which looks for modules in the script's directory first.
    """
    directory = str(file.resolve().parent) if script else ""
    file = file.resolve()
    own = module.partition(".")[0] if _installed(file) else ""
    found: dict[Path, None] = {file: None}
    waiting = [(file, module), *_packages_of(module)]
    while waiting:
        path, name = waiting.pop()
        found[path] = None
        for imported in _imports(path, name):
            for part, origin in _resolve(imported, directory):
                if origin is None or origin in found:
                    continue
                if not _installed(origin) or (own and part.partition(".")[0] == own):
                    found[origin] = None
                    waiting.append((origin, part))
    return [file, *sorted(path for path in found if path != file)]


def _packages_of(module: str) -> list[tuple[Path, str]]:
    """Return the ``__init__`` files of a module's parent packages, which run before it."""
    above = module.rpartition(".")[0]
    return [(origin, name) for name, origin in _resolve(above) if origin is not None]


def _imports(path: Path, module: str) -> Iterator[str]:
    """Yield the full names of everything that ``path`` imports.

    Names after ``from x import`` are included, whether they are modules or not.
    """
    try:
        stamp = path.stat()
        names = _import_statements(path, stamp.st_mtime_ns, stamp.st_size)
    except OSError:
        return
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for level, name in names:
        if level == 0:
            yield name
        elif package:
            above = package.split(".")
            yield ".".join([*above[: len(above) - level + 1], *([name] if name else [])])


@functools.lru_cache(maxsize=4096)
def _import_statements(path: Path, changed: int, size: int) -> tuple[tuple[int, str], ...]:
    """Return level (number of dots) and name of each import in a file; empty if it is not Python.

    ``changed`` and ``size`` identify the version of the file for the cache.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: dict[tuple[int, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(((0, alias.name), None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            found[node.level, base] = None
            found.update(((node.level, f"{base}.{alias.name}".lstrip(".")), None) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called, name = ast.unparse(node.func), node.args[0].value
            if called.endswith(("import_module", "__import__")) and isinstance(name, str) and name[:1] != ".":
                found[0, name] = None
    return tuple(found)


def _resolve(name: str, directory: str = "") -> Iterator[tuple[str, Path | None]]:
    """Yield a module's parent packages and the module, as far as they exist, with their files. Imports nothing."""
    first, *rest = name.split(".")
    spec = (PathFinder.find_spec(first, [directory]) if directory else None) or _top_level_spec(first)
    if spec is None:
        return
    yield first, Path(spec.origin).resolve() if spec.has_location and spec.origin else None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    for part in rest:
        files = [folder / ending for folder in folders for ending in (f"{part}/__init__.py", f"{part}.py")]
        file = next((file for file in files if file.is_file()), None)
        folders = [folder / part for folder in folders if (folder / part).is_dir()]
        if file is None and not folders:
            return
        first = f"{first}.{part}"
        yield first, file.resolve() if file is not None else None


def _top_level_spec(name: str) -> ModuleSpec | None:
    """Return where a top-level module is; None if it is unknown or Python's own."""
    if not name or name in sys.builtin_module_names or name in sys.stdlib_module_names:
        return None
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):  # for example a module object made at run time
        return None


def _installed(file: Path) -> bool:
    packages = {"site-packages", "dist-packages"} & set(file.parts)
    return bool(packages) or any(file.is_relative_to(place) for place in _INSTALLED)
