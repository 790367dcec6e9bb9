"""Conversion of records of older versions: errors that may be the agent's become failed, undecided trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["OWNED_SINCE", "with_owner"]

OWNED_SINCE = 13
"""First version of the schema whose records have an ``event``."""

_EVENTS: Mapping[str, str] = {
    "declared": "declared",
    "budget": "budget",
    "usage_unreported": "unreported_usage",
    "not_archived": "archive",
    "site_unavailable": "live_site",
    "untold": "unreported_usage",
    "lacking": "archive",
    "hindered": "live_site",
}
"""Events (`owners.EVENTS`) by the field ``shortfall`` of errors; the last three names are of version 10."""


def with_owner(data: Mapping[str, Any], undecided: str) -> dict[str, Any]:
    """Return the fields of a record before version 13 as those of version 13.

    ``shortfall`` named the errors that gates counted as not passed. ``undecided`` begins the messages of undecided
    trials.
    """
    kept = {name: value for name, value in data.items() if name != "shortfall"}
    event = _EVENTS.get(str(data.get("shortfall") or ""), "")
    if data["outcome"] != "error" or event in ("", "budget"):
        return {**kept, "event": event if data["outcome"] == "error" else ""}
    verdict: dict[str, Any] = {
        "schema_version": 3,
        "score": None,
        "passed": None,
        "results": [],
        "undecided": True,
        "judgeable": True,
    }
    return {
        **kept, "event": event, "control": "impossible", "outcome": "failed", "cause": None, "score": 0.0,
        "stop_reason": "unattributed", "message": f"{undecided}{data.get('message', '')}", "verdict": verdict,
        "verdicts": {},
    }  # fmt: skip
