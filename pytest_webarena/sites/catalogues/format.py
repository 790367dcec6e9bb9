"""The keys of a catalogue file: the meaning, default and example of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_webarena.sites.catalogues.format_parts import NAME, PATH, key
from pytest_webarena.sites.catalogues.format_running import DOCKER, PROCESS, READY
from pytest_webarena.sites.catalogues.format_visiting import ACCOUNT, DATABASE, SITE
from pytest_webarena.sites.catalogues.manifest import PortReady
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.record_shapes import ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Int, Json, Number, Text

__all__ = ["APP", "FILE", "FORMAT_VERSION"]

FORMAT_VERSION = 1
"""Version of catalogue files; later versions are refused with a message that names the version."""


def _app_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    backend = values["backend"]
    if backend in ("process", "docker") and values[backend] is None:
        return Fault(f"a '{backend}' section", "none", f"the app's backend is {backend}")
    elsewhere = [name for name, site in values["sites"].items() if site["url"]]
    if backend not in ("archive", "live") and (
        (backend == "external") != bool(elsewhere) or (backend == "external" and len(values["sites"]) != 1)
    ):
        expected = "one site, with a 'url', where and only where the backend is external"
        return Fault(expected, f"{len(values['sites'])} sites, {len(elsewhere)} with a 'url'")
    if values["forbid_side_effects"] and (backend == "external" or not values["databases"]):
        found = "a site that runs elsewhere" if backend == "external" else "none"
        return Fault("'databases' that can be compared, with 'forbid_side_effects'", found)
    if values["reads"] and not values["read_only"]:
        return Fault("'read_only: true' with 'reads'", "an app that visitors may change")
    if not values["sites"] and backend != "docker":
        return Fault("at least one site", "none", "only containers may serve nothing but other apps")
    for name, site in values["sites"].items():
        if site["user"] and site["user"] not in values["users"]:
            return Fault(f"the user of the site '{name}' among the app's users", f"'{site['user']}'")
    return None


APP: Record[Mapping[str, Any]] = Record(
    "app",
    dict,
    [
        key(
            "backend",
            Text("process, docker, external, archive, live, one of an installed package or module:class"),
            "What runs it: `process`, `docker`, `external` (it runs elsewhere), `archive` ([WARC or WACZ "
            "files](archives.md), named in `options`), `live` ([the living web, under guard](live.md)), or the name or "
            "class of another backend ([packages](registries.md)).",
            "backend: process",
        ),
        key(
            "sites",
            MapOf(SITE, "a mapping from names to sites", key=NAME),
            "What it serves. None: a container that other apps depend on.",
            "sites: {shop: {host: shop.test}}",
            default={},
        ),
        key(
            "users",
            MapOf(ACCOUNT, "a mapping from names to accounts"),
            "Who can sign in.",
            "users: {emma: {password: paper-lantern-86}}",
            default={},
        ),
        key(
            "databases",
            MapOf(DATABASE, "a mapping from names to databases", key=NAME),
            "What checks may query; the first one is the default. Those of a container that the app depends on are its "
            "own, too.",
            "databases: {main: {mysql: shop, user: shop, password: shop}}",
            default={},
        ),
        key(
            "forbid_side_effects",
            Bool(),
            "Nothing may change under `mutates: false`, in impossible tasks, and on sites that a task does not list "
            "([side effects](side-effects.md)). Set it for apps whose data only visitors change, except for what "
            "`ignore` and `ignore_files` list. SQLite.",
            "forbid_side_effects: true\ndatabases: {main: {sqlite: main.sqlite3}}",
            default=False,
        ),
        key(
            "ignore_files",
            ListOf(Text("a pattern of paths")),
            "Files of its data folder that change by themselves.",
            "ignore_files: [cache/*, '*.log']",
            default=(),
        ),
        key(
            "read_only",
            Bool(),
            "Nothing can change it: shared, never reset. The gateway sees to that: what may write (`POST`, …) is "
            "refused, and recorded.",
            "read_only: true",
            default=False,
        ),
        key(
            "reads",
            ListOf(PATH),
            "Of a read-only app: where other methods than `GET` only read, e.g. a search by `POST`. All paths that "
            "begin so.",
            "reads: [/search]\nread_only: true",
            default=(),
        ),
        key(
            "reuse",
            Choice("clean", "never"),
            "Whether a replica proved unchanged is handed on without a reset; unsaid: `never`. "
            "`webarena sites doctor` measures whether `clean` would hold.",
            "reuse: clean",
            default=None,
        ),
        key("ready", READY, "When it can be used; all must hold.", "ready: [{http: /}]", default=(PortReady(),)),
        key("start_timeout", Number(float, above=0), "Seconds a start may take.", "start_timeout: 300", default=60.0),
        key(
            "answer_timeout",
            Number(float, above=0),
            "Seconds a replica has to answer when a trial gives reason to doubt that it still does (a time-out, a "
            "server error); else it counts as broken.",
            "answer_timeout: 30",
            default=10.0,
        ),
        key("boot_seconds", Number(float, low=0), "About how long a start takes.", "boot_seconds: 45", default=1.0),
        key("max_replicas", Int(low=1), "Instead of the run's limit.", "max_replicas: 2", default=None),
        key("spares", Int(low=0), "Instead of the run's number.", "spares: 2", default=None),
        key(
            "depends_on",
            ListOf(NAME),
            "Apps of this catalogue that run and are leased along with it. Their hosts are served too. Containers find "
            "each other by the names of apps and hosts, and are one unit: started, snapshot and reset together, on a "
            "network of their own. Apps that are read-only are shared by all.",
            "depends_on: [tiles, routing]",
            default=(),
        ),
        key("process", PROCESS, "For the process backend.", 'process: {factory: "shop.app:create_app"}', default=None),
        key("docker", DOCKER, "For the Docker backend.", "docker: {image: example/shop:1.2}", default=None),
        key(
            "options",
            Json("a mapping"),
            "For other backends; of an archive: `files`, and the moment `at` that captures shall be nearest to; of "
            "live sites: [how they are asked](live.md#settings).",
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
        key("schema_version", Int(low=1), "Version of this format.", "schema_version: 1", default=FORMAT_VERSION),
        key(
            "extends",
            Text("a catalogue's name or path"),
            "Start from another catalogue; keys given here replace those of the app with the same name.",
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
