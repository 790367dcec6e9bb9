"""The backends of a broker: created when an app first needs one, closed with the broker, guarded by the reaper."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from pytest_webarena.sites.backends import create_backend
from pytest_webarena.sites.backends.base import Backend, BackendContext
from pytest_webarena.sites.catalogues.manifest import Catalogue
from pytest_webarena.sites.catalogues.running import Pulls
from pytest_webarena.sites.catalogues.units import units_of
from pytest_webarena.sites.cleanup import reaper
from pytest_webarena.sites.cleanup.private_directory import ReaperProcess

__all__ = ["BackendSet"]

_log = logging.getLogger(__name__)


class BackendSet:
    """The backends of the apps of ``catalogue``. Each gets a folder in ``directory``.

    ``pulls`` limits what they may download; ``note`` is called on the event loop with an app and a progress message,
    which is empty when the work has finished.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        directory: Path,
        guard: ReaperProcess,
        run: str,
        *,
        pulls: Pulls,
        note: Callable[[str, str], None],
        reset_proofs: Path | None = None,
    ) -> None:
        """``reset_proofs``: as in `BackendContext`."""
        self._catalogue = catalogue
        self._directory = directory
        self._guard = guard
        self._run = run
        self._pulls = pulls
        self._note = note
        self._reset_proofs = reset_proofs
        self._made: dict[str, Backend] = {}

    def get(self, name: str) -> Backend:
        """Returns the backend called ``name``, and creates it on first use."""
        if name not in self._made:
            loop = asyncio.get_running_loop()

            def note(app: str, text: str) -> None:  # called from any thread
                loop.call_soon_threadsafe(self._note, app, text)

            mark = f"PYTEST_WEBARENA_RUN={self._run}"
            self._guard.add("mark", mark)
            directory = self._directory / name.replace(":", "-")
            directory.mkdir(exist_ok=True)
            context = BackendContext(
                run=self._run,
                owner=reaper.identity(),
                directory=directory,
                environ=dict([mark.split("=", 1)]),
                catalogue=self._catalogue.option,
                pulls=self._pulls,
                needed=_called_from_outside(self._catalogue),
                units={unit.lead.name: unit for unit in units_of(self._catalogue.apps).values() if unit.others},
                reset_proofs=self._reset_proofs,
                note=note,
            )
            backend = create_backend(name, context)
            self._made[name] = backend
            for key, value in backend.leftovers().items():
                self._guard.add("docker", f"{key}={value}")
        return self._made[name]

    async def close(self) -> None:
        """Close all backends."""
        for name, backend in self._made.items():
            try:
                await backend.close()
            except Exception:
                _log.exception("the backend %s could not be closed; the reaper removes its leftovers", name)
            else:
                for key, value in backend.leftovers().items():
                    self._guard.drop("docker", f"{key}={value}")


def _called_from_outside(catalogue: Catalogue) -> frozenset[str]:
    """Returns the apps on which apps of other units depend: those shared by all, or on another backend."""
    units = units_of(catalogue.apps)
    return frozenset(
        name for app in catalogue.apps.values() for name in app.depends_on if name not in units[app.name].names
    )
