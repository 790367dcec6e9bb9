"""Pins the direction of imports: a room of the package imports only from rooms above it in `ORDER`."""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

import pytest_webarena.errors
from tests.cases import each_case

pytestmark = pytest.mark.corpus

PACKAGE = Path(pytest_webarena.errors.__file__).parent

ORDER: tuple[tuple[str, ...], ...] = (
    (
        "docs_site",
        "errors",
        "actions",
        "answers",
        "changes",
        "death_signal",
        "element_paths",
        "rpc_proxies",
        "entry_points",
        "evidence",
        "har",
        "plain_data",
        "secrets",
        "shipped",
        "signals",
        "text",
        "workflow_commands",
        "error_collector",
        "yaml_files",
    ),
    ("tasks",),
    ("llm",),
    ("checks",),
    ("suites",),
    ("gateway",),
    ("live",),
    ("archives",),
    ("embedded",),
    ("sites",),
    ("browser",),
    ("agents",),
    ("results",),
    ("llm_judge",),
    ("trials",),
    ("cluster",),
    ("monitoring",),
    ("recorder",),
    ("task_generation",),
    ("gym",),
    ("testing", "extending", "fixtures", "reports", "plugin"),
    ("commands",),
)
"""The rooms from the ground up; those of one line may import each other."""

PYTEST_SIDE = ("plugin*", "commands*", "testing", "fixtures")

ONLY_IN: dict[str, tuple[str, ...]] = {
    "pytest": PYTEST_SIDE,
    "_pytest": PYTEST_SIDE,
    "xdist": PYTEST_SIDE,
    "allure": ("plugin.reporting*",),
    "allure_commons": ("plugin.reporting*",),
    "allure_pytest": ("plugin.reporting*",),
    "docker": ("sites.backends.docker*", "sites.container_images*", "sites.cleanup.reaper*"),
    "openai": ("llm*",),
    "playwright": ("browser*",),
    "gymnasium": ("gym*",),
    "ray": ("cluster.ray_cluster",),
    "numpy": ("checks.images*", "gym*"),
    "PIL": ("browser.observation*", "checks.images*", "gym*"),
    "cryptography": ("gateway.authority",),
    "warcio": ("archives*",),
    "brotli": ("archives*",),
    "bs4": ("checks.webcanvas*",),
    "lxml": ("checks.webcanvas*",),
    "skimage": ("checks.images*",),
    "sympy": ("checks.computed*",),
    "mpmath": ("checks.computed*",),
    "torch": ("checks.images*",),
    "transformers": ("checks.images*",),
    "django": ("embedded*",),
    "oscar": ("embedded*",),
    "flask": ("embedded*",),
    "waitress": ("embedded*", "sites.backends.forkserver"),
    "webarena_verified": ("checks.verified*", "suites*"),
    "websockets": ("browser.launching.bidi_bridge", "browser.driven*"),
    "argparse": ("commands*", "embedded.serve", "plugin.option_values"),
}
"""Packages and the modules (below ``pytest_webarena.``) that may import them: those of others, and the one by which
what is behind ``webarena …`` is known."""

TYPES_ONLY: dict[str, tuple[str, ...]] = {"playwright": ("plugin.fixtures*", "plugin.python_tests*")}
"""Where else a package may be named in annotations, under TYPE_CHECKING: pytest-playwright's fixtures have types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported name in one module."""

    module: str
    """The importing module, below ``pytest_webarena.``; empty for the package itself."""
    target: str
    """What it imports, in full."""
    line: int
    type_only: bool

    def __str__(self) -> str:
        return f"pytest_webarena.{self.module}, line {self.line}, imports {self.target}"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_shipped" not in path.parts)


def imports_of(source: str, module: str, *, is_package: bool) -> Iterator[Import]:
    """Every import in ``source``, wherever it stands, relative ones resolved."""

    def found(targets: list[str], line: int, type_only: bool) -> list[Import]:
        return [Import(module=module, target=target, line=line, type_only=type_only) for target in targets]

    def walk(node: ast.AST, *, type_only: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                continue  # there is no import in it
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


@functools.cache  # and not when this is imported: each worker does that, and one or two need it
def all_imports() -> list[Import]:
    found: list[Import] = []
    for path in sources():
        found += imports_of(path.read_text("utf-8"), module_name(path), is_package=path.name == "__init__.py")
    return found


LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}


def room_of(module: str) -> str:
    return module.split(".")[0]


def upward(imports: list[Import]) -> list[str]:
    """The imports that go against `ORDER`."""
    found = []
    for each in imports:
        parts = each.target.split(".")
        if parts[0] != "pytest_webarena" or not each.module or len(parts) == 1:
            continue  # the package's own __init__ may name anything; it is the public face
        target = parts[1]
        # A room without a place is test_every_module_has_a_place's to report.
        if LEVEL.get(target, 0) > LEVEL.get(room_of(each.module), len(ORDER)):
            found.append(f"{each}: a room further down")
    return found


def misplaced(imports: list[Import]) -> list[str]:
    """The imports of third-party packages outside the modules they are kept to."""
    found = []
    for each in imports:
        package = each.target.split(".")[0]
        allowed = ONLY_IN.get(package)
        if allowed is None or any(fnmatch(each.module, pattern) for pattern in allowed):
            continue
        if each.type_only and any(fnmatch(each.module, pattern) for pattern in TYPES_ONLY.get(package, ())):
            continue
        found.append(f"{each}: only {', '.join(allowed)} may")
    return found


def test_every_module_has_a_place_in_the_order() -> None:
    rooms = {room_of(module_name(path)) for path in sources()} - {""}
    assert rooms <= set(LEVEL), "give the new room its place in ORDER (and in ARCHITECTURE.md)"


def test_rooms_import_only_from_rooms_above() -> None:
    found = upward(all_imports())
    assert not found, "\n".join(found)


LAZY: dict[tuple[str, str], str] = {
    (
        "sites.cleanup.reaper",
        "sites.backends.docker",
    ): "the reaper is a script that starts with nothing but the "
    "standard library, and asks for the engine's clean-up when there is something of it to remove",
}
"""Imports that close a circle and wait until they are needed, and why that is meant."""


def knots(imports: list[Import]) -> list[frozenset[str]]:
    """Groups of modules that import each other, directly or by way of others; imports for types alone don't count."""
    modules = {module_name(path) for path in sources()}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for each in imports:
        target = each.target.removeprefix("pytest_webarena.")
        while target and target not in modules:
            target = target.rpartition(".")[0]
        if target and each.module and target != each.module and not (each.type_only or (each.module, target) in LAZY):
            graph[each.module].add(target)
    return [group for group in _strongly_connected(graph) if len(group) > 1]


def _strongly_connected(graph: dict[str, set[str]]) -> list[frozenset[str]]:
    """Kosaraju's algorithm."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(module: str) -> None:
        seen.add(module)
        for target in graph[module] - seen:
            if target not in seen:
                visit(target)
        order.append(module)

    for module in graph:
        if module not in seen:
            visit(module)
    back: dict[str, set[str]] = {module: set() for module in graph}
    for module, targets in graph.items():
        for target in targets:
            back[target].add(module)
    groups: list[frozenset[str]] = []
    placed: set[str] = set()
    for module in reversed(order):
        group: set[str] = set()
        waiting = [module]
        while waiting:
            each = waiting.pop()
            if each not in placed:
                placed.add(each)
                group.add(each)
                waiting += back[each] - placed
        if group:
            groups.append(frozenset(group))
    return groups


def test_modules_form_no_knots() -> None:
    found = [sorted(group) for group in knots(all_imports())]
    assert not found, "\n".join(map(str, found))


def test_a_knot_is_noticed() -> None:
    there = Import(module="errors", target="pytest_webarena.tasks.loader.load_tasks", line=1, type_only=False)
    assert any({"errors", "tasks.loader"} <= group for group in knots([*all_imports(), there]))


def test_third_party_packages_stay_in_their_rooms() -> None:
    found = misplaced(all_imports())
    assert not found, "\n".join(found)


@each_case(
    ("module", "line", "problem"),
    [
        ("tasks.model", "from pytest_webarena.sites import client", upward),
        ("tasks.model", "from pytest_webarena import sites", upward),
        ("tasks.model", "from ..sites.client import Lease", upward),
        ("errors", "def f():\n    import pytest_webarena.commands.cli", upward),
        ("sites.broker.pool", "if TYPE_CHECKING:\n    from playwright.async_api import Page", misplaced),
        ("trials.episode", "import pytest", misplaced),
        ("checks.judge", "def f():\n    import openai", misplaced),
        ("sites.broker.pool", "try:\n    import docker\nexcept ImportError:\n    docker = None", misplaced),
        ("plugin.fixtures", "from playwright.sync_api import Page", misplaced),
        ("results.tables", "import argparse", misplaced),
    ],
)
def test_a_breach_is_noticed(module: str, line: str, problem: object) -> None:
    assert callable(problem)
    assert problem(list(imports_of(line, module, is_package=False)))


@each_case(
    ("module", "line"),
    [
        ("tasks.model", "from pytest_webarena.errors import Problem"),
        ("checks", "from .answer import Answer"),
        ("plugin.entry", "import pytest\nfrom pytest_webarena import sites"),
        ("plugin.fixtures", "if TYPE_CHECKING:\n    from playwright.sync_api import Page"),
        ("sites.backends.docker", "import docker"),
    ],
)
def test_what_is_allowed_is_not_reported(module: str, line: str) -> None:
    imports = list(imports_of(line, module, is_package=module == "checks"))
    assert imports
    assert upward(imports) == misplaced(imports) == []


HEAVY = ("allure", "django", "docker", "flask", "jinja2", "openai", "playwright", "sympy", "waitress", "websockets")
COLLECTING = (
    "tasks",
    "agents.registry",
    "sites.catalogues.manifest",
    "sites.client.launcher",
    "sites.client.lease",
    "plugin.collection",
    "plugin.hooks",
    "plugin.options",
    "plugin.entry",
)
"""What is imported when tasks are merely collected; that has to stay instant."""


ALWAYS = {
    "errors",
    "plugin",
    "plugin.agent_options",
    "plugin.entry",
    "plugin.fixtures",
    "plugin.gate_options",
    "plugin.judge_options",
    "plugin.presets",
    "plugin.option_groups",
    "plugin.option_values",
    "plugin.options",
    "plugin.reporting",
    "plugin.reporting.outcomes",
    "plugin.reporting.traces",
    "plugin.stash",
    "plugin.suite_options",
    "plugin.task_files",
    "plugin.xdist",
    "suites",
    "suites.published",
    "trials",
    "trials.run_info",
    "yaml_files",
}
"""What every pytest session loads where the package is installed; all else waits for tasks or options of ours."""


NOT_AT_START: dict[str, tuple[str, ...]] = {
    "plugin.hooks": (
        "asyncio",
        "ssl",
        "agents.audit_trials",
        "agents.definitions",
        "agents.neighbour",
        "archives",
        "browser.config",
        "browser.grammars.brackets",
        "browser.reports",
        "browser.session",
        "checks.answer",
        "checks.changes",
        "checks.computed",
        "checks.key_nodes",
        "cluster",
        "gateway",
        "live",
        "llm.client",
        "llm_judge.judge",
        "monitoring",
        "plugin.concurrency",
        "plugin.reporting.audit",
        "plugin.sequential_stop",
        "recorder",
        "results.audit",
        "results.comparing.comparison",
        "results.following",
        "results.key_node_scores",
        "results.viewer",
        "sites.broker",
        "sites.catalogues.manifest",
        "sites.client",
        "task_generation",
        "trials.trial",
    ),
    "sites.broker.main": (
        "email",
        "http.client",
        "importlib.metadata",
        "uuid",
        "agents",
        "archives.archive",
        "archives.reading",
        "archives.writing",
        "browser",
        "checks",
        "live",
        "llm",
        "results",
        "sites.backends.docker",
        "sites.broker.recording",
        "sites.client",
        "trials",
    ),
    "sites.backends.forkserver": ("asyncio", "email", "sqlite3", "yaml", "evidence", "sites.catalogues", "tasks"),
    "sites.backends.common_parent": ("asyncio", "email", "sqlite3", "yaml", "evidence", "sites.catalogues", "tasks"),
    "commands.cli": ("email", "importlib.metadata", "yaml", "plugin", "results", "tasks"),
}
"""What processes that start often do not import before they need it: our modules and packages, and some of Python's.
Every pytest with tasks, each of its workers and each run inside a test pays for what is imported here."""


@each_case("module", NOT_AT_START)
def test_processes_that_start_often_import_no_rare_features(module: str) -> None:
    loaded, unwanted = imported_with(module)[module], NOT_AT_START[module]
    if module == "plugin.hooks":
        loaded -= imported_with("plugin.entry")["plugin.entry"]  # pytest's own, and what each session loads
    own_modules = [f"pytest_webarena.{name}" for name in unwanted]
    found = {name for name in loaded for other in (*unwanted, *own_modules) if f"{name}.".startswith(f"{other}.")}
    assert not found, f"import them where they are used: {', '.join(sorted(found))}"


def test_collecting_imports_nothing_heavy() -> None:
    """One process imports all of them; what is heavy is reported with the first of them that imports it."""
    heavy = {module: set(HEAVY) & names for module, names in imported_with(*COLLECTING).items()}
    assert heavy == {module: set() for module in COLLECTING}


def test_a_session_without_tasks_loads_next_to_nothing() -> None:
    names = imported_with("plugin.entry")["plugin.entry"]
    own_modules = {name.partition(".")[2] for name in names if name.startswith("pytest_webarena.")}
    assert own_modules <= ALWAYS


def imported_with(*modules: str) -> dict[str, set[str]]:
    """What a fresh interpreter has imported after each of the modules, one after the other."""
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
