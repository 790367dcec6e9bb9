"""Conversion of records and evidence of older versions.

Errors that may be the agent's become failed, undecided trials, and requests that only the gateway's own translation of
addresses caused are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_webarena.evidence import Evidence, RequestRecord
from pytest_webarena.own_addresses import origin_of

__all__ = ["OWNED_SINCE", "RESETS_SINCE", "with_owner", "with_resets", "without_translations"]

OWNED_SINCE = 13
"""First version of the schema whose records have an ``event``."""

RESETS_SINCE = 14
"""First version of the schema whose records have ``resets``."""

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


def with_resets(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record before version 14 as those of version 14: hosted sites' reasons had one text."""
    environment = dict(data.get("environment") or {})
    reasons = str(environment.pop("reset_after", ""))
    apps = "|".join(map(re.escape, data.get("replicas") or ()))
    parts = re.split(f"(?:^|; )({apps}): ", reasons) if apps else []
    return {**data, "environment": environment, "resets": dict(zip(parts[1::2], parts[2::2], strict=True))}


def without_translations(evidence: Evidence) -> Evidence:
    """Return evidence without the gateway's redirects to the names of hosted sites, and the preflights for them.

    Older versions recorded them. In names, each of these requests is equal to the one that follows it.
    """
    own = evidence.own_addresses
    if not own.names:
        return evidence
    from pytest_webarena.gateway.pages import SERVER  # only for evidence of hosted sites

    named = {origin_of(url) for url in own.names.values()}

    def is_translation(request: RequestRecord) -> bool:
        fields = {name.lower(): value for name, value in request.response_headers}
        if request.refused or fields.get("server") != SERVER:
            return False
        if request.method == "OPTIONS" and request.status == 204:
            return bool(own.named_url(request.url)) or origin_of(request.url) in named
        return request.status == 307 and fields.get("location") in (own.named_url(request.url), own.named(request.url))

    def was_redirected(url: str) -> bool:
        return own.named_url(url) not in ("", url)

    return replace(
        evidence,
        requests=tuple(each for each in evidence.requests if not is_translation(each)),
        unrecorded=tuple(each for each in evidence.unrecorded if each.refused or not was_redirected(each.url)),
    )
