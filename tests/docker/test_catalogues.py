"""The catalogues of the real images, on doubles with the same commands, pages, headers and APIs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.sites.catalogues.loading import load_catalogue

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = [pytest.mark.docker, pytest.mark.browser]

DOUBLES = Path(__file__).with_name("doubles")
DOUBLE = "pytest-webarena.double"
APPS = ("shopping", "shopping_admin", "reddit", "gitlab")
TASKS = """
tasks:
  - id: shopping
    intent: Who am I, and how many orders are there?
    sites: [shopping]
    checks:
      - page: {locate: css=p, includes: You are emma.lopez@gmail.com.}
      - state: {sql: select count(*) from sales_order, equals: 3}
      - state: {api: /rest/V1/orders, at: "$[0].increment_id", equals: "000000003"}
      - state:
          sql: select value from core_config_data where path = 'web/secure/base_url'
          equals: http://shopping.test/
    solution: [stop]
  - id: shopping_admin
    intent: Open the dashboard.
    sites: [shopping_admin]
    checks:
      - url: /admin/dashboard/
      - page: {includes: admin}
    solution:
      - goto: shopping_admin:/dashboard
      - stop
  - id: reddit
    intent: Who am I?
    sites: [reddit]
    checks:
      - page: {open: /user/MarvelsGrantMan136/account, includes: MarvelsGrantMan136}
      - state: {sql: select title from submissions, equals: hello}
    solution: [stop]
  - &gitlab
    id: gitlab
    intent: Open the profile.
    sites: [gitlab]
    checks:
      - url: /-/profile
      - state: {sql: select count(*) from submissions, equals: 1}
      - state: {sql: select count(*) from sessions, equals: 1}
      - state: {api: /api/v4/user, at: $.username, equals: byteblaze}
    solution:
      - goto: /-/profile
      - stop
  - {<<: *gitlab, id: gitlab-again}
"""


@contextmanager
def doubles(engine: DockerClient, python_image: str, apps: Sequence[str]) -> Iterator[None]:
    """Tag images of these apps with the names of the real ones. Skip if the engine has the real images."""
    names = {
        app: [load_catalogue(name).apps[app].docker.image for name in ("webarena", "webarena-verified")]  # type: ignore[union-attr]
        for app in apps
    }
    others = [
        image for image in engine.images.list() if DOUBLE not in image.labels
    ]  # images of these tests may remain from a killed run
    taken = {tag.removesuffix(":latest") for image in others for tag in image.tags}
    if real := taken & {name for both in names.values() for name in both}:
        pytest.skip(f"this engine has images of that name: {', '.join(sorted(real))}")
    made = set()
    for app, both in names.items():
        image, _ = engine.images.build(
            path=str(DOUBLES), buildargs={"BASE": python_image, "APP": app}, labels={DOUBLE: app}, rm=True
        )
        made.add(image.id)
        for name in both:
            image.tag(name)
    try:
        yield
    finally:
        for app in apps:
            for snapshot in engine.images.list(name=f"localhost/pytest-webarena-snapshot-{app}"):
                if snapshot.attrs["Parent"] in made:
                    engine.images.remove(str(snapshot.id), force=True)
        for both in names.values():
            for name in both:
                engine.images.remove(name, force=True)


HOMEPAGE = """
tasks:
  - id: homepage
    intent: Where do the shop and the wiki live?
    sites: [homepage]
    checks:
      - page: {locate: "css=a[href='http://shopping.test']", includes: Shop}
      - page: {locate: "css=a[href='http://gitlab.test/explore']", includes: Gitlab}
      - page: {locate: "css=a[href='http://wikipedia.test/wiki']", includes: Wiki}
    solution: [stop]
"""
DOUBLED = """
extends: {catalogue}
apps: {{gitlab: {{boot_seconds: 0.1}}}}  # doubles start at once, so it is worth while to sign in for two trials
"""
PAGE = """<a href="<your-server-hostname>:7770">Shop</a> <a href="http://<your-server-hostname>:8023/explore">Gitlab</a>
<a href="http://metis.lti.cs.cmu.edu:8888/wiki">Wiki</a>"""


@pytest.mark.exhaustive
def test_homepage_image_is_built_from_source(pytester: pytest.Pytester, engine: DockerClient, real_names: None) -> None:
    if any("webarena-homepage:latest" in image.tags for image in engine.images.list()):
        pytest.skip("this engine has an image webarena-homepage")
    source = pytester.mkdir("webarena-homepage")
    (source / "templates").mkdir()
    (source / "templates" / "index.html").write_text(PAGE)
    (source / "app.py").write_text(
        "from flask import Flask, render_template\napp = Flask(__name__)\n"
        "@app.route('/')\ndef index():\n    return render_template('index.html')\n"
    )
    try:
        assert main(["sites", "images", "homepage", str(source), "--base=host"]) == 0
        run(pytester, "webarena", HOMEPAGE, passed=1)
    finally:
        engine.images.remove("webarena-homepage", force=True)


def run(pytester: pytest.Pytester, catalogue: str, tasks: str, *more: str, **outcomes: int) -> dict[str, Any]:
    (pytester.path / "real.tasks.yaml").write_text(tasks)
    (pytester.path / "doubles.yaml").write_text(DOUBLED.format(catalogue=catalogue))
    options = ("--sites=doubles.yaml", f"--run-dir={catalogue}", "--replicas=1", *more)
    result = pytester.runpytest(*options)
    found = result.parseoutcomes()
    assert {name: found.get(name, 0) for name in ("passed", "failed", "errors")} == {
        "failed": 0,
        "errors": 0,
        **outcomes,
    }
    files = (pytester.path / catalogue / "trials").glob("*/trial.json")
    return {record["key"]["task"]: record for record in (json.loads(file.read_text()) for file in files)}


def test_catalogue_app_is_configured_signed_in_and_queried(
    pytester: pytest.Pytester, engine: DockerClient, python_image: str, real_names: None
) -> None:
    """GitLab is signed in before its replicas start; the other apps, in their trials."""
    with doubles(engine, python_image, ("gitlab",)):
        play(pytester, "webarena", "gitlab", count=2)


@pytest.mark.exhaustive
def test_all_catalogue_apps_are_configured_signed_in_and_queried(
    pytester: pytest.Pytester, engine: DockerClient, python_image: str, real_names: None
) -> None:
    with doubles(engine, python_image, APPS):
        play(pytester, "webarena", "not none", count=5)
        play(pytester, "webarena-verified", "shopping and not admin or gitlab and not again", count=2)


def play(pytester: pytest.Pytester, catalogue: str, which: str, *, count: int) -> None:
    records = run(pytester, catalogue, TASKS, "-k", which, passed=count)
    assert all(digest.startswith("sha256:") for record in records.values() for digest in record["replicas"].values())
    log = (pytester.path / catalogue / "broker.log").read_text()
    assert ("committing gitlab with signed-in users" in log) == (catalogue == "webarena")
    # The sign-in header is not stored on disk, and neither is anything that a page could have seen of it.
    kept = [path for path in (pytester.path / catalogue).rglob("*") if path.is_file()]
    assert kept
    assert not any(b"Auto-Login" in path.read_bytes() for path in kept if path.name != "broker.log")
