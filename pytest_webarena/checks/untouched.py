"""The kind ``untouched``: nothing was changed on reachable sites that the task does not list."""

from __future__ import annotations

from typing import Any

from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.tasks.shapes import Choice

__all__ = ["UNTOUCHED"]


def _judge(spec: Any, view: View) -> Judgement:
    touched = [f"{site.site} ({site.changed})" for site in view.evidence.reached if site.changed]
    visited = [site.site for site in view.evidence.reached]
    return Judgement.of(
        not touched,
        expected="nothing done on sites that the task does not list",
        actual=", ".join(touched) or (f"only read: {', '.join(visited)}" if visited else "no such site visited"),
    )


UNTOUCHED: Kind[str] = Kind(
    name="untouched",
    doc=(
        "Checks that no request that may change data went to a site outside the task's `sites`. Useful where "
        "the agent can visit the whole environment ([reachable sites](sites.md#reachable-sites))."
    ),
    form=Choice("unlisted"),
    judge=_judge,
    reads_requests=True,
    looks_at=lambda spec: (),
    examples=("- untouched: unlisted",),
)
