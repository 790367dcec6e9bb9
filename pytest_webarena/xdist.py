"""pytest-xdist: what workers are told, and how items are handed out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.trials.run_info import RunInfo

__all__ = ["is_worker", "receive", "scheduler", "send", "worker_id"]

_INPUT = "webarena"


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def worker_id(config: pytest.Config) -> str:
    """``gw0``, …; ``main`` without xdist."""
    return str(getattr(config, "workerinput", {}).get("workerid", "main"))


def send(node: Any, info: RunInfo) -> None:
    """In the controller: pass the run's facts to a worker about to start."""
    node.workerinput[_INPUT] = info.to_plain()


def receive(config: pytest.Config) -> RunInfo:
    """In a worker: the run's facts. Also gives the worker an artifact folder of its own.

    pytest-playwright empties ``--output`` in every worker's first test, so workers sharing one folder delete
    each other's traces (pytest_playwright.delete_output_dir).
    """
    output = config.getoption("--output", None)
    if output is not None:
        config.option.output = os.fspath(Path(output) / worker_id(config))
    data: dict[str, Any] = config.workerinput[_INPUT]  # type: ignore[attr-defined]
    return RunInfo.from_plain(data)


def scheduler(config: pytest.Config, log: Any) -> object | None:
    """Work stealing in place of xdist's ``load``: tasks take long and differ, so queued chunks leave workers idle."""
    if config.getoption("dist", "no") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    stealing: object = WorkStealingScheduling(config, log)
    return stealing
