"""Generates the JSON schema and the reference of catalogue files, and the schema of `site.yaml`, from the declarations.

``python -m pytest_webarena.sites.catalogues.reference`` writes them; a test fails when they are out of date.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.docs_site import with_addresses
from pytest_webarena.sites.catalogues.embedded_sites import FOLDER, SITE_FILE
from pytest_webarena.sites.catalogues.format import APP, FILE, FORMAT_VERSION
from pytest_webarena.sites.catalogues.format_accounts import ACCOUNT
from pytest_webarena.sites.catalogues.format_facts import FACT, TRIAL_WRITE
from pytest_webarena.sites.catalogues.format_hosted import CALL, RESET
from pytest_webarena.sites.catalogues.format_quiet import QUIET
from pytest_webarena.sites.catalogues.format_running import DOCKER, HTTP, PROCESS, READY_ITEM, STEP, VOLUME
from pytest_webarena.sites.catalogues.format_visiting import API, DATABASE, LOGIN, LOGIN_CHECK, SITE
from pytest_webarena.tasks.record_shapes import REQUIRED, Field, MapOf, Record, described
from pytest_webarena.tasks.shapes import Schema, Schemas

__all__ = [
    "DOCS_PATH",
    "SCHEMA_PATH",
    "SITE_SCHEMA_PATH",
    "examples",
    "json_schema",
    "reference",
    "schema_text",
    "site_file_schema",
]

SCHEMA_PATH = Path(__file__).with_name("sites.schema.json")
"""The published schema, with which editors complete and validate catalogues."""

SITE_SCHEMA_PATH = FOLDER / "site.schema.json"
"""The published schema of an embedded site's ``site.yaml``."""

DOCS_PATH = Path("docs/sites-format.md")
"""The reference, relative to the repository's root."""

_TITLES: tuple[tuple[str, Record[Any], str], ...] = (
    ("Keys of an app", APP, "An app is the unit that is started, leased and reset. It serves one or more sites."),
    ("Keys of a site", SITE, "A site is one host name that agents visit."),
    (
        "Keys of `sign_in`",
        LOGIN,
        "Give one of `steps` (with `path`), `headers`, `http_basic`, `state`, `script` and `command`, and always a "
        "`check`.",
    ),
    (
        "Keys of `sign_in.check`",
        LOGIN_CHECK,
        "Tested after signing in, and before a session is reused. See [signing in](sites.md#signing-in).",
    ),
    ("Keys of `api`", API, ""),
    ("Keys of an item of `facts`", FACT, ""),
    ("Keys of `trial_write`", TRIAL_WRITE, ""),
    ("Keys of an account", ACCOUNT, "Values here are public test data. Secrets come from environment variables."),
    ("Keys of a database", DATABASE, "Give one of the first four."),
    ("Keys of an item of `ready`", READY_ITEM, "An item is the word `port`, or has one of these keys."),
    ("Keys of `http`", HTTP, ""),
    (
        "Keys of `quiet`",
        QUIET,
        "Give one of `sql`, `http` and `exec`. It must also see running work, and work that a job queues when it ends.",
    ),
    (
        "Keys of `reset`",
        RESET,
        "Give one of `http` and `run`. Placeholders: `{url}`, `{host}` of the instance's first site, `{url:NAME}`, "
        "`{host:NAME}` of another one, and `{instance}`, its number from 1.",
    ),
    ("Keys of a request of `reset`", CALL, ""),
    ("Keys of `process`", PROCESS, ""),
    ("Keys of `docker`", DOCKER, ""),
    ("Keys of a volume", VOLUME, ""),
    ("Keys of a step inside a container", STEP, "A list of words alone is a step with one attempt."),
)

_INTRODUCTION = """
# Catalogue files

<!-- Made by `python -m pytest_webarena.sites.catalogues.reference`; edit the declarations in its folder. -->

A catalogue lists apps: the sites they serve, the accounts, the databases, and how to run them.
`--sites=./sites.yaml` uses your catalogue. See also [sites](sites.md).

```yaml
# yaml-language-server: $schema=sites.schema.json
apps:
  shop:
    backend: docker
    sites:
      shop:
        host: shop.test
        user: emma
        sign_in:
          path: /login
          steps:
            - fill: {"css=#email": "{username}", "css=#password": "{password}"}
            - click: role=button[name="Sign in"]
          check: {path: /account, includes: "{username}"}
    users:
      emma: {username: emma@example.org, password: paper-lantern-86, role: customer}
    databases:
      main: {mysql: shop, user: shop, password: shop}
    ready: [{http: {path: /, status: 200}}]
    docker:
      image: example/shop:1.2
      env: {BASE_URL: "{url}"}
      post_start: [[shop, flush-cache]]
      snapshot: true
```

* `webarena tasks validate sites.yaml` reports all mistakes, as `file:line:column`; `--with-sites` also those
  that only running sites show.
* `webarena tasks schema --sites --write sites.schema.json` writes the JSON schema for editors (first line above).
* Values are read [as in task files](task-format.md#how-values-are-read), without templates.
* A key that is not *required* may be left out.
* In the `docker` section, `{url}` and `{host}` are the address and host name of the app's first site, `{url:NAME}` and
  `{host:NAME}` those of another one.
* Container ports are not published, because the gateway uses the container's own address. Host ports can't collide,
  and agents can't reach other services of an image.
"""


def json_schema() -> Schema:
    """Returns the catalogue format as JSON schema (draft 7)."""
    schemas = Schemas()
    schema = FILE.json_schema(schemas)
    apps = MapOf(APP, "a mapping from names to apps").json_schema(schemas)
    keys = schemas.definitions[FILE.name]["properties"]
    keys["apps"] = described(apps, keys["apps"]["description"])
    for record in (APP, LOGIN):
        schemas.definitions[record.name.replace(" ", "-")].pop("required", None)  # it may come from the extended file
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"pytest-webarena catalogue, version {FORMAT_VERSION}",
        **schema,
        "definitions": schemas.definitions,
    }


def site_file_schema() -> Schema:
    """Returns the schema of an embedded site's ``site.yaml``. Keys that the common file provides are not required."""
    schemas = Schemas()
    schema = SITE_FILE.json_schema(schemas)
    for record in (SITE_FILE, LOGIN, ACCOUNT, DOCKER):
        schemas.definitions[record.name.replace(" ", "-")].pop("required", None)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "an embedded site of pytest-webarena",
        **schema,
        "definitions": schemas.definitions,
    }


def schema_text(schema: Schema | None = None) -> str:
    """Returns a schema as text; by default that of catalogues."""
    return with_addresses(json.dumps(schema or json_schema(), indent=2, ensure_ascii=False)) + "\n"


def reference() -> str:
    """Returns the reference as Markdown."""
    parts = [_INTRODUCTION, *_sections()]
    parts += ["## Keys of a file", _list(FILE), "A key that begins with `x-` is ignored: a place for YAML anchors."]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _sections() -> Iterator[str]:
    for title, record, text in _TITLES:
        yield f"## {title}"
        yield from [text] if text else []
        yield _list(record)


def _list(record: Record[Any]) -> str:
    return "\n".join(map(_entry, record.fields))


def _entry(field: Field) -> str:
    default = field.default_text or _value(field.default)
    given = "; required" if field.default is REQUIRED else f"; default: {default}" if default else ""
    entry = f"* **`{field.key}`** ({_label(field)}{given}): {field.doc}"
    lines = field.example.splitlines()
    if not any(line.startswith((" ", "-")) for line in lines):
        return f"{entry}  \n  `{next(line for line in lines if line.startswith(field.key))}`"
    example = textwrap.indent(f"```yaml\n{field.example}\n```", "  ")
    return f"{entry}\n\n{example}\n"


def _label(field: Field) -> str:
    """Returns which values a key accepts, with a link to the keys of a mapping."""
    for title, record, _ in _TITLES:
        if field.shape is record:
            return f"[a mapping](#{re.sub('[^a-z_-]', '', title.lower().replace(' ', '-'))})"
    return field.shape.label


def _value(value: object) -> str:
    if value is None or value == "" or value == () or value == {} or value is REQUIRED:
        return ""
    if isinstance(value, bool):
        return f"`{json.dumps(value)}`"
    if isinstance(value, int | float):
        return f"`{value:g}`"
    return f"`{value}`" if isinstance(value, str) else "`[port]`"


# --- examples, each as a whole file


def examples() -> Iterator[tuple[str, str]]:
    """Yields every example of the reference as a whole catalogue, with the name of what it shows."""
    for field in FILE.fields:
        yield f"file {field.key}", field.example
    for _, record, _ in _TITLES:
        for field in record.fields:
            yield f"{record.name} {field.key}", _FRAMES[record.name](field.example)


def _app(keys: str) -> str:
    lines = {"backend": "backend: docker", "sites": "sites: {shop: {host: shop.test}}"}
    lines["docker"] = "docker: {image: example/shop}"
    if keys.startswith("backend: process"):
        lines = {"sites": lines["sites"], "process": 'process: {command: [serve, "{port}"]}'}
    others = "\n  tiles: {backend: docker, docker: {image: tiles}}\n  routing: {backend: docker, docker: {image: r}}"
    return f"apps:\n  shop:\n{_indent(_with(keys, lines), 4)}{others}\n"


def _with(keys: str, missing: Mapping[str, str]) -> str:
    given = {line.partition(":")[0] for line in keys.splitlines() if not line.startswith((" ", "-"))}
    return "\n".join([*(text for key, text in missing.items() if key not in given), *keys.splitlines()])


def _site(keys: str) -> str:
    users = "\nusers: {mara.linden: {password: x}}"
    if keys.startswith("url"):
        return _app(f"backend: external\nsites:\n  shop:\n{_indent(keys, 4)}").replace(
            "backend: docker\n    docker", "docker"
        )
    if keys.startswith("stand_in"):
        mail = _indent(f"host: mail.test\n{keys}", 4)
        process = "process: {command: [serve, '{port}']}"
        return _app(f"backend: process\n{process}\nsites:\n  shop: {{host: shop.test}}\n  mail:\n{mail}")
    return _app(f"sites:\n  shop:\n{_indent(_with(keys, {'host': 'host: shop.test'}), 4)}{users}")


def _login(keys: str) -> str:
    one = any(f"\n{key}:" in f"\n{keys}" for key in ("steps", "headers", "http_basic", "state", "script", "command"))
    missing = {"check": "check: {path: /account}"}
    if not one:
        missing |= {"headers": "headers: {X-User: me}"}
    return _site(f"sign_in:\n{_indent(_with(keys, missing), 2)}")


def _docker(keys: str) -> str:
    return _app(f"docker:\n{_indent(_with(keys, {} if keys.startswith('image') else {'image': 'image: a'}), 2)}")


def _reset(keys: str) -> str:
    return _app(f"backend: external\nsites: {{shop: {{url: 'http://h'}}}}\nreset:\n{_indent(keys, 2)}").replace(
        "    docker: {image: example/shop}\n", ""
    )


def _indent(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.splitlines())


_FRAMES: Mapping[str, Callable[[str], str]] = {
    APP.name: _app,
    SITE.name: _site,
    LOGIN.name: _login,
    LOGIN_CHECK.name: lambda keys: _login(f"check:\n{_indent(_with(keys, {'path': 'path: /me', **_proof(keys)}), 2)}"),
    API.name: lambda keys: _site(f"api:\n{_indent(_with(keys, {}), 2)}"),
    FACT.name: lambda keys: _site(f"facts:\n  -\n{_indent(_with(keys, {'path': 'path: /'} | _shown(keys)), 4)}"),
    TRIAL_WRITE.name: lambda keys: _site(f"trial_write:\n{_indent(keys, 2)}"),
    ACCOUNT.name: lambda keys: _app(f"users:\n  emma:\n{_indent(_account(keys), 4)}"),
    DATABASE.name: lambda keys: _app(f"databases:\n  main:\n{_indent(keys, 4)}"),
    READY_ITEM.name: lambda keys: _app(f"ready:\n  - {keys}"),
    QUIET.name: lambda keys: _app(
        f"databases: {{main: {{mysql: shop}}, queue: {{mysql: queue}}}}\nquiet:\n{_indent(keys, 2)}"
    ),
    RESET.name: lambda keys: _reset(keys),
    CALL.name: lambda keys: _reset(f"http:\n{_indent(keys, 2)}"),
    HTTP.name: lambda keys: _app(f"ready:\n  - http:\n{_indent(keys, 6)}"),
    PROCESS.name: lambda keys: _app(f"backend: process\nprocess:\n{_indent(_with(keys, _program(keys)), 2)}"),
    DOCKER.name: _docker,
    VOLUME.name: lambda keys: _docker(f"volumes:\n  -\n{_indent(keys, 4)}"),
    STEP.name: lambda keys: _docker(f"post_start:\n  -\n{_indent(keys, 4)}"),
}


def _account(keys: str) -> str:
    return keys if "password" in keys else f"password: x\n{keys}"


def _shown(keys: str) -> dict[str, str]:
    return {} if any(word in keys for word in ("includes:", "locate:", "absent:")) else {"includes": "includes: Hello"}


def _proof(keys: str) -> dict[str, str]:
    return {"includes": "includes: Hello"} if keys.startswith("redirects") else {}


def _program(keys: str) -> dict[str, str]:
    return (
        {}
        if keys.startswith(("factory", "command")) or "\ncommand:" in keys
        else {"factory": "factory: shop.app:create_app"}
    )


def main() -> None:
    """Write the schemas and the reference."""
    SCHEMA_PATH.write_text(schema_text(), encoding="utf-8")
    SITE_SCHEMA_PATH.write_text(schema_text(site_file_schema()), encoding="utf-8")
    DOCS_PATH.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
