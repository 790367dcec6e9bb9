"""Units: apps that are built, started, kept, leased and reset together, because they call each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["Unit", "circle", "unit_of", "units_of"]

_JOINED = "docker"
"""The backend whose apps find each other by name; apps of other backends are leased independently."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Apps that are leased as one; most often a single app."""

    apps: tuple[AppManifest, ...]
    """Apps in start order: an app comes after its dependencies."""

    @property
    def lead(self) -> AppManifest:
        """The app that represents the unit: the last one to start."""
        return self.apps[-1]

    @property
    def others(self) -> tuple[AppManifest, ...]:
        """All apps but the lead, in start order."""
        return self.apps[:-1]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the apps, the lead first."""
        return tuple(app.name for app in reversed(self.apps))

    def holder_of(self, database: str, name: str) -> AppManifest:
        """Returns the app that has the ``database`` of an app (``""``: its main one): the app itself, or the only
        dependency that has it. Raises `UsageError` when none has it, or several do."""
        known = self.holders(name)
        found = known.get(database, ())
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"the app {name!r}: expected one dependency with a {_called(database)}, "
                f"found {' and '.join(one.name for one in found)}"
            )
        raise UsageError(f"the app {name!r} has no {_called(database)}; {closest(database, filter(None, known))}")

    def holders(self, name: str) -> Mapping[str, Sequence[AppManifest]]:
        """Returns the apps that an app's database may be in, by the database's name (``""``: its main one); several if
        that is undecided."""
        app, *needed = self._with_needs(name)
        found: dict[str, list[AppManifest]] = {}
        for one in (app, *needed):
            for database in ("", *one.databases) if one.databases else ():
                holders = found.setdefault(database, [])
                if holders[:1] != [app]:
                    holders.append(one)
        return found

    def engines(self, name: str) -> Mapping[str, str]:
        """Returns the engines of the databases of an app and its dependencies, by the database's name."""
        holders = self.holders(name)
        return {each: found[0].databases[each].engine for each, found in holders.items() if each and len(found) == 1}

    def _with_needs(self, name: str) -> list[AppManifest]:
        """Returns an app, and all its direct and indirect dependencies in the unit."""
        apps = {one.name: one for one in self.apps}
        found = [apps[name]]
        for one in found:  # grows during the iteration
            found += [apps[each] for each in one.depends_on if each in apps and apps[each] not in found]
        return found

    @property
    def start_timeout(self) -> float:
        """Time limit in seconds of a start: one app after the other."""
        return sum(app.start_timeout for app in self.apps)

    @property
    def boot_seconds(self) -> float:
        """Approximate duration of a start in seconds."""
        return sum(app.boot_seconds for app in self.apps)


def unit_of(apps: Mapping[str, AppManifest], name: str) -> Unit:
    """Returns the unit of the app called ``name``. Raises `UsageError` when there is no such app.

    It has the app with all its direct and indirect dependencies and dependents: two apps that share a database must be
    one unit, or each would see another database. A read-only app is shared by all trials, so it is a unit of its own.
    """
    if name not in apps:
        raise UsageError(f"there is no app {name!r}; {closest(name, apps)}")
    neighbours: dict[str, list[str]] = {one: [] for one in apps}
    for app in apps.values():
        for needed in _needs(app, apps):
            neighbours[app.name].append(needed)
            neighbours[needed].append(app.name)
    reached = [name]
    for one in reached:  # grows during the iteration
        reached += [other for other in dict.fromkeys(neighbours[one]) if other not in reached]
    chosen = {one: apps[one] for one in apps if one in reached}
    return Unit(tuple(chosen[one] for one in _in_order(chosen)))


def units_of(apps: Mapping[str, AppManifest]) -> Mapping[str, Unit]:
    """Returns the unit of each app, by the app's name."""
    found: dict[str, Unit] = {}
    for name in apps:
        if name not in found:
            unit = unit_of(apps, name)
            found.update(dict.fromkeys(unit.names, unit))
    return found


def circle(apps: Mapping[str, AppManifest]) -> tuple[str, ...]:
    """Returns apps of units that depend on themselves, each a dependency of the previous one; empty when there are
    none."""
    try:
        _in_order(apps)
    except CycleError as error:
        return tuple(reversed(error.args[1]))
    return ()


def _called(database: str) -> str:
    return f"database {database!r}" if database else "database"


def _needs(app: AppManifest, apps: Mapping[str, AppManifest]) -> list[str]:
    """Returns its dependencies that belong to its unit."""
    return [name for name in app.depends_on if name in apps and _joined(app) and _joined(apps[name])]


def _joined(app: AppManifest) -> bool:
    return app.backend == _JOINED and not app.read_only


def _in_order(apps: Mapping[str, AppManifest]) -> Sequence[str]:
    needs = {name: _needs(app, apps) for name, app in apps.items()}
    order = TopologicalSorter(needs).static_order()
    # An app that needs others and is needed by none represents the unit; it starts last.
    needed = {name for names in needs.values() for name in names}
    return sorted(order, key=lambda name: name not in needed)
