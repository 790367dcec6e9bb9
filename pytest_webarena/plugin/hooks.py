"""Hooks of sessions with tasks or options of this plugin. Each only calls the module that does the work."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.agents.watchdog import keep_stderr
from pytest_webarena.errors import UsageError
from pytest_webarena.plugin import (
    catalogue,
    collection,
    planning,
    rescoring,
    resuming,
    selection,
    suite_items,
    suite_options,
    xdist,
)
from pytest_webarena.plugin.agent_options import check_agents
from pytest_webarena.plugin.controller import Controller
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.prefetched_trial import set_times
from pytest_webarena.plugin.reporting import (
    allure,
    github,
    html,
    junit,
    log_masking,
    outcomes,
    preflight,
    repeated_errors,
    skips,
    terminal,
    tracebacks,
    untrusted_text,
)
from pytest_webarena.plugin.run_start import run_start
from pytest_webarena.plugin.settings import check_run_dir, read_settings
from pytest_webarena.plugin.stash import CLUSTER, CONTROLLER, DESELECTED, FEWER_WORKERS, REQUESTED, SETTINGS, SUITES
from pytest_webarena.plugin.task_files import names_task
from pytest_webarena.results import RunDir
from pytest_webarena.results.gate import EXIT_CODES
from pytest_webarena.text import printable

if TYPE_CHECKING:
    import warnings

    from _pytest.terminal import TerminalReporter

__all__ = ["choose", "prepare"]


def prepare(config: pytest.Config) -> None:
    """Set up what these hooks need: settings, suites and, in the process that the user started, a controller."""
    try:
        resuming.restore_options(config)
        config.stash[SETTINGS] = settings = read_settings(config)
        collecting, held = config.getoption("collectonly"), None
        settings.judge.read()
        if settings.asks_for_agents and settings.rescore is None:
            check_agents(settings, collecting=collecting or settings.ray is not None)  # API keys are on the nodes
        if (stored := settings.stored_run) is not None:
            rescoring.name_files(config, RunDir(stored))
        if settings.options.models.prices is not None:
            from pytest_webarena.llm.prices import read_prices  # late: only for --prices

            read_prices(settings.options.models.prices)  # so that an error is reported now, not after the first trial
        if config.getoption("--sites"):
            catalogue.known_sites(config)  # so that an error is reported once, before workers start
        config.stash[REQUESTED] = resuming.requested_options(config, settings.shard)
        if settings.resume is not None and not xdist.is_worker(config):
            resuming.check(config, settings)
        config.stash[SUITES] = suite_options.claim_arguments(config, settings.suites)
        if not (collecting or xdist.is_worker(config)):
            held = check_run_dir(settings)  # last, because it creates the directory
    except UsageError as error:
        raise pytest.UsageError(printable(str(error))) from None
    log_masking.mask_logs(config)  # if a task file enables this plugin; else at the session's start
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        keep_stderr()
    if not xdist.is_worker(config):
        start = run_start(config)
        start.guard()
        config.stash[CONTROLLER] = controller = Controller(config, settings, start, held)
        config.pluginmanager.register(controller, "webarena-controller")  # it counts reports
        config.pluginmanager.register(junit.ErrorMarker(config, lambda: controller.run_dir), "webarena-junit")


def choose(config: pytest.Config, items: list[pytest.Item], *, collection_errors: int) -> None:
    """Deselect items and sort the rest; called by `entry`."""
    planning.note_collected(config, items, errors=collection_errors)
    try:
        suite_items.narrow(config, items)
        selection.check_mark_expression(config, items)
        planning.check_plugins(config, items)
        catalogue.check_reachable(config)
        if config.stash[SETTINGS].until is not None:
            from pytest_webarena.plugin import sequential_stop  # late: only for --stop-when-settled

            sequential_stop.prepare(config, items)
        selection.deselect(config, items)
        planning.check_keys(items)
        planning.check_needs(config, items)
        xdist.check_spread(config, items)
    except UsageError as error:
        if not xdist.is_worker(config):
            raise pytest.UsageError(printable(str(error))) from None
        xdist.send_refusal(config, str(error))  # raised here, it would be an internal error in the controller
        items.clear()
    xdist.group_by_sites(config, items)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (controller := config.stash.get(CONTROLLER, None)) is not None:
        controller.close()


def pytest_sessionstart(session: pytest.Session) -> None:
    log_masking.mask_logs(session.config)  # pytest's logging plugin is configured last


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost, so that no plugin sorts suites after files
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, pytest.CollectReport]:
    report: pytest.CollectReport = yield
    if isinstance(collector, pytest.Session) and report.passed:
        report.result = suite_items.add_suites(collector, report.result or ())
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    collection.parametrize_tasks(metafunc)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, TaskItem):
            item.config.stash.setdefault(DESELECTED, set()).add(item.task.id)


def pytest_collection_finish(session: pytest.Session) -> None:
    planning.make_plan(session.config, session.items)
    if (controller := session.config.stash.get(CONTROLLER, None)) is not None:
        controller.expect(item.nodeid for item in session.items)


def _is_concurrent(session: pytest.Session) -> bool:
    """Whether trials of this session are in flight at a time."""
    option = session.config.getoption
    idle = option("collectonly") or option("setuponly", False) or option("setupplan", False)
    settings = session.config.stash[SETTINGS]
    return (settings.concurrency > 1 or settings.ray is not None) and not idle


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if not _is_concurrent(session):
        return None
    from pytest_webarena.plugin import concurrency  # late: with it comes all that plays trials

    kind: type[concurrency.Loop] = concurrency.Loop
    if xdist.is_worker(session.config):
        from pytest_webarena.plugin.concurrency_workers import WorkerLoop

        kind = WorkerLoop
    return concurrency.run_concurrent(session, kind)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    except BaseException:
        allure.report_interrupted(item)
        raise


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost, after allure-pytest and pytest-playwright
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, pytest.TestReport]:
    is_task = isinstance(item, TaskItem)
    foreign = is_task or untrusted_text.has_foreign_text(item)
    if not is_task:
        tracebacks.shorten_traceback(item, call.excinfo)
    if foreign:
        untrusted_text.clean_output(item)  # before other plugins attach it
    report: pytest.TestReport = yield
    if foreign:
        untrusted_text.clean_report(report)
    outcomes.mark_report(report, call, task=is_task)
    set_times(item, report)
    allure.complete_report(item, call, report)
    html.complete_report(item, report)
    return report


@pytest.hookimpl(tryfirst=True)  # before pytest starts its debugger
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    if isinstance(node, TaskItem) and node.config.getoption("usepdb"):
        tracebacks.write_debugging_hint(node)


@pytest.hookimpl(tryfirst=True)  # before pytest and xdist record it
def pytest_warning_recorded(warning_message: warnings.WarningMessage, nodeid: str) -> None:
    if names_task(nodeid):
        untrusted_text.clean_warning(warning_message)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    tasks = [item for item in items if isinstance(item, TaskItem)]
    return [*map(printable, (*terminal.resolution_lines(config, tasks), *preflight.undecided_lines(config, tasks)))]


def pytest_report_header(config: pytest.Config) -> str | None:
    lines = [terminal.header(config), config.stash.get(FEWER_WORKERS, None)]
    return printable("\n".join(line for line in lines if line)) or None


@pytest.hookimpl(trylast=True)  # after xdist has ended the workers, which need the broker and its directory until then
def pytest_sessionfinish(session: pytest.Session) -> None:
    if (controller := session.config.stash.get(CONTROLLER, None)) is not None:
        controller.close()
        if not session.config.stash[SETTINGS].audit and session.config.stash[SETTINGS].on_record is None:
            junit.write_properties(session.config, controller.summaries().values())
        session.exitstatus = controller.exit_status = controller.exit_code(session.exitstatus)
    else:
        xdist.send_left_out(session.config)
        xdist.send_plan(session.config)


@pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_terminal_summary")  # around pytest's own
def pytest_terminal_summary_of_equal_errors(terminalreporter: TerminalReporter) -> Generator[None]:
    with repeated_errors.report_once(terminalreporter):
        return (yield)


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    skips.write_skips(terminalreporter)
    if config.stash[SETTINGS].audit:
        from pytest_webarena.plugin.reporting import audit  # late: only for --audit

        audit.write_summary(terminalreporter, config.stash[CONTROLLER])
    else:
        terminal.write_summary(terminalreporter, config.stash[CONTROLLER])
    if CLUSTER in config.stash:
        terminalreporter.write_line(printable(f"ray: {config.stash[CLUSTER].summary()}"))
    if problem := config.stash[CONTROLLER].problem:
        terminalreporter.write_line(printable(f"webarena: {problem}"), red=True)
    if github.is_github(os.environ) and not config.stash[SETTINGS].audit:
        github.write_summary(terminalreporter, config.stash[CONTROLLER], os.environ)
    if meaning := EXIT_CODES.get(code := config.stash[CONTROLLER].exit_status):
        terminalreporter.write_line(f"exit code {code}: {meaning}", red=True)
