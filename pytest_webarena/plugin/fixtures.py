"""Fixtures. The policy fixtures return a value, and a conftest can override them by name.

They are registered in `pytest_configure` after pytest-playwright, so that the two overrides at the end take precedence
over its own; a user's conftest takes precedence over both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_webarena.errors import BrowserError, UsageError
from pytest_webarena.plugin.stash import CLUSTER, PLAN, SETTINGS, WORKER, settings_of
from pytest_webarena.plugin.xdist import worker_id

if TYPE_CHECKING:
    from pytest_webarena.agents import AgentDefinition
    from pytest_webarena.browser.session import Session
    from pytest_webarena.checks import Grading
    from pytest_webarena.llm_judge.config import JudgeSettings
    from pytest_webarena.plugin.python_tests import WebArena
    from pytest_webarena.plugin.worker import Worker
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks import Task
    from pytest_webarena.trials.episode import EpisodeLimits
    from pytest_webarena.trials.executor import TrialExecutor
    from pytest_webarena.trials.options import TrialOptions
    from pytest_webarena.trials.policies import AgentOf, RecordPolicy, SignIn
    from pytest_webarena.trials.record_replay import RecordReplay
    from pytest_webarena.trials.rescoring import Rescorer
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.runtime import FittedRuntime, Runtime, RuntimeConfig


_SESSIONS = 24
"""Maximum of sessions in one browser: a second browser costs 90 MiB, but a crash then loses only half of the trials."""

# --- policies -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def webarena_catalogue(pytestconfig: pytest.Config) -> str:
    """The sites: name of a shipped catalogue, or path of a YAML file. Used during collection."""
    return settings_of(pytestconfig).catalogue


@pytest.fixture(scope="session")
def webarena_site_urls(pytestconfig: pytest.Config) -> dict[str, str]:
    """Addresses of sites that run elsewhere, by name (``--site-url``). Used during collection."""
    return dict(settings_of(pytestconfig).site_urls)


@pytest.fixture(scope="session")
def webarena_broker_args() -> dict[str, Any]:
    """Limits of replicas: ``max_replicas``, ``spares``, ``memory`` (bytes), ``pulls``; they override the options."""
    return {}


@pytest.fixture(scope="session")
def webarena_docker_environment() -> dict[str, str]:
    """Variables for the broker's Docker client, such as ``DOCKER_HOST``, which override the environment's."""
    return {}


@pytest.fixture(scope="session")
def webarena_lease_timeout(pytestconfig: pytest.Config) -> float:
    """Seconds that a trial or a test waits for its sites (``--lease-timeout``)."""
    return settings_of(pytestconfig).lease_timeout


@pytest.fixture(scope="session")
def webarena_sign_in() -> SignIn | None:
    """A function from lease, users and their signed-in state to the initial state; None uses the signed-in state."""
    return None


@pytest.fixture(scope="session")
def webarena_agent(pytestconfig: pytest.Config) -> AgentOf:
    """A function from an agent's name and a task to the agent's definition for the task."""
    from pytest_webarena.plugin.policies import default_agents

    return default_agents(pytestconfig)


@pytest.fixture(scope="session")
def webarena_grammar() -> Callable[[AgentDefinition, Task], str]:
    """A function from an agent's definition and a task to the grammar of its text replies."""
    return lambda definition, task: definition.grammar


@pytest.fixture(scope="session")
def webarena_grading(pytestconfig: pytest.Config) -> Grading:
    """The grading that counts (``--grading``), as `checks.find_grading` returns it."""
    return settings_of(pytestconfig).options.grading


@pytest.fixture(scope="session")
def webarena_judge(pytestconfig: pytest.Config) -> JudgeSettings:
    """The judge model and its settings (``--judge``, …)."""
    return settings_of(pytestconfig).judge


@pytest.fixture(scope="session")
def webarena_record(pytestconfig: pytest.Config) -> RecordPolicy:
    """Trials that keep their pictures: ``all``, ``failures``, ``minimal``, or a function that decides by the record."""
    return settings_of(pytestconfig).record


@pytest.fixture(scope="session")
def webarena_limits(pytestconfig: pytest.Config) -> EpisodeLimits:
    """Limits of an episode: steps, seconds, stop rule. Tasks may reduce them."""
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
    """Settings of every trial's browser context, such as viewport, locale and timezone: fields of `SessionConfig`."""
    return {}


@pytest.fixture(scope="session")
def webarena_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Launch arguments of the trials' browser: pytest-playwright's (--headed, --slowmo, --browser-channel)."""
    return browser_type_launch_args


# --- internals ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def webarena_run(pytestconfig: pytest.Config) -> RunInfo:
    """The run's broker address, record directory and facts for ``run.json``."""
    from pytest_webarena.plugin.planning import record_plan
    from pytest_webarena.plugin.run_start import run_info

    settings = settings_of(pytestconfig)  # read first, because in a session of Python tests this is the first use
    info = run_info(pytestconfig)
    if settings.rescore is None and not (info.run_dir / "run.json").exists():  # otherwise it has its facts already
        from pytest_webarena.plugin.run_facts import run_facts
        from pytest_webarena.results import RunDir

        info = replace(info, facts=run_facts(pytestconfig, info.facts))
        if pytestconfig.stash.get(PLAN, ()):  # now, so that a run killed before its first trial can be resumed
            RunDir(info.run_dir).describe(info.facts)
    record_plan(pytestconfig, info.run_dir)
    return info


@pytest.fixture
def webarena_config(
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    webarena_run: RunInfo,
    browser_name: Literal["chromium", "firefox", "webkit"],
    webarena_launch_args: dict[str, Any],
    webarena_context_args: dict[str, Any],
    webarena_limits: EpisodeLimits,
    webarena_lease_timeout: float,
    webarena_sign_in: SignIn | None,
    webarena_agent: AgentOf,
    webarena_grammar: Callable[[AgentDefinition, Task], str],
    webarena_grading: Grading,
    webarena_judge: JudgeSettings,
    webarena_record: RecordPolicy,
) -> RuntimeConfig:
    """All policies that apply to this test; a conftest's fixtures apply to its own directory."""
    from pytest_webarena.browser.config import EngineConfig
    from pytest_webarena.llm_judge.config import placed
    from pytest_webarena.plugin.planning import expected_visits
    from pytest_webarena.plugin.policies import (
        agents_of,
        asks_for_context,
        check_record,
        overridden,
        session_config,
    )
    from pytest_webarena.plugin.run_start import worker_count
    from pytest_webarena.trials.runtime import RuntimeConfig
    from pytest_webarena.trials.threaded_executor import cores

    settings = settings_of(pytestconfig)
    session = session_config(
        webarena_context_args,
        request.getfixturevalue("browser_context_args") if asks_for_context(request.node) else {},
        record_screenshots=webarena_record != "minimal",
    )
    if browser_name != "chromium" and session.observation.extractor == "exact":
        raise UsageError(
            "fixture webarena_context_args: expected --browser chromium for observations with the extractor exact, "
            f"found {browser_name}"
        )
    check_record(webarena_record)
    return RuntimeConfig(
        worker=worker_id(pytestconfig),
        limits=webarena_limits,
        lease_timeout=webarena_lease_timeout,
        agent_directories=settings.agent_directories,
        agent_of=(
            None  # each node resolves names itself
            if settings.ray is not None
            and not any(overridden(request.node, name) for name in ("webarena_agent", "webarena_grammar"))
            else agents_of(webarena_agent, webarena_grammar)
        ),
        sign_in=webarena_sign_in,
        engine=EngineConfig(
            browser_name=browser_name,
            executable=settings.browser_executable,
            launch_args=webarena_launch_args,
            temp_dir=webarena_run.temp_dir,
            sessions=_SESSIONS if settings.concurrency > 1 else None,
        ),
        in_flight=settings.concurrency,
        starts=max(1, 2 * cores() // worker_count(pytestconfig)),
        by_load=pytestconfig.getoption("--concurrency") == 0,
        session=session,
        options=replace(_booked(settings.options, webarena_run), grading=webarena_grading),
        judge=placed(webarena_judge, webarena_run.run_dir),
        record=webarena_record,
        overrides=settings.overrides,
        visits=expected_visits(pytestconfig, request.session.items, browser=browser_name),
    )


@pytest.fixture(scope="session")
def webarena_worker(pytestconfig: pytest.Config, webarena_run: RunInfo) -> Iterator[Worker]:
    """State of this process that trials share, per browser: the broker's client, the browser, cookies."""
    from pytest_webarena.plugin.worker import Worker

    with Worker(webarena_run) as worker:
        pytestconfig.stash[WORKER] = worker
        yield worker


@pytest.fixture
def webarena_runtime(
    webarena_worker: Worker,
    webarena_config: RuntimeConfig,
    webarena_catalogue: str | Path,
    webarena_site_urls: Mapping[str, str],
    webarena_broker_args: dict[str, Any],
    webarena_docker_environment: dict[str, str],
) -> Runtime | FittedRuntime:
    """This process's runtime for trials, with the policies that apply to this test."""
    from pytest_webarena.plugin.policies import broker_order

    order = broker_order(
        catalogue=str(webarena_catalogue),
        site_urls=webarena_site_urls,
        broker_args=webarena_broker_args,
        docker=webarena_docker_environment,
    )
    return webarena_worker.runtime(webarena_config, order)


@pytest.fixture(scope="session")
def webarena_rescorer(
    pytestconfig: pytest.Config, webarena_run: RunInfo, webarena_grading: Grading, webarena_judge: JudgeSettings
) -> Rescorer:
    """Replacement of the runtime with ``--rescore``: no broker, no browser, no agents."""
    from pytest_webarena.llm_judge.config import placed
    from pytest_webarena.llm_judge.judge import Judge
    from pytest_webarena.llm_judge.judge_eligibility import errors, offs
    from pytest_webarena.plugin.rescoring import agent_ids
    from pytest_webarena.results import RunDir
    from pytest_webarena.trials.rescoring import Rescorer

    settings = settings_of(pytestconfig)
    options = _booked(settings.options, webarena_run)
    judge = Judge(
        placed(webarena_judge, webarena_run.run_dir),
        options.models,
        worker=worker_id(pytestconfig),
        off=offs(webarena_judge),
        errors=errors(webarena_judge),
    )
    run = RunDir(webarena_run.run_dir)
    return Rescorer(run, options=replace(options, grading=webarena_grading), judge=judge, agents=agent_ids(settings))


@pytest.fixture
def webarena_on_record(
    pytestconfig: pytest.Config, webarena_run: RunInfo, webarena_config: RuntimeConfig
) -> RecordReplay:
    """Replacement of the runtime with ``--replay-run``: no broker, no browser."""
    from pytest_webarena.llm_judge.judge import Judge
    from pytest_webarena.llm_judge.judge_eligibility import errors, offs
    from pytest_webarena.trials.record_replay import RecordReplay

    options = settings_of(pytestconfig).on_record
    assert options is not None, "the fixture is asked for with --replay-run alone"
    config = webarena_config
    judge = Judge(
        config.judge, config.options.models, worker=config.worker, off=offs(config.judge), errors=errors(config.judge)
    )
    return RecordReplay(webarena_run, config, judge=judge, source=options.run, of=options.of)


@pytest.fixture
def webarena_executor(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Iterator[TrialExecutor]:
    """Executor of trials: one after the other in this process, or on the nodes of ``--ray``."""
    if CLUSTER in pytestconfig.stash:
        from pytest_webarena.plugin.ray_dispatch import SingleTrialExecutor

        yield SingleTrialExecutor(
            pytestconfig.stash[CLUSTER].executor, request.getfixturevalue("webarena_runtime"), request.node
        )
        return
    from pytest_webarena.trials.executor import SerialExecutor

    with SerialExecutor(request.getfixturevalue(settings_of(pytestconfig).runner)) as executor:
        yield executor


def _booked(options: TrialOptions, run: RunInfo) -> TrialOptions:
    """The options with the run's file for its model calls."""
    from pytest_webarena.llm.model_calls import calls_of

    return replace(options, models=replace(options.models, calls=calls_of(run.run_dir)))


# --- for Python tests -----------------------------------------------------------------------------------------------


@pytest.fixture
def webarena(request: pytest.FixtureRequest, webarena_runtime: Runtime | FittedRuntime) -> Iterator[WebArena]:
    """Sites leased for a Python test; pytest-playwright's ``page`` is then routed to them and signed in.

    ``@pytest.mark.webarena(sites=["homepage"], user={"homepage": "…"})`` names the sites. The test uses them
    exclusively, and they are released, or reset, when it has finished.
    """
    from pytest_webarena.plugin.python_tests import lease_for_test

    with lease_for_test(request, webarena_runtime) as access:
        yield access


@pytest.fixture
def webarena_lease(webarena: WebArena) -> Lease:
    """The lease behind ``webarena``, for a test with its own browser or none: addresses, databases, traffic."""
    return webarena.lease


@pytest.fixture
def webarena_session(webarena: WebArena, webarena_runtime: Runtime | FittedRuntime) -> Iterator[Session]:
    """A browser session like an agent's, on the leased sites: signed in, at the start page of the first site.

    ``observe()`` returns what an agent would see, and ``execute(action)`` performs an agent's action.
    """
    from pytest_webarena.plugin.python_tests import open_session

    with open_session(webarena, webarena_runtime) as session:
        yield session


@pytest.fixture
def new_context(request: pytest.FixtureRequest, new_context: Callable[..., Any]) -> Callable[..., Any]:
    """pytest-playwright's fixture; contexts of a test that leases sites use its gateway port and are signed in."""
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
    """pytest-playwright's fixture, with the browser of ``--browser-executable`` or of the system."""
    from pytest_webarena.browser.launching.discovery import find_browser, page_options

    arguments = dict(browser_type_launch_args)
    settings = pytestconfig.stash.get(SETTINGS, None)  # None if no option of this plugin is used
    explicit = settings.browser_executable if settings is not None else None
    if arguments.get("executable_path") or (arguments.get("channel") and not explicit):
        return arguments
    try:
        choice = find_browser(explicit, browser_name=browser_name, headed=arguments.get("headless") is False)
    except BrowserError:
        return arguments  # for other pages, Playwright's own message is right
    return page_options(choice, arguments)
