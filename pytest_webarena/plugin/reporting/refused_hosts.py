"""Lines of the summary about hosts that pages needed and the gateway refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_webarena.docs_site import docs
from pytest_webarena.plugin.reporting.summary_lines import Line, plural
from pytest_webarena.results.refused_hosts import RefusedHost, ways_to_allow

if TYPE_CHECKING:
    from pytest_webarena.results import TrialRecord

__all__ = ["refused_host_lines"]

_SHOWN = 10
_NOT_A_SITE = "is not one of this task's sites"
"""End of the gateway's reason for hosts that no key names."""


def refused_host_lines(records: Sequence[TrialRecord]) -> Iterator[Line]:
    """Yield each host that pages of trials needed and did not get, once, with the key that would allow it."""
    trials: dict[str, int] = {}
    first: dict[str, RefusedHost] = {}
    for record in records:
        for host, known in record.environment.get("refused_hosts", {}).items():
            trials[host] = trials.get(host, 0) + 1
            before = first.setdefault(host, RefusedHost(keys=[], example=known["example"], why=known["why"]))
            before["keys"] += [key for key in known["keys"] if key not in before["keys"]]
    for host in list(first)[:_SHOWN]:
        known = first[host]
        yield Line(f"refused: {known['example']} in {plural(trials[host], 'trial')}; {_advice(host, known)}", "yellow")
    if len(first) > _SHOWN:
        yield Line(f"refused: {len(first) - _SHOWN} more hosts ({docs('sites')})", "yellow")


def _advice(host: str, known: RefusedHost) -> str:
    if not known["why"].endswith(_NOT_A_SITE):
        return known["why"]
    return f"its pages may be incomplete; allowed by {ways_to_allow(host, known)}"
