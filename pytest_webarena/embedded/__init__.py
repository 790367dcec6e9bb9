"""The small apps that ship with the package: each folder with a ``site.yaml`` is one. Imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import UsageError, closest

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__all__ = ["APPS", "EmbeddedApp", "get"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedApp:
    """One app, by its folder. Its sites, accounts and databases are the catalogue's to read from there."""

    folder: Path

    @property
    def name(self) -> str:
        """Also the folder's."""
        return self.folder.name

    @property
    def module(self) -> str:
        """Has ``create_app(data_dir) -> WSGI callable``, ``seed(data_dir)`` and ``on_fork(data_dir)``."""
        return f"{__name__}.{self.name}"

    @property
    def available(self) -> bool:
        """Whether what it needs is installed."""
        return not self._missing()

    def create_app(self, data_dir: Path) -> WSGIApplication:
        """The app over seeded data. Raises `UsageError` when its requirements are missing."""
        create: WSGIApplication = self._load("create_app")(data_dir)  # type: ignore[operator]
        return create

    def seed(self, data_dir: Path) -> None:
        """Put the pristine data into ``data_dir``, which is made if need be. The same content at every run."""
        self._load("seed")(data_dir)  # type: ignore[operator]

    def require(self) -> None:
        """`UsageError` when what it needs is not installed, with the command that installs it."""
        if missing := self._missing():
            raise UsageError(
                f"the embedded app {self.name!r} needs {', '.join(missing)}, not installed here; "
                f"run: pip install 'pytest-webarena[{self._facts()['extra']}]'"
            )

    def _missing(self) -> list[str]:
        needs = self._facts().get("process", {}).get("needs", ())
        return [module for module in needs if not _importable(module)]

    def _facts(self) -> Any:
        import yaml

        return yaml.safe_load((self.folder / "site.yaml").read_bytes())

    def _load(self, attribute: str) -> object:
        self.require()
        return getattr(import_module(self.module), attribute)


def _importable(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


APPS: Mapping[str, EmbeddedApp] = MappingProxyType(
    {path.parent.name: EmbeddedApp(folder=path.parent) for path in sorted(Path(__file__).parent.glob("*/site.yaml"))}
)
"""Every embedded app by name."""


def get(name: str) -> EmbeddedApp:
    """The app called ``name``; an unknown name is a `UsageError` that lists the known ones."""
    try:
        return APPS[name]
    except KeyError:
        raise UsageError(f"unknown embedded app {name!r}: {closest(name, APPS)}") from None
