"""Describes an app that exists as data of a catalogue, and writes catalogues."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.project_setup.exploring import Explored
from pytest_webarena.suites.writing import yaml_lines

__all__ = ["accounts_of", "app_of_address", "app_of_command", "catalogue_text", "with_findings"]

_ACCOUNT = re.compile(r"(?P<name>[^:]+):(?P<password>.+)")
_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
_PYTHONS = ("python", "python3")
_PROGRAM_OF_PYTHON = "{python}"
_ORDER = (
    "backend", "sites", "users", "databases", "forbid_side_effects", "ignore_files", "reuse", "ready", "start_timeout",
    "depends_on", "loads", "sign_in_hosts", "private_hosts", "certificate_authority", "process", "docker",
)  # fmt: skip


def app_of_command(
    command: str, host: str, site: str, *, database: str, data: str, env: Sequence[str], start: str
) -> dict[str, Any]:
    """Returns an app that a command starts. Raises `UsageError` for a command or options that can't work."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--command: expected words as for a shell, found {error}") from None
    if not words:
        raise UsageError("--command: expected a program and its arguments, found none")
    variables = _variables(env)
    if words[0] in _PYTHONS:
        words[0] = _PROGRAM_OF_PYTHON
    texts = [*words, *variables.values()]
    if not any("{port}" in text for text in texts):
        raise UsageError(
            "--command: expected '{port}', since each copy of the app has its own port, found none; pass it as an "
            "argument, or as a variable with --env PORT={port}"
        )
    process: dict[str, Any] = {"command": words}
    if (database or data) and not any("{data_dir}" in text for text in texts):
        process["in_data_dir"] = True
    if variables:
        process["env"] = variables
    if data:
        process["data"] = data
    app = {"backend": "process", "sites": {site: _site(host, start)}, "ready": [{"http": start or "/"}]}
    if database:
        app["databases"] = {"main": {"sqlite": database}}
    return {**app, "process": process}


def app_of_address(url: str, site: str, start: str, authority: str = "") -> dict[str, Any]:
    """Returns an app that runs elsewhere. ``authority`` is the PEM file that verifies its certificate."""
    found: dict[str, Any] = {"url": url.rstrip("/")}
    if start:
        found["start"] = start
    trust = {"certificate_authority": authority} if authority else {}
    return {"backend": "external", "sites": {site: found}, **trust}


def _site(host: str, start: str) -> dict[str, Any]:
    return {"host": host, **({"start": start} if start else {})}


def _variables(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise UsageError(f"--env: expected NAME=VALUE, found {each!r}")
        found[name] = value
    return found


def accounts_of(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """Returns accounts of ``NAME:PASSWORD`` or ``NAME:$VARIABLE``. Raises `UsageError` for other texts."""
    found: dict[str, dict[str, str]] = {}
    for each in given:
        match = _ACCOUNT.fullmatch(each)
        if match is None:
            raise UsageError(f"--user: expected NAME:PASSWORD or NAME:$VARIABLE, found {each!r}")
        variable = _VARIABLE.fullmatch(match["password"])
        secret = {"password_env": variable[1]} if variable else {"password": match["password"]}
        name = re.sub(r"[^A-Za-z0-9_-]", "-", match["name"]).strip("-") or "user"
        found[name] = secret if name == match["name"] else {"username": match["name"], **secret}
    return found


def with_findings(app: Mapping[str, Any], site: str, found: Explored) -> dict[str, Any]:
    """Returns an app with what exploring it has found."""
    app = {**app, "sites": {**app["sites"]}, **{key: list(hosts) for key, hosts in found.hosts.items()}}
    if found.form is not None and found.check is not None:
        check = {"path": found.check.path, "includes": found.check.includes}
        recipe = {"path": found.form.path, "steps": found.form.steps(), "check": check}
        app["sites"][site] = {**app["sites"][site], "user": next(iter(app["users"])), "sign_in": recipe}
    if found.ledger:
        if found.ignore:
            name, database = next(iter(app["databases"].items()))
            app["databases"] = {**app["databases"], name: {**database, "ignore": list(found.ignore)}}
        if found.ignore_files:
            app["ignore_files"] = list(found.ignore_files)
        app["forbid_side_effects"] = True
    return {key: app[key] for key in sorted(app, key=_place)}


def _place(key: str) -> int:
    return _ORDER.index(key) if key in _ORDER else len(_ORDER)


def catalogue_text(apps: Mapping[str, Any]) -> str:
    """Returns a catalogue file."""
    head = (
        "# How the app is started, who signs in, and what its data are. Written by `webarena init`; edit it freely.\n"
        "# All keys: `webarena tasks schema --sites`. What does not fit: `webarena sites doctor`.\n"
    )
    return head + "\n".join(yaml_lines({"apps": dict(apps)})) + "\n"
