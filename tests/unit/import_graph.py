"""Imports of the package's modules: as its sources state them, and as a fresh interpreter makes them."""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest_webarena.errors

__all__ = ["PACKAGE", "Import", "all_imports", "imported_with", "imports_of", "module_name", "package_of", "sources"]

PACKAGE = Path(pytest_webarena.errors.__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported name in one module."""

    module: str
    """The importing module, below ``pytest_webarena.``; empty for the package itself."""
    target: str
    """Full name of the imported module or member."""
    line: int
    type_only: bool

    def __str__(self) -> str:
        return f"pytest_webarena.{self.module}, line {self.line}, imports {self.target}"


def module_name(path: Path) -> str:
    """Return the name of a source file's module, below ``pytest_webarena.``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> list[Path]:
    """Return the package's own source files."""
    return sorted(path for path in PACKAGE.rglob("*.py") if "_shipped" not in path.parts)


def imports_of(source: str, module: str, *, is_package: bool) -> Iterator[Import]:
    """Yield every import in ``source``, also within functions; relative ones are resolved."""

    def found(targets: list[str], line: int, type_only: bool) -> list[Import]:
        return [Import(module=module, target=target, line=line, type_only=type_only) for target in targets]

    def walk(node: ast.AST, *, type_only: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                continue  # expressions contain no imports
            if isinstance(child, ast.Import):
                yield from found([alias.name for alias in child.names], child.lineno, type_only)
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                if child.level:
                    here = ["pytest_webarena", *module.split(".")] if module else ["pytest_webarena"]
                    package = here if is_package else here[:-1]
                    base = ".".join([*package[: len(package) - child.level + 1], *([base] if base else [])])
                # ``from pytest_webarena import x`` may name a module, so the imported names count.
                yield from found([f"{base}.{alias.name}" for alias in child.names], child.lineno, type_only)
            if isinstance(child, ast.If) and _names_type_checking(child.test):
                for part in child.body:
                    yield from walk(ast.Module([part], []), type_only=True)
                for part in child.orelse:
                    yield from walk(ast.Module([part], []), type_only=type_only)
                continue
            yield from walk(child, type_only=type_only)

    return walk(ast.parse(source), type_only=False)


def _names_type_checking(test: ast.expr) -> bool:
    return any("TYPE_CHECKING" in (getattr(node, "id", ""), getattr(node, "attr", "")) for node in ast.walk(test))


@functools.cache  # not computed on import, because all workers import this, and few need it
def all_imports() -> list[Import]:
    """Return every import in the package's sources."""
    found: list[Import] = []
    for path in sources():
        found += imports_of(path.read_text("utf-8"), module_name(path), is_package=path.name == "__init__.py")
    return found


def package_of(module: str) -> str:
    """Return the first part of a module's name below ``pytest_webarena.``."""
    return module.split(".")[0]


def imported_with(*modules: str) -> dict[str, set[str]]:
    """Return all modules that a fresh interpreter has imported after each of ``modules``, in this order."""
    lines = (f"import pytest_webarena.{module}; print(*sys.modules)" for module in modules)
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(["import sys", *lines])],
        capture_output=True,
        text=True,
        check=False,
        cwd=PACKAGE.parent,
        env={key: value for key, value in os.environ.items() if not key.startswith("COV")},
    )
    assert done.returncode == 0, done.stderr
    return {module: set(line.split()) for module, line in zip(modules, done.stdout.splitlines(), strict=True)}
