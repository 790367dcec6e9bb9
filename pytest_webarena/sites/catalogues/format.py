"""The keys of a catalogue file: the meaning, default and example of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_webarena.sites.catalogues.format_accounts import ACCOUNT
from pytest_webarena.sites.catalogues.format_hosted import RESET, hosted_fault
from pytest_webarena.sites.catalogues.format_other_hosts import OTHER_HOSTS_KEYS, other_hosts_fault
from pytest_webarena.sites.catalogues.format_parts import NAME, PATH, key
from pytest_webarena.sites.catalogues.format_quiet import QUIET, quiet_fault
from pytest_webarena.sites.catalogues.format_running import DOCKER, PROCESS, READY
from pytest_webarena.sites.catalogues.format_stand_ins import stand_in_fault
from pytest_webarena.sites.catalogues.format_visiting import DATABASE, SITE
from pytest_webarena.sites.catalogues.manifest import PortReady
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import near
from pytest_webarena.tasks.record_shapes import ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Int, Json, Number, Text

__all__ = ["APP", "FILE", "FORMAT_VERSION"]

FORMAT_VERSION = 1
"""Version of catalogue files; later versions are refused with a message that names the version."""


def _app_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    backend = values["backend"]
    if backend in ("process", "docker") and values[backend] is None:
        return Fault(f"a '{backend}' section", "none", f"the app's backend is {backend}")
    if fault := hosted_fault(values):
        return fault
    if values["forbid_side_effects"] and (backend == "external" or not values["databases"]):
        found = "an external site" if backend == "external" else "none"
        return Fault("'databases' that can be compared, with 'forbid_side_effects'", found)
    if values["reads"] and not values["read_only"] and (backend != "external" or values["reset"]):
        return Fault("'read_only: true', or 'backend: external' without 'reset', with 'reads'", "neither")
    if not values["sites"] and backend != "docker":
        return Fault("at least one site", "none", "only containers may serve only other apps")
    for name, site in values["sites"].items():
        if site["user"] and site["user"] not in values["users"]:
            hint = near(site["user"], values["users"]) or "list it under 'users'"
            return Fault(f"the user of the site '{name}' among the app's users", f"'{site['user']}'", hint)
    return other_hosts_fault(values) or stand_in_fault(values) or quiet_fault(values)


APP: Record[Mapping[str, Any]] = Record(
    "app",
    dict,
    [
        key(
            "backend",
            Text("process, docker, external, archive, live, a backend of an installed package, or module:class"),
            (
                "What runs the app: `process`, `docker`, `external` (it runs elsewhere), `archive` ([WARC or "
                "WACZ files](archives.md), named in `options`), `live` ([live sites](live.md)), or the name or "
                "class of another backend ([packages](registries.md))."
            ),
            "backend: process",
        ),
        key(
            "sites",
            MapOf(SITE, "a mapping from names to sites", key=NAME),
            "The sites that the app serves. A container that other apps depend on may have none.",
            "sites: {shop: {host: shop.test}}",
            default={},
        ),
        key(
            "users",
            MapOf(ACCOUNT, "a mapping from names to accounts"),
            "The accounts that can sign in.",
            "users: {emma: {password: paper-lantern-86}}",
            default={},
        ),
        key(
            "databases",
            MapOf(DATABASE, "a mapping from names to databases", key=NAME),
            (
                "The databases that checks may query; the first is the default. Databases of containers that the "
                "app depends on are included."
            ),
            "databases: {main: {mysql: shop, user: shop, password: shop}}",
            default={},
        ),
        key(
            "forbid_side_effects",
            Bool(),
            (
                "Forbids changes under `mutates: false`, in impossible tasks, and on sites that a task does "
                "not list ([side effects](side-effects.md)). For apps whose data only visitors "
                "change, except what `ignore` and `ignore_files` list."
            ),
            "forbid_side_effects: true\ndatabases: {main: {sqlite: main.sqlite3}}",
            default=False,
        ),
        key(
            "ignore_files",
            ListOf(Text("a path pattern")),
            "Patterns of files in the data folder that change without a visitor.",
            "ignore_files: [cache/*, '*.log']",
            default=(),
        ),
        key(
            "read_only",
            Bool(),
            (
                "Whether nothing can change the app: all trials share it, and it is never reset. The gateway "
                "refuses and records requests that may write (`POST`, …)."
            ),
            "read_only: true",
            default=False,
        ),
        key(
            "reads",
            ListOf(PATH, label="a list of paths that start with '/'"),
            (
                "Path prefixes under which methods other than `GET` only read, such as a search by `POST`. With "
                "`read_only: true`, or for an app that runs elsewhere and has no `reset`."
            ),
            "reads: [/search]\nread_only: true",
            default=(),
        ),
        key(
            "reuse",
            Choice("clean", "never"),
            (
                "`clean`: a replica that is proved unchanged is reused without a reset. `webarena sites doctor` "
                "measures whether this works."
            ),
            "reuse: clean",
            default=None,
            default_text="`never`",
        ),
        key(
            "ready",
            READY,
            "Conditions for the app to be ready; all must be met.",
            "ready: [{http: /}]",
            default=(PortReady(),),
        ),
        key(
            "reset",
            RESET,
            (
                "How an app that runs elsewhere is reset: at the start of a run, and after each trial that may have "
                "changed it. Without it, tasks that change the app are skipped."
            ),
            'backend: external\nsites: {shop: {url: "http://h:7770"}}\nreset: {http: {url: "{url}/reset"}}',
            default=None,
        ),
        key(
            "quiet",
            QUIET,
            (
                "How to see that no work is queued or running ([late work](judging.md#late-work)). Trials wait for it "
                "before the agent begins and before the sites are read."
            ),
            "quiet: {sql: select count(*) from jobs where finished is null, deadline: 30s}\n"
            "databases: {main: {sqlite: main.sqlite3}}",
            default=None,
        ),
        key(
            "start_timeout", Number(float, above=0), "Maximum seconds for a start.", "start_timeout: 300", default=60.0
        ),
        key(
            "answer_timeout",
            Number(float, above=0),
            (
                "Seconds that a replica has to respond after a trial had a time-out or server error. Otherwise "
                "it counts as broken."
            ),
            "answer_timeout: 30",
            default=10.0,
        ),
        key("boot_seconds", Number(float, low=0), "Approximate seconds for a start.", "boot_seconds: 45", default=1.0),
        key(
            "max_replicas",
            Int(low=1),
            "Maximum number of replicas, in place of the run's limit.",
            "max_replicas: 2",
            default=None,
        ),
        key("spares", Int(low=0), "Number of spare replicas, in place of the run's number.", "spares: 2", default=None),
        key(
            "depends_on",
            ListOf(NAME, label="a list of app names"),
            (
                "Apps of this catalogue that are leased together with this one; their hosts are served too. "
                "Containers reach each other by the names of apps and hosts, on a network of their own, and are "
                "started, snapshot and reset together. Read-only apps are shared."
            ),
            "depends_on: [tiles, routing]",
            default=(),
        ),
        *OTHER_HOSTS_KEYS,
        key(
            "process",
            PROCESS,
            "Settings of the backend `process`.",
            'process: {factory: "shop.app:create_app"}',
            default=None,
        ),
        key("docker", DOCKER, "Settings of the backend `docker`.", "docker: {image: example/shop:1.2}", default=None),
        key(
            "options",
            Json("a mapping"),
            (
                "Settings of other backends. For an archive: `files`, and `at`, the time that captures should be "
                "nearest to. For live sites: see [settings](live.md#settings)."
            ),
            "options: {files: shop.wacz, at: 2026-01-31}",
            default={},
        ),
    ],
    rule=_app_rule,
)

FILE: Record[Mapping[str, Any]] = Record(
    "catalogue",
    dict,
    [
        key(
            "schema_version",
            Int(low=1),
            "Version of the catalogue format.",
            "schema_version: 1",
            default=FORMAT_VERSION,
        ),
        key(
            "extends",
            Text("a catalogue's name or path"),
            ("Another catalogue to start from. Keys given here replace those of the app with the same name."),
            "extends: embedded",
            default="",
        ),
        key(
            "apps",
            Json("a mapping from names to apps", null=False),
            "The apps by name.",
            "apps: {shop: {backend: docker, docker: {image: example/shop}}}",
            default={},
        ),
    ],
    free="x-",
)
