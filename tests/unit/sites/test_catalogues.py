"""Shipped catalogues, user catalogues, and messages about invalid ones."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from pytest_webarena import secrets
from pytest_webarena.actions import Click, Type
from pytest_webarena.browser.login import login_headers
from pytest_webarena.embedded import APPS
from pytest_webarena.embedded.world import PEOPLE
from pytest_webarena.errors import UsageError
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import HttpReady, PortReady

SHIPPED = ("embedded", "embedded-docker")
MINIMAL = """
apps:
  shop:
    backend: process
    sites: {shop: {host: shop.test}}
    process: {factory: shop:create_app}
"""
OTHER = """
  other: {{backend: process, sites: {{{site}: {{host: {host}}}}}, process: {{factory: a:b}}}}"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def problems(path: Path, text: str) -> str:
    with pytest.raises(UsageError) as error:
        load_catalogue(write(path / "sites.yaml", text))
    return str(error.value).replace(str(path), "")


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_catalogues_agree_with_the_embedded_apps(name: str) -> None:
    catalogue = load_catalogue(name)
    assert "homepage" in catalogue.apps
    for app in catalogue.apps.values():
        embedded = APPS[app.name]
        assert app.process is not None
        assert app.process.factory == f"{embedded.module}:create_app"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_person_of_the_embedded_world_has_a_homepage_account(name: str) -> None:
    app = load_catalogue(name).apps["homepage"]
    assert {user.username: user.password for user in app.users.values()} == {p.username: p.password for p in PEOPLE}
    recipe = app.login["homepage"]
    assert [type(step) for step in recipe.steps] == [Type, Type, Click]
    assert app.site("homepage").default_user in app.users


def test_embedded_docker_catalogue_extends_the_embedded_one() -> None:
    app = load_catalogue("embedded-docker").apps["homepage"]
    assert app.backend == "docker"
    assert app.docker is not None
    assert app.docker.build == "embedded"
    assert app.ready == (HttpReady(path="/healthz", status=(200,)),)
    assert app.digest != load_catalogue("embedded").apps["homepage"].digest


def test_embedded_apps_have_equal_settings_on_docker() -> None:
    processes, containers = load_catalogue("embedded").apps, load_catalogue("embedded-docker").apps
    assert containers.keys() == processes.keys()
    for name, app in containers.items():
        twin = processes[name]
        assert app.backend == "docker"
        assert (app.sites, app.users, app.login, app.databases) == (twin.sites, twin.users, twin.login, twin.databases)
        # A reused clean replica would show another time.
        assert (app.reuse, app.read_only) == (twin.reuse, twin.read_only)
        assert app.docker is not None
        assert twin.process is not None
        assert app.docker.env.items() >= twin.process.env.items()
        assert app.docker.command[0] == name


def test_account_signs_in_by_http_basic(tmp_path: Path) -> None:
    text = """
apps:
  shop:
    backend: external
    users: {emma: {username: em, password: "{username}:x"}}
    sites: {shop: {url: "http://shop.test", sign_in: {http_basic: true, check: {path: /me, includes: "{username}"}}}}
"""
    app = load_catalogue(write(tmp_path / "sites.yaml", text)).apps["shop"]
    (recipe,) = app.login.values()
    assert recipe.kind == "header"
    encoded = base64.b64encode(b"em:{username}:x").decode()
    assert login_headers(recipe, app.users["emma"]) == {"Authorization": f"Basic {encoded}"}


def test_minimal_catalogue_gets_defaults(tmp_path: Path) -> None:
    catalogue = load_catalogue(write(tmp_path / "mine.yaml", MINIMAL))
    app = catalogue.apps["shop"]
    assert (catalogue.name, app.folder, app.ready) == ("mine", tmp_path, (PortReady(),))
    assert catalogue.site("shop").url == "http://shop.test"
    assert [one.name for one in catalogue.apps_of(["shop", "shop"])] == ["shop"]


def test_unknown_catalogues_and_sites_suggest_known_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'embeded'; did you mean 'embedded'"):
        load_catalogue("embeded")
    with pytest.raises(UsageError, match=r"expected a catalogue file at .*missing\.yaml"):
        load_catalogue(tmp_path / "missing.yaml")
    catalogue = load_catalogue(write(tmp_path / "mine.yaml", MINIMAL))
    with pytest.raises(UsageError, match="no site 'shopping'; did you mean 'shop'"):
        catalogue.site("shopping")


def test_all_problems_of_a_catalogue_are_reported_with_lines(tmp_path: Path) -> None:
    text = problems(
        tmp_path,
        """
apps:
  shop:
    backend: process
    sites: {shop: {host: Shop.Test, start: products}}
    process: {factory: create_app, thread: 5}
    read_only: yes
  forum:
    sites: {forum: {host: forum.test, user: bob}}
    backend: docker
""",
    )
    assert "/sites.yaml:5:26: expected a host name in lower case, such as app.test, found 'Shop.Test'" in text
    assert "/sites.yaml:5:44: expected a path that starts with '/', found 'products'" in text
    assert "/sites.yaml:6:24: expected module:attribute, found 'create_app'" in text
    assert "/sites.yaml:6:36: expected a key of a process section, found 'thread' (did you mean 'threads'?)" in text
    assert "/sites.yaml:7:16: expected true or false" in text
    assert "/sites.yaml:9:5: expected a 'docker' section, found none" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("factory: shop:create_app", "factory: a:b, command: [x]"), "either 'factory' .* or 'command', found both"),
        (("factory: shop:create_app", "threads: 2"), "either 'factory' .* or 'command', found neither"),
        (("factory: shop:create_app", "command: [x], warm: [/]"), "'warm' only with 'factory'"),
        (
            ("factory: shop:create_app", "factory: a:b, env: {A: x}, env_after_preload: [B]"),
            "expected variables of 'env' in 'env_after_preload', found 'B'",
        ),
        (
            ("factory: shop:create_app", "factory: a:b, env: {TZ: UTC}, env_after_preload: [TZ]"),
            "expected other variables in 'env_after_preload', found 'TZ' .*Python reads it when a process starts",
        ),
        (
            ("factory: shop:create_app", "command: [node, server.js]"),
            "expected '{port}' in 'command' or 'env', found nei",
        ),
        (
            ("backend: process", "backend: dokcer"),
            r"expected a backend \(archive, docker, external, live, process or module:class\)",
        ),
        (
            ("{host: shop.test}", "{host: s.test}, mail: {host: m.test, stand_in: mailbox}"),
            "'backend: process' with a 'c",
        ),
        *(
            (("shop: {host: shop.test}}\n    process: {factory: shop:create_app}", changed), message)
            for changed, message in (
                (
                    "mail: {host: m.test, stand_in: mailbox}, shop: {host: s.test}}\n"
                    "    process: {command: ['{port}']}",
                    "expected a site of the app itself before those with 'stand_in', found none",
                ),
                (
                    "shop: {host: s.test}, mail: {host: m.test, stand_in: mailbox, port: 8}}\n"
                    "    process: {command: ['{port}']}",
                    "expected 'stand_in' or 'port' of a site, found both of mail",
                ),
                (
                    "shop: {host: s.test}}\n    process: {command: ['{port}', '{smtp:shop}']}",
                    "expected a site with 'stand_in: mailbox' in '{smtp:shop}', found 'shop'",
                ),
            )
        ),
        (("{host: shop.test}", "{host: shop.test, user: bob}"), "among the app's users, found 'bob'"),
        (("apps:", f"apps:{OTHER.format(site='shop', host='x.test')}"), "each site in one app, found 'shop' again"),
        (("apps:", f"apps:{OTHER.format(site='x', host='shop.test')}"), "each host once, found 'shop.test' again"),
        (("apps:", "schema_version: 9\napps:"), "expected a catalogue of version 1 or older, found version 9"),
        (("apps:", "extends: ./sites.yaml\napps:"), "found catalogues that extend each other"),
        (("shop:create_app}", "shop:create_app"), "valid YAML"),
        *(
            (
                (
                    "{host: shop.test}",
                    f"{{host: shop.test, api: {{headers: {{A: '{header}'}}, path: '{path}', body: {body}}}}}",
                ),
                message,
            )
            for header, path, body, message in (
                (
                    "{token}",
                    "/token",
                    "{user: '{username}'}",
                    "no placeholder but '{token}' in a header, found '{username}'",
                ),
                ("{token}", "/token/{username}", "{}", "no placeholder but '{token}' in a header, found '{username}'"),
                ("{token}{password}", "/token", "[]", "no placeholder but '{token}' in a header, found '{password}'"),
                (
                    "{token}",
                    "/token",
                    "['{url:shop}', '{ x }']",
                    "no placeholder but '{token}' in a header, found '{url:shop}'",
                ),
            )
        ),
        *(
            (("    process:", f"    {keys}\n    process:"), message)
            for keys, message in (
                ("loads: [cdn.test]\n    sign_in_hosts: [cdn.test]", "or in 'sign_in_hosts', found 'cdn.test' in both"),
                ("loads: [shop.test]", "not the app's own in 'loads' and 'sign_in_hosts', found 'shop.test'"),
                ("loads: [localhost]", "'localhost', a name of a local network, in 'private_hosts' too"),
                ("private_hosts: [cdn.test]", "of 'loads' or 'sign_in_hosts' in 'private_hosts', found 'cdn.test'"),
                *(
                    (f"loads: ['{entry}']", "expected a host name in lower case, such as fonts.example.com, or an")
                    for entry in (
                        "127.0.0.1",
                        "http://10.0.0.1:80",
                        "0x7f.1",
                        "2130706433",
                        "cdn.test:81",
                        "[::1]",
                        "https://a@cdn.test",
                        "https://cdn.test/",
                        "*.cdn.test",
                        "cdn.test.",
                        "CDN.test",
                    )
                ),
                ("users: {a: {role: x}}", "expected 'password' or 'password_env', found neither"),
                ("users: {a: {password: x, password_env: X}}", "either 'password' or 'password_env', found both"),
                ("users: {a: {password: x, totp: '!'}}", "a secret in base32, such as JBSWY3DPEHPK3PXP, found '!'"),
                ("quiet: {}", "expected one of 'sql', 'http' and 'exec' in 'quiet', found none"),
                ("quiet: {sql: select 1, exec: [a]}", "in 'quiet', found 'sql' and 'exec'"),
                ("quiet: {sql: select 1}", "expected 'databases' with 'sql' in 'quiet', found none"),
                ("quiet: {exec: [a]}", "'exec' in 'quiet' with an app in a container, found 'backend: process'"),
                ("quiet: {http: {path: /queue}}", "'status', 'includes' or 'redirect' in 'http', found none"),
                ("quiet: {http: {status: 204}, database: main}", "expected 'sql' with 'database', found 'http'"),
                ("quiet: {http: {status: 204}, deadline: 0}", "a number of seconds above 0, such as 10s, found"),
                ("read_only: true\n    quiet: {http: {status: 204}}", "apps that visitors may change, found a read"),
                (
                    "databases: {main: {sqlite: a.db}}\n    quiet: {sql: select 1, database: queue}",
                    "expected one of main as 'database' in 'quiet', found 'queue'",
                ),
            )
        ),
    ],
)
def test_contradicting_keys_are_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_catalogue(write(tmp_path / "sites.yaml", MINIMAL.replace(*change)))


def test_compose_file_is_recognised_and_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "compose.yaml", "services: {db: {image: postgres}}\n")
    with pytest.raises(UsageError, match=r"found a compose file: each of its services becomes an app.*your-app\.html"):
        load_catalogue(path)


def test_empty_catalogue_file_is_refused(tmp_path: Path) -> None:
    assert "expected a mapping with the key 'apps', found an empty file" in problems(tmp_path, "# nothing\n")


def test_extending_catalogue_replaces_keys_of_its_base(tmp_path: Path) -> None:
    write(tmp_path / "base.yaml", MINIMAL)
    top = write(
        tmp_path / "top.yaml", 'extends: ./base.yaml\napps: {shop: {spares: 3, process: {command: [x, "{port}"]}}}\n'
    )
    app = load_catalogue(top).apps["shop"]
    assert app.spares == 3
    assert app.process is not None
    assert (app.process.command, app.process.factory) == (("x", "{port}"), "")


def test_problem_in_a_base_catalogue_names_the_base_file(tmp_path: Path) -> None:
    base = write(tmp_path / "base.yaml", MINIMAL.replace("host: shop.test", "host: Shop.Test"))
    top = write(tmp_path / "top.yaml", "extends: ./base.yaml\n\n\napps: {shop: {spares: 3}}\n")
    with pytest.raises(UsageError) as error:
        load_catalogue(top)
    assert str(error.value) == f"{base}:5:26: expected a host name in lower case, such as app.test, found 'Shop.Test'"


def test_number_of_reported_problems_is_limited(tmp_path: Path) -> None:
    one = "  a{0}: {{backend: process, sites: {{a{0}: {{host: A.Test}}}}, process: {{factory: a:b}}}}\n"
    text = problems(tmp_path, "apps:\n" + "".join(one.format(number) for number in range(300)))
    assert 100 <= text.count("expected a host name in lower case") < 300


def test_app_digest_depends_on_code_and_not_on_spares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "digested_shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = MINIMAL.replace("shop:create_app", "digested_shop:create_app")
    first = load_catalogue(write(tmp_path / "a.yaml", text)).apps["shop"].digest
    sized = load_catalogue(write(tmp_path / "b.yaml", text.replace("backend:", "spares: 4\n    backend:")))
    assert sized.apps["shop"].digest == first
    (package / "page.html").write_text("changed")
    from pytest_webarena.sites.catalogues import loading

    loading._code_digest.cache_clear()
    assert load_catalogue(tmp_path / "a.yaml").apps["shop"].digest != first


def test_accounts_take_secrets_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", secrets.Known())
    users = "users: {emma: {password_env: EMMA_PASSWORD, totp_env: EMMA_TOTP}}"
    path = write(tmp_path / "sites.yaml", MINIMAL.replace("backend:", f"{users}\n    backend:"))
    monkeypatch.delenv("EMMA_PASSWORD", raising=False)
    monkeypatch.setenv("EMMA_TOTP", "JBSWY3DPEHPK3PXP")
    without = load_catalogue(path).apps["shop"]
    assert (without.users["emma"].missing, without.users["emma"].is_private) == ("EMMA_PASSWORD", True)
    monkeypatch.setenv("EMMA_PASSWORD", " paper-lantern-86 ")
    app = load_catalogue(path).apps["shop"]
    emma = app.users["emma"]
    assert (emma.password, emma.totp, emma.missing) == ("paper-lantern-86", "JBSWY3DPEHPK3PXP", "")
    assert app.digest == without.digest  # runs on machines with other secrets can be merged
    assert (
        secrets.scrub(f"paper-lantern-86 JBSWY3DPEHPK3PXP {emma.authorization}") == "[secret] [secret] Basic [secret]"
    )
    monkeypatch.setenv("EMMA_PASSWORD", "short")
    with pytest.raises(UsageError, match="secret EMMA_PASSWORD: expected at least 6 characters, found 5"):
        load_catalogue(path)
