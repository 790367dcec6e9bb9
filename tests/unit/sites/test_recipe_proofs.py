"""Proofs of container recipes, run on doubles of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import SiteError
from pytest_webarena.sites import doctor, recipe_proofs, single_replicas
from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.doctor import Diagnosis
from pytest_webarena.sites.recipe_proofs import examine_proofs

SITES = """
apps:
  shop:
    backend: docker
    sites: {shop: {host: shop.test}}
    docker:
      image: localhost/shop
      post_start:
        - {run: [sed, -i, "s/a/{host}/", f], proof: [grep, -q, "{host}", f]}
        - {run: [sed, -i, s/b/c/, f], proof: [grep, -q, c, f]}
        - {run: [flush]}
  plain:
    backend: docker
    sites: {plain: {host: plain.test}}
    docker: {image: localhost/plain}
"""


class Engine:
    """A double of the backends of a run: programs fail that contain one of ``wrong``."""

    def __init__(self, wrong: Sequence[str] = (), start: Exception | None = None) -> None:
        self.wrong, self.why, self.ran, self.closed = wrong, start, [], 0  # type: ignore[var-annotated]

    def __call__(self, *_: object, **__: object) -> Engine:
        return self

    def get(self, name: str) -> Engine:
        return self

    async def prepare(self, app: AppManifest) -> None:
        pass

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        if self.why is not None:
            raise self.why
        return Replica(id=replica_id, app=app.name, host="10.0.0.1", port=80)

    async def execute(self, app: AppManifest, replica: Replica, arguments: Sequence[str]) -> str:
        self.ran.append((replica.app, *map(app.fill, arguments)))
        return "grep: exit code 1\n  no such file" if set(arguments) & set(self.wrong) else ""

    async def close(self) -> None:
        self.closed += 1


def examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> list[tuple[str, str, str]]:
    (tmp_path / "sites.yaml").write_text(SITES)
    monkeypatch.setattr(single_replicas, "BackendSet", engine)
    catalogue = load_catalogue(str(tmp_path / "sites.yaml"))
    return [(each.subject, each.state, each.text) for each in examine_proofs(catalogue, [*catalogue.apps.values()])]


def test_each_proof_has_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(wrong=["c"])
    assert examined(tmp_path, monkeypatch, engine) == [
        ("shop", "ok", "grep -q shop.test f"),
        ("shop", "failed", "grep -q c f: grep: exit code 1;   no such file"),
        ("shop", "note", "1 of 3 steps have no proof but their exit code"),
        ("plain", "note", "its recipe has no proofs"),
    ]
    assert engine.ran == [("shop", "grep", "-q", "shop.test", "f"), ("shop", "grep", "-q", "c", "f")]
    assert engine.closed == 1


@pytest.mark.parametrize(
    ("why", "text"),
    [
        (
            SiteError("step 1 of 3 had no effect\nexit code 1"),
            "step 1 of 3 had no effect; exit code 1; 0 of 2 proofs were run",
        ),
        (TimeoutError(), "it did not start within 60 s, so no proof was run"),
    ],
)
def test_app_that_does_not_start_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: Exception, text: str
) -> None:
    engine = Engine(start=why)
    assert examined(tmp_path, monkeypatch, engine)[0] == ("shop", "failed", text)
    assert engine.closed == 1


def test_app_without_sites_is_started_without_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sites.yaml").write_text(SITES)
    catalogue = load_catalogue(str(tmp_path / "sites.yaml"))
    docker = catalogue.apps["shop"].docker
    assert docker is not None
    shop = replace(catalogue.apps["shop"], sites=(), docker=replace(docker, post_start=docker.post_start[1:2]))
    monkeypatch.setattr(single_replicas, "BackendSet", engine := Engine())
    (first, *_) = examine_proofs(replace(catalogue, apps={"shop": shop}), [shop])
    assert (first.state, len(engine.ran)) == ("ok", 1)


def test_command_fails_with_a_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sites.yaml").write_text(SITES)
    monkeypatch.setattr(doctor, "examine", lambda apps: [])
    for state, code in (("ok", 0), ("failed", 1)):
        found: Any = [Diagnosis(subject="shop", state=state, text="grep")]  # type: ignore[arg-type]
        monkeypatch.setattr(recipe_proofs, "examine_proofs", lambda catalogue, apps, found=found: found)
        assert main(["sites", "verify", f"--sites={tmp_path / 'sites.yaml'}"]) == code
    assert "1 failed" in capsys.readouterr().out
    assert main(["sites", "verify", "--sites=embedded"]) == 2
    assert "expected apps in containers, or with 'reset', found none in embedded" in capsys.readouterr().err


def test_shipped_recipe_of_webarena_has_a_proof_for_each_setting() -> None:
    settings = {"sed", "config:set", "setup:store-config:set"}
    apps = load_catalogue("webarena").apps.values()
    steps = [step for app in apps if app.docker is not None for step in app.docker.post_start]
    assert not [step.run for step in steps if settings & {*step.run} and not step.proof]
