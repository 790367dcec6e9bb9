"""What one worker process holds for all its trials in one browser: that, the broker's client, logins, records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_webarena.agents import AgentDefinition, resolve_agent
from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.browser.engine import BrowserEngine, EngineConfig, chosen_browser
from pytest_webarena.browser.session import SessionConfig
from pytest_webarena.errors import TrialError, Unready, UsageError
from pytest_webarena.llm_judge import Judge, JudgeSettings, errors, offs
from pytest_webarena.results import RunDir, TrialRecord
from pytest_webarena.results.attempts import TRACE, VIDEOS
from pytest_webarena.results.memory import Memory, memory_folder
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from pytest_webarena.sites.protocol.waits import Waits, directory_of
from pytest_webarena.trials.logins import Logins
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.policies import AgentOf, RecordPolicy, SignIn
from pytest_webarena.trials.renewal import renew_ended_session
from pytest_webarena.trials.stage import needs_browser
from pytest_webarena.trials.trial import run_trial

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.episode import EpisodeLimits
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.stage import Stage

__all__ = ["Runtime", "RuntimeConfig"]

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


class Runtime:
    """A worker's resources (`stage.Resources`), each made on first use. Use as a context manager."""

    def __init__(self, info: RunInfo, config: RuntimeConfig) -> None:
        self._info = info
        self._config = config
        self._run = RunDir(info.run_dir)
        self._waits = Waits(directory_of(info.broker), f"{config.worker}-{config.engine.browser_name}")
        self._client: BrokerClient | None = None
        self._engine: BrowserEngine | None = None
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
        try:
            if self._engine is not None:
                self._engine.close()
        finally:
            if self._client is not None:
                self._client.close()

    def adopt(self, config: RuntimeConfig) -> None:
        """Go on with other settings, between trials; what is open stays open where they allow it."""
        if config == self._config:
            return
        before, self._config = self._config, config
        if config.engine != before.engine and self._engine is not None:
            engine, self._engine = self._engine, None
            engine.close()
        if (config.judge, config.options.models) != (before.judge, before.options.models):
            self._judge = _judge(config)

    def run(self, task: Task, agent: str, trial: int, *, browser: str, node_id: str) -> TrialRecord:
        """Run one trial and write its record.

        `UsageError` when it is to be in another browser than this one has; `Unready` when what the agent needs was
        looked at for the first time, and is not there.
        """
        if browser != (own := self._config.engine.browser_name):
            raise UsageError(
                f"fixture browser_name: expected {browser}, which the trial's id and record name, found {own}; choose "
                "browsers by --browser"
            )
        definition = (self._config.agent_of or self._named)(agent, task)
        self._run.describe(self._info.facts)
        self._require(definition, task)
        memory: Memory | None = None
        if definition.memory is not None:
            of = definition.memory.of(task)
            memory = Memory(
                memory_folder(self._run.path, agent=definition.id, digest=definition.digest, of=of, browser=browser)
            )
        plan = TrialPlan(
            task=task,
            agent=definition,
            trial=trial,
            browser=browser,
            limits=self._config.limits,
            options=self._config.options,
            temp_dir=self._info.agents_dir or self._info.temp_dir,
            memory=memory,
            waiting=self._waits.on,
            node_id=node_id,
            worker=self._config.worker,
            since=self._info.facts.get("started", math.inf),
        )
        plan = replace(plan, asker=self._judge.session(plan.key.folder))
        return run_trial(plan, self, self._run.folder(plan.key))

    def _require(self, agent: AgentDefinition, task: Task) -> None:
        """See that the agent's model and browser are there, before anything is leased; once."""
        try:
            if (agent.id, agent.digest) not in self._ready:
                agent.reach(self._config.options.models)
                self._ready.add((agent.id, agent.digest))
            if self._engine is None and (agent.self_driving or needs_browser(task)):
                chosen_browser(self._config.engine)
        except TrialError as error:
            raise Unready(str(error), cause=error.cause) from None

    def folder(self, record: TrialRecord) -> Path:
        """Where the files of a trial are."""
        return self._run.folder(record.key).path

    def prune(self, record: TrialRecord) -> None:
        """Drop what ``--record`` does not ask to keep, before the reports take their copies of what is left."""
        if record.outcome == "passed":
            options, folder = self._config.options, self._run.folder(record.key)
            films = {TRACE: options.tracing, VIDEOS: options.video}
            folder.drop_films(*(name for name, what in films.items() if what == "retain-on-failure"))
        keep = self._config.record
        if keep == "all" or (keep == "failures" and record.outcome != "passed"):
            return
        if not callable(keep) or not keep(record):
            self._run.folder(record.key).drop_pictures()

    def lease(
        self,
        sites: Sequence[str],
        *,
        users: Mapping[str, str],
        holder: str,
        reach: Sequence[str] = (),
        now: Sequence[str] = (),
    ) -> Lease:
        """Exclusive use of the apps behind ``sites``; waits its turn. Signs ``users`` in before, where it can."""
        self._logins.prepare(sites, users)
        timeout = self._config.lease_timeout
        return self._trusting(self._connected().lease(sites, holder=holder, timeout=timeout, reach=reach, now=now))

    def _lend(self, sites: Sequence[str], *, holder: str, ahead: Sequence[str] = ()) -> Lease:
        return self._trusting(
            self._connected().lease(sites, holder=holder, timeout=self._config.lease_timeout, ahead=ahead)
        )

    def _trusting(self, lease: _Granted) -> _Granted:
        """A lease that the browser can visit: one that was started before there was anybody to trust is replaced."""
        if lease is not None and lease.trust is not None and lease.trust.spki != self._trust:
            self._trust = lease.trust.spki
            engine, self._engine = self._engine, None
            if engine is not None:
                engine.close()
        return lease

    def _connected(self) -> BrokerClient:
        if self._client is None:
            trusts = self._config.engine.browser_name == "chromium"
            self._client = BrokerClient(
                self._info.broker, name=self._config.worker, waiting=self._waits.on, trusts=trusts
            )
        return self._client

    def engine(self) -> BrowserEngine:
        """The worker's browser."""
        if self._engine is None:
            self._engine = BrowserEngine(replace(self._config.engine, trust=self._trust))
        return self._engine

    def session_config(self, lease: Lease | None, storage_state: Mapping[str, Any] | None) -> SessionConfig:
        """The worker's settings with the lease's way out and its users' cookies."""
        return replace(
            self._config.session,
            proxy=lease.proxy if lease else None,
            harness_proxy=lease.harness_proxy if lease else None,
            storage_state=storage_state if storage_state is not None else self._config.session.storage_state,
        )

    def keeper(self, users: Mapping[str, str]) -> Callable[[Stage, StepRecord], str]:
        """Renews sessions that end in the middle of a trial."""
        return partial(renew_ended_session, self._logins, users)

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Cookies of the accounts that the leased sites are visited with; None when nobody is signed in."""
        state = self._logins.state(lease, users)
        return state if self._config.sign_in is None else self._config.sign_in(lease, users, state)

    def _named(self, agent: str, task: Task) -> AgentDefinition:
        if agent not in self._agents:
            self._agents[agent] = resolve_agent(agent, self._config.agent_directories, self._config.overrides)
        return self._agents[agent]


def _judge(config: RuntimeConfig) -> Judge:
    settings = config.judge
    return Judge(settings, config.options.models, worker=config.worker, off=offs(settings), errors=errors(settings))
