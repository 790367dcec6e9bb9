"""The pytest hooks. Each says only who does the work."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena import collection, options, rescoring, selection, suite_items, suite_options, xdist
from pytest_webarena.controller import Controller
from pytest_webarena.errors import UsageError
from pytest_webarena.reporting import allure, audit, outcomes, skips, terminal
from pytest_webarena.results import RunDir
from pytest_webarena.settings import check_agents, read_settings
from pytest_webarena.stash import CONTROLLER, RUN, SETTINGS, SUITES

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

MARKER = (
    "webarena(sites, user, **facts): on Python tests: sites to lease and the accounts to sign in with; "
    "on tasks: facts for -m, e.g. -m \"webarena(site='homepage')\""
)


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    try:
        config.stash[SETTINGS] = settings = read_settings(config)
        if (settings.agents_given or settings.audit) and settings.rescore is None:
            browsers = config.getoption("--browser", default=None) or ()
            check_agents(settings, collecting=config.getoption("collectonly"), browsers=browsers)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    if settings.rescore is not None:
        rescoring.name_files(config, RunDir(settings.rescore))
    try:
        config.stash[SUITES] = suite_options.claim_arguments(config, settings.suites)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    if xdist.is_worker(config):
        config.stash[RUN] = xdist.receive(config)
    else:
        config.stash[CONTROLLER] = controller = Controller(config, settings)
        config.pluginmanager.register(controller, "webarena-controller")  # it counts reports
    from pytest_webarena import fixtures  # registered here, after pytest-playwright, so that ours override its own

    config.pluginmanager.register(fixtures, "webarena-fixtures")


def pytest_unconfigure(config: pytest.Config) -> None:
    if (controller := config.stash.get(CONTROLLER, None)) is not None:
        controller.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return collection.collect_task_file(file_path, parent)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost: nobody sorts suites behind files
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, pytest.CollectReport]:
    report: pytest.CollectReport = yield
    if isinstance(collector, pytest.Session) and report.passed:
        report.result = suite_items.add_suites(collector, report.result or ())
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    collection.parametrize_tasks(metafunc)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    try:
        suite_items.narrow(config, items)
        selection.deselect(config, items)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    xdist.group_by_sites(config, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    if (controller := session.config.stash.get(CONTROLLER, None)) is not None:
        controller.expect(item.nodeid for item in session.items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    node.config.stash[CONTROLLER].expect(ids)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    except BaseException:
        allure.report_interrupted(item)
        raise


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost: allure-pytest and pytest-playwright have had their say
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, pytest.TestReport]:
    report: pytest.TestReport = yield
    outcomes.mark_report(report, call)
    allure.complete_report(item, call, report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    return outcomes.test_status(report)


def pytest_report_header(config: pytest.Config) -> str | None:
    return terminal.header(config)


@pytest.hookimpl(trylast=True)  # after xdist has ended the workers: they need the broker and its directory to the last
def pytest_sessionfinish(session: pytest.Session) -> None:
    if (controller := session.config.stash.get(CONTROLLER, None)) is not None:
        controller.close()
        session.exitstatus = controller.exit_code(session.exitstatus)
    else:
        xdist.send_left_out(session.config)


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    skips.write_skips(terminalreporter)
    write = audit.write_summary if config.stash[SETTINGS].audit else terminal.write_summary
    write(terminalreporter, config.stash[CONTROLLER])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    xdist.send(node, node.config.stash[CONTROLLER].run_info())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    return xdist.scheduler(config, log)
