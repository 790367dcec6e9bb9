"""Format of the keys for stand-ins: sites that the harness starts next to an app's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_webarena.sites.catalogues.format_parts import key
from pytest_webarena.tasks.shapes import Choice, Fault

__all__ = ["STAND_IN_KEYS", "stand_in_fault"]

_PLACEHOLDER = re.compile(r"\{(port|smtp):([^{}]*)\}")

STAND_IN_KEYS = (
    key(
        "stand_in",
        Choice("", "mailbox", "identity-provider"),
        (
            "Starts this site next to the app, in place of a service on the Internet. `mailbox`: a mail server that "
            "keeps all messages, on the port `{smtp:SITE}` of 127.0.0.1, and pages that show them; "
            "`/api/messages?to=ADDRESS` returns them as JSON. `identity-provider`: an OpenID Connect provider for the "
            "app's accounts, which the app asks on the port `{port:SITE}` of 127.0.0.1 "
            "([stand-ins](sites.md#stand-ins)). Only with `process: {command: …}`."
        ),
        "stand_in: mailbox",
        default="",
    ),
)


def stand_in_fault(values: Mapping[str, Any]) -> Fault | None:
    """Return why the stand-ins of an app can't be started; None if all is well."""
    kinds = {name: site["stand_in"] for name, site in values["sites"].items()}
    process = values["process"]
    if any(kinds.values()):
        if values["backend"] != "process" or process is None or not process.command:
            return Fault("'backend: process' with a 'command' for a site with 'stand_in'", "another way to run the app")
        if next(iter(kinds.values())):
            return Fault("a site of the app itself before those with 'stand_in'", "none")
        if wrong := [name for name, site in values["sites"].items() if site["stand_in"] and site["port"]]:
            return Fault("'stand_in' or 'port' of a site", f"both of {wrong[0]}")
    for text in (*process.command, *process.env.values()) if process is not None else ():
        for kind, name in _PLACEHOLDER.findall(text):
            if not kinds.get(name) or (kind == "smtp" and kinds[name] != "mailbox"):
                what = "with 'stand_in: mailbox'" if kind == "smtp" else "with 'stand_in'"
                return Fault(f"a site {what} in '{{{kind}:{name}}}'", repr(name))
    return None
