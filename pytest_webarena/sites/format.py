"""The keys of a catalogue file: what each means, its default and an example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_webarena.sites.manifest import (
    DockerManifest,
    HttpReady,
    LoginCheck,
    PortReady,
    ProcessManifest,
    Readiness,
)
from pytest_webarena.tasks.reading import Reading
from pytest_webarena.tasks.records import Convert, Either, Field, ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import (
    Bool,
    Choice,
    Fault,
    Int,
    Json,
    Number,
    Text,
)
from pytest_webarena.tasks.steps import BROWSER_STEPS

__all__ = ["APP", "FILE", "FORMAT_VERSION"]

FORMAT_VERSION = 1
"""Of catalogue files; later versions are refused by name."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def _text(label: str, pattern: str) -> Text:
    compiled = re.compile(pattern)

    def fault(text: str, _: Reading) -> Fault | None:
        return None if compiled.fullmatch(text) else Fault(label, f"{text[:60]!r}")

    return Text(label, check=fault, pattern=f"^{pattern}$")


_NAME = _text("a name of letters, digits, '_' and '-'", NAME.pattern)
_HOST = _text("a host name in lower case", r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_PATH = _text("a path that starts with '/'", r"/\S*")
_TARGET = _text("module:attribute", r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_SIZE = _text("a size such as 256m or 2g", r"[0-9]+[bkmgBKMG]?")
_VARIABLES = MapOf(Text("text", blank=True), "a mapping from variables to texts")
_WORDS = ListOf(Text("text", blank=True), label="a program and its arguments, as a list", low=1)
_STATUS = ListOf(Int("a status code", low=100, high=599), or_one=True, label="a status code or a list of them")


def _key(key: str, shape: Any, doc: str, example: str, **more: Any) -> Field:
    return Field(key=key, shape=shape, doc=doc, example=example, **more)


def _login_check(path: str, includes: str, locate: str) -> LoginCheck:
    return LoginCheck(path=path, includes=includes, locate=locate)


LOGIN_CHECK: Record[LoginCheck] = Record(
    "sign-in check",
    _login_check,
    [
        _key("path", _PATH, "A page for signed-in users only; being sent elsewhere means failure.", "path: /account"),
        _key("includes", Text(), "Text it must hold; may use `{username}`.", 'includes: "{username}"', default=""),
        _key("locate", Text(), "Selector of the element that must hold it.", "locate: css=main", default=""),
    ],
)

LOGIN: Record[Mapping[str, Any]] = Record(
    "sign-in recipe",
    dict,
    [
        _key("path", _PATH, "The page with the form.", "path: /signin"),
        _key(
            "steps",
            BROWSER_STEPS,
            "What to do there, written as in a task's `setup`. Texts may use `{username}` and `{password}`.",
            'steps:\n  - fill: {"css=#username": "{username}", "css=#password": "{password}"}\n  - press: Enter',
        ),
        _key("check", LOGIN_CHECK, "What proves that it worked.", 'check: {path: /account, includes: "{username}"}'),
        _key(
            "portable",
            Bool(),
            "Whether every replica accepts a session made on another one.",
            "portable: false",
            default=True,
        ),
    ],
)

SITE: Record[Mapping[str, Any]] = Record(
    "site",
    dict,
    [
        _key("host", _HOST, "What the browser calls it; the same in every run.", "host: shopping.test"),
        _key("start", _PATH, "Where a visit begins.", "start: /explore", default="/"),
        _key("user", Text("an account's name"), "Account of tasks that name none.", "user: mara.linden", default=""),
        _key("sign_in", LOGIN, "How to sign in; without it nobody does.", "sign_in: {path: /signin, …}", default=None),
    ],
)

ACCOUNT: Record[Mapping[str, Any]] = Record(
    "account",
    dict,
    [
        _key("username", Text(), "If it differs from the account's name.", "username: emma@example.org", default=""),
        _key("password", Text(), "Public test data, never a secret.", "password: paper-lantern-86"),
        _key("role", Text(), "What the account may do, in a word.", "role: admin", default=""),
    ],
)

DATABASE: Record[Mapping[str, Any]] = Record(
    "database",
    dict,
    [
        _key(
            "sqlite",
            _text("a file below the data directory", r"(?!/)(?!.*\.\.).+"),
            "An SQLite file, relative to the app's data directory.",
            "main: {sqlite: main.sqlite3}",
        )
    ],
)


def _ready_http(path: str, status: tuple[int, ...], includes: str) -> Readiness:
    return HttpReady(path=path, status=status, includes=includes)


_HTTP: Record[Readiness] = Record(
    "HTTP check",
    _ready_http,
    [
        _key("path", _PATH, "What to GET.", "path: /users/sign_in", default="/"),
        _key("status", _STATUS, "Accepted status codes; any below 500 if not given.", "status: [200, 302]", default=()),
        _key("includes", Text(), "Text the answer must hold.", "includes: Sign in", default=""),
    ],
)
READY: Any = ListOf(
    Either(
        "'port', or a mapping with 'http'",
        scalar=Convert(Choice("port"), lambda _, __: PortReady()),
        mapping=Record(
            "readiness check",
            lambda http: http,
            [
                _key(
                    "http",
                    Either(
                        "a path, or a mapping with path, status and includes",
                        scalar=Convert(_PATH, lambda path, _: HttpReady(path=path)),
                        mapping=_HTTP,
                    ),
                    "A GET that must be answered.",
                    "- http: {path: /, status: 200}",
                )
            ],
        ),
    ),
    label="a list of readiness checks",
)


def _process_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    if bool(values["factory"]) == bool(values["command"]):
        given = "both" if values["factory"] else "neither"
        return Fault("either 'factory' (a Python WSGI app) or 'command'", given)
    only_wsgi = [key for key in ("seed", "on_fork", "warm") if values[key] and values["command"]]
    if only_wsgi:
        return Fault(f"'{only_wsgi[0]}' beside 'factory' only", "'command'", "a command starts with 'data'")
    if values["seed"] and values["data"]:
        return Fault("either 'seed' or 'data'", "both")
    return None


PROCESS: Record[ProcessManifest] = Record(
    "process section",
    ProcessManifest,
    [
        _key("factory", _TARGET, "Makes the WSGI app from its data.", "factory: shop.app:create_app", default=""),
        _key("seed", _TARGET, "Fills an empty data directory, once per run.", "seed: shop.data:seed", default=""),
        _key("data", Text(), "Directory that replicas start with a copy of.", "data: fixtures/shop", default=""),
        _key(
            "on_fork",
            _TARGET,
            "Moves the app, made once before forking, to a replica's data directory.",
            "on_fork: shop.app:rebind",
            default="",
        ),
        _key("warm", ListOf(Text("a path")), "Pages to load before forking.", "warm: [/, /cart]", default=()),
        _key("threads", Int(low=1, high=64), "Requests a replica serves at a time.", "threads: 8", default=4),
        _key(
            "command",
            _WORDS,
            "Program to run instead; `{port}`, `{data_dir}` and `{python}` are filled in.",
            'command: [node, server.js, "{port}", "{data_dir}"]',
            default=(),
        ),
        _key("env", _VARIABLES, "Added to its environment.", "env: {LANG: C.UTF-8}", default={}),
    ],
    rule=_process_rule,
)

DOCKER: Record[DockerManifest] = Record(
    "docker section",
    DockerManifest,
    [
        _key("image", Text("an image"), "Reference of the image.", "image: example/shop:1.2"),
        _key("build", _NAME, "Recipe of this package that builds it.", "build: embedded", default=""),
        _key("command", _WORDS, "Instead of the image's command.", "command: [serve, --port, '8080']", default=()),
        _key("port", Int(low=1, high=65535), "Where it listens inside.", "port: 8080", default=80),
        _key("env", _VARIABLES, "Added to its environment.", "env: {LANG: C.UTF-8}", default={}),
        _key("memory", _SIZE, "Most memory it may use.", "memory: 256m", default=""),
        _key("cpus", Number(float, above=0), "CPUs it may use.", "cpus: 1.5", default=None),
        _key("shm_size", _SIZE, "Size of /dev/shm.", "shm_size: 2g", default=""),
        _key("data_dir", _PATH, "Where its databases are inside.", "data_dir: /var/lib/shop", default="/data"),
    ],
)


def _app_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    backend = values["backend"]
    if backend in ("process", "docker") and values[backend] is None:
        return Fault(f"a '{backend}' section", "none", f"the app's backend is {backend}")
    for name, site in values["sites"].items():
        if site["user"] and site["user"] not in values["users"]:
            return Fault(f"the user of the site '{name}' among the app's users", f"'{site['user']}'")
    return None


APP: Record[Mapping[str, Any]] = Record(
    "app",
    dict,
    [
        _key(
            "backend",
            Text("process, docker or module:class"),
            "What runs it: `process`, `docker`, or the class of another backend.",
            "backend: process",
        ),
        _key("sites", MapOf(SITE, "a mapping from names to sites", key=_NAME, low=1), "What it serves.", "sites: {…}"),
        _key("users", MapOf(ACCOUNT, "a mapping from names to accounts"), "Who can sign in.", "users: {…}", default={}),
        _key(
            "databases",
            MapOf(DATABASE, "a mapping from names to databases", key=_NAME),
            "What checks may query; the first one is the default.",
            "databases: {main: {sqlite: main.sqlite3}}",
            default={},
        ),
        _key("read_only", Bool(), "Nothing can change it: shared, never reset.", "read_only: true", default=False),
        _key(
            "reuse",
            Choice("clean", "never"),
            "Whether a replica proved unchanged is handed on without a reset.",
            "reuse: never",
            default="clean",
        ),
        _key("ready", READY, "When it can be used; all must hold.", "ready: [{http: /}]", default=(PortReady(),)),
        _key("start_timeout", Number(float, above=0), "Seconds a start may take.", "start_timeout: 300", default=60.0),
        _key("boot_seconds", Number(float, low=0), "About how long a start takes.", "boot_seconds: 45", default=1.0),
        _key("max_replicas", Int(low=1), "Instead of the run's limit.", "max_replicas: 2", default=None),
        _key("standbys", Int(low=0), "Instead of the run's number.", "standbys: 2", default=None),
        _key("process", PROCESS, "For the process backend.", "process: {…}", default=None),
        _key("docker", DOCKER, "For the Docker backend.", "docker: {…}", default=None),
        _key("options", Json("a mapping"), "For other backends.", "options: {…}", default={}),
    ],
    rule=_app_rule,
)

FILE: Record[Mapping[str, Any]] = Record(
    "catalogue",
    dict,
    [
        _key("schema_version", Int(low=1), "Version of this format.", "schema_version: 1", default=FORMAT_VERSION),
        _key(
            "extends",
            Text("a catalogue's name or path"),
            "Start from another catalogue; keys given here replace those of the app with the same name.",
            "extends: embedded",
            default="",
        ),
        _key("apps", Json("a mapping from names to apps", null=False), "The apps by name.", "apps: {…}", default={}),
    ],
)
