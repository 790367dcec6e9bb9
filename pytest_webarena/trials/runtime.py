"""The resources of one worker process for all its trials in one browser: broker client, sign-ins, agents, records."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_webarena.agents import AgentDefinition, resolve_agent
from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.browser.engine import BrowserEngine, EngineConfig, chosen_browser
from pytest_webarena.browser.launching.discovery import require_ffmpeg
from pytest_webarena.browser.session import SessionConfig
from pytest_webarena.errors import SiteUnready, TrialError, Unready, UsageError
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.llm_judge.judge_eligibility import errors, offs
from pytest_webarena.results import RunDir, TrialRecord
from pytest_webarena.results.memory import Memory, memory_folder, open_memory
from pytest_webarena.results.profile import Spent
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from pytest_webarena.sites.protocol.waits import Waits, directory_of
from pytest_webarena.trials.cancellation import Cancellation
from pytest_webarena.trials.logins import Logins
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.policies import AgentOf, RecordPolicy, SignIn
from pytest_webarena.trials.pruning import prune
from pytest_webarena.trials.renewal import renew_ended_session
from pytest_webarena.trials.threaded_executor import thread_number
from pytest_webarena.trials.throttle import MOST, Throttle
from pytest_webarena.trials.trial import run_trial
from pytest_webarena.trials.trial_environment import needs_browser

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord
    from pytest_webarena.sites.protocol.messages import LiveWishes
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.episode import EpisodeLimits
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["FittedRuntime", "Runtime", "RuntimeConfig"]

_WAITING = 0.5
"""Fraction of trial time spent waiting from which agents count as I/O-bound."""

_Granted = TypeVar("_Granted", bound=Lease | None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """How a worker runs its trials."""

    worker: str
    """Name of the worker: ``main``, ``gw0``, …"""
    limits: EpisodeLimits
    lease_timeout: float
    """Maximum time to wait for a lease, in seconds."""
    agent_directories: tuple[Path, ...]
    engine: EngineConfig
    session: SessionConfig
    """Settings common to all trials' browser contexts."""
    overrides: Overrides = field(default_factory=Overrides)
    """Changes by the command line to agents' definitions."""
    options: TrialOptions = field(default_factory=TrialOptions)
    """Options of every trial."""
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    """Settings of the judge model."""
    record: RecordPolicy = "all"
    """Which trials keep screenshots and observations."""
    agent_of: AgentOf | None = None
    """Function that returns the definition with which an agent does a task; None: the definition with its name, for all
    tasks."""
    sign_in: SignIn | None = None
    """Function that changes the storage state with which accounts are signed in; None: it is used unchanged."""
    visits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Site to account to the number of trials of the run that visit the site with it (`visit_counts.count_visits`)."""
    in_flight: int = 1
    """Maximum number of concurrent trials, each in a thread of its own."""
    starts: int = 2
    """Maximum number of trials that may start at the same time."""
    by_load: bool = False
    """Whether the number of concurrent trials depends on the load of agents and machine, and was not set by the
    user."""


class Runtime:
    """A worker's resources (`trial_environment.Resources`), each made on first use. Use as a context manager.

    Thread-safe: up to `RuntimeConfig.in_flight` trials at a time call `run`, each in its own thread. Only `reconfigure`
    must be called between trials.
    """

    def __init__(self, info: RunInfo, config: RuntimeConfig) -> None:
        self._info = info
        self._config = config
        self._run = RunDir(info.run_dir)
        self._waits = Waits(directory_of(info.broker), f"{config.worker}-{config.engine.browser_name}")
        self._lock = threading.Lock()
        """Protects what is made on first use."""
        self._agents_lock = threading.Lock()
        """Protects agents, whose lookup and checks may be slow."""
        self._cancellation = Cancellation(info.controller)
        self._starts = threading.BoundedSemaphore(config.starts)
        self._throttle = Throttle(config.starts)
        self._spent = Spent()
        self._begun = 0
        """Number of trials that have begun and have not finished."""
        self._client: BrokerClient | None = None
        self._engine: BrowserEngine | None = None
        self._replaced: list[BrowserEngine] = []
        """Browsers that no new trial gets but that running trials may still use."""
        self._trust = ""
        """Key of the certificate authority that the browser trusts (`EngineConfig.trust`)."""
        self._agents: dict[str, AgentDefinition] = {}
        self._ready: set[tuple[str, str]] = set()
        """Agents, by id and digest, whose requirements were checked."""
        self._judge = _judge(config)
        self._logins = Logins(
            self.engine,
            lambda sites, holder, ahead: self._lease_sites(sites, holder=holder, ahead=ahead),
            look=lambda sites: self._connected().look(sites),
            visits=config.visits,
            prepare=lambda visits, holder: self._with_trust(
                self._connected().prepare(visits, holder=holder, timeout=self._config.lease_timeout)
            ),
            waiting=self._waits.on,
        )

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *exc_info: object) -> None:
        with ExitStack() as exits:
            if self._client is not None:
                exits.callback(self._client.close)
            for engine in self._engines():
                exits.callback(engine.close)

    def _engines(self) -> list[BrowserEngine]:
        """All browsers that were started; the current one is last."""
        return [*self._replaced, *([self._engine] if self._engine is not None else [])]

    def reconfigure(self, config: RuntimeConfig) -> None:
        """Use other settings from the next trial on; must be called between trials. Open resources are kept where
        possible."""
        if config == self._config:
            return
        before, self._config = self._config, config
        if config.engine != before.engine and self._engine is not None:
            engine, self._engine = self._engine, None
            engine.close()
        if (config.judge, config.options.models) != (before.judge, before.options.models):
            self._judge = _judge(config)

    def cancel_trials(self) -> None:
        """End the trials that run in other threads; may be called from any thread. `run` raises `Cancelled` there and
        writes no record."""
        self._cancellation.now()
        with self._lock:
            engines, client = self._engines(), self._client
        with ExitStack() as exits:
            for engine in engines:
                exits.callback(engine.close)
            if client is not None:
                exits.callback(partial(client.close, for_good=True))  # runs first and ends waits for sites

    def with_config(self, config: RuntimeConfig) -> FittedRuntime:
        """This runtime with other settings that need no other browsers or sites; its resources are shared."""
        return FittedRuntime(self, config)

    def run(
        self,
        task: Task,
        agent: str,
        trial: int,
        *,
        browser: str,
        node_id: str,
        config: RuntimeConfig | None = None,
    ) -> TrialRecord:
        """Run one trial and write its record.

        ``config`` replaces the runtime's own for this trial; shared resources are unchanged.

        `UsageError` when the trial needs another browser than this runtime's. `Unready` when a requirement of the
        agent, checked on its first trial, or a requirement of a requested site is missing.
        """
        config = config or self._config
        if browser != (own := config.engine.browser_name):
            raise UsageError(
                f"fixture browser_name: expected {browser}, which the trial's id and record name, found {own}; choose "
                "browsers by --browser"
            )
        self._cancellation.check()
        with self._agents_lock:  # imports an agent's module once, and checks once that a model is available
            definition = (config.agent_of or self._named)(agent, task)
            self._run.describe(self._info.facts)
            self._require(definition, task, config)
        memory: Memory | None = None
        begun: list[str] = []
        if definition.memory is not None:
            of = definition.memory.name_for(task)
            memory = open_memory(
                memory_folder(self._run.path, agent=definition.id, digest=definition.digest, of=of, browser=browser)
            )
        plan = TrialPlan(
            task=task,
            agent=definition,
            trial=trial,
            browser=browser,
            limits=config.limits,
            options=config.options,
            temp_dir=self._info.agents_dir or self._info.temp_dir,
            memory=memory,
            waiting=self._waits.on,
            node_id=node_id,
            worker=f"{config.worker}.{number}" if (number := thread_number()) else config.worker,
            in_flight=self._concurrent(config),
            start=partial(self._start, begun) if config.in_flight > 1 else nullcontext,
            cancellation=self._cancellation,
            since=self._info.facts.get("started", math.inf),
        )
        plan = replace(plan, asker=self._judge_of(config).session(plan.key.folder))
        resources = self if config is self._config else FittedRuntime(self, config)
        try:
            record = run_trial(plan, resources, self._run.folder(plan.key))
            if config.by_load:
                self._measure(record)
            return record
        except SiteUnready as error:
            raise Unready(str(error), cause=error.cause) from None
        finally:
            with self._lock:
                self._begun -= len(begun)

    def _concurrent(self, config: RuntimeConfig) -> int:
        """Maximum number of concurrent trials while this one runs, itself included; 1 when the main loop runs it with
        none in flight."""
        return config.in_flight if thread_number() or self._begun else 1

    def _measure(self, record: TrialRecord) -> None:
        """Update the throttle: without a time limit while agents wait for less than half of the time, otherwise with
        `MOST`.

        Agents that mostly wait make progress even on a machine that other programs keep busy.
        """
        steps = self._run.steps_of(record)
        with self._lock:
            self._spent.add(record, steps)
            agents_wait = self._spent.seconds["agent"] >= _WAITING * self._spent.total
            self._throttle.most = MOST if agents_wait else math.inf

    @contextmanager
    def _start(self, begun: list[str]) -> Iterator[None]:
        """Entered around the start of an attempt. ``begun`` is empty only before the first attempt of a trial."""
        if not begun:  # a repeated trial counts as begun already and would wait for itself
            self._throttle.hold(lambda: self._begun, lambda: self._cancellation.over)
            self._cancellation.check()
            with self._lock:
                begun.append("begun")
                self._begun += 1
        with self._starts:
            self._cancellation.check()
            yield

    def _judge_of(self, config: RuntimeConfig) -> Judge:
        own = self._config
        if (config.judge, config.options.models) == (own.judge, own.options.models):
            return self._judge
        return _judge(config)

    def _require(self, agent: AgentDefinition, task: Task, config: RuntimeConfig) -> None:
        """Check once that the agent's model and browser are available, before anything is leased."""
        try:
            if (agent.id, agent.digest) not in self._ready:
                agent.check_connection(config.options.models)
                self._ready.add((agent.id, agent.digest))
            if self._engine is None and (agent.self_driving or needs_browser(task)):
                chosen_browser(config.engine)
            if config.options.video != "off" and not agent.self_driving and needs_browser(task):
                require_ffmpeg()
        except TrialError as error:
            raise Unready(str(error), cause=error.cause) from None

    def folder(self, record: TrialRecord) -> Path:
        """The directory of a trial's files."""
        return self._run.folder(record.key).path

    def prune(self, record: TrialRecord, config: RuntimeConfig | None = None) -> None:
        """Call `pruning.prune` with ``config``, the settings of the trial."""
        prune(self._run, record, config or self._config)

    def lease(
        self,
        sites: Sequence[str],
        *,
        users: Mapping[str, str],
        holder: str,
        reach: Sequence[str] = (),
        now: Sequence[str] = (),
        live: LiveWishes | None = None,
        max_age: float | None = None,
    ) -> Lease:
        """Exclusive use of the apps behind ``sites``; waits until they are free. Signs ``users`` in beforehand where
        possible."""
        return self.lease_within(
            self._config.lease_timeout,
            sites,
            users=users,
            holder=holder,
            reach=reach,
            now=now,
            live=live,
            max_age=max_age,
        )

    def lease_within(
        self,
        timeout: float,
        sites: Sequence[str],
        *,
        users: Mapping[str, str],
        holder: str,
        reach: Sequence[str] = (),
        now: Sequence[str] = (),
        live: LiveWishes | None = None,
        max_age: float | None = None,
    ) -> Lease:
        """Like `lease`, with its own ``timeout`` in seconds."""
        self._logins.prepare(sites, users)
        return self._with_trust(
            self._connected().lease(
                sites, holder=holder, timeout=timeout, reach=reach, now=now, live=live, max_age=max_age
            )
        )

    def _lease_sites(self, sites: Sequence[str], *, holder: str, ahead: Sequence[str] = ()) -> Lease:
        return self._with_trust(
            self._connected().lease(sites, holder=holder, timeout=self._config.lease_timeout, ahead=ahead)
        )

    def _with_trust(self, lease: _Granted) -> _Granted:
        """The lease, after replacing a browser that was started before its certificate authority was known."""
        with self._lock:
            if lease is not None and lease.trust is not None and lease.trust.spki != self._trust:
                self._trust = lease.trust.spki
                if self._engine is not None:
                    self._replaced.append(self._engine)  # running trials may use it: closed with the runtime
                    self._engine = None
        return lease

    def _connected(self) -> BrokerClient:
        with self._lock:
            self._cancellation.check()
            if self._client is None:
                trusts = self._config.engine.browser_name == "chromium"
                self._client = BrokerClient(
                    self._info.broker, name=self._config.worker, waiting=self._waits.on, trusts=trusts
                )
            return self._client

    def engine(self) -> BrowserEngine:
        """The worker's browser."""
        with self._lock:
            self._cancellation.check()
            if self._engine is None:
                self._engine = BrowserEngine(replace(self._config.engine, trust=self._trust))
            return self._engine

    def session_config(self, lease: Lease | None, storage_state: Mapping[str, Any] | None) -> SessionConfig:
        """The worker's settings with the lease's proxies and its users' cookies."""
        return _session_config(self._config, lease, storage_state)

    def keeper(self, users: Mapping[str, str]) -> Callable[[TrialEnvironment, StepRecord], str]:
        """A function that signs in again when a session ends during a trial."""
        return partial(renew_ended_session, self._logins, users)

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Cookies of the accounts with which the leased sites are visited; None when no account is signed in."""
        return self.signed_in(self._config, lease, users)

    def signed_in(self, config: RuntimeConfig, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Like `login_state`, with the settings ``config``."""
        state = self._logins.state(lease, users)
        return state if config.sign_in is None else config.sign_in(lease, users, state)

    def _named(self, agent: str, task: Task) -> AgentDefinition:
        if agent not in self._agents:
            self._agents[agent] = resolve_agent(agent, self._config.agent_directories, self._config.overrides)
        return self._agents[agent]


class FittedRuntime:
    """A runtime with other settings and shared resources (`trial_environment.Resources`)."""

    def __init__(self, runtime: Runtime, config: RuntimeConfig) -> None:
        self._runtime = runtime
        self._config = self.config = config
        self.engine = runtime.engine
        self.keeper = runtime.keeper
        self.folder = runtime.folder

    def run(self, task: Task, agent: str, trial: int, *, browser: str, node_id: str) -> TrialRecord:
        """As `Runtime.run`."""
        return self._runtime.run(task, agent, trial, browser=browser, node_id=node_id, config=self._config)

    def prune(self, record: TrialRecord) -> None:
        """As `Runtime.prune`."""
        self._runtime.prune(record, self._config)

    def lease(self, sites: Sequence[str], **arguments: Any) -> Lease:
        """As `Runtime.lease`."""
        return self._runtime.lease_within(self._config.lease_timeout, sites, **arguments)

    def session_config(self, lease: Lease | None, storage_state: Mapping[str, Any] | None) -> SessionConfig:
        """As `Runtime.session_config`."""
        return _session_config(self._config, lease, storage_state)

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """As `Runtime.login_state`."""
        return self._runtime.signed_in(self._config, lease, users)


def _session_config(
    config: RuntimeConfig, lease: Lease | None, storage_state: Mapping[str, Any] | None
) -> SessionConfig:
    return replace(
        config.session,
        proxy=lease.proxy if lease else None,
        harness_proxy=lease.harness_proxy if lease else None,
        storage_state=storage_state if storage_state is not None else config.session.storage_state,
    )


def _judge(config: RuntimeConfig) -> Judge:
    settings = config.judge
    return Judge(settings, config.options.models, worker=config.worker, off=offs(settings), errors=errors(settings))
