"""The small apps that ship with the package: their names and how to make them. Imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_webarena.errors import UsageError, closest

if TYPE_CHECKING:
    from pathlib import Path
    from wsgiref.types import WSGIApplication

__all__ = ["APPS", "EmbeddedApp", "get"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedApp:
    """One app: the folder of its name, and what that needs. Its sites and databases are the catalogue's to say."""

    name: str
    requires: tuple[str, ...] = ()
    """Importable packages it needs beyond the core dependencies."""
    extra: str = ""
    """The extra of this distribution that brings them."""

    @property
    def module(self) -> str:
        """Has ``create_app(data_dir) -> WSGI callable`` and ``seed(data_dir) -> None``."""
        return f"{__name__}.{self.name}"

    @property
    def available(self) -> bool:
        """Whether its code and requirements are installed."""
        return all(_importable(package) for package in (self.module, *self.requires))

    def create_app(self, data_dir: Path) -> WSGIApplication:
        """The app over seeded data. Raises `UsageError` when its requirements are missing."""
        create: WSGIApplication = self._load("create_app")(data_dir)  # type: ignore[operator]
        return create

    def seed(self, data_dir: Path) -> None:
        """Put the pristine data into ``data_dir``, which is made if need be. The same content at every run."""
        self._load("seed")(data_dir)  # type: ignore[operator]

    def require(self) -> None:
        """`UsageError` when what it needs is not installed, with the command that installs it."""
        if missing := [package for package in self.requires if not _importable(package)]:
            raise UsageError(
                f"the embedded app {self.name!r} needs {', '.join(missing)}, not installed here; "
                f"run: pip install 'pytest-webarena[{self.extra}]'"
            )

    def _load(self, attribute: str) -> object:
        self.require()
        return getattr(import_module(self.module), attribute)


def _importable(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


_ALL = (
    EmbeddedApp(name="homepage"),
    EmbeddedApp(name="shop", requires=("django", "oscar"), extra="shop"),
)

APPS: Mapping[str, EmbeddedApp] = MappingProxyType({app.name: app for app in _ALL})
"""Every embedded app by name."""


def get(name: str) -> EmbeddedApp:
    """The app called ``name``; an unknown name is a `UsageError` that lists the known ones."""
    try:
        return APPS[name]
    except KeyError:
        raise UsageError(f"unknown embedded app {name!r}: {closest(name, APPS)}") from None
