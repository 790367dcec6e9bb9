"""Fixtures. The policy ones return a value and are meant to be overridden by name in a conftest.

Registered from `pytest_configure`, after pytest-playwright, so that the two overrides at the end win over its own;
a user's conftest still wins over both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_webarena.errors import BrowserError, UsageError
from pytest_webarena.plugin.stash import SETTINGS, settings_of
from pytest_webarena.plugin.xdist import worker_id

if TYPE_CHECKING:
    from pytest_webarena.plugin.python_tests import WebArena
    from pytest_webarena.trials.episode import EpisodeLimits
    from pytest_webarena.trials.executor import TrialExecutor
    from pytest_webarena.trials.options import TrialOptions
    from pytest_webarena.trials.rescoring import Rescorer
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.runtime import Runtime


# --- policies -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def webarena_limits(pytestconfig: pytest.Config) -> EpisodeLimits:
    """What ends an episode that the agent does not end: steps, seconds, stop rule. Tasks may tighten it."""
    from pytest_webarena.trials.episode import EpisodeLimits

    settings = settings_of(pytestconfig)
    limits = settings.overrides.limits
    return EpisodeLimits(
        steps=settings.max_steps,
        seconds=settings.time_limit,
        rule=settings.stop_rule,
        input_tokens=limits.input_tokens,
        output_tokens=limits.output_tokens,
        cost=limits.cost,
    )


@pytest.fixture(scope="session")
def webarena_context_args() -> dict[str, Any]:
    """Settings of every trial's browser context: viewport, locale, timezone, as fields of `SessionConfig`."""
    return {}


@pytest.fixture(scope="session")
def webarena_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Launch arguments of the trials' browser: pytest-playwright's (--headed, --slowmo, --browser-channel)."""
    return browser_type_launch_args


# --- internals ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def webarena_run(pytestconfig: pytest.Config) -> RunInfo:
    """Where the broker listens and where records go, and what ``run.json`` shall say."""
    from pytest_webarena.plugin.planning import record_plan
    from pytest_webarena.plugin.run_start import run_info

    info = run_info(pytestconfig)
    record_plan(pytestconfig, info.run_dir)
    if settings_of(pytestconfig).rescore is not None or (info.run_dir / "run.json").exists():
        return info  # what it says, it says already
    from pytest_webarena.plugin.run_facts import run_facts

    return replace(info, facts=run_facts(pytestconfig, info.facts))


@pytest.fixture(scope="session")
def webarena_runtime(
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    webarena_run: RunInfo,
    browser_name: Literal["chromium", "firefox", "webkit"],
    webarena_launch_args: dict[str, Any],
    webarena_context_args: dict[str, Any],
    webarena_limits: EpisodeLimits,
) -> Iterator[Runtime]:
    """This worker's broker client, browser and records, each made on first use."""
    from pytest_webarena.browser.config import EngineConfig, SessionConfig
    from pytest_webarena.llm_judge import placed
    from pytest_webarena.plugin.collection import expected_visits
    from pytest_webarena.trials.runtime import Runtime, RuntimeConfig

    settings = settings_of(pytestconfig)
    shots = {"record_screenshots": settings.record != "minimal"}
    try:
        session = SessionConfig(**{**shots, **webarena_context_args})
        session.observation.require()
        if browser_name != "chromium" and session.observation.extractor == "exact":
            raise UsageError(
                "fixture webarena_context_args: expected --browser chromium for observations with the extractor exact, "
                f"found {browser_name}"
            )
    except TypeError as error:
        raise UsageError(f"fixture webarena_context_args: expected fields of SessionConfig: {error}") from None
    config = RuntimeConfig(
        worker=worker_id(pytestconfig),
        limits=webarena_limits,
        lease_timeout=settings.lease_timeout,
        agent_directories=settings.agent_directories,
        engine=EngineConfig(
            browser_name=browser_name,
            executable=settings.browser_executable,
            launch_args=webarena_launch_args,
            temp_dir=webarena_run.temp_dir,
        ),
        session=session,
        options=_booked(settings.options, webarena_run),
        judge=placed(settings.judge, webarena_run.run_dir),
        record=settings.record,
        overrides=settings.overrides,
        visits=expected_visits(pytestconfig, request.session.items),
    )
    with Runtime(webarena_run, config) as runtime:
        yield runtime


@pytest.fixture(scope="session")
def webarena_rescorer(pytestconfig: pytest.Config, webarena_run: RunInfo) -> Rescorer:
    """What stands in for the runtime when a finished run is judged again: no broker, no browser, no agents."""
    from pytest_webarena.llm_judge import Judge, placed, standing
    from pytest_webarena.plugin.rescoring import agent_ids
    from pytest_webarena.results import RunDir
    from pytest_webarena.trials.rescoring import Rescorer

    settings = settings_of(pytestconfig)
    options = _booked(settings.options, webarena_run)
    judge = Judge(
        placed(settings.judge, webarena_run.run_dir),
        options.models,
        worker=worker_id(pytestconfig),
        off=standing(settings.judge).off,
    )
    run = RunDir(webarena_run.run_dir)
    return Rescorer(run, options=options, judge=judge, agents=agent_ids(settings))


@pytest.fixture(scope="session")
def webarena_executor(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Iterator[TrialExecutor]:
    """Where trials are played: here, one after the other."""
    from pytest_webarena.trials.executor import SerialExecutor

    again = settings_of(pytestconfig).rescore is not None
    with SerialExecutor(request.getfixturevalue("webarena_rescorer" if again else "webarena_runtime")) as executor:
        yield executor


def _booked(options: TrialOptions, run: RunInfo) -> TrialOptions:
    """With the run's ledger for its model calls."""
    from pytest_webarena.llm.ledger import LEDGER

    return replace(options, models=replace(options.models, ledger=run.run_dir / LEDGER))


# --- for Python tests -----------------------------------------------------------------------------------------------


@pytest.fixture
def webarena(request: pytest.FixtureRequest, webarena_runtime: Runtime) -> Iterator[WebArena]:
    """Leased sites for a Python test; pytest-playwright's ``page`` is then routed to them and signed in.

    ``@pytest.mark.webarena(sites=["homepage"], user={"homepage": "…"})`` names the sites. They are leased for the
    test alone and handed back, or reset, when it is over.
    """
    from pytest_webarena.plugin.python_tests import lease_for_test

    with lease_for_test(request, webarena_runtime) as access:
        yield access


@pytest.fixture
def new_context(request: pytest.FixtureRequest, new_context: Callable[..., Any]) -> Callable[..., Any]:
    """pytest-playwright's own; contexts of a test that leases sites go through its gateway port, signed in."""
    if "webarena" not in request.fixturenames and request.node.get_closest_marker("webarena") is None:
        return new_context
    access: WebArena = request.getfixturevalue("webarena")
    return lambda **options: new_context(**{**access.context_options(), **options})


@pytest.fixture(scope="session")
def browser_type_launch_args(
    pytestconfig: pytest.Config,
    browser_type_launch_args: dict[str, Any],
    browser_name: Literal["chromium", "firefox", "webkit"],
) -> dict[str, Any]:
    """pytest-playwright's own, with the browser that ``--browser-executable`` or the system offers."""
    from pytest_webarena.browser.launching.finding import find_browser, page_options

    arguments = dict(browser_type_launch_args)
    settings = pytestconfig.stash.get(SETTINGS, None)  # not there: nothing of ours was asked for
    explicit = settings.browser_executable if settings is not None else None
    if arguments.get("executable_path") or (arguments.get("channel") and not explicit):
        return arguments
    try:
        choice = find_browser(explicit, browser_name=browser_name, headed=arguments.get("headless") is False)
    except BrowserError:
        return arguments  # Playwright's own message is right for pages that are none of our business
    return page_options(choice, arguments)
