"""One worker process's runtime: made for its first trial, and fitted to the policies of each further one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_webarena.sites.client.order import place_order
from pytest_webarena.trials.runtime import Runtime

if TYPE_CHECKING:
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.runtime import RuntimeConfig

__all__ = ["Worker"]


class Worker:
    """Use as a context manager: leaving it closes the browser and gives everything back."""

    def __init__(self, info: RunInfo) -> None:
        self._info = info
        self._runtime: Runtime | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._runtime is not None:
            self._runtime.__exit__(*exc_info)

    def runtime(self, config: RuntimeConfig, order: Mapping[str, Any]) -> Runtime:
        """The runtime, by these settings from now on; ``order`` is what they want of the broker."""
        place_order(self._info.broker, order)
        if self._runtime is None:
            self._runtime = Runtime(self._info, config)
        self._runtime.adopt(config)
        return self._runtime
