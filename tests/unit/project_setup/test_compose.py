"""Compose files as catalogues: what is taken, what is left out, and what can't be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_webarena.errors import UsageError
from pytest_webarena.project_setup.compose.importing import Imported, import_compose
from pytest_webarena.project_setup.compose.keys import IGNORED, KNOWN, REFUSED, TAKEN
from pytest_webarena.project_setup.compose.variables import Variables, read_env_file
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.units import unit_of

PROJECT = """
name: shop
x-common: &common
  restart: always
  environment: &env {LOG: info, LEVEL: 007}
services:
  web:
    <<: *common
    build: {context: ./web, args: {A: "1"}, target: prod}
    entrypoint: /entry --wait
    command: ["serve", "a b"]
    ports: ["127.0.0.1:8080:8000", "9000:9000"]
    environment:
      <<: *env
      BASE_URL: http://localhost:8080/x
      OTHER_URL: http://localhost:80801
      DSN: postgres://app:${DB_PASSWORD:-secret}@db/app$$
      ASKED:
    env_file: [{path: web.env}, {path: none.env, required: false}]
    depends_on: {db: {condition: service_healthy}, mail: {condition: service_started, required: false}}
    secrets: [token, {source: token, target: /key}]
    user: "1000:1000"
    working_dir: /srv
    volumes: ["./conf:/etc/shop:ro", "uploads:/uploads", "./seed:/seed", "/node_modules"]
    deploy: {resources: {limits: {memory: 512MB, cpus: "0.5"}}}
    labels: {traefik.enable: "true"}
    cap_drop: [ALL]
  worker:
    image: shop-web
    depends_on: [db]
    networks: {back: {aliases: [jobs]}}
  cache.one:
    image: redis:7
    container_name: redis
    expose: ["6379"]
  debug:
    image: adminer
    profiles: [debug]
  db:
    image: postgres:16
    environment: [POSTGRES_USER=app, "POSTGRES_PASSWORD=${DB_PASSWORD:-secret}"]
    volumes: [{type: volume, source: data, target: /var/lib/postgresql/data}]
    healthcheck: {test: pg_isready -U app, interval: 10s, retries: 9, start_period: 1m}
networks: {back: {}}
volumes: {data: {}, uploads: {}}
secrets: {token: {file: ./token.txt}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("conf", "seed"):
        (tmp_path / name).mkdir()
    (tmp_path / "token.txt").write_text("t")
    (tmp_path / "web.env").write_text("FROM_FILE='a $b' # c\nLOG=debug\n")
    return tmp_path


def imported(folder: Path, text: str, environment: dict[str, str] | None = None, **options: Any) -> Imported:
    (folder / "compose.yaml").write_text(text)
    return import_compose(folder / "compose.yaml", folder, environment=environment or {}, **options)


def test_project_becomes_one_unit_of_a_valid_catalogue(project: Path) -> None:
    found = imported(project, PROJECT)
    assert not found.refused
    (project / "sites.yaml").write_text(yaml.safe_dump({"apps": dict(found.apps)}, sort_keys=False))
    catalogue = load_catalogue(str(project / "sites.yaml"))
    unit = unit_of(catalogue.apps, "web")
    assert set(unit.names) == {"web", "worker", "cache-one", "db"}
    web, db = catalogue.apps["web"].docker, catalogue.apps["db"].docker
    assert web is not None
    assert db is not None
    assert (web.entrypoint, web.command, web.port) == (("/entry", "--wait"), ("serve", "a b"), 8000)
    assert (web.user, web.workdir, web.memory, web.cpus) == ("1000:1000", "/srv", "512m", 0.5)
    assert dict(web.env) == {
        "FROM_FILE": "a $b",
        "LOG": "info",
        "LEVEL": "007",
        "BASE_URL": "http://web.test/x",
        "OTHER_URL": "http://localhost:80801",
        "DSN": "postgres://app:secret@db/app$",
    }
    assert [(Path(each.source).name, each.target, each.mutable) for each in web.volumes] == [
        ("conf", "/etc/shop", False),
        ("", "/uploads", False),
        ("seed", "/seed", True),
        ("", "/node_modules", False),
        ("token.txt", "/run/secrets/token", False),
        ("token.txt", "/key", False),
    ]
    assert web.get == "docker build --tag=shop-web --build-arg=A=1 --target=prod web"
    assert found.apps["worker"]["docker"]["get"] == web.get
    assert catalogue.apps["worker"].docker.aliases == ("jobs",)  # type: ignore[union-attr]
    assert catalogue.apps["cache-one"].docker.aliases == ("cache.one", "redis")  # type: ignore[union-attr]
    assert catalogue.apps["db"].start_timeout == 150
    assert catalogue.apps["db"].database("main").client_argv[-3:] == (
        "--host=localhost",
        "--username=app",
        "--dbname=app",
    )
    assert str(unit.apps[0].name) == "db"


def test_each_key_is_reported(project: Path) -> None:
    found = imported(project, PROJECT)
    reported = {each.place.split(".")[2] for each in found.findings if each.place.startswith("services.web.")}
    assert reported == yaml.safe_load(PROJECT)["services"]["web"].keys()
    assert all(each.line for each in found.findings)
    ports = next(each for each in found.findings if each.state == "ignored" and each.place == "services.web.ports")
    assert ports.line == PROJECT.splitlines().index('    ports: ["127.0.0.1:8080:8000", "9000:9000"]') + 1
    assert "9000" in ports.text


WEB = "services:\n  web:\n    image: shop\n    ports: ['80']\n"


@pytest.mark.parametrize(
    ("more", "place", "text"),
    [
        ("    privileged: true\n", "services.web.privileged", "can't be had"),
        ("    network_mode: host\n", "services.web.network_mode", "remove the line"),
        ("    extends: {service: base}\n", "services.web.extends", "docker compose config"),
        ("    evironment: {A: b}\n", "services.web.evironment", "did you mean 'environment'?"),
        ("    frobnicate: 1\n", "services.web.frobnicate", "remove the line if the app works without it"),
        ("    volumes: ['/none/here:/x']\n", "services.web.volumes.0", "found none"),
        ("    volumes: ['d:/x']\n  b: {image: b, volumes: ['d:/y']}\n", "services.web.volumes.0", "several services"),
        ("    depends_on: {b: {condition: service_completed_successfully}}\n  b: {image: b}\n",
         "services.web.depends_on.b", "exec SERVER"),
        ("    depends_on: {b: {condition: service_healthy}}\n  b: {image: b}\n",
         "services.web.depends_on.b", "found none"),
        ("    depends_on: [bb]\n  b: {image: b}\n", "services.web.depends_on", "no service 'bb'"),
        ("    environment: {A: '{url}'}\n", "services.web", "has a meaning"),
        ("    secrets: [token]\n", "services.web.secrets.0", "found none"),
        ("    security_opt: [seccomp:unconfined]\n", "services.web.security_opt", "can't be had"),
        ("    environment: 5\n", "services.web.environment", "expected a list"),
        ("include: [other.yaml]\n", "include", "docker compose config"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused_with_its_line(tmp_path: Path, more: str, place: str, text: str) -> None:
    refused = imported(tmp_path, WEB + more).refused[0]
    assert refused.place == place
    assert text in refused.text
    assert refused.line >= 3 or place == "services.web"


@pytest.mark.parametrize(
    "more",
    [
        "    privileged: false\n",
        "    security_opt: ['no-new-privileges:true']\n",
        "    x-own: 1\n",
        "    restart: always\n",
    ],
)
def test_what_asks_for_nothing_is_ignored(tmp_path: Path, more: str) -> None:
    assert not imported(tmp_path, WEB + more).refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("services: [", "expected YAML, found an error in line 1"),
        ("a: 1", "expected a Compose file with 'services'"),
        ("services: {web: {image: a, image: b}}", "expected each key once, found 'image' twice"),
        ("services: {web: &a {image: x, labels: *a}}", "an alias inside its own anchor"),
        ("services: {web: {image: x, ports: !reset []}}", "docker compose config"),
        ("services: {web: {image: '${TAG:?name it}'}}", "a value of the variable TAG, found none: name it"),
        ("services: {web: {image: '${TAG'}}", "expected '}'"),
        ("services: {web: {image: x}}", "--service=NAME:PORT"),
        ("services: {web: {image: x, profiles: [a]}}", "without 'profiles'"),
    ],
)
def test_bad_file_ends_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as found:
        imported(tmp_path, text)
    assert message in str(found.value)
    assert str(tmp_path / "compose.yaml") in str(found.value)
    assert "\n" not in str(found.value)


def test_mapping_of_an_alias_may_be_used_twice(tmp_path: Path) -> None:
    text = "x-a: &a {A: '1'}\nx-b: &b {<<: *a, A: '0', B: '2'}\nservices:\n"
    text += "  web: {image: i, ports: [80], environment: *b}\n"
    text += "  more: {image: i, environment: {<<: *b, A: '3'}}\n"
    found = imported(tmp_path, text)
    assert found.apps["web"]["docker"]["env"] == {"A": "0", "B": "2"}
    assert found.apps["more"]["docker"]["env"] == {"A": "3", "B": "2"}


def test_chosen_service_gets_the_site(tmp_path: Path) -> None:
    found = imported(tmp_path, "services: {web: {image: x}, db: {image: mariadb:11}}", services=["web:3000"])
    assert found.apps["web"]["docker"]["port"] == 3000
    assert found.apps["web"]["sites"] == {"web": {"host": "web.test"}}
    with pytest.raises(UsageError, match="has no service 'wob'"):
        imported(tmp_path, "services: {web: {image: x}}", services=["wob"])


def test_services_behind_others_get_no_site(tmp_path: Path) -> None:
    services = {
        "db": {"image": "postgres", "ports": ["5432:5432"]},
        "api": {"image": "a", "depends_on": ["db"]},
        "front": {"image": "f", "ports": ["80:80"], "depends_on": ["api"]},
        "worker": {"image": "a", "depends_on": ["front"]},
    }
    found = imported(tmp_path, yaml.safe_dump({"services": services}))
    assert [name for name, app in found.apps.items() if "sites" in app] == ["front"]


def test_values_of_the_shell_are_reported(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TAG=from-file\nOWN=1\n")
    text = "services: {web: {image: 'x:${TAG}', ports: [80], environment: [OWN, 'U=$UNSET']}}"
    found = imported(tmp_path, text, {"TAG": "from-shell"})
    assert found.apps["web"]["docker"]["image"] == "x:from-shell"
    assert found.apps["web"]["docker"]["env"] == {"OWN": "1", "U": ""}
    changed = [each.text for each in found.findings if each.state == "changed"]
    assert any("$TAG comes from this shell" in each for each in changed)
    assert any("the variable UNSET has no value" in each for each in changed)


def test_databases_of_official_images_are_found(tmp_path: Path) -> None:
    environment = "{MARIADB_DATABASE: shop, MARIADB_USER: app, MARIADB_PASSWORD: s}"
    text = f"services: {{web: {{image: x, ports: [80]}}, db: {{image: 'mariadb:11', environment: {environment}}}}}"
    found = imported(tmp_path, text)
    database = found.apps["db"]["databases"]["main"]
    assert database["client"] == ["mariadb", "--user=app", "--password=s", "--host=127.0.0.1", "shop"]
    assert found.apps["web"]["depends_on"] == ["db"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}", "1"), ("$A-$A", "1-1"), ("${N:-d}", "d"), ("${N-d}", "d"), ("${E:-d}", "d"), ("${E-d}", ""),
        ("${A:+s}", "s"), ("${E:+s}", ""), ("${E+s}", "s"), ("${N+s}", ""), ("$$A", "$A"), ("${N:-${A:-x}}", "1"),
        ("${N:-a b}", "a b"), ("${A:?no}", "1"), ("x$", None), ("${}", None), ("${N:?no}", None), ("${A!}", None),
    ],
)  # fmt: skip
def test_interpolation_is_composes(text: str, value: str | None) -> None:
    variables = Variables({"A": "1", "E": ""}, {})
    if value is None:
        with pytest.raises(UsageError):
            variables.fill(text)
    else:
        assert variables.fill(text) == value


def test_env_files_are_read_as_compose_reads_them(tmp_path: Path) -> None:
    lines = ["# c", "export A=1", "B = ${A}2 # c", 'C="x\\n$A"', "D='$A'", "E=", "F=a#b", "PASSED", 'G="q\\"r" # c']
    (tmp_path / ".env").write_text("\n".join(lines))
    found = read_env_file(tmp_path / ".env", lambda name: "on" if name == "PASSED" else None)
    assert found == {"A": "1", "B": "12", "C": "x\n1", "D": "$A", "E": "", "F": "a#b", "PASSED": "on", "G": 'q"r'}
    (tmp_path / "bad").write_text("A=1\nwhat is this")
    with pytest.raises(UsageError, match=r"bad:2: expected NAME=value, found 'what is this'"):
        read_env_file(tmp_path / "bad", lambda name: None)


def test_no_key_has_two_meanings() -> None:
    assert len(KNOWN) == len(TAKEN) + len(IGNORED) + len(REFUSED)


def test_variables_without_a_value_come_from_the_shell_or_are_reported(tmp_path: Path) -> None:
    for args, env in (("{W: null, V: }", "{P: , Q: }"), ("[W, V]", "[P, Q]")):
        text = f"services: {{web: {{build: {{context: ., args: {args}}}, ports: [80], environment: {env}}}}}"
        found = imported(tmp_path, text, {"V": "7", "Q": "8"})
        assert found.builds["web"] == ("docker", "build", f"--tag={found.apps['web']['docker']['image']}",
                                       "--build-arg=V=7", ".")  # fmt: skip
        assert found.apps["web"]["docker"]["env"] == {"Q": "8"}
        ignored = [each.text for each in found.findings if each.state == "ignored"]
        assert [text.split()[0] for text in ignored] == ["W", "P"]


@pytest.mark.parametrize(
    ("port", "first", "others"),
    [("3000-3002:8000-8002", 8000, "8001, 8002"), ("8000-8001", 8000, "8001"), ("9000-9100:80", 80, "")],
)
def test_range_of_ports_is_a_list_of_ports(tmp_path: Path, port: str, first: int, others: str) -> None:
    env = "{A: 'http://localhost:3001/'}"
    found = imported(tmp_path, f"services: {{web: {{image: x, ports: ['{port}'], environment: {env}}}}}")
    assert found.apps["web"]["docker"]["port"] == first
    said = [each.text for each in found.findings if each.state == "ignored" and "can't reach" in each.text]
    assert [f"the ports {others};" in each for each in said] == ([True] if others else [])
    assert imported(tmp_path, "services: {web: {image: x, ports: ['9-8', 80]}}").refused


def test_cycle_is_refused_at_its_line_of_the_compose_file(tmp_path: Path) -> None:
    text = "services:\n  a:\n    image: a\n    ports: [80]\n    depends_on: [b]\n  b: {image: b, depends_on: [a]}\n"
    (refused,) = imported(tmp_path, text).refused
    assert (refused.place, refused.line) == ("services.a.depends_on", 5)
    assert "waits for itself" in refused.text
