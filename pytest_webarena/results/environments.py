"""Environments of trials from their records: region, system, browser, device, language, guard of live sites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pytest_webarena.results.records import TrialRecord

__all__ = ["Setting", "guarding", "setting_of"]


class Setting(NamedTuple):
    """The properties of an environment that may change a site's response; empty where they were not recorded."""

    region: str
    """The region's name in the catalogue of live sites, the time zone, and the browser's geolocation."""
    system: str
    browser: str
    """The browser with the first part of its version."""
    device: str
    """Viewport in CSS pixels, pixel density, and whether the device is mobile."""
    language: str
    guard: str
    """Whether live sites were guarded: ``writes refused``, unless the task names them."""
    robots: str
    """How robots.txt of live sites was treated: ``obeyed`` or ``ignored``."""


def setting_of(record: TrialRecord) -> Setting:
    """Return a trial's environment; properties that are not in its record are empty."""
    recorded = record.environment
    given = recorded.get("context_args")
    requested: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    live: Any = recorded.get("live")
    is_live = isinstance(live, Mapping)
    return Setting(
        region=_region(recorded, requested),
        system=re.split(r"[-\s]", str(recorded.get("os") or ""), maxsplit=1)[0],
        browser=_browser(record.browser or str(recorded.get("browser") or "") or record.key.browser),
        device=_device(recorded, requested),
        language=str(requested.get("locale") or recorded.get("locale") or ""),
        guard="writes refused" if is_live else "",
        robots=("ignored" if live.get("robots") == "ignore" else "obeyed") if is_live else "",
    )


def guarding(records: Iterable[TrialRecord]) -> tuple[str, str]:
    """Return the guards and the treatments of robots.txt of some trials, joined; empty without live sites."""
    settings = [setting_of(record) for record in records]
    return (
        " + ".join(sorted({each.guard for each in settings} - {""})),
        " + ".join(sorted({each.robots for each in settings} - {""})),
    )


def _region(recorded: Mapping[str, Any], requested: Mapping[str, Any]) -> str:
    words = [str(requested.get("timezone_id") or recorded.get("timezone") or "")]
    place = recorded.get("geolocation")
    if isinstance(place, Mapping) and "latitude" in place and "longitude" in place:
        words.append(f"{place['latitude']:g},{place['longitude']:g}")
    live = recorded.get("live")
    named = live.get("region") if isinstance(live, Mapping) else None
    return " ".join(filter(None, (str(named or recorded.get("region") or ""), *words)))


def _browser(name: str) -> str:
    """Name and first part of the version.

    >>> _browser("Chromium 140.0.7339.16"), _browser("firefox")
    ('chromium 140', 'firefox')
    """
    found = re.match(r"\s*([A-Za-z][\w ]*?)[\s/]+(\d+)", name)
    return f"{found[1].casefold()} {found[2]}" if found else name.strip().casefold()


def _device(facts: Mapping[str, Any], requested: Mapping[str, Any]) -> str:
    size = facts.get("viewport")
    words = ["x".join(map(str, size))] if isinstance(size, list | tuple) and size else []
    if "viewport" in requested:  # this option is recorded as text
        words = ["x".join(re.findall(r"\d+", str(requested["viewport"])))]
    scale = requested.get("device_scale_factor") or facts.get("device_scale")
    if scale and str(scale) not in ("1", "1.0"):
        words.append(f"@{scale}")
    if str(requested.get("is_mobile")) == "True":
        words.append("mobile")
    return " ".join(filter(None, words))
