"""The one-time preparation before an app's first replica: the backend, and its image, data or fork server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.base import Backend
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["Preparation"]


class Preparation:
    """Prepares ``app`` on the backend that ``make`` returns, once for all callers, and again after a failure."""

    def __init__(self, app: AppManifest, make: Callable[[], Backend]) -> None:
        self._app = app
        self._make = make
        self._task: asyncio.Task[Backend] | None = None

    async def done(self) -> Backend:
        """Returns the prepared backend. Raises the error of the preparation."""
        if self._task is None or (self._task.done() and (self._task.cancelled() or self._task.exception() is not None)):
            self._task = asyncio.ensure_future(self._prepare())
        # Shielded: a cancelled start must not cancel the image build of all others.
        return await asyncio.shield(self._task)

    def backend(self) -> Backend:
        """Returns the backend, which must have been prepared."""
        if self._task is None:
            raise SiteError(f"the app {self._app.name!r} has not been prepared")
        return self._task.result()

    async def cut_off(self) -> None:
        """Cancel a running preparation."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _prepare(self) -> Backend:
        backend = self._make()
        await backend.prepare(self._app)
        return backend
