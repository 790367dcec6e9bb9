"""Warns about prohibited requests to hosts that no site serves: only attempts can violate such a prohibition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_webarena.checks.network import NetworkSpec
from pytest_webarena.checks.urls import equivalent_origin, parse_url
from pytest_webarena.docs_site import docs

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Check, Task

__all__ = ["with_unserved_hosts"]

_NAMED = 5
"""Maximum number of tasks that a message names."""


def with_unserved_hosts(tasks: Sequence[Task], served: Collection[str], live: Collection[str] = ()) -> str:
    """Returns a note on ``tasks`` that prohibit requests to hosts of none of the ``served`` base addresses; else empty.

    Tasks on the sites ``live`` may reach any host.
    """
    found = {
        f"{task.template or task.id} ({spec.url})": spec.attempted is False
        for task in tasks
        if not set(task.sites) & set(live)
        for spec in _prohibitions(task.checks)
        if spec.url is not None and not spec.url.site and not _is_served(spec.url.path, served)
    }
    if not found:
        return ""
    named = ", ".join(list(found)[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
    never = [name for name, sent_alone in found.items() if sent_alone]
    more = f"; with 'attempted: false', as in {never[0]}, the check holds whatever an agent does" if never else ""
    return (
        f"no site serves the host of a prohibited request in {named}: the gateway sends nothing there, and an attempt "
        f"fails the agent{more} ({docs('writing-tasks')})"
    )


def _prohibitions(checks: Sequence[Check], negated: bool = False) -> Iterator[NetworkSpec]:
    for check in checks:
        yield from _prohibitions(check.children, negated ^ (check.kind == "not"))
        spec = check.spec
        if isinstance(spec, NetworkSpec) and (spec.count.low > 0 if negated else spec.count.high == 0):
            yield spec


def _is_served(url: str, served: Collection[str]) -> bool:
    wanted = parse_url(url)
    sites = (parse_url(base) for base in served)
    return wanted is None or any(site is not None and equivalent_origin(site, wanted) for site in sites)
