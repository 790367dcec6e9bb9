"""The published schema of catalogues and its reference: up to date and correct."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_webarena.sites
from pytest_webarena.commands.cli import main
from pytest_webarena.embedded import APPS
from pytest_webarena.gateway.authority import Authority
from pytest_webarena.sites.catalogues import embedded_reference
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.reference import (
    DOCS_PATH,
    SCHEMA_PATH,
    SITE_SCHEMA_PATH,
    examples,
    json_schema,
    reference,
    schema_text,
    site_file_schema,
)
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import compose
from tests.cases import each_case

ROOT = Path(pytest_webarena.sites.__file__).parents[2]
EXAMPLES = dict(examples())


def as_data(text: str) -> Any:
    root, wrong = compose(text.encode(), "s.yaml")
    assert root is not None
    assert not wrong
    return Reading("s.yaml").json(root)


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    schema = json_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def test_schema_and_reference_are_up_to_date() -> None:
    for path, schema in ((SCHEMA_PATH, json_schema()), (SITE_SCHEMA_PATH, site_file_schema())):
        assert path.read_text("utf-8") == schema_text(schema), (
            "run python -m pytest_webarena.sites.catalogues.reference"
        )
    assert (ROOT / DOCS_PATH).read_text("utf-8") == reference(), (
        "run python -m pytest_webarena.sites.catalogues.reference"
    )


@each_case("name", EXAMPLES)
def test_every_example_loads_and_fits_the_schema(
    name: str, validator: jsonschema.Draft7Validator, tmp_path: Path
) -> None:
    (tmp_path / "ca.pem").write_text(Authority().certificate)
    (tmp_path / "sites.yaml").write_text(EXAMPLES[name])
    load_catalogue(tmp_path / "sites.yaml")
    validator.validate(as_data(EXAMPLES[name]))


@each_case("path", sorted((ROOT / "pytest_webarena/sites/catalogues/shipped").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_shipped_catalogues_fit_the_schema(path: Path, validator: jsonschema.Draft7Validator) -> None:
    validator.validate(as_data(path.read_text("utf-8")))


@each_case("path", sorted(SITE_SCHEMA_PATH.parent.glob("*/site.yaml")), ids=lambda p: p.parent.name)
def test_embedded_site_files_fit_their_schema(path: Path) -> None:
    schema = site_file_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    data = as_data(path.read_text("utf-8"))
    validator.validate(data)
    assert not validator.is_valid({**data, "backend": "docker"})
    assert not validator.is_valid({**data, "container": {"docker": {"memry": "1g"}}})
    assert validator.is_valid({**data, "users": {"clementine.rusk": {"role": "moderator"}}})


def test_the_table_of_embedded_sites_is_up_to_date() -> None:
    page = embedded_reference.DOCS_PATH.read_text("utf-8")
    assert embedded_reference.with_table(page) == page, "run: make docs"
    assert len(embedded_reference.table().splitlines()) == 2 + len(APPS)


def test_embedded_site_table_uses_the_top_comment(tmp_path: Path) -> None:
    (tmp_path / "polls").mkdir()
    file = tmp_path / "polls" / "site.yaml"
    file.write_text("# yaml-language-server: $schema=x\n# polls of\n# a town\n\n# Why.\nsites: {polls: {}}\n")
    assert embedded_reference.table(tmp_path).splitlines()[2:] == ["| `polls` | `polls` | polls of a town |"]
    file.write_text("sites: {polls: {}}\n")
    with pytest.raises(ValueError, match=r"polls.site\.yaml: expected a comment at the top that says what the site is"):
        embedded_reference.table(tmp_path)


def test_reference_explains_every_key() -> None:
    text = reference()
    assert len(EXAMPLES) > 80
    for name in EXAMPLES:
        assert f"**`{name.rpartition(' ')[2]}`**" in text


def test_validate_distinguishes_catalogues_from_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tasks.yaml").write_text("tasks: [{id: a, intent: x, sites: [], checks: [{answer: x}]}]\n")
    (tmp_path / "sites.yaml").write_text(
        "apps:\n  shop:\n    backend: docker\n"
        "    sites: {shop: {host: shop.test, sign_in: {path: /in, check: {path: /}}}}\n"
        "    docker: {image: a, digest: sha256:12, post_start: [run me]}\n    databases: {main: {mysqll: shop}}\n"
    )
    assert main(["tasks", "validate", str(tmp_path)]) == 1
    stdout = capsys.readouterr().out.replace(str(tmp_path), "")
    recipes = "'steps', 'headers', 'http_basic', 'state', 'script' and 'command'"
    assert f"/sites.yaml:4:46: expected one of {recipes}, found none" in stdout
    assert "/sites.yaml:5:32: expected sha256: and 64 hex digits, found 'sha256:12'" in stdout
    assert "/sites.yaml:5:56: expected a program and its arguments as a list, or a mapping" in stdout
    assert "/sites.yaml:6:24: expected a key of a database, found 'mysqll' (did you mean 'mysql'?)" in stdout
    assert stdout.splitlines()[-1] == "2 files, 1 valid task: 4 problems in 1 file"
    (tmp_path / "sites.yaml").write_text("extends: nowhere\n")
    assert main(["tasks", "validate", str(tmp_path / "sites.yaml"), "--format=json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert "there is no catalogue 'nowhere'" in problem["found"]


def test_schema_command_prints_the_catalogue_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "schema", "--sites"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(schema_text())
