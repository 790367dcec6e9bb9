"""Hooks that every session calls. Without tasks and options of this plugin they do almost nothing.

Everything else is in `hooks`, which is enabled by the first task file, or at the start by an option of this plugin.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.plugin import fixtures, options, task_files, xdist
from pytest_webarena.plugin.reporting import outcomes, traces
from pytest_webarena.plugin.stash import CONTROLLER, LOAD_HOOKS, PASSED_OVER, RUN, SETTINGS, START, take_part

MARKER = (
    "webarena(sites, user, **facts): on Python tests: sites to lease and the accounts to sign in with; "
    "on tasks: facts for -m, e.g. -m \"webarena(site='homepage')\""
)


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before settings and the root directory are used
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> Generator[None, None, None]:
    known = early_config.known_args_namespace
    if any(text[:1] != "-" and text not in known.file_or_dir for text in args):
        from pytest_webarena.plugin import root_directory

        root_directory.correct_root_directory(early_config, args)
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.stash[LOAD_HOOKS] = _load_hooks
    if options.is_plugin_used(config):
        take_part(config)
    if xdist.is_worker(config):
        config.stash[RUN] = xdist.receive(config)
    # Registered after pytest-playwright, so that these fixtures override its own.
    config.pluginmanager.register(fixtures, "webarena-fixtures")


def _load_hooks(config: pytest.Config) -> None:
    from pytest_webarena.plugin import hooks  # imported here, so that sessions without tasks don't load it

    hooks.prepare(config)
    config.pluginmanager.register(hooks, "webarena-hooks")


def pytest_unconfigure(config: pytest.Config) -> None:
    if START in config.stash:
        config.stash[START].stop()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not task_files.holds_tasks(file_path, parent):
        return None
    take_part(parent.config)
    from pytest_webarena.plugin import suite_items

    return suite_items.collect_task_file(file_path, parent)


@pytest.hookimpl(trylast=True)  # not in hooks, because a hook that is registered later would run last
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if SETTINGS in config.stash:
        from pytest_webarena.plugin import hooks

        hooks.choose(config, items, collection_errors=session.testsfailed)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost, after pytest-playwright
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    traces.attach_traces(item.config, report)
    if report.failed and "webarena" in getattr(item, "fixturenames", ()):
        from pytest_webarena.plugin.reporting import unrouted

        unrouted.explain_unrouted(item, report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    return outcomes.test_status(report)


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    return xdist.limit_workers(config, (yield))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    from pytest_webarena.plugin import root_directory

    root_directory.join_values(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    from pytest_webarena.plugin.run_start import run_start

    xdist.send(node, run_start(node.config).info())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    return xdist.scheduler(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    if any(map(task_files.names_task, ids)):
        take_part(node.config)
    if (controller := node.config.stash.get(CONTROLLER, None)) is not None:
        controller.expect(ids)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if xdist.is_worker(session.config):
        xdist.send_passed_over(session.config)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    is_our_run = SETTINGS in config.stash or config.args_source is config.ArgsSource.ARGS
    if is_our_run and (files := sorted(set(config.stash.get(PASSED_OVER, ())))):
        from pytest_webarena.text import printable

        count, names = f"{len(files)} YAML file{'s' * (len(files) > 1)}", printable(", ".join(files))
        terminalreporter.write_line(
            f"webarena: {count} ignored: {names} (a list 'tasks' without an entry that has an 'intent'; "
            "`webarena tasks validate FILE` reports the problems)",
            yellow=True,
        )


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    xdist.read_passed_over(node)
    if refusal := xdist.read_refusal(node):
        take_part(node.config)
        node.config.stash[CONTROLLER].refusal = refusal
