"""Keys of a catalogue for visiting an app: sites, accounts, logging in, APIs, databases."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_webarena.sites.catalogues.format_hosted import HOSTED_KEYS
from pytest_webarena.sites.catalogues.format_parts import HEADER, HOST, PATH, SCRIPT, WORDS, key, text
from pytest_webarena.sites.catalogues.format_stand_ins import STAND_IN_KEYS
from pytest_webarena.sites.catalogues.manifest import ApiRecipe, HttpCredentials, LoginCheck
from pytest_webarena.sites.catalogues.sign_in_recipes import sign_in_fault, sign_in_recipe
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.record_shapes import ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Int, Json, Text
from pytest_webarena.tasks.steps import BROWSER_STEPS

__all__ = ["API", "DATABASE", "LOGIN", "LOGIN_CHECK", "SITE"]


def _login_check(**values: Any) -> LoginCheck:
    return LoginCheck(**values)


def _check_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    if values["redirects"] and not values["includes"]:
        return Fault("'includes' with 'redirects': something must be proof", "neither text nor place")
    return None


_API_CHECK: Record[LoginCheck] = Record(
    "sign-in check of APIs",
    _login_check,
    [
        key("path", PATH, "A path that responds only to the account's cookies. May use `{username}`.", "path: /api/me"),
        key(
            "includes",
            Text(),
            "Text that the response must include. May use `{username}`.",
            'includes: "{username}"',
            default="",
        ),
    ],
)

LOGIN_CHECK: Record[LoginCheck] = Record(
    "sign-in check",
    _login_check,
    [
        key(
            "path",
            PATH,
            "A page for signed-in users only. A redirect elsewhere means failure. May use `{username}`.",
            'path: /account\nincludes: "{username}"',
        ),
        key(
            "includes",
            Text(),
            "Text that the page must include. `{username}` distinguishes accounts.",
            'includes: "{username}"',
            default="",
        ),
        key(
            "locate",
            Text(),
            ("Selector of the element that must include the text. May use `{username}`, in addition to `includes`."),
            "locate: css=main",
            default="",
        ),
        key(
            "redirects",
            Bool(),
            "Whether the page may redirect signed-in visitors. Then only `includes` is proof.",
            "redirects: true",
            default=False,
        ),
    ],
    rule=_check_rule,
)

LOGIN: Record[Mapping[str, Any]] = Record(
    "sign-in recipe",
    sign_in_recipe,
    [
        key(
            "path",
            PATH,
            "The page with the form. Only with `steps`.",
            "path: /signin\nsteps: [press: Enter]",
            default="",
        ),
        key(
            "steps",
            BROWSER_STEPS,
            ("The steps on the page, as in a task's `setup`. Texts may use `{username}`, `{password}` and `{totp}`."),
            'path: /signin\nsteps:\n  - fill: {"css=#username": "{username}", "css=#password": "{password}"}\n'
            "  - press: Enter",
            default=(),
        ),
        key(
            "headers",
            MapOf(Text(), "a mapping from header names to texts", key=HEADER),
            (
                "Headers that sign in. The gateway adds them to every request to this site only; pages and "
                "agents do not see them. Texts may use `{username}` and `{password}`."
            ),
            'headers: {X-Auto-Login: "{username}:{password}"}',
            default={},
        ),
        key(
            "http_basic",
            Bool(),
            "Whether the account's name and password are sent by HTTP Basic authentication, as `headers` are.",
            "http_basic: true",
            default=False,
        ),
        key(
            "state",
            Text("a file"),
            "A file with Playwright's storage state, relative to the catalogue. May use `{username}`.",
            'state: "states/{username}.json"',
            default="",
        ),
        key(
            "script",
            SCRIPT,
            (
                "A Python function, as `module:function` or `file.py:function`. It receives a `SignIn` with "
                "`url`, `username`, `password`, `code()` (a one-time code of `totp`) and `call(method, path, "
                "headers=…, body=…)`, which keeps cookies; a full address calls another site of the task, "
                "such as a mailbox. It returns a storage state, or nothing to use those cookies."
            ),
            "script: signing.py:sign_in",
            default="",
        ),
        key(
            "command",
            WORDS,
            (
                "A program of this machine that prints a storage state as JSON, for single sign-on. It runs in the "
                "catalogue's folder. Words may use `{username}` and `{url}`; the variables `WEBARENA_URL`, "
                "`WEBARENA_USERNAME` and `WEBARENA_PASSWORD` are set. The session's cookies are masked in all records."
            ),
            'command: [./sso.sh, "{username}"]',
            default=(),
        ),
        key(
            "check",
            LOGIN_CHECK,
            (
                "Proves that the account is signed in, after signing in and when checks read the site ([signed "
                "out](judging.md#signed-out))."
            ),
            'check: {path: /account, includes: "{username}"}',
        ),
        key(
            "api_check",
            _API_CHECK,
            (
                "Proves it for checks that call an API, by a plain request with the account's cookies. Needed if "
                "scripts write the account's name into the page of `check`."
            ),
            'check: {path: /account, includes: "{username}"}\napi_check: {path: /api/me, includes: "{username}"}',
            default=None,
        ),
        key(
            "portable",
            Bool(),
            (
                "Whether a session works on every replica, so that one sign-in serves the whole run. With "
                "`false`, accounts sign in once on a replica that later ones start from (a process, or a "
                "container with `snapshot: true`); otherwise once per trial."
            ),
            "portable: false",
            default=True,
        ),
    ],
    rule=sign_in_fault,
)


_PLACEHOLDERS = re.compile(r"\{(?:username|password|authorization|token|(?:url|host)(?::[A-Za-z0-9_-]+)?)\}")
"""Placeholders of any part of a catalogue."""


def _api_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    uses = any("{token}" in text for text in values["headers"].values())
    if uses != bool(values["path"]):
        return Fault("'{token}' in a header and the 'path' it comes from, or neither", "only one of them")
    headers = [text.replace("{token}", "") for text in values["headers"].values()]
    if found := _PLACEHOLDERS.search(json.dumps([headers, values["path"], values["body"]])):
        return Fault("no placeholder but '{token}' in a header", f"'{found[0]}'", "write the account's own values")
    return None


API: Record[ApiRecipe] = Record(
    "API recipe",
    ApiRecipe,
    [
        key(
            "headers",
            MapOf(Text(), "a mapping from header names to texts", key=HEADER, low=1),
            "Headers that checks add to their API calls, unless a check sets them. May use `{token}`.",
            'headers: {Authorization: "Bearer {token}"}\npath: /api/token',
        ),
        key(
            "path",
            PATH,
            "The path that returns a token, requested for each call.",
            'path: /api/token\nheaders: {Authorization: "Bearer {token}"}',
            default="",
        ),
        key(
            "method",
            Choice("POST", "GET"),
            "Method of the token request.",
            "method: GET\nheaders: {X-Key: abc}",
            default="POST",
        ),
        key(
            "body",
            Json(),
            "Body of the token request, sent as JSON.",
            'body: {username: admin, password: admin1234}\npath: /api/token\nheaders: {X-Token: "{token}"}',
            default=None,
        ),
        key(
            "token",
            Text("a key"),
            ("Key of the token in the response. Without it, the whole response is the token, as a JSON string."),
            'token: access_token\npath: /api/token\nheaders: {X-Token: "{token}"}',
            default="",
        ),
    ],
    rule=_api_rule,
)


def _site_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    if not values["host"] and not values["url"]:
        return Fault("'host' or, for a site that runs elsewhere, 'url'", "neither")
    if values["https"] and values["url"]:
        return Fault("'https' with 'host' only, because a 'url' has a scheme", "'url' and 'https'")
    return None


_HTTP_CREDENTIALS: Record[HttpCredentials] = Record(
    "HTTP credentials",
    lambda **values: HttpCredentials(**values),
    [
        key("username", text("a name without a colon", r"[^:]+"), "The name.", "username: staging"),
        key("password", Text(), "The password.", "password: paper-lantern-86"),
    ],
)

SITE: Record[Mapping[str, Any]] = Record(
    "site",
    dict,
    [
        key(
            "host",
            HOST,
            (
                "The host name in the browser, the same in every run. Required unless the site has a `url` "
                "(then the default is `NAME.test`). "
                "Hosts below `.localhost` are secure contexts, for pages that need the clipboard or crypto. "
                "Service workers stay blocked."
            ),
            "host: shopping.test",
            default="",
        ),
        key(
            "https",
            Bool(),
            (
                "Whether browsers use `https://<host>`, a secure context. The gateway ends TLS with a "
                "certificate that only the run's browsers trust. The app speaks plain HTTP and receives "
                "`X-Forwarded-Proto: https`."
            ),
            "host: shopping.test\nhttps: true",
            default=False,
        ),
        *HOSTED_KEYS,
        key(
            "root",
            PATH,
            ("Path prefix of the site's addresses: with `/admin`, `site:/orders` in a task is `/admin/orders`."),
            "root: /admin",
            default="",
        ),
        key(
            "start",
            PATH,
            "The path where a visit begins, on the host.",
            "start: /explore",
            default="",
            default_text="`root`, or `/`",
        ),
        key("user", Text("an account name"), "The account for tasks that name none.", "user: mara.linden", default=""),
        key(
            "sign_in",
            LOGIN,
            "How accounts sign in. Without it, there is no sign-in.",
            "sign_in:\n  path: /signin\n  steps:\n"
            '    - fill: {"css=#name": "{username}", "css=#password": "{password}"}\n    - press: Enter\n'
            '  check: {path: /account, includes: "{username}"}',
            default=None,
        ),
        *STAND_IN_KEYS,
        key(
            "port",
            Int(low=1, high=65535),
            "The port that the site listens on inside.",
            "port: 3000",
            default=0,
            default_text="the app's port",
        ),
        key(
            "http_credentials",
            _HTTP_CREDENTIALS,
            (
                "Name and password of HTTP Basic authentication, if all of the site is behind it. The gateway adds "
                "them to every request of the browser and of checks; pages, agents and records never contain them. "
                "For accounts that differ, use `http_basic` in `sign_in`."
            ),
            "http_credentials: {username: staging, password: paper-lantern-86}",
            default=None,
        ),
        key(
            "reach_header",
            text("a header name", r"[A-Za-z][A-Za-z0-9-]*"),
            (
                "Header in which the gateway names the sites that the visitor can reach. For a start page that "
                "links to them."
            ),
            "reach_header: X-Webarena-Sites",
            default="",
        ),
        key(
            "api",
            API,
            ("How checks authenticate at the site's API. Without it, they send only the visitor's cookies."),
            "api:\n  path: /api/token\n  body: {username: admin, password: admin1234}\n"
            '  headers: {Authorization: "Bearer {token}"}',
            default=None,
        ),
    ],
    rule=_site_rule,
)

_ENGINES = ("sqlite", "mysql", "postgresql", "gitlab-psql")


def _database(**values: Any) -> Mapping[str, Any]:
    engine = next(name for name in _ENGINES if values[name])
    own = {key: values[key] for key in ("user", "password", "host", "client", "ignore")}
    return {"engine": engine, "path" if engine == "sqlite" else "database": values[engine], **own}


def _database_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    given = [name for name in _ENGINES if values[name]]
    if len(given) != 1:
        return Fault(f"one of {', '.join(_ENGINES)}", " and ".join(given) or "none")
    extra = [key for key in ("user", "password", "host", "client") if values[key]]
    if given == ["sqlite"] and extra:
        return Fault("nothing but a file for sqlite", repr(extra[0]))
    return None


DATABASE: Record[Mapping[str, Any]] = Record(
    "database",
    _database,
    [
        key(
            "sqlite",
            text("a file below the data directory", r"(?!/)(?!.*\.\.).+"),
            "An SQLite file, relative to the app's data directory.",
            "sqlite: main.sqlite3",
            default="",
        ),
        key("mysql", Text(), "A MySQL or MariaDB database inside the container.", "mysql: shop", default=""),
        key("postgresql", Text(), "A PostgreSQL database inside the container.", "postgresql: forum", default=""),
        key(
            "gitlab-psql",
            Text(),
            "A database of a GitLab package, queried with its own client.",
            "gitlab-psql: gitlabhq_production",
            default="",
        ),
        key("user", Text(), "The database user.", "mysql: shop\nuser: shop", default=""),
        key(
            "password",
            Text(),
            "The password: public test data, never a secret.",
            "mysql: shop\npassword: shop",
            default="",
        ),
        key(
            "host",
            Text(),
            "The database host, as seen inside the container.",
            "postgresql: forum\nhost: localhost",
            default="",
        ),
        key(
            "client",
            WORDS,
            ("Client program and arguments, in place of the usual client. Format options and the SQL are appended."),
            "postgresql: forum\nclient: [psql, -U, forum, -d, forum]",
            default=(),
        ),
        key(
            "ignore",
            ListOf(Text("a table, or table.column"), label="a list of tables and columns (table.column)"),
            (
                "Changes that are not side effects: tables, new rows as `+table`, columns as `table.column`. `*` "
                "matches anything."
            ),
            "sqlite: main.sqlite3\nignore: [django_session, auth_user.last_login]",
            default=(),
        ),
    ],
    rule=_database_rule,
)
