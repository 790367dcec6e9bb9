"""Preview deployments: https with a certificate of an own authority, single sign-on, with and without a reset."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.hosted_app import HostedApp, hosted_app
from tests.inner import run_pytest
from tests.preview import certificates, identity_provider, server_tls

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

CATALOGUE = """
apps:
  shop:
    backend: external
    certificate_authority: ca.pem
    sign_in_hosts: ["{identity}"]
    private_hosts: [localhost]
    ready: [{{http: /account}}]
    reset:
      http: {{url: "{{url}}/reset", token_env: RESET_TOKEN}}
      ready: {{url: "{{url}}/ready", includes: ready}}
      proof: {{url: "{{url}}/style.css"}}
    sites:
      shop:
        url: {url}
        user: ada
        sign_in:
          path: /login
          steps:
            - fill: {{"css=[name=user]": "{{username}}", "css=[name=password]": "{{password}}"}}
            - click: css=button
          check: {{path: /account, includes: "{{username}}"}}
    users: {{ada: {{username: ada-l, password: x}}}}
"""
WRITE = """
  - id: writes-{number}
    mutates: true
    intent: Save a note.
    checks: [page: {{open: "shop:/", locate: "css=#note", exact: Milk {number}}}]
    solution:
      - fill: {{"css=[name=note]": "Milk {number}"}}
      - click: css=button
"""
READ = """
  - id: looks-{number}
    mutates: false
    intent: Who am I?
    checks:
      - answer: {{exact: ada-l}}
      - page: {{open: "shop:/", locate: "css=#note", exact: ""}}
    solution: [{solution}stop: ada-l]
"""
HEAD = "defaults: {sites: [shop], reach: task}\ntasks:\n"


@pytest.fixture
def preview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostedApp]:
    monkeypatch.setenv("RESET_TOKEN", "paper-lantern-86")
    tls = certificates(tmp_path)
    with ExitStack() as exits:
        app = exits.enter_context(hosted_app("shop", tls=tls))
        app.token = "paper-lantern-86"
        app.identity = exits.enter_context(identity_provider(tls))
        (tmp_path / "sites.yaml").write_text(CATALOGUE.format(url=app.url, identity=app.identity))
        yield app


def tasks(*texts: str) -> str:
    return HEAD + "".join(texts)


def read(number: int, solution: str = "") -> str:
    return READ.format(number=number, solution=solution)


def write(number: int) -> str:
    return WRITE.format(number=number)


def test_preview_with_an_own_authority_is_signed_in_to_and_reset(tmp_path: Path, preview: HostedApp) -> None:
    (tmp_path / "a.tasks.yaml").write_text(tasks(write(1), read(1)))
    result = run_pytest(tmp_path, "a.tasks.yaml", "--agent=oracle", "--sites=./sites.yaml", "--run-dir=run")
    result.assert_outcomes(passed=2)
    assert preview.resets == 3  # two agree on the proof, one after the note
    assert not preview.rejected


def test_preview_without_reset_is_only_read(tmp_path: Path, preview: HostedApp) -> None:
    catalogue = (tmp_path / "sites.yaml").read_text()
    start, end = catalogue.index("    reset:"), catalogue.index("    sites:")
    (tmp_path / "sites.yaml").write_text(catalogue[:start] + catalogue[end:])
    bad = '{fill: {"css=[name=note]": Milk}}, {click: css=button}, '
    (tmp_path / "a.tasks.yaml").write_text(tasks(write(1), read(1), read(2, bad), read(3)))
    result = run_pytest(tmp_path, "a.tasks.yaml", "--agent=oracle", "--sites=./sites.yaml", "--run-dir=run", "-rs")
    result.assert_outcomes(passed=1, failed=1, skipped=1, errors=1)
    text = " ".join(result.stdout.str().split())
    assert "add 'reset' to the app shop in the catalogue" in text
    assert "was withdrawn" in text
    assert "sent POST https://shop.test/note" in text
    records = [json.loads(path.read_text()) for path in (tmp_path / "run/trials").glob("*/trial.json")]
    outcomes = {record["key"]["task"]: record["outcome"] for record in records}
    assert outcomes == {"looks-1": "passed", "looks-2": "failed", "looks-3": "error"}
    assert not preview.resets


def test_wrong_certificate_is_one_sentence(tmp_path: Path, preview: HostedApp) -> None:
    certificates(tmp_path)  # of another authority
    (tmp_path / "a.tasks.yaml").write_text(tasks(read(1)))
    result = run_pytest(tmp_path, "a.tasks.yaml", "--agent=oracle", "--sites=./sites.yaml", "--env-retries=0")
    result.assert_outcomes(errors=1)
    text = " ".join(result.stdout.str().split())
    assert f"expected the site shop at {preview.url}, found its certificate is not valid: " in text
    assert "expected one that an authority in" in text
    assert "Traceback" not in text


@pytest.mark.exhaustive
def test_four_workers_share_a_preview(tmp_path: Path, preview: HostedApp) -> None:
    texts = [text for number in range(4) for text in (write(number), read(number))]
    (tmp_path / "a.tasks.yaml").write_text(tasks(*texts))
    with hosted_app("shop", tls=server_tls(tmp_path)) as second:
        second.identity, second.token = preview.identity, preview.token
        urls = f"--site-url=shop={preview.url},{second.url}"
        result = run_pytest(tmp_path, "a.tasks.yaml", "--agent=oracle", "--sites=./sites.yaml", urls, "-n", "4")
    result.assert_outcomes(passed=8)
    assert not [*preview.rejected, *second.rejected]
    assert preview.resets
    assert second.resets
