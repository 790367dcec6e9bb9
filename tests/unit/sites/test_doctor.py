"""Findings of the doctor without an engine: programs, modules, addresses, memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import ImageNotFound

from pytest_webarena.errors import SiteMissing
from pytest_webarena.sites import doctor
from pytest_webarena.sites.backends.docker import image_status
from pytest_webarena.sites.catalogues.external import external_app
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest, DockerManifest, ProcessManifest
from pytest_webarena.sites.catalogues.running import HostedReset, HttpCall
from pytest_webarena.sites.container_images.debian_images import debian_reference
from pytest_webarena.sites.doctor import examine, examine_resets
from tests.hosted_app import hosted_app


def found(*apps: AppManifest) -> dict[str, tuple[str, str]]:
    return {finding.subject: (finding.state, finding.text) for finding in examine(apps)}


def process(factory: str, folder: Path = Path()) -> AppManifest:
    return AppManifest(name="app", backend="process", sites=(), process=ProcessManifest(factory=factory), folder=folder)


def test_missing_python_module_of_an_app_is_found(tmp_path: Path) -> None:
    assert found(process("no_such_module:app"))["app"] == (
        "missing",
        "the Python module no_such_module is not installed\npip install what provides no_such_module",
    )
    (tmp_path / "beside.py").write_text("")
    assert found(process("beside:app", tmp_path))["app"][0] == "ok"
    assert found(process("no.such.package:app"))["app"][0] == "missing"
    assert found(load_catalogue("embedded").apps["homepage"])["homepage"][0] == "ok"


def test_missing_declared_requirement_of_an_app_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    app = process("pytest_webarena.embedded.homepage:create_app")
    assert app.process is not None
    needy = replace(app.process, needs=("flask", "no_such_module"))
    assert found(replace(app, process=needy))["app"] == (
        "missing",
        "the Python module no_such_module is not installed\npip install what provides no_such_module",
    )
    assert found(replace(app, process=replace(needy, install="make it so")))["app"][1].endswith("\nmake it so")
    shop = load_catalogue("embedded").apps["shop"]
    monkeypatch.setattr(doctor, "importable", lambda name: name != "oscar")
    assert found(shop)["shop"] == (
        "missing",
        "the Python module oscar is not installed\npip install 'pytest-webarena[shop]'",
    )


def test_missing_extra_is_a_note_unless_the_site_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = load_catalogue("embedded").apps["shop"]
    monkeypatch.setattr(doctor, "importable", lambda name: name != "oscar")
    (note,) = (finding for finding in examine([shop], named=False) if finding.subject == "shop")
    assert (note.state, note.text) == (
        "note",
        "the Python module oscar is not installed: its tasks are skipped\npip install 'pytest-webarena[shop]'",
    )
    (own,) = (each for each in examine([process("oscar:app")], named=False) if each.subject == "app")
    assert own.state == "missing"  # not declared as an extra


def test_locally_built_image_requires_local_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    app = load_catalogue("embedded-docker").apps["shop"]
    assert app.docker is not None
    engine = image_status.Engine(address="here", version="1", memory=0, storage="/")
    needs = image_status.AppNeeds(app="shop", image=app.docker.image, origin="is built when it is needed")
    monkeypatch.setattr(image_status, "survey", lambda _: (engine, (needs,)))
    monkeypatch.setattr(doctor, "importable", lambda name: name != "oscar")
    assert found(app)["shop"][1].endswith("pip install 'pytest-webarena[shop]'")
    monkeypatch.setattr(doctor, "importable", lambda name: True)
    assert found(app)["shop"] == ("note", f"the image {app.docker.image} is built when it is needed")


def test_locally_built_image_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    app = replace(load_catalogue("debian").apps["wiki"], depends_on=())
    here: dict[str, Any] = {}

    def get(reference: str) -> Any:
        if reference not in here:
            raise ImageNotFound(reference)
        return here[reference]

    client = SimpleNamespace(
        api=SimpleNamespace(base_url="http://here"), images=SimpleNamespace(get=get), info=dict, close=lambda: None
    )
    monkeypatch.setattr(image_status, "connect", lambda: client)
    monkeypatch.setattr(image_status, "require_local", lambda _: None)
    assert app.docker is not None
    assert found(app)["wiki"] == ("note", f"the image {app.docker.image} is built when it is needed")
    reference = debian_reference("debian-mediawiki")
    here[reference] = SimpleNamespace(id="sha256:1", attrs={"Size": 900_000_000, "Config": {}})
    here["sha256:1"] = here[reference]
    assert found(app)["wiki"] == ("ok", f"image {reference}, 0.9 GB")


def test_external_site_that_does_not_respond_is_missing() -> None:
    state, text = found(external_app("shop", "http://127.0.0.1:9", None, None))["shop"]
    assert (state, text) == ("missing", "nothing answers at http://127.0.0.1:9: Connection refused")


def test_instances_of_an_external_site_have_servers_of_their_own() -> None:
    with hosted_app() as one, hosted_app() as two:
        alias = one.url.replace("127.0.0.1", "localhost")
        assert found(external_app("shop", f"{one.url},{two.url}", None, None))["shop"][0] == "ok"
        state, text = found(external_app("shop", f"{one.url},{alias}", None, None))["shop"]
    assert (state, text) == (
        "missing", f"expected instances of shop on servers of their own, found {one.url} and {alias} on one",
    )  # fmt: skip


def test_each_instance_is_reset_and_an_answer_is_no_proof() -> None:
    with hosted_app() as one, hosted_app() as two:
        app = external_app("shop", f"{one.url},{two.url}", None, None)
        header = {"Authorization": "Bearer token"}
        hook = HostedReset(http=HttpCall(url="{url}/reset", method="POST", headers=header))
        (finding,) = examine_resets([replace(app, reset=hook)])
        assert (one.resets, two.resets) == (1, 1)
        assert finding.state == "ok"
        assert finding.text.endswith("whether it restores the data is not tested (key 'proof')")
        proof = HttpCall(url="{url}/", method="")
        (finding,) = examine_resets([replace(app, reset=replace(hook, proof=proof))])
        assert finding.text == "the reset of each of 2 instances answers; their proofs are equal"
        two.lies, two.note = True, "another edition"
        (finding,) = examine_resets([replace(app, reset=replace(hook, proof=proof))])
        assert finding.state == "failed"
        assert "the instances of shop differ after their resets" in finding.text
        assert one.url in finding.text
        assert two.url in finding.text
        wrong = HostedReset(http=HttpCall(url="{url}/no-reset", method="POST"))
        findings = list(examine_resets([replace(app, reset=wrong)]))
    assert [finding.state for finding in findings] == ["failed"] * 2  # one for each instance
    assert all("expected status 200 to 299, found 4" in finding.text for finding in findings)


def test_missing_engine_is_the_only_docker_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise SiteMissing("expected a Docker engine, found none")

    monkeypatch.setattr(image_status, "survey", none)
    app = AppManifest(name="shop", backend="docker", sites=(), docker=DockerManifest(image="shop", memory="900000g"))
    findings = found(app)
    assert findings["docker"] == ("missing", "expected a Docker engine, found none")
    assert "shop" not in findings
    state, text = findings["memory"]
    assert state == "note"
    assert text.endswith("may use 966367.6 GB")
