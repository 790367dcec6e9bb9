"""Units: apps that are built, started, kept, leased and reset as one, because they call each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["Unit", "circle", "unit_of", "units_of"]

_JOINED = "docker"
"""The backend whose apps find each other by name; apps of others are leased side by side."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Apps that are one for everybody who leases: most often a single one."""

    apps: tuple[AppManifest, ...]
    """In the order in which they start: an app comes after those it depends on."""

    @property
    def lead(self) -> AppManifest:
        """The app that stands for all: the one that starts last."""
        return self.apps[-1]

    @property
    def others(self) -> tuple[AppManifest, ...]:
        """All but the lead, in the order in which they start."""
        return self.apps[:-1]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the apps, the lead first."""
        return tuple(app.name for app in reversed(self.apps))

    def holder_of(self, database: str, name: str) -> AppManifest:
        """Whose the ``database`` is that is asked of an app (``""``: its main one): the app's own, else that of the one
        app that it depends on which has it. `UsageError` when none has, or several have."""
        app, *needed = self._with_needs(name)
        if found := [one for one in (app, *needed) if one.databases and database in ("", *one.databases)]:
            if app in found or len(found) == 1:
                return found[0]
            raise UsageError(
                f"{_called(database)} was asked of the app {name!r}: expected one app that it depends on to have it, "
                f"found {' and '.join(one.name for one in found)}"
            )
        known = [each for one in (app, *needed) for each in one.databases]
        raise UsageError(f"{_called(database)} was asked of the app {name!r}; {closest(database, known)}")

    def _with_needs(self, name: str) -> list[AppManifest]:
        """An app, and all of the unit that it depends on, directly or by way of others."""
        apps = {one.name: one for one in self.apps}
        found = [apps[name]]
        for one in found:  # grows while it is walked
            found += [apps[each] for each in one.depends_on if each in apps and apps[each] not in found]
        return found

    @property
    def start_timeout(self) -> float:
        """Seconds that a start may take: one app after the other."""
        return sum(app.start_timeout for app in self.apps)

    @property
    def boot_seconds(self) -> float:
        """About how long a start takes."""
        return sum(app.boot_seconds for app in self.apps)


def unit_of(apps: Mapping[str, AppManifest], name: str) -> Unit:
    """The unit that the app called ``name`` belongs to. `UsageError` when there is no such app.

    It is the app with all that it depends on and all that depend on it, directly or by way of others: two apps with one
    database between them are one unit, or each would see another database. What is read-only is shared by everybody,
    so it belongs to no unit but its own.
    """
    if name not in apps:
        raise UsageError(f"there is no app {name!r}; {closest(name, apps)}")
    near: dict[str, list[str]] = {one: [] for one in apps}
    for app in apps.values():
        for needed in _needs(app, apps):
            near[app.name].append(needed)
            near[needed].append(app.name)
    reached = [name]
    for one in reached:  # grows while it is walked
        reached += [other for other in dict.fromkeys(near[one]) if other not in reached]
    chosen = {one: apps[one] for one in apps if one in reached}
    return Unit(tuple(chosen[one] for one in _in_order(chosen)))


def units_of(apps: Mapping[str, AppManifest]) -> Mapping[str, Unit]:
    """The unit of each app, by the app's name."""
    found: dict[str, Unit] = {}
    for name in apps:
        if name not in found:
            unit = unit_of(apps, name)
            found.update(dict.fromkeys(unit.names, unit))
    return found


def circle(apps: Mapping[str, AppManifest]) -> tuple[str, ...]:
    """Apps of units that come to depend on themselves, each needed by the one before it; empty when none does."""
    try:
        _in_order(apps)
    except CycleError as error:
        return tuple(reversed(error.args[1]))
    return ()


def _called(database: str) -> str:
    return f"a database named {database!r}" if database else "a database"


def _needs(app: AppManifest, apps: Mapping[str, AppManifest]) -> list[str]:
    """What is in its unit because of it."""
    return [name for name in app.depends_on if name in apps and _joined(app) and _joined(apps[name])]


def _joined(app: AppManifest) -> bool:
    return app.backend == _JOINED and not app.read_only


def _in_order(apps: Mapping[str, AppManifest]) -> Sequence[str]:
    needs = {name: _needs(app, apps) for name, app in apps.items()}
    order = TopologicalSorter(needs).static_order()
    # Whoever needs others and is needed by none stands for all; it starts last.
    needed = {name for names in needs.values() for name in names}
    return sorted(order, key=lambda name: name not in needed)
