"""Writes a catalogue of live sites for tasks that were recorded on the live web."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pytest_webarena.docs_site import docs
from pytest_webarena.errors import UsageError, writing
from pytest_webarena.suites.writing import yaml_scalar
from pytest_webarena.tasks.model import Task

__all__ = ["live_addresses", "write_live_catalogue"]

_HOST = re.compile(r"[^\s@?#/\\<>\"]+")
_HEADER = """\
# The live sites of {source}, written by 'webarena tasks import'. Under guard, see {docs}: say who you are before you
# visit them, and take out the sites that you may not visit.
schema_version: 1
apps:
  live:
    backend: live
    # options: {{contact: "https://lab.example.org/bot"}}
    sites:
"""


def live_addresses(tasks: Iterable[Task]) -> dict[str, str]:
    """Returns the addresses of the sites on which tasks were recorded (``source.hosts``) by name, sorted.

    They use https, unless only http was recorded for a host. Invalid host names are left out. Raises `UsageError` if
    one name has two hosts.
    """
    hosts: dict[str, str] = {}
    origins: dict[str, set[str]] = {}
    for task in tasks:
        known = task.source.get("hosts")
        if not isinstance(known, Mapping):
            continue
        for site, host in known.items():
            if not _HOST.fullmatch(str(host)):
                continue
            first = hosts.setdefault(str(site), str(host))
            if _bare(first) != _bare(str(host)):
                raise UsageError(
                    f"expected one host for the site {site}, found {first} and {host} (task {task.id}); import the "
                    "tasks of the two from files of their own"
                )
        for url in task.source.get("recorded") or ():
            if origin := _origin(str(url)):
                origins.setdefault(urlsplit(origin).hostname or "", set()).add(origin)
    return {
        site: max(origins.get(host, ()), default=f"https://{_in_address(host)}", key=_https)
        for site, host in sorted(hosts.items())
    }


def write_live_catalogue(tasks: Iterable[Task], source: str, path: Path) -> int:
    """Write the catalogue to a new file, and return the number of its sites. Raises `UsageError` when there is nothing
    to write, or the file can't be written."""
    addresses = live_addresses(tasks)
    if not addresses:
        raise UsageError(
            "--catalogue: expected tasks that were recorded on the living web, as Mind2Web-Live's are, found none in "
            f"{source}"
        )
    lines = [f"      {yaml_scalar(site)}: {{url: {yaml_scalar(url, flow=True)}}}\n" for site, url in addresses.items()]
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(_HEADER.format(source=source, docs=docs("live")) + "".join(lines))
        except FileExistsError:
            raise UsageError(f"expected a new file, found {path}; remove it or choose another place") from None
    return len(addresses)


def _origin(url: str) -> str:
    """Returns scheme, host and port; empty if the address can't be visited."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if not host or parts.scheme not in ("http", "https"):
        return ""
    return f"{parts.scheme}://{_in_address(host)}{f':{port}' if port else ''}"


def _in_address(host: str) -> str:
    """Returns a host as written in addresses: IPv6 in brackets, names without the root's dot."""
    return f"[{host}]" if ":" in host else host.rstrip(".")


def _bare(host: str) -> str:
    return host.rstrip(".").removeprefix("www.")


def _https(origin: str) -> tuple[bool, str]:
    return origin.startswith("https:"), origin
