"""Collecting for page programs: the pages they look at, read in pages of the harness's own."""

from __future__ import annotations

import json
from typing import Any

from pytest_webarena.checks.kind import Live, current_address
from pytest_webarena.checks.upstream.calls import LAST_URL, Call, parse_call
from pytest_webarena.checks.upstream.helpers import address_of, post_url, text_of
from pytest_webarena.checks.upstream.page_scripts import PAGE_SOURCE, helper_source, locator_source
from pytest_webarena.checks.upstream.program_spec import LAST, ProgramSpec, Target
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.evidence import JsonValue
from pytest_webarena.tasks.placeholders import resolve_placeholders

__all__ = ["collect"]

Reading = dict[str, Any]
"""What one look at a page gave: ``asked`` and ``landed`` (addresses), ``found`` (see `page_scripts.locator_source`),
``closed`` (the same with closed selectors, where that differs), or ``error`` and its ``cause``."""


def collect(spec: ProgramSpec, live: Live) -> JsonValue:
    """Look at every target's page: ``own`` as seen from the agent's last page, ``later`` as seen from wherever the
    targets before have led to (where that differs), ``corrected`` where the corrected target's address does."""
    here = current_address(live)
    at, moved = here, False
    looks: list[JsonValue] = []
    for target in spec.targets:
        look: dict[str, JsonValue] = {}
        own = look["own"] = _look(target, target.url, live, here, None)
        sequential = own
        if moved and at != here and _where(target.url, at, at) != _where(target.url, here, LAST):
            sequential = look["later"] = _look(target, target.url, live, at, at)
        if target.corrected is not None and target.corrected.url:
            look["corrected"] = _look(target, target.corrected.url, live, here, None)
        if target.url != LAST:
            at, moved = str(sequential.get("landed") or at), True
        looks.append(look)
    return looks


def _look(target: Target, url: str, live: Live, here: str, last: str | None) -> Reading:
    """One look; ``here`` is the current address, ``last`` what to open in place of the agent's own page."""
    try:
        if url.startswith("func"):
            url = address_of(parse_call(url.split("func:", 1)[1], "address"), live, here)
        address = last if url == LAST else resolve_placeholders(url, live.sites)
        return {"asked": address or LAST, **_read(target, live, address)}
    except (SiteError, TaskError) as error:
        return {"asked": url, "error": str(error), "cause": error.cause}


def _where(url: str, here: str, last: str) -> str:
    """What a target's address amounts to, as far as it depends on where the browser is."""
    if url == LAST:
        return last
    return post_url(here) if LAST_URL in url else url


def _read(target: Target, live: Live, address: str | None) -> Reading:
    locator = target.locator.strip()
    call: Call | None = None
    if locator.startswith("func:"):
        call = parse_call(locator.removeprefix("func:"), "text")
    if call is not None and not call.function.page:
        landed = address or current_address(live)
        return {"landed": landed, "found": ["value", text_of(call, live)]}
    source = locator_source(locator) if locator else PAGE_SOURCE
    source = helper_source(call) if call is not None else source
    page = live.read_page(open=address, locate=source, prepare=target.prep_actions if locator else ())
    if page.hidden:
        return {"landed": page.url, "error": page.hidden, "cause": "agent"}
    if not page.texts:  # a script that could not even be read
        return {"landed": page.url, "found": ["error", "no value"]}
    found = json.loads(page.texts[0])
    return {"landed": page.url, "found": found[0], **({"closed": found[1]} if len(found) > 1 else {})}
