"""The instances of an app that runs elsewhere, as its replica set sees them: there can be no others."""

from __future__ import annotations

from collections.abc import Callable

from pytest_webarena.sites.backends.base import Backend, InstancesBackend, Replica
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["Instances"]


class Instances:
    """Instances of ``app``. An app that does not run elsewhere has none."""

    def __init__(self, app: AppManifest, backend: Callable[[], Backend]) -> None:
        self._app = app
        self._make = backend

    @property
    def left(self) -> bool:
        """Whether an instance is left that is not withdrawn, so that a failed reset is worth another attempt."""
        return self._backend is not None and self._backend.usable(self._app) > 0

    @property
    def promising(self) -> int:
        """Number of free instances whose latest reset did not fail."""
        return self._backend.promising(self._app) if self._backend is not None else 0

    def at_most(self, limit: int) -> int:
        """Returns the maximum number of replicas, which is ``limit`` without instances."""
        return min(limit, self._backend.usable(self._app)) if self._backend is not None and self.left else limit

    def problems(self) -> tuple[str, ...]:
        """Returns a sentence for each instance whose latest reset failed."""
        return self._backend.instance_problems(self._app) if self._backend is not None else ()

    def withdraw(self, replica: Replica, why: str) -> None:
        """Let no later replica use the instance of this one, because of ``why``."""
        if self._backend is not None:
            self._backend.withdraw(self._app, replica, why)

    def why_none(self) -> str:
        """Returns why all instances are withdrawn; empty if one is left, or the app has none."""
        if self.left or not (problems := self.problems()):
            return ""
        return f"the app {self._app.name!r} has no instance left: {'; '.join(problems)}"

    @property
    def _backend(self) -> InstancesBackend | None:
        backend = self._make() if self._app.backend == EXTERNAL else None
        return backend if isinstance(backend, InstancesBackend) else None
