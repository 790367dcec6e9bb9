"""What processes import at their start: those that start often import no rare features."""

from __future__ import annotations

import pytest

from tests.cases import each_case
from tests.unit.import_graph import imported_with

pytestmark = pytest.mark.corpus

HEAVY = ("allure", "django", "docker", "flask", "jinja2", "openai", "playwright", "sympy", "waitress", "websockets")
"""Large third-party packages."""
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
"""Modules that collecting tasks imports, which has to be instant."""


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
"""Modules that every pytest session loads where the package is installed. All others wait for tasks or options."""


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
"""Modules of processes that start often, and what they must not import at their start: own and standard modules.

Every pytest with tasks, each of its workers and each run inside a test pays for these imports."""


@each_case("module", NOT_AT_START)
def test_processes_that_start_often_import_no_rare_features(module: str) -> None:
    loaded, unwanted = imported_with(module)[module], NOT_AT_START[module]
    if module == "plugin.hooks":
        loaded -= imported_with("plugin.entry")["plugin.entry"]  # also loaded in sessions without tasks
    own_modules = [f"pytest_webarena.{name}" for name in unwanted]
    found = {name for name in loaded for other in (*unwanted, *own_modules) if f"{name}.".startswith(f"{other}.")}
    assert not found, f"import them where they are used: {', '.join(sorted(found))}"


def test_collecting_imports_no_heavy_package() -> None:
    """One process imports all modules, so a heavy package is reported with the first one that imports it."""
    heavy = {module: set(HEAVY) & names for module, names in imported_with(*COLLECTING).items()}
    assert heavy == {module: set() for module in COLLECTING}


def test_session_without_tasks_loads_few_modules() -> None:
    names = imported_with("plugin.entry")["plugin.entry"]
    own_modules = {name.partition(".")[2] for name in names if name.startswith("pytest_webarena.")}
    assert own_modules <= ALWAYS
