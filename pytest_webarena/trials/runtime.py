"""What one worker process holds for all its trials in one kind of browser: broker's client, logins, records."""

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
"""Share of their trials' time from which on agents are taken for such that wait."""

_Granted = TypeVar("_Granted", bound=Lease | None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """How a worker runs its trials."""

    worker: str
    """``main``, ``gw0``, …"""
    limits: EpisodeLimits
    lease_timeout: float
    """Seconds."""
    agent_directories: tuple[Path, ...]
    engine: EngineConfig
    session: SessionConfig
    """What all trials' browser contexts have in common."""
    overrides: Overrides = field(default_factory=Overrides)
    """What the command line changes in agents' definitions."""
    options: TrialOptions = field(default_factory=TrialOptions)
    """What holds for every trial."""
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    """The judge model."""
    record: RecordPolicy = "all"
    """Which trials keep screenshots and observations."""
    agent_of: AgentOf | None = None
    """The definition by which an agent does a task; None: the one that its name stands for, whatever the task."""
    sign_in: SignIn | None = None
    """What becomes of the cookies that accounts are signed in with; None: they are used as they are."""
    visits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Site to account to how many trials of the run visit the site so (`visits.count_visits`)."""
    in_flight: int = 1
    """How many trials may be under way at a time, in as many threads."""
    starts: int = 2
    """How many of them may begin at a time."""
    by_load: bool = False
    """Whether as many are in flight as agents and machine have room for, rather than as many as somebody has said."""


class Runtime:
    """A worker's resources (`stage.Resources`), each made on first use. Use as a context manager.

    Thread-safe: one serves as many trials at a time as `RuntimeConfig.in_flight` says, each of which calls `run` in a
    thread of its own. `adopt` alone is for between trials.
    """

    def __init__(self, info: RunInfo, config: RuntimeConfig) -> None:
        self._info = info
        self._config = config
        self._run = RunDir(info.run_dir)
        self._waits = Waits(directory_of(info.broker), f"{config.worker}-{config.engine.browser_name}")
        self._lock = threading.Lock()
        """For what is made on first use."""
        self._looking = threading.Lock()
        """For agents, which may take long to be found and to be tried."""
        self._breaking_off = Cancellation(info.controller)
        self._starts = threading.BoundedSemaphore(config.starts)
        self._brake = Throttle(config.starts)
        self._spent = Spent()
        self._begun = 0
        """Trials that have begun, and are not over."""
        self._client: BrokerClient | None = None
        self._engine: BrowserEngine | None = None
        self._replaced: list[BrowserEngine] = []
        """Browsers that no further trial gets, and trials may still be in."""
        self._trust = ""
        """Whom the browser is told to trust (`EngineConfig.trust`)."""
        self._agents: dict[str, AgentDefinition] = {}
        self._ready: set[tuple[str, str]] = set()
        """Agents, by id and digest, whose needs were looked at."""
        self._judge = _judge(config)
        self._logins = Logins(
            self.engine,
            lambda sites, holder, ahead: self._lend(sites, holder=holder, ahead=ahead),
            look=lambda sites: self._connected().look(sites),
            visits=config.visits,
            prepare=lambda visits, holder: self._trusting(
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
        """All browsers that were started, the present one last."""
        return [*self._replaced, *([self._engine] if self._engine is not None else [])]

    def reconfigure(self, config: RuntimeConfig) -> None:
        """Go on with other settings, between trials; what is open stays open where they allow it."""
        if config == self._config:
            return
        before, self._config = self._config, config
        if config.engine != before.engine and self._engine is not None:
            engine, self._engine = self._engine, None
            engine.close()
        if (config.judge, config.options.models) != (before.judge, before.options.models):
            self._judge = _judge(config)

    def break_off(self) -> None:
        """End what is under way in other threads, from any: `run` raises `Cancelled` there, and writes no record."""
        self._breaking_off.now()
        with self._lock:
            engines, client = self._engines(), self._client
        with ExitStack() as exits:
            for engine in engines:
                exits.callback(engine.close)
            if client is not None:
                exits.callback(partial(client.close, for_good=True))  # first: whoever waits for sites waits no longer

    def with_config(self, config: RuntimeConfig) -> FittedRuntime:
        """The same by other settings, which go for as many browsers and sites: those that this one has are used."""
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

        ``config`` holds for this trial, in place of the runtime's own; what is shared stays as it is.

        `UsageError` when it is to be in another browser than this one has; `Unready` when what the agent needs was
        looked at for the first time, or what would run a site asked for, and is not there.
        """
        config = config or self._config
        if browser != (own := config.engine.browser_name):
            raise UsageError(
                f"fixture browser_name: expected {browser}, which the trial's id and record name, found {own}; choose "
                "browsers by --browser"
            )
        self._breaking_off.check()
        with self._looking:  # an agent's module is imported once, a model asked once whether it is there
            definition = (config.agent_of or self._named)(agent, task)
            self._run.describe(self._info.facts)
            self._require(definition, task, config)
        memory: Memory | None = None
        begun: list[str] = []
        if definition.memory is not None:
            of = definition.memory.of(task)
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
            in_flight=self._beside(config),
            start=partial(self._start, begun) if config.in_flight > 1 else nullcontext,
            breaking_off=self._breaking_off,
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

    def _beside(self, config: RuntimeConfig) -> int:
        """How many trials may be under way while one is, that one included: none beside what the loop plays itself when
        it has nothing in flight."""
        return config.in_flight if thread_number() or self._begun else 1

    def _measure(self, record: TrialRecord) -> None:
        """Beside agents that wait for less than half of the time, no trial begins before there is something to spare.

        Others get on slowly on a machine that somebody else keeps busy, too.
        """
        steps = self._run.steps_of(record)
        with self._lock:
            self._spent.add(record, steps)
            waits = self._spent.seconds["agent"] >= _WAITING * self._spent.total
            self._brake.most = MOST if waits else math.inf

    @contextmanager
    def _start(self, begun: list[str]) -> Iterator[None]:
        """Around the start of an attempt; ``begun`` has something in it from a trial's first one on."""
        if not begun:  # a trial that is tried again counts as one already: it would wait for itself
            self._brake.hold(lambda: self._begun, lambda: self._breaking_off.over)
            self._breaking_off.check()
            with self._lock:
                begun.append("begun")
                self._begun += 1
        with self._starts:
            self._breaking_off.check()
            yield

    def _judge_of(self, config: RuntimeConfig) -> Judge:
        mine = self._config
        if (config.judge, config.options.models) == (mine.judge, mine.options.models):
            return self._judge
        return _judge(config)

    def _require(self, agent: AgentDefinition, task: Task, config: RuntimeConfig) -> None:
        """See that the agent's model and browser are there, before anything is leased; once."""
        try:
            if (agent.id, agent.digest) not in self._ready:
                agent.reach(config.options.models)
                self._ready.add((agent.id, agent.digest))
            if self._engine is None and (agent.self_driving or needs_browser(task)):
                chosen_browser(config.engine)
            if config.options.video != "off" and not agent.self_driving and needs_browser(task):
                require_ffmpeg()
        except TrialError as error:
            raise Unready(str(error), cause=error.cause) from None

    def folder(self, record: TrialRecord) -> Path:
        """Where the files of a trial are."""
        return self._run.folder(record.key).path

    def prune(self, record: TrialRecord, config: RuntimeConfig | None = None) -> None:
        """`pruning.prune`, by ``config``, the one that the trial was run by."""
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
    ) -> Lease:
        """Exclusive use of the apps behind ``sites``; waits its turn. Signs ``users`` in before, where it can."""
        return self.lease_within(
            self._config.lease_timeout, sites, users=users, holder=holder, reach=reach, now=now, live=live
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
    ) -> Lease:
        """The same, with seconds of its own to wait."""
        self._logins.prepare(sites, users)
        return self._trusting(
            self._connected().lease(sites, holder=holder, timeout=timeout, reach=reach, now=now, live=live)
        )

    def _lend(self, sites: Sequence[str], *, holder: str, ahead: Sequence[str] = ()) -> Lease:
        return self._trusting(
            self._connected().lease(sites, holder=holder, timeout=self._config.lease_timeout, ahead=ahead)
        )

    def _trusting(self, lease: _Granted) -> _Granted:
        """A lease that the browser can visit: one that was started before there was anybody to trust is replaced."""
        with self._lock:
            if lease is not None and lease.trust is not None and lease.trust.spki != self._trust:
                self._trust = lease.trust.spki
                if self._engine is not None:
                    self._replaced.append(self._engine)  # other threads' trials may be in it: it ends with the runtime
                    self._engine = None
        return lease

    def _connected(self) -> BrokerClient:
        with self._lock:
            self._breaking_off.check()
            if self._client is None:
                trusts = self._config.engine.browser_name == "chromium"
                self._client = BrokerClient(
                    self._info.broker, name=self._config.worker, waiting=self._waits.on, trusts=trusts
                )
            return self._client

    def engine(self) -> BrowserEngine:
        """The worker's browser."""
        with self._lock:
            self._breaking_off.check()
            if self._engine is None:
                self._engine = BrowserEngine(replace(self._config.engine, trust=self._trust))
            return self._engine

    def session_config(self, lease: Lease | None, storage_state: Mapping[str, Any] | None) -> SessionConfig:
        """The worker's settings with the lease's way out and its users' cookies."""
        return _session_config(self._config, lease, storage_state)

    def keeper(self, users: Mapping[str, str]) -> Callable[[TrialEnvironment, StepRecord], str]:
        """Renews sessions that end in the middle of a trial."""
        return partial(renew_ended_session, self._logins, users)

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Cookies of the accounts that the leased sites are visited with; None when nobody is signed in."""
        return self.signed_in(self._config, lease, users)

    def signed_in(self, config: RuntimeConfig, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """The same, by other settings."""
        state = self._logins.state(lease, users)
        return state if config.sign_in is None else config.sign_in(lease, users, state)

    def _named(self, agent: str, task: Task) -> AgentDefinition:
        if agent not in self._agents:
            self._agents[agent] = resolve_agent(agent, self._config.agent_directories, self._config.overrides)
        return self._agents[agent]


class FittedRuntime:
    """A runtime by settings of one's own; what it holds is shared with all others (`stage.Resources`)."""

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

    def lease(self, sites: Sequence[str], **how: Any) -> Lease:
        """As `Runtime.lease`."""
        return self._runtime.lease_within(self._config.lease_timeout, sites, **how)

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
