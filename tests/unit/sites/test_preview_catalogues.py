"""Catalogues of preview deployments: certificate authorities, and other addresses for an app that runs elsewhere."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.secrets import scrub
from pytest_webarena.sites.backends.external import ExternalBackend
from pytest_webarena.sites.backends.reset_hook import reset_instance
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.doctor import examine
from tests.cases import each_case
from tests.hosted_app import hosted_app
from tests.preview import certificates

APP = """
apps:
  shop:
    backend: external
    {key}
    reset: {{http: {{url: "{reset}", headers: {{Authorization: Bearer token}}}}}}
    sites: {{shop: {{url: "{url}", user: ada}}}}
    users: {{ada: {{password: x}}}}
"""


def write(folder: Path, key: str = "", *, url: str = "https://127.0.0.1:1", reset: str = "{url}/reset") -> Path:
    path = folder / "sites.yaml"
    path.write_text(APP.format(key=key, url=url, reset=reset))
    return path


@each_case(
    ("content", "message"),
    [
        (None, "expected a file with certificates in PEM form, found no file "),
        ("hello", "found no certificate that begins with '-----BEGIN CERTIFICATE-----' in "),
    ],
)
def test_unusable_authority_is_an_error_of_the_file(content: str | None, message: str, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").unlink(missing_ok=True)
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)
    with pytest.raises(UsageError, match=r"sites\.yaml:5:28: ") as error:
        load_catalogue(write(tmp_path, "certificate_authority: ca.pem"))
    assert message in str(error.value)


def test_authority_without_https_is_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="with 'certificate_authority', found none"):
        load_catalogue(write(tmp_path, "certificate_authority: ca.pem", url="http://127.0.0.1:1"))


def test_resets_and_health_checks_trust_the_authority_of_the_app_only(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    certificates(other)
    with hosted_app(tls=certificates(tmp_path)) as server:
        path = write(tmp_path, "certificate_authority: ca.pem", url=server.url)
        app = load_catalogue(path).apps["shop"]
        assert examine([app], catalogue=str(path))[0].state == "ok"

        async def start(wrong: str = "") -> None:
            backend = ExternalBackend(None)
            await backend.prepare(app)
            backend._instances["shop"]._app = replace(app, certificate_authority=wrong or app.certificate_authority)
            await backend.start(app, "shop-1")

        asyncio.run(start())
        assert server.resets == 1
        with pytest.raises(SiteError, match=r"reset of shop .* failed: POST .*/reset: its certificate is not valid: "):
            asyncio.run(start(str(other / "ca.pem")))
        assert server.resets == 1
        app = load_catalogue(write(tmp_path, url=server.url)).apps["shop"]
        with pytest.raises(SiteError, match=r"found its certificate is not valid: .*'certificate_authority: ca\.pem'"):
            asyncio.run(start())
        found = [each.text for each in examine([app], catalogue=str(path)) if each.state == "missing"]
        assert [text for text in found if "certificate is not valid" in text]


def test_reset_token_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hosted_app() as server:
        server.token = "paper-lantern-86"
        text = write(tmp_path, url=server.url).read_text()
        (tmp_path / "sites.yaml").write_text(text.replace("headers: {Authorization: Bearer token}", "token_env: RESET"))

        def reset() -> str:
            app = load_catalogue(tmp_path / "sites.yaml").apps["shop"]
            with suppress(SiteError):
                asyncio.run(reset_instance(app, {"shop": server.url}, 1))
                return ""
            return "failed"

        monkeypatch.delenv("RESET", raising=False)
        assert reset() == "failed"
        assert not server.rejected  # nothing was sent
        monkeypatch.setenv("RESET", "paper-lantern-86")
        assert reset() == ""
        assert server.resets == 1
        assert "paper-lantern-86" not in scrub("Authorization: Bearer paper-lantern-86")


def test_another_address_keeps_all_keys_of_the_app(tmp_path: Path) -> None:
    certificates(tmp_path)
    path = write(tmp_path, "certificate_authority: ca.pem")
    before = load_catalogue(path).apps["shop"]
    after = load_catalogue(path, site_urls={"shop": "https://127.0.0.1:2,https://127.0.0.1:3"}).apps["shop"]
    assert after.sites[0].hosted == ("https://127.0.0.1:2", "https://127.0.0.1:3")
    assert (after.reset, after.certificate_authority) == (before.reset, before.certificate_authority)
    assert (after.sites[0].host, after.sites[0].default_user, after.max_replicas) == ("shop.test", "ada", 2)
    assert after.digest != before.digest


def test_another_address_with_a_fixed_reset_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, reset="https://127.0.0.1:1/reset")
    with pytest.raises(UsageError, match=r"expected \{url\} or \{host\} in the 'reset' of shop, found .*:1/reset'"):
        load_catalogue(path, site_urls={"shop": "https://127.0.0.1:2"})
