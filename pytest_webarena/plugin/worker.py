"""One worker process's runtimes, one per browser: each made for its first trial, and fitted to every further one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pytest_webarena.sites.client.order import place_order
from pytest_webarena.trials.runtime import Runtime

if TYPE_CHECKING:
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.runtime import RuntimeConfig

__all__ = ["Worker"]


class Worker:
    """Use as a context manager: leaving it closes the browsers and gives everything back."""

    def __init__(self, info: RunInfo) -> None:
        self._info = info
        self._runtimes: dict[str, Runtime] = {}

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc_info: object) -> None:
        with ExitStack() as exits:
            for runtime in self._runtimes.values():
                exits.push(runtime)

    def runtime(self, config: RuntimeConfig, order: Mapping[str, Any]) -> Runtime:
        """The runtime of the browser that the settings name, by these from now on; ``order`` is for the broker."""
        place_order(self._info.broker, order)
        name = config.engine.browser_name
        if name not in self._runtimes:
            self._runtimes[name] = Runtime(self._info, config)
        self._runtimes[name].adopt(config)
        return self._runtimes[name]
