"""pytest-xdist: data exchange with workers, and scheduling of items."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.stash import DESELECTED, FEWER_WORKERS, LEFT_OUT, PASSED_OVER, PLAN, RUN, SETTINGS
from pytest_webarena.trials.run_info import RunInfo

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.plugin.selection import LeftOut
    from pytest_webarena.results.plan import PlannedTrial

__all__ = [
    "check_spread",
    "group_by_sites",
    "is_worker",
    "limit_workers",
    "read_deselected",
    "read_left_out",
    "read_passed_over",
    "read_plan",
    "read_refusal",
    "read_serial",
    "read_width",
    "receive",
    "scheduler",
    "send",
    "send_left_out",
    "send_passed_over",
    "send_plan",
    "send_refusal",
    "send_serial",
    "worker_id",
]

_INPUT = "webarena"
_KEY = "webarena_key"
"""The worker's own key for the broker: see `sites.protocol.keys`. It is sent through execnet's pipe."""
_LEFT_OUT = "webarena_left_out"
_DESELECTED = "webarena_deselected"
_PASSED_OVER = "webarena_passed_over"
_PLAN = "webarena_plan"
_REFUSAL = "webarena_refusal"
_SPREAD = "webarena_spread"
"""Whether `scheduler` schedules items."""
_CONCURRENCY = "webarena_concurrency"
"""Number of trials in flight per worker; ``auto`` depends on the free memory, which later workers see reduced."""
_SERIAL = "webarena_serial"
_EACH = "webarena_each"
"""Whether every worker gets every item."""


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def worker_id(config: pytest.Config) -> str:
    """Return ``gw0``, …; ``main`` without xdist."""
    return str(getattr(config, "workerinput", {}).get("workerid", "main"))


def limit_workers(config: pytest.Config, count: int) -> int:
    """Return the number of workers of ``-n auto``: as xdist chooses it by processors, if memory holds that many.

    Each worker has a browser. xdist's environment variable is an explicit choice, which is kept.
    """
    from pytest_webarena.plugin.options import is_plugin_used

    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or not is_plugin_used(config):
        return count
    from pytest_webarena.trials.concurrency import most_workers

    most = most_workers()
    if most is None or most >= count:
        return count
    config.stash[FEWER_WORKERS] = (
        f"webarena: -n auto starts {most} worker{'s' * (most > 1)}: the free memory is not enough for {count}, one per "
        "processor (choose with -n K)"
    )
    return most


def send(node: Any, info: RunInfo) -> None:
    """Send the run's facts to a worker that is about to start. Called in the controller."""
    from pytest_webarena.sites.protocol import keys

    node.workerinput[_INPUT] = info.to_plain()
    node.workerinput[_KEY] = keys.key_for(info.broker, node.workerinput["workerid"])
    node.workerinput[_SPREAD] = node.config.getoption("dist", "no") == "load"
    if (settings := node.config.stash.get(SETTINGS, None)) is not None:  # None in projects without tasks
        node.workerinput[_CONCURRENCY] = settings.concurrency
    node.workerinput[_EACH] = node.config.getoption("dist", "no") == "each"


def receive(config: pytest.Config) -> RunInfo:
    """Return the run's facts, and give the worker its own artifact folder. Called in a worker.

    pytest-playwright empties ``--output`` in every worker's first test, so workers that share a folder delete each
    other's traces (pytest_playwright.delete_output_dir).
    """
    output = config.getoption("--output", None)
    if output is not None:
        config.option.output = os.fspath(Path(output) / worker_id(config))
    data: dict[str, Any] = config.workerinput[_INPUT]  # type: ignore[attr-defined]
    info = RunInfo.from_plain(data)
    if key := config.workerinput.pop(_KEY, ""):  # type: ignore[attr-defined]  # later code must not see it
        from pytest_webarena.sites.protocol import keys

        keys.store_key(info.broker, worker_id(config), key)
    return info


def read_width(config: pytest.Config) -> int | None:
    """Return the number of trials in flight of this worker; None in the controller, which determines it."""
    width: int | None = getattr(config, "workerinput", {}).get(_CONCURRENCY)
    return width


def check_spread(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Raise `UsageError` in a worker when the others get the same trials, because their records would conflict."""
    if not getattr(config, "workerinput", {}).get(_EACH):
        return
    from pytest_webarena.plugin.items import TaskItem

    if any(isinstance(item, TaskItem) for item in items):
        raise UsageError(
            "--dist: expected each trial to go to one worker, found 'each'; leave it out, with --trials=K for several "
            "tries of a task"
        )


def group_by_sites(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort tasks of the same sites together, where the scheduler may choose the order. Called in a worker.

    The scheduler gives each worker consecutive items. So a worker keeps its sites, whose replicas are reused, and few
    apps run at a time. Other items keep their places.
    """
    if not getattr(config, "workerinput", {}).get(_SPREAD) or config.stash[SETTINGS].until is not None:
        return  # --stop-when-settled has its own order
    from pytest_webarena.plugin.items import TaskItem

    places = [place for place, item in enumerate(items) if isinstance(item, TaskItem)]
    first: dict[tuple[str, ...], int] = {}

    def key(item: pytest.Item) -> tuple[int, int]:
        sites = item.task.sites if isinstance(item, TaskItem) else ()
        return first.setdefault(sites[:1], len(first)), first.setdefault(sites, len(first))

    for place, item in zip(places, sorted((items[place] for place in places), key=key), strict=True):
        items[place] = item


def send_left_out(config: pytest.Config) -> None:
    """Send the deselected trials to the controller, which collects nothing, when a worker ends."""
    if LEFT_OUT in config.stash:
        config.workeroutput[_LEFT_OUT] = asdict(config.stash[LEFT_OUT])  # type: ignore[attr-defined]
    if config.getoption("--baseline"):
        config.workeroutput[_DESELECTED] = sorted(config.stash.get(DESELECTED, ()))  # type: ignore[attr-defined]


def read_left_out(node: Any) -> LeftOut | None:
    """Return the deselected trials of a worker that has ended, in the controller. All workers send the same."""
    from pytest_webarena.plugin.selection import LeftOut

    received = getattr(node, "workeroutput", {}).get(_LEFT_OUT)
    return LeftOut(**received) if received is not None else None


def read_deselected(node: Any) -> None:
    """Store the deselected tasks of a worker that has ended, in the controller. All workers send the same."""
    if found := getattr(node, "workeroutput", {}).get(_DESELECTED):
        node.config.stash.setdefault(DESELECTED, set()).update(found)


def send_passed_over(config: pytest.Config) -> None:
    """Send the files that no plugin collected to the controller, when a worker ends."""
    if PASSED_OVER in config.stash:
        config.workeroutput[_PASSED_OVER] = config.stash[PASSED_OVER]  # type: ignore[attr-defined]


def read_passed_over(node: Any) -> None:
    """Store the uncollected files of a worker that has ended, in the controller. All workers send the same."""
    if received := getattr(node, "workeroutput", {}).get(_PASSED_OVER):
        node.config.stash[PASSED_OVER] = received


def send_plan(config: pytest.Config) -> None:
    """Send the plan to the controller when a worker ends, where no trial has written it."""
    if not (config.stash[RUN].run_dir / "plan.json").exists():
        config.workeroutput[_PLAN] = [asdict(trial) for trial in config.stash.get(PLAN, ())]  # type: ignore[attr-defined]


def read_plan(node: Any) -> tuple[PlannedTrial, ...]:
    """Return the plan of a worker that has ended, in the controller."""
    from pytest_webarena.results.plan import as_planned

    return tuple(map(as_planned, getattr(node, "workeroutput", {}).get(_PLAN, ())))


def send_refusal(config: pytest.Config, why: str) -> None:
    """Send the reason why nothing is run from a worker to the controller. All workers come to the same result."""
    config.workeroutput[_REFUSAL] = why  # type: ignore[attr-defined]


def read_refusal(node: Any) -> str:
    """Return why a worker that has ended refused to run anything, in the controller; empty for all others."""
    return str(getattr(node, "workeroutput", {}).get(_REFUSAL, ""))


def send_serial(config: pytest.Config, reasons: Mapping[str, int]) -> None:
    """Send from a worker why trials run one at a time (``--concurrency``)."""
    config.workeroutput[_SERIAL] = dict(reasons)  # type: ignore[attr-defined]


def read_serial(node: Any) -> dict[str, int]:
    """Return the reasons of a worker that has ended, in the controller. All workers send the same."""
    received: dict[str, int] = getattr(node, "workeroutput", {}).get(_SERIAL, {})
    return received


def scheduler(config: pytest.Config, log: Any) -> object | None:
    """Return a work-stealing scheduler instead of xdist's ``load``, whose queues of long tasks leave workers idle.

    With concurrent trials in each worker, items are assigned when there is capacity.
    """
    settings = config.stash.get(SETTINGS, None)  # None in projects without tasks
    if settings is not None and settings.concurrency > 1:
        from pytest_webarena.plugin.concurrency_scheduling import ConcurrencyScheduling

        scheduling: object = ConcurrencyScheduling(config, log, settings.concurrency)
        return scheduling
    if config.getoption("dist", "no") != "load" or (settings is not None and settings.until is not None):
        return None
    from xdist.scheduler import WorkStealingScheduling

    stealing: object = WorkStealingScheduling(config, log)
    return stealing
