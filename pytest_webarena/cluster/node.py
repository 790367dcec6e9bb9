"""A node's side of a run: a broker, a browser and several threads in one process."""

from __future__ import annotations

import logging
import os
import pickle
import platform
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents import resolve_agent
from pytest_webarena.cluster.interface import Delivery, Parcel
from pytest_webarena.cluster.node_capabilities import unmet_site_needs
from pytest_webarena.cluster.project_files import NodePaths
from pytest_webarena.cluster.shipping import pack, unpack
from pytest_webarena.errors import HarnessError, Unready, UsageError
from pytest_webarena.results import RunDir, TrialKey
from pytest_webarena.rpc_proxies import Call, keep_elsewhere
from pytest_webarena.secrets import mark_environment
from pytest_webarena.sites.broker.memory import available_memory
from pytest_webarena.sites.cleanup.private_directory import sweep
from pytest_webarena.sites.cleanup.reaper import identity
from pytest_webarena.sites.client.broker_request import place_order
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.trials.captured_output import Output, TrialLogHandler, divided, inside
from pytest_webarena.trials.concurrency import automatic_width, most_replicas
from pytest_webarena.trials.run_info import RunInfo
from pytest_webarena.trials.runtime import Runtime
from pytest_webarena.trials.threaded_executor import ThreadedExecutor, cores

if TYPE_CHECKING:
    from pytest_webarena.agents.overrides import Overrides
    from pytest_webarena.browser.config import EngineConfig
    from pytest_webarena.llm.config import ModelSettings
    from pytest_webarena.results import TrialRecord
    from pytest_webarena.trials.runtime import FittedRuntime, RuntimeConfig

__all__ = ["Node", "Setup", "Terms", "Welcome", "differences", "versions"]

SESSIONS = 24
"""Number of browser sessions of concurrent trials per browser, as with ``--concurrency``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The settings of a trial as the driver's fixtures gave them, for the runner on the node."""

    config: RuntimeConfig
    agent_name: str
    agent_id: str
    order: Mapping[str, Any] = field(default_factory=dict)
    """The request to the broker (`broker_request.place_order`); a run has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The data that a node receives once."""

    name: str
    """The node's name, for display and records."""
    root: Path
    below: Path
    """Directory in which pytest was started, relative to the root."""
    package: Path | None
    run_dir: Path
    """The driver's run directory."""
    kept: tuple[Path, ...]
    """Files and folders on the driver's machine that the run has only once."""
    facts: Mapping[str, Any]
    pulls: Any
    allow_unreset: bool
    replicas: int | None
    concurrency: int | None
    """Number of concurrent trials; None: as many as the node can run."""
    agents: tuple[str, ...]
    agent_directories: tuple[Path, ...]
    overrides: Overrides
    models: ModelSettings
    catalogue: str = ""
    """The catalogue as ``--sites`` would name it; empty: there are no sites."""
    site_urls: Mapping[str, str] = field(default_factory=dict)
    sites: tuple[str, ...] = ()
    """The sites of all trials."""
    secret_names: tuple[str, ...] = ()
    import_path: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """A node's report about itself."""

    slots: int
    problem: str = ""
    """Why the node cannot be used, in one sentence."""
    versions: Mapping[str, str] = field(default_factory=dict)
    lacks: tuple[tuple[tuple[str, ...], str], ...] = ()
    """As `interface.Member.lacks`."""


def versions() -> dict[str, str]:
    """The versions that must be the same on all machines of a run."""
    from importlib.metadata import version

    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, "Ray": version("ray"), "pytest-webarena": version("pytest-webarena")}


def differences(local: Mapping[str, str], remote: Mapping[str, str]) -> str:
    """The versions that differ on two machines, as the end of a sentence; empty when all are the same.

    >>> differences({"Python": "3.12", "Ray": "2.60.0"}, {"Python": "3.11", "Ray": "2.60.0"})
    'Python 3.11 where this machine has 3.12'
    """
    found = (f"{name} {remote.get(name, 'none')} where this machine has {own}" for name, own in local.items()
            if remote.get(name) != own)  # fmt: skip
    return ", ".join(found)


class Node:
    """A node's resources for a run. They are removed by `close`, and also when the process dies."""

    def __init__(self, setup: Setup, project: bytes, ask: Callable[[Call], Any]) -> None:
        """Set up the node in this process.

        ``project`` has the driver's files (`shipping.pack`), which become this process's working directory. ``ask``
        calls the driver, which owns the run's account, caches and memories.
        """
        sweep()
        self._launcher = BrokerLauncher(BrokerConfig())
        private = Path(self._launcher.address).parent
        project_folder = private / "project"
        unpack(project, project_folder)
        os.chdir(project_folder / setup.below if (project_folder / setup.below).is_dir() else project_folder)
        self._paths = NodePaths(setup.root, project_folder, setup.package)
        sys.path[:0] = [str(self._paths.on_node(path, what="sys.path")) for path in (*setup.import_path, setup.root)]
        mark_environment(setup.secret_names)
        self._setup = setup
        self.slots = setup.concurrency or automatic_width(driven=self._driven())
        self._launcher.configure(
            BrokerConfig(
                max_replicas=setup.replicas or most_replicas(1, self.slots),
                memory=None if setup.replicas else (available_memory() or 0) // 2 or None,
                pulls=setup.pulls,
                allow_unreset=setup.allow_unreset,
                protect_unreset=not setup.allow_unreset,
            )
        )
        self._run = RunDir(private / "run")
        self._info = RunInfo(
            run_dir=self._run.path,
            broker=self._launcher.address,
            temp_dir=private / "temp",
            agents_dir=self._launcher.agents_directory,
            controller=identity(),
            facts=dict(setup.facts),
        )
        for name in ("memory", "trials"):
            keep_elsewhere(self._run.path / name, setup.run_dir / name, ask)
        for path in setup.kept:
            keep_elsewhere(path, path, ask)
        self._exits = ExitStack()
        _separate_output(self._exits)
        self._lock = threading.Lock()
        self._runtimes: list[tuple[EngineConfig, Runtime]] = []
        self._played: dict[str, Future[Delivery]] = {}
        self._closing = False
        self._executor = ThreadedExecutor(_Runner(self), self.slots)

    def problem(self) -> str:
        """Why this node cannot run any trial of the run; empty when it can."""
        try:
            for name in self._setup.agents:
                agent = resolve_agent(name, self._directories(), self._setup.overrides)
                agent.check(self._models_here(self._setup.models))
        except (UsageError, HarnessError) as error:
            return str(error)
        return ""

    def lacks(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Sites of the run that are unavailable here, as far as that can be determined without starting them."""
        setup = self._setup
        if not setup.catalogue or not setup.sites:
            return ()
        return tuple(
            unmet_site_needs(self._catalogue(setup.catalogue), setup.site_urls, setup.sites, pulls=setup.pulls)
        )

    def play(self, token: str, parcel: Parcel | None) -> Future[Delivery]:
        """Run a trial; see `interface.Cluster.play`."""
        with self._lock:
            if token in self._played:
                return self._played[token]
            future: Future[Delivery] = Future()
            self._played[token] = future
        if parcel is None:
            future.set_result(Delivery())
            return future
        output = Output()
        try:
            terms: Terms = pickle.loads(parcel.more)
            playing = self._executor.submit(
                parcel.task, terms.agent_name, parcel.trial, browser=parcel.browser, node_id=parcel.node_id,
                terms=terms, parcel=parcel, output=output,
            )  # fmt: skip
        except Exception as error:
            future.set_result(Delivery(error=_sendable(error)))
            return future
        key = TrialKey(parcel.task.id, terms.agent_id, parcel.trial, parcel.browser)
        playing.add_done_callback(lambda done: future.set_result(self._delivery(key, done, output.texts())))
        return future

    def forget(self, tokens: Sequence[str]) -> None:
        """Forget deliveries that have arrived, because they are not asked for again."""
        with self._lock:
            for token in tokens:
                self._played.pop(token, None)

    def _delivery(self, key: TrialKey, playing: Future[TrialRecord], printed: Mapping[str, str]) -> Delivery:
        """The delivery of a finished trial. Its folder here is removed, unless the trial raised an error."""
        folder = self._run.folder(key).path
        archive = b""
        with suppress(OSError):
            archive = pack(folder)
        error = None if playing.cancelled() else playing.exception()
        if error is not None or playing.cancelled():
            return Delivery(error=_sendable(error or HarnessError("cancelled")), archive=archive, printed=printed)
        shutil.rmtree(folder, ignore_errors=True)
        return Delivery(record=playing.result(), archive=archive, printed=printed)

    def run(self, parcel: Parcel, terms: Terms) -> TrialRecord:
        """Run one trial in the current thread, which is one of the executor's."""
        config = self._fitted(terms.config)
        if parcel.earlier:
            key = TrialKey(parcel.task.id, terms.agent_id, parcel.trial, parcel.browser)
            folder = self._run.folder(key).path
            if not folder.exists():
                unpack(parcel.earlier, folder)
        order = dict(terms.order)
        with self._lock:
            place_order(self._info.broker, order | {"catalogue": self._catalogue(order["catalogue"])})
        runtime = self._runtime(config)
        record = runtime.run(
            parcel.task, terms.agent_name, parcel.trial, browser=parcel.browser, node_id=parcel.node_id
        )
        runtime.prune(record)
        return record

    def cancel_trials(self) -> None:
        """End running trials: the futures of `play` end, with the existing files of the trials."""
        self._executor.cancel_trials(self._cancel_runtimes)

    def close(self) -> None:
        """Release everything: trials, browsers, broker, files."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
        with ExitStack() as exits:
            exits.callback(self._exits.close)
            exits.callback(self._launcher.stop)
            for _, runtime in self._runtimes:
                exits.push(runtime)
            exits.callback(self._executor.cancel_trials, self._cancel_runtimes)

    def _cancel_runtimes(self) -> None:
        for _, runtime in self._runtimes:
            runtime.cancel_trials()

    def _runtime(self, config: RuntimeConfig) -> FittedRuntime:
        with self._lock:
            for engine, shared in self._runtimes:
                if engine == config.engine:
                    return shared.with_config(config)
            made = Runtime(self._info, config)
            self._runtimes.append((config.engine, made))
            return made.with_config(config)

    def _fitted(self, config: RuntimeConfig) -> RuntimeConfig:
        """The driver's settings with this machine's paths."""
        engine = config.engine
        launch = {name: value for name, value in engine.launch_args.items() if name != "executable_path"}
        models = self._models_here(config.options.models)
        return replace(
            config,
            worker=self._setup.name,
            agent_directories=self._directories(),
            engine=replace(
                engine, launch_args=launch, temp_dir=self._info.temp_dir, sessions=SESSIONS if self.slots > 1 else None
            ),
            in_flight=self.slots,
            starts=2 * cores(),
            options=replace(config.options, models=models),
            judge=self._judge(config.judge),
        )

    def _judge(self, judge: Any) -> Any:
        if Path(judge.prompt).is_absolute():
            return replace(judge, prompt=str(self._paths.on_node(Path(judge.prompt), what="--judge-prompt")))
        return judge

    def _directories(self) -> tuple[Path, ...]:
        return tuple(self._paths.on_node(path, what="webarena_agents") for path in self._setup.agent_directories)

    def _catalogue(self, named: str) -> str:
        path = Path(named)
        return str(self._paths.on_node(path, what="--sites")) if path.is_absolute() else named

    def _driven(self) -> bool:
        with suppress(UsageError):
            return any(
                resolve_agent(name, self._directories(), self._setup.overrides).self_driving
                for name in self._setup.agents
            )
        return False

    def _models_here(self, models: ModelSettings) -> ModelSettings:
        if models.prices is None:
            return models
        return replace(models, prices=self._paths.on_node(models.prices, what="--prices"))


class _Runner:
    """The runner that the executor's threads call."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def run(
        self,
        task: Any,
        agent: str,
        trial: int,
        *,
        browser: str,
        node_id: str,
        terms: Terms,
        parcel: Parcel,
        output: Output,
    ) -> TrialRecord:
        with inside(output):
            return self._node.run(parcel, terms)


def _separate_output(exits: ExitStack) -> None:
    """From now on store what trials print and log with the trial, not in the node's own log."""
    for kind in ("stdout", "stderr"):
        exits.enter_context(divided(getattr(sys, kind), kind))
    handler = TrialLogHandler()
    handler.setFormatter(logging.Formatter("%(levelname)-8s %(name)s:%(filename)s:%(lineno)d %(message)s"))
    logging.getLogger().addHandler(handler)
    exits.callback(logging.getLogger().removeHandler, handler)


def _sendable(error: BaseException) -> BaseException:
    """``error``, or a replacement with the same text that can be pickled."""
    if isinstance(error, Unready):
        return error if _is_picklable(error) else Unready(str(error), cause=error.cause)
    return error if _is_picklable(error) else HarnessError(f"{type(error).__name__}: {error}")


def _is_picklable(error: BaseException) -> bool:
    try:
        return type(pickle.loads(pickle.dumps(error))) is type(error)
    except Exception:
        return False
