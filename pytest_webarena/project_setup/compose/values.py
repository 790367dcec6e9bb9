"""Values of Compose services in their several forms: words, environments, ports, durations."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.project_setup.compose.reading import ComposeFile, Place
from pytest_webarena.project_setup.compose.variables import read_env_file

__all__ = ["Port", "environment_of", "ports_of", "seconds", "variables_of", "words"]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PORT = re.compile(r"(?:(?P<host>.+):)?(?P<port>\d+)(?:-(?P<last>\d+))?(?:/(?P<protocol>\w+))?")

Port = tuple[int, str]
"""A port inside a container, and the port of this machine under which Compose publishes it; ``""``: one of its
choice."""


def words(file: ComposeFile, place: Place, value: Any) -> list[str]:
    """Returns a command, which is a list or a text as for a shell; empty for the image's own."""
    if value is None:
        return []
    try:
        found = shlex.split(value) if isinstance(value, str) else [text(each) for each in file.entries(place, value)]
    except ValueError as error:
        file.note("refused", place, f"expected words as for a shell, found {error}")
        return []
    if not found or not all(found):
        file.note("refused", place, "expected words, found an empty one; remove the line for the image's own")
        return []
    return found


def text(value: Any) -> str:
    """Returns a plain value as the text that a program receives."""
    return {None: "", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)


def environment_of(file: ComposeFile, place: Place, service: Mapping[str, Any]) -> dict[str, str]:
    """Returns the environment of a service: that of its files, and its own in front of it."""
    found: dict[str, str] = {}
    files = service.get("env_file")
    for number, entry in enumerate(files if isinstance(files, list) else [files] if files else []):
        path = str(entry.get("path") if isinstance(entry, Mapping) else entry)
        if isinstance(entry, Mapping) and entry.get("required") is False and not (file.folder / path).is_file():
            continue
        try:
            found |= read_env_file(file.folder / path, file.variables.get)
            file.note("taken", (*place, "env_file", number), f"the values of {path} are copied into the catalogue")
        except UsageError as error:
            file.note("refused", (*place, "env_file", number), str(error))
    return found | variables_of(file, (*place, "environment"), service.get("environment"))


def variables_of(file: ComposeFile, place: Place, value: Any) -> dict[str, str]:
    """Returns the variables of a mapping or of a list of ``NAME=value``. One without a value has that of the shell or
    of ``.env``, and is left out if they have none."""
    found: dict[str, str] = {}
    for name, given in value.items() if isinstance(value, Mapping) else _pairs(file, place, value):
        if given is None and (given := file.variables.get(str(name))) is None:
            at = (*place, name) if isinstance(value, Mapping) else place
            file.note("ignored", at, f"{name} has no value here, in this shell and in .env; left out, as in Compose")
            continue
        found[str(name)] = text(given)
    return found


def _pairs(file: ComposeFile, place: Place, value: Any) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for entry in file.entries(place, value):
        name, sign, rest = str(entry).partition("=")
        found.append((name, rest if sign else None))
    return found


def ports_of(file: ComposeFile, place: Place, value: Any) -> list[Port]:
    """Returns the TCP ports that a service publishes, in order."""
    found: list[Port] = []
    for number, entry in enumerate(file.entries(place, value)):
        if isinstance(entry, Mapping):
            port, published = str(entry.get("target")), str(entry.get("published") or "")
            protocol, last = str(entry.get("protocol") or "tcp"), port
        else:
            match = _PORT.fullmatch(str(entry))
            port, protocol = (match["port"], match["protocol"] or "tcp") if match else ("", "tcp")
            published = (match["host"] or "").rpartition(":")[2] if match else ""
            last = match["last"] or port if match else port
        if not port.isdecimal() or not 0 < int(port) <= int(last) < 65536:
            file.note("refused", (*place, number), f"expected a port inside, as in 8080:80, found {entry!r}")
        elif protocol != "tcp":
            file.note("ignored", (*place, number), "browsers use TCP only")
        else:
            found += zip(range(int(port), int(last) + 1), _range(published, int(last) - int(port) + 1), strict=True)
    return found


def _range(published: str, count: int) -> list[str]:
    """Returns the published ports of ``count`` ports inside; empty texts where the file leaves the choice open."""
    first, _, last = published.partition("-")
    if count == 1 and not last:
        return [published]
    fits = first.isdecimal() and last.isdecimal() and int(last) - int(first) + 1 == count
    return [str(int(first) + each) for each in range(count)] if fits else [""] * count


def seconds(value: Any, default: float) -> float:
    """Returns a duration such as ``1m30s``.

    >>> seconds("1m30s", 5), seconds(None, 5)
    (90.0, 5)
    """
    parts = _DURATION.findall(str(value or ""))
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else default
