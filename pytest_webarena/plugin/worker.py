"""Runtimes of one worker process, one per browser: created for the first trial, and reconfigured for others."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pytest_webarena.sites.client.broker_request import place_order
from pytest_webarena.trials.runtime import FittedRuntime, Runtime

if TYPE_CHECKING:
    from pytest_webarena.browser.config import EngineConfig
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.runtime import RuntimeConfig

__all__ = ["Worker"]


class Worker:
    """A context manager that closes the browsers and releases everything at its end."""

    def __init__(self, info: RunInfo) -> None:
        self._info = info
        self._runtimes: dict[str, Runtime] = {}
        self._shared: list[tuple[EngineConfig, Runtime]] = []
        """Runtimes for concurrent trials, one for each browser configuration."""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc_info: object) -> None:
        with ExitStack() as exits:
            for runtime in (*self._runtimes.values(), *(runtime for _, runtime in self._shared)):
                exits.push(runtime)

    def runtime(self, config: RuntimeConfig, order: Mapping[str, Any]) -> Runtime | FittedRuntime:
        """Return the runtime of the configured browser with these settings; ``order`` is for the broker.

        With concurrent trials, others keep their own settings.
        """
        place_order(self._info.broker, order)
        if config.in_flight > 1:
            for engine, shared in self._shared:
                if engine == config.engine:
                    return shared.with_config(config)
            shared = Runtime(self._info, config)
            self._shared.append((config.engine, shared))
            return shared.with_config(config)
        name = config.engine.browser_name
        if name not in self._runtimes:
            self._runtimes[name] = Runtime(self._info, config)
        self._runtimes[name].reconfigure(config)
        return self._runtimes[name]

    def cancel_trials(self) -> None:
        """End what runs in other threads: `Runtime.cancel_trials`."""
        for _, runtime in self._shared:
            runtime.cancel_trials()
