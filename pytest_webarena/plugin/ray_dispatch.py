"""``--ray``: runs trials on the nodes of a Ray cluster; their items are reported in this process."""

from __future__ import annotations

import os
import pickle
import queue
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.option_values import LOCAL
from pytest_webarena.plugin.stash import CATALOGUE, CLUSTER, SETTINGS
from pytest_webarena.results.records import DEFAULT_BROWSER
from pytest_webarena.trials.captured_output import Output

if TYPE_CHECKING:
    from pytest_webarena.cluster.executor import ClusterExecutor
    from pytest_webarena.cluster.interface import Delivery, Parcel
    from pytest_webarena.cluster.jobs import Job
    from pytest_webarena.cluster.node import Setup
    from pytest_webarena.results import TrialRecord
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.run_info import RunInfo

__all__ = ["ClusterSettings", "RayDispatch", "SingleTrialExecutor", "opened", "read_cluster"]

_EXCLUDED_OPTIONS = ("audit", "rescore", "on_record", "record_archive", "headed", "stepwise", "usepdb", "trace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Values of the options for the cluster."""

    given: str
    """The value of ``--ray``: ``auto``, or an address."""
    address: str
    """Address ``host:port`` on which a cluster listens."""
    insecure: bool
    concurrency: int | None
    """Trials in flight on each node; None: as many as it has capacity for."""


def read_cluster(config: pytest.Config) -> ClusterSettings | None:
    """Return the value of ``--ray``. Raises `UsageError` for options that exclude it, and where there is no cluster."""
    option = config.getoption
    if (given := option("--ray")) in (None, LOCAL):
        if option("--ray-insecure"):
            raise UsageError("--ray-insecure: expected --ray, found none")
        return None
    if option("tx", None) or hasattr(config, "workerinput"):
        raise UsageError(
            "--ray: expected no -n, found one; leave it out, --concurrency sets how many trials run on each node"
        )
    for name in _EXCLUDED_OPTIONS:
        if option(name, False):
            option_name = f"--{name.replace('_', '-')}" if name != "usepdb" else "--pdb"
            raise UsageError(
                f"--ray: expected no {option_name}; leave one of them out (--ray={LOCAL} runs trials here)"
            )
    from pytest_webarena.cluster.cluster_address import find_address, prepare_environment

    concurrency = config.getoption("--concurrency") or None
    if option("collectonly"):
        return ClusterSettings(given=given, address=given, insecure=option("--ray-insecure"), concurrency=concurrency)
    prepare_environment(insecure=option("--ray-insecure"))
    return ClusterSettings(
        given=given, address=find_address(given), insecure=option("--ray-insecure"), concurrency=concurrency
    )


class RayDispatch:
    """The cluster of a run, from its first trial to its last."""

    def __init__(
        self, config: pytest.Config, info: RunInfo, executor: ClusterExecutor, messages: queue.SimpleQueue[str]
    ):
        self._config, self._info, self.executor, self._messages = config, info, executor, messages
        self.header = ""

    def news(self) -> Iterator[str]:
        """Yield new messages about nodes, in the thread that prints them."""
        while True:
            try:
                yield self._messages.get_nowait()
            except queue.Empty:
                return

    def summary(self) -> str:
        """Return a line for the end of the run."""
        words = self.executor.tally.words()
        return f"{self.header}; {words}" if words else self.header


class SingleTrialExecutor:
    """Executor for items whose trial was not prefetched: the same cluster, one trial at a time."""

    def __init__(self, executor: ClusterExecutor, runtime: Any, item: pytest.Item) -> None:
        self._executor, self._runtime, self._item = executor, runtime, item

    def submit(
        self, task: Task, agent: str, trial: int, *, browser: str = DEFAULT_BROWSER, node_id: str = ""
    ) -> Future[TrialRecord]:
        """Run a trial like `TrialExecutor.submit`, and wait until it has finished."""
        output = Output()
        future = self._executor.submit(
            task, agent, trial, browser=browser, node_id=node_id, runtime=self._runtime, output=output
        )
        wait([future])
        output.flush_to_report(self._item)
        return future

    def close(self, *, cancel: bool = False) -> None:
        """Do nothing, because the session owns the cluster's executor."""

    def __enter__(self) -> SingleTrialExecutor:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


@contextmanager
def opened(session: pytest.Session) -> Iterator[RayDispatch]:
    """Connect to the cluster of ``session``; at the end nothing of the run remains on its nodes.

    Raises `pytest.UsageError` when there is no usable cluster.
    """
    from pytest_webarena.plugin.run_start import run_info

    config = session.config
    settings = config.stash[SETTINGS]
    assert settings.ray is not None
    info = run_info(config)
    try:
        cluster, held_back = _cluster(session, info)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    messages: queue.SimpleQueue[str] = queue.SimpleQueue()
    from pytest_webarena.cluster.executor import ClusterExecutor

    work = _TrialPacking(config, info)
    executor = ClusterExecutor(
        cluster,
        receive=work.receive,
        give_up=work.give_up,
        lost=work.lost,
        wrap=work.wrap,
        announce=lambda line: messages.put(f"ray: {line}"),
    )
    clustered = RayDispatch(config, info, executor, messages)
    try:
        executor.ready.wait()
        if not executor.members:
            why = "; ".join(executor.refused) or "no node has a processor to give (--num-cpus)"
            raise pytest.UsageError(f"--ray: expected a node to run trials, found none: {why}")
        clustered.header = _header([member.slots for member in executor.members])
        messages.put(f"ray: {clustered.header}")
        if held_back:
            messages.put(f"ray: not shipped, because it contains a secret: {', '.join(held_back)}")
        config.stash[CLUSTER] = clustered
        yield clustered
    except BaseException:
        executor.cancel_trials()
        raise
    finally:
        executor.close(cancel=True)
        cluster.close()


def _header(slots: list[int]) -> str:
    count = f"{len(slots)} node{'s' * (len(slots) != 1)}"
    return f"{count} × {slots[0] if len(set(slots)) == 1 else ', '.join(map(str, sorted(slots, reverse=True)))}"


def _cluster(session: pytest.Session, info: RunInfo) -> tuple[Any, tuple[str, ...]]:
    """The connected cluster, which receives the project's files, and the files that were held back."""
    from pytest_webarena.cluster.cluster_address import probe
    from pytest_webarena.cluster.project_files import secrets_of, stage
    from pytest_webarena.cluster.shipping import pack

    config = session.config
    settings = config.stash[SETTINGS]
    assert settings.ray is not None
    setup = replace(_setup(config, info), sites=_sites(session))
    secrets = secrets_of(os.environ, _secret_names(config))
    _refuse_secrets(pickle.dumps(setup), secrets)
    folder = info.temp_dir / "shipped"
    folder.mkdir(parents=True)
    allure = config.getoption("allure_report_dir", None)
    without = [info.run_dir, *([Path(allure)] if allure else [])]
    staged = stage(config.rootpath, folder, without=without, secrets=secrets)
    probe(settings.ray.address)
    from pytest_webarena.cluster.ray_cluster import RayCluster, connect

    project = pack(staged.folder)
    shutil.rmtree(folder)
    connect(settings.ray.address)
    roots = (*setup.kept, info.run_dir)
    return RayCluster(setup, address=settings.ray.address, project=project, roots=roots), staged.held_back


def _sites(session: pytest.Session) -> tuple[str, ...]:
    return tuple(sorted({site for item in session.items if isinstance(item, TaskItem) for site in item.task.sites}))


def _setup(config: pytest.Config, info: RunInfo) -> Setup:
    from pytest_webarena.cluster.node import Setup
    from pytest_webarena.cluster.project_files import driver_package
    from pytest_webarena.llm.model_calls import calls_of

    settings = config.stash[SETTINGS]
    assert settings.ray is not None
    root, called = config.rootpath, config.invocation_params.dir
    models, judge = settings.options.models, settings.judge
    kept = [calls_of(info.run_dir), info.run_dir / "judge_replies", models.cache, judge.cache]
    paths = [Path(name).absolute() for name in sys.path if name not in ("", ".")]
    project_paths = [path for path in paths if path.is_relative_to(root) and not _hidden(path.relative_to(root))]
    return Setup(
        name="",
        root=root,
        below=called.relative_to(root) if called.is_relative_to(root) else Path(),
        package=driver_package(),
        run_dir=info.run_dir,
        kept=tuple(path for path in kept if path is not None),
        facts={name: info.facts[name] for name in ("started", "id")},
        pulls=settings.pulls,
        allow_unreset=settings.allow_unreset,
        replicas=settings.replicas,
        concurrency=settings.ray.concurrency,
        agents=settings.agents,
        agent_directories=settings.agent_directories,
        overrides=settings.overrides,
        models=models,
        catalogue=config.stash[CATALOGUE].option if CATALOGUE in config.stash else "",
        site_urls=settings.site_urls,
        secret_names=_secret_names(config),
        import_path=tuple(project_paths),
    )


def _hidden(path: Path) -> bool:
    return "site-packages" in path.parts or any(part.startswith(".") for part in path.parts)


def _secret_names(config: pytest.Config) -> tuple[str, ...]:
    return (*config.getoption("--secret-env"), *config.getini("webarena_secrets"))


def _refuse_secrets(data: bytes, secrets: tuple[str, ...]) -> None:
    """Raise `UsageError` when ``data`` contains a secret, because API keys must be set on the nodes."""
    if any(secret.encode() in data for secret in secrets):
        raise UsageError(
            "--ray: expected no secret of this machine's environment in what is sent to nodes, found one in a setting "
            "or a fixture's value; name the variable there, and set it on the nodes"
        )


class _TrialPacking:
    """Packs submitted trials for nodes, and unpacks the records that they return."""

    def __init__(self, config: pytest.Config, info: RunInfo) -> None:
        from pytest_webarena.cluster.project_files import secrets_of
        from pytest_webarena.results import RunDir

        self._config, self._info, self._run = config, info, RunDir(info.run_dir)
        self._secrets = secrets_of(os.environ, _secret_names(config))

    def wrap(
        self, *, task: Task, agent: str, trial: int, browser: str, node_id: str, runtime: Any, **local_values: Any
    ) -> Parcel:
        """Pack everything that the trial's runner needs on another machine. ``local_values`` are only for
        threads."""
        from pytest_webarena.agents.registry import agent_id
        from pytest_webarena.cluster.interface import Parcel
        from pytest_webarena.cluster.node import Terms
        from pytest_webarena.cluster.ray_cluster import dumps
        from pytest_webarena.cluster.shipping import pack_outline
        from pytest_webarena.sites.client.broker_request import read_order

        terms = Terms(
            config=runtime.config, agent_name=agent, agent_id=agent_id(agent), order=read_order(self._info.broker)
        )
        try:
            more = dumps(terms)
        except Exception as error:
            raise UsageError(
                f"--ray: expected fixtures whose values can be sent to nodes, found one that can't: {error}"
            ) from None
        _refuse_secrets(more + pickle.dumps(task), self._secrets)
        earlier = pack_outline(self._run.folder(self._key(task, agent, trial, browser)).path)
        return Parcel(task=task, agent=agent, trial=trial, browser=browser, node_id=node_id, more=more, earlier=earlier)

    def receive(self, job: Job, delivery: Delivery) -> TrialRecord:
        """Store a returned record among the run's records."""
        from pytest_webarena.cluster.shipping import install
        from pytest_webarena.errors import HarnessError
        from pytest_webarena.results.plan import note_record

        parcel = job.parcel
        for kind, text in delivery.printed.items():
            job.more["output"].add(kind, text)
        folder = self._run.folder(self._key(parcel.task, parcel.agent, parcel.trial, parcel.browser)).path
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._run.describe(self._info.facts)
        install(delivery.archive, folder, since=self._info.facts["started"])
        if delivery.error is not None:
            raise delivery.error
        if delivery.record is None:
            raise HarnessError("expected a record from a node, found none; --resume runs the trial")
        note_record(self._run.path, delivery.record.key)
        return delivery.record

    def lost(self, job: Job) -> Callable[[], TrialRecord] | None:
        """Return the function that writes the record of a trial whose agent got its task on a node that is lost, and
        may have ended it; None for any other trial."""
        from pytest_webarena.results.lost_trials import last_lost_record

        parcel = job.parcel
        folder = self._run.folder(self._key(parcel.task, parcel.agent, parcel.trial, parcel.browser))
        if (record := last_lost_record(folder.path)) is None:
            return None
        return lambda: folder.finish(record, since=self._info.facts["started"])

    def give_up(self, job: Job, message: str) -> TrialRecord:
        """Write the record of a trial that ends every node it runs on."""
        from dataclasses import replace

        from pytest_webarena.agents import resolve_agent
        from pytest_webarena.results.records import Attempt, TrialRecord
        from pytest_webarena.trials.plan import TrialPlan

        parcel, settings = job.parcel, self._config.stash[SETTINGS]
        agent = resolve_agent(parcel.agent, settings.agent_directories, settings.overrides)
        plan = TrialPlan(
            task=parcel.task, agent=agent, trial=parcel.trial, browser=parcel.browser,
            limits=job.more["runtime"].config.limits,
        )  # fmt: skip
        self._run.describe(self._info.facts)
        folder = self._run.folder(plan.key)
        writer = folder.begin(worker="ray", node_id=parcel.node_id, task=plan.facts())
        attempt = Attempt(number=writer.number, outcome="error", cause="harness", message=message)
        record = TrialRecord(
            key=plan.key, outcome="error", cause="harness", message=message, attempt=writer.number,
            attempts=(attempt,), node_id=parcel.node_id, worker="ray",
        )  # fmt: skip
        return folder.finish(replace(record, **plan.facts()), since=self._info.facts["started"])

    def _key(self, task: Task, agent: str, trial: int, browser: str) -> Any:
        from pytest_webarena.agents.registry import agent_id
        from pytest_webarena.results import TrialKey

        return TrialKey(task.id, agent_id(agent), trial, browser)
