"""Measures a trial's overhead on another node (`--ray`), compared to a thread of this process (`--concurrency`).

    pytest -p benchmarks.ray_overhead tasks --agent=… --ray=HOST:PORT --concurrency=2
    pytest -p benchmarks.ray_overhead tasks --agent=… --concurrency=2

This is a pytest plugin. A trial's overhead is the time from its submission (or from the first free slot) until its
record arrives, minus the duration in the record. Prints median, 90th percentile and maximum in milliseconds, and the
bytes received.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import pytest

from pytest_webarena.cluster.executor import ClusterExecutor
from pytest_webarena.trials.threaded_executor import ThreadedExecutor

_overheads: list[float] = []
_sizes: list[int] = []


def pytest_configure(config: pytest.Config) -> None:
    patch = pytest.MonkeyPatch()
    _measure_nodes(patch)
    _measure_threads(patch)
    config.add_cleanup(patch.undo)


def _measure_nodes(patch: pytest.MonkeyPatch) -> None:
    send, resolve, received = ClusterExecutor._send, ClusterExecutor._resolve, ClusterExecutor._received
    sent: dict[Any, float] = {}

    def noting_send(self: Any, job: Any, helper: Any) -> None:
        sent[job] = time.monotonic()
        send(self, job, helper)

    def noting_resolve(self: Any, job: Any, **what: Any) -> None:
        resolve(self, job, **what)
        if job in sent and what.get("record") is not None:
            _overheads.append(time.monotonic() - sent.pop(job) - what["record"].seconds["total"])

    def noting_received(self: Any, job: Any, delivery: Any) -> Any:
        _sizes.append(len(delivery.archive))
        return received(self, job, delivery)

    patch.setattr(ClusterExecutor, "_send", noting_send)
    patch.setattr(ClusterExecutor, "_resolve", noting_resolve)
    patch.setattr(ClusterExecutor, "_received", noting_received)


def _measure_threads(patch: pytest.MonkeyPatch) -> None:
    play = ThreadedExecutor._play

    def noting_play(self: Any, job: Any) -> None:
        began = time.monotonic()
        play(self, job)
        if job.future.exception() is None:
            _overheads.append(time.monotonic() - began - job.future.result().seconds["total"])

    patch.setattr(ThreadedExecutor, "_play", noting_play)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if len(_overheads) < 2:
        return
    each = sorted(1000 * seconds for seconds in _overheads)
    size = f", {statistics.mean(_sizes) / 1000:.0f} kB back" if _sizes else ""
    terminalreporter.write_line(
        f"overhead per trial: {len(each)} trials, median {statistics.median(each):.0f} ms, "
        f"90 % {each[int(0.9 * len(each))]:.0f} ms, largest {each[-1]:.0f} ms{size}, load {os.getloadavg()[0]:.1f}"
    )
