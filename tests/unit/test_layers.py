"""Direction of imports: a package imports only from packages before it in `ORDER`, and modules form no cycles."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

from tests.cases import each_case
from tests.unit.import_graph import Import, all_imports, imports_of, module_name, package_of, sources

pytestmark = pytest.mark.corpus

ORDER: tuple[tuple[str, ...], ...] = (
    (
        "docs_site",
        "errors",
        "actions",
        "answers",
        "changes",
        "credentials",
        "csv_text",
        "death_signal",
        "element_paths",
        "rpc_proxies",
        "entry_points",
        "evidence",
        "file_digests",
        "har",
        "own_addresses",
        "owners",
        "plain_data",
        "record_files",
        "secret_forms",
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
    ("html_pages",),
    ("suites",),
    ("gateway",),
    ("live",),
    ("archives",),
    ("embedded", "stand_ins"),
    ("sites",),
    ("browser",),
    ("agents",),
    ("results",),
    ("llm_judge",),
    ("trials",),
    ("cluster",),
    ("monitoring",),
    ("recorder",),
    ("validation",),
    ("task_generation",),
    ("project_setup",),
    ("gym",),
    ("testing", "extending", "fixtures", "reports", "plugin"),
    ("commands",),
)
"""The packages and modules at the top level, lowest first; those of one entry may import each other."""

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
    "anthropic": ("llm*",),
    "google": ("llm*",),
    "playwright": ("browser*",),
    "gymnasium": ("gym*",),
    "ray": ("cluster.ray_cluster",),
    "numpy": ("checks.images*", "gym*"),
    "PIL": ("browser.observation*", "checks.images*", "gym*", "plugin.reporting.allure.pictures"),
    "cryptography": ("gateway.authority", "browser.one_time_codes", "stand_ins*"),
    "warcio": ("archives*",),
    "brotli": ("archives*",),
    "bs4": ("checks.webcanvas*",),
    "lxml": ("checks.webcanvas*", "html_pages.page_tree"),
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
"""Third-party packages, and pytest and argparse, with the modules (below ``pytest_webarena.``) that may import them."""

TYPES_ONLY: dict[str, tuple[str, ...]] = {"playwright": ("plugin.fixtures*", "plugin.python_tests*")}
"""Further modules that may import a package under TYPE_CHECKING: annotations name pytest-playwright's fixtures."""

LEVEL = {package: level for level, packages in enumerate(ORDER) for package in packages}


def upward(imports: list[Import]) -> list[str]:
    """Return the imports of packages that come later in `ORDER` than their importer."""
    found = []
    for each in imports:
        parts = each.target.split(".")
        if parts[0] != "pytest_webarena" or not each.module or len(parts) == 1:
            continue  # pytest_webarena/__init__ is the public API and may import anything
        target = parts[1]
        if LEVEL.get(target, 0) > LEVEL.get(package_of(each.module), len(ORDER)):
            found.append(f"{each}: a package of a later layer")
    return found


def misplaced(imports: list[Import]) -> list[str]:
    """Return the imports of packages in `ONLY_IN` outside of the modules that may import them."""
    found = []
    for each in imports:
        package = each.target.split(".")[0]
        allowed = ONLY_IN.get(package)
        if allowed is None or any(fnmatch(each.module, pattern) for pattern in allowed):
            continue
        if each.type_only and any(fnmatch(each.module, pattern) for pattern in TYPES_ONLY.get(package, ())):
            continue
        found.append(f"{each}: only {', '.join(allowed)} may import it")
    return found


def test_every_package_is_in_the_order() -> None:
    packages = {package_of(module_name(path)) for path in sources()} - {""}
    assert packages <= set(LEVEL), "add the new package to ORDER (and to ARCHITECTURE.md)"


def test_packages_import_only_from_earlier_layers() -> None:
    found = upward(all_imports())
    assert not found, "\n".join(found)


LAZY: dict[tuple[str, str], str] = {
    (
        "sites.cleanup.reaper",
        "sites.backends.docker",
    ): "the reaper is a script that starts with the standard library only, and imports the engine's clean-up when "
    "there are containers to remove",
}
"""Imports within functions that close a cycle, and the reason for each."""


def cycles(imports: list[Import]) -> list[frozenset[str]]:
    """Return groups of modules that import each other, directly or indirectly; imports for types only don't count."""
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
    """Return the strongly connected components of a graph (Kosaraju's algorithm)."""
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


def test_modules_form_no_cycles() -> None:
    found = [sorted(group) for group in cycles(all_imports())]
    assert not found, "\n".join(map(str, found))


def test_cycle_is_found() -> None:
    closing = Import(module="errors", target="pytest_webarena.tasks.loader.load_tasks", line=1, type_only=False)
    assert any({"errors", "tasks.loader"} <= group for group in cycles([*all_imports(), closing]))


def test_third_party_packages_are_imported_only_where_allowed() -> None:
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
def test_forbidden_import_is_reported(module: str, line: str, problem: object) -> None:
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
def test_allowed_import_is_not_reported(module: str, line: str) -> None:
    imports = list(imports_of(line, module, is_package=module == "checks"))
    assert imports
    assert upward(imports) == misplaced(imports) == []
