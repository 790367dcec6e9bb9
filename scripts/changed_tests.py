"""Prints the test files for a change: ``changed_tests.py [COMMIT]`` (default: where the branch left ``main``).

Changed test files come first, with the tests that import a changed module and its mirror
(`tests/unit/<package>/test_<module>*`); then come tests of the modules that import it, and so on. Files are taken in
that order, those with similar names first, until they fill `SECONDS` on two cores. Their durations are taken from the
last whole run (`test-results/junit.xml`), or estimated by folder. How many were left out is printed on stderr.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath

__all__ = ["imports_of", "nearest", "within"]

HERE = Path(__file__).resolve().parents[1]
ROOTS = ("pytest_webarena", "tests", "scripts", "agents", "benchmarks")
SECONDS = 100
"""Wall time that the tests may take on two cores, without pytest's own start."""
USUAL = {"browser": 15.0, "docker": 30.0, "plugin": 10.0, "ray": 30.0}
"""Estimated seconds of a file in these folders if its duration isn't known."""
_NAMED = re.compile(r"(pytest_webarena(?:\.\w+)+)(?::\w+)?")
"""A module or an attribute that a string names, as entry points, registries and monkeypatch do."""
AT_ONCE = 3.0
"""How many seconds of tests three workers on two cores finish in one second."""


def module_of(path: str) -> str:
    """Returns the dotted name of the module in ``path`` (relative to the repository)."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports_of(path: str, source: str, modules: Iterable[str]) -> set[str]:
    """Returns those of ``modules`` that the file ``path`` imports anywhere in its ``source``."""
    found = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = module_of(path).split(".")
            parts = parts[: len(parts) - node.level + path.endswith("/__init__.py")] if node.level else []
            base = ".".join([*parts, *filter(None, [node.module])])
            found |= {base, *(f"{base}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Constant) and (named := _NAMED.fullmatch(str(node.value))):
            found |= {named[1], named[1].rpartition(".")[0]}  # a module, or an attribute of one
    imported = found.intersection(modules)
    # A package doesn't count if only a module in it is imported.
    return {name for name in imported if not any(other.startswith(f"{name}.") for other in imported)}


def nearest(changed: Iterable[str], sources: Mapping[str, str]) -> list[str]:
    """Returns all test files that reach a changed file by imports, the nearest first.

    Args:
        changed: paths that differ, relative to the repository.
        sources: the source of each Python file, by path.
    """
    modules = {module_of(path): path for path in sources}
    importers: dict[str, set[str]] = {}
    for path, source in sources.items():
        for name in imports_of(path, source, modules):
            importers.setdefault(name, set()).add(module_of(path))
    rank: dict[str, tuple[int, float]] = {}
    for path in changed:
        if path not in sources:
            continue
        distance, ring, seen = 0, {module_of(path)}, set[str]()
        while ring:
            seen |= ring
            for module in ring:
                for test in {modules[module], *_mirrors(module, modules)}:
                    if _is_test(test):
                        likeness = SequenceMatcher(None, _stem(path), _stem(test)).ratio()
                        rank[test] = min(rank.get(test, (distance, -likeness)), (distance, -likeness))
            # The imports of a test or test helper aren't tested by files that import it.
            ring = {importer for module in ring for importer in importers.get(module, ())} - seen
            distance += 1
    return sorted(rank, key=lambda test: (rank[test], test))


def within(tests: Iterable[str], times: Mapping[str, float]) -> list[str]:
    """Returns the first ``tests`` that fit the time limit, at least one; ``times`` maps paths to seconds."""
    chosen, total = list[str](), 0.0
    for test in tests:
        took = times.get(test, USUAL.get(PurePosixPath(test).parts[1], 1.0))
        if chosen and (total + took) / AT_ONCE > SECONDS:
            continue
        chosen.append(test)
        total += took
    return chosen


def _mirrors(module: str, modules: Mapping[str, str]) -> list[str]:
    package, _, last = module.removeprefix("pytest_webarena.").rpartition(".")
    start = str(PurePosixPath("tests/unit", *package.split("."), f"test_{last}"))
    subject = (f"test_{last}", f"test_{package.rpartition('.')[2]}_{last}")
    return [
        path
        for path in modules.values()
        if path.startswith(start) or (not path.startswith("tests/unit") and _name(path) in subject)
    ]


def _is_test(path: str) -> bool:
    return path.startswith("tests/") and _name(path).startswith("test_")


def _name(path: str) -> str:
    return PurePosixPath(path).stem


def _stem(path: str) -> str:
    return _name(path).removeprefix("test_")


def _times(report: Path) -> dict[str, float]:
    """Returns the seconds of each test file in the last whole run; empty without a report."""
    found: dict[str, float] = {}
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):
            parts = case.get("classname", "").removeprefix("tests.").split(".")
            module = [part for part in parts if not part.startswith("Test")]
            path = f"tests/{'/'.join(module)}.py"
            found[path] = found.get(path, 0.0) + float(case.get("time", 0))
    return found


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"changed_tests: git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.splitlines()


def main() -> None:
    """Prints the files, one per line; nothing if no test is affected."""
    since = sys.argv[1] if len(sys.argv) > 1 else _git("merge-base", "HEAD", "main")[0]
    changed = [*_git("diff", "--name-only", since), *_git("ls-files", "--others", "--exclude-standard")]
    sources = {
        str(path.relative_to(HERE)): path.read_text(encoding="utf-8")
        for root in ROOTS
        for path in (HERE / root).rglob("*.py")
    }
    found = nearest(changed, sources)
    chosen = within(found, _times(HERE / "test-results" / "junit.xml"))
    omitted = len(found) - len(chosen)
    print(f"changed_tests: {len(chosen)} test files, {omitted} more distant ones left out", file=sys.stderr)
    print("\n".join(chosen))


if __name__ == "__main__":
    main()
