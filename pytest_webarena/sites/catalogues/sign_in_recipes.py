"""Sign-in recipes of catalogues: their kind, and rules for their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_webarena.actions import Goto, Select, Type
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import near
from pytest_webarena.tasks.shapes import Fault

__all__ = ["sign_in_fault", "sign_in_recipe"]

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_FILLED = ("username", "password", "totp", "authorization", "url", "host")
"""Placeholders that an account or the site fills in."""

_LOGIN_KINDS = {
    "steps": "form",
    "headers": "header",
    "http_basic": "header",
    "state": "state",
    "script": "script",
    "command": "command",
}
"""Kinds of recipes by the key that makes them."""


def sign_in_recipe(*, http_basic: bool, **values: Any) -> Mapping[str, Any]:
    """Return the data of a recipe from its keys."""
    if http_basic:
        values["headers"] = {"Authorization": "{authorization}"}
    return {"kind": next(kind for key, kind in _LOGIN_KINDS.items() if values.get(key)), **values}


def sign_in_fault(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    """Return what is wrong with the keys of a recipe; None if nothing is."""
    given = [key for key in _LOGIN_KINDS if values[key]]
    if len(given) != 1:
        found = " and ".join(map(repr, given)) or "none"
        return Fault("one of 'steps', 'headers', 'http_basic', 'state', 'script' and 'command'", found)
    if bool(values["path"]) != (given == ["steps"]):
        found = f"'path' with {given[0]!r}" if values["path"] else "'steps' without 'path'"
        return Fault("'path', the page with the form, with 'steps' and only with them", found)
    return next(_unknown_placeholders(values), None)


def _unknown_placeholders(values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each placeholder that no account fills in, so that the site would get its name."""
    for text in _texts(values):
        for word in _PLACEHOLDER.findall(text):
            if word not in _FILLED:
                yield Fault(f"a placeholder of an account ({', '.join(_FILLED)})", f"'{{{word}}}'", near(word, _FILLED))


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    for step in values["steps"] or ():
        if isinstance(step, Type):
            yield step.text
        elif isinstance(step, Select):
            yield from step.options
        elif isinstance(step, Goto):
            yield step.url
    yield from (values["headers"] or {}).values()
    yield values["state"] or ""
    for check in (values["check"], values["api_check"]):
        if check is not None:
            yield from (check.path, check.includes)
