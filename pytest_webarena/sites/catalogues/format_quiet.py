"""Keys of a catalogue for queued work: how to see that an app has none left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_webarena.sites.catalogues.format_parts import WORDS, key
from pytest_webarena.sites.catalogues.format_running import HTTP
from pytest_webarena.sites.catalogues.running import ExecReady, HttpReady, Quiet
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.record_shapes import Record
from pytest_webarena.tasks.shapes import Fault, Seconds, Text
from pytest_webarena.tasks.syntax import QUERY

__all__ = ["QUIET", "quiet_fault"]

_RUNS_PROGRAMS_NOT = ("process", "external")
"""Backends of this package that can't run a program next to an app."""


def _quiet(*, http: HttpReady | None, exec: tuple[str, ...], **values: Any) -> Quiet:
    return Quiet(probe=http or (ExecReady(run=exec) if exec else None), **values)


def _rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    given = [name for name in ("sql", "http", "exec") if values[name]]
    if len(given) != 1:
        return Fault("one of 'sql', 'http' and 'exec' in 'quiet'", " and ".join(map(repr, given)) or "none")
    if values["database"] and not values["sql"]:
        return Fault("'sql' with 'database'", f"'{given[0]}'")
    http = values["http"]
    if http and not (http.status or http.includes or http.redirect):
        return Fault("'status', 'includes' or 'redirect' in 'http'", "none", "any answer would count as quiet")
    return None


QUIET: Record[Quiet] = Record(
    "quiet section",
    _quiet,
    [
        key(
            "sql",
            QUERY,
            "A query that counts the work that is queued or running. 0, false, null, or no row: none is left.",
            "sql: select count(*) from jobs where finished is null",
            default="",
        ),
        key("database", Text(), "The database of `sql`.", "sql: select count(*) from jobs\ndatabase: queue", default="",
            default_text="the app's main one"),
        key(
            "http",
            HTTP,
            "A GET request, and the response that means that no work is left.",
            "http: {path: /queue, includes: '\"pending\": 0'}",
            default=None,
        ),
        key(
            "exec",
            WORDS,
            "A program inside the container that exits with 0 if no work is left. Not for processes.",
            "exec: [queue, is-empty]",
            default=(),
        ),
        key(
            "deadline",
            Seconds(),
            "Maximum time to wait for the app.",
            "sql: select count(*) from jobs\ndeadline: 60s",
            default=30.0,
        ),
    ],
    rule=_rule,
)  # fmt: skip


def quiet_fault(values: Mapping[str, Any]) -> Fault | None:
    """Returns why an app with these keys can't have the key ``quiet`` as it is; None if it can."""
    quiet, backend = values["quiet"], values["backend"]
    if quiet is None:
        return None
    if values["read_only"] or backend in ("archive", "live"):
        return Fault("'quiet' on apps that visitors may change", "a read-only app" if values["read_only"] else backend)
    if isinstance(quiet.probe, ExecReady) and backend in _RUNS_PROGRAMS_NOT:
        return Fault("'exec' in 'quiet' with an app in a container", f"'backend: {backend}'", "use sql or http")
    if quiet.sql and not values["databases"] and not values["depends_on"]:
        return Fault("'databases' with 'sql' in 'quiet'", "none")
    if quiet.database and not values["depends_on"] and quiet.database not in values["databases"]:
        return Fault(f"one of {', '.join(values['databases'])} as 'database' in 'quiet'", repr(quiet.database))
    if backend == "external" and any(
        url.startswith("https:") for site in values["sites"].values() for url in site["url"]
    ):
        return Fault("'quiet' with a site that is reached by http", "an https site")
    return None
