"""Addresses of hosted sites: from options, variables and .env, and what the catalogue adds to them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.site_addresses import environment_site_urls, parse_site_urls
from tests.cases import each_case

WIKIPEDIA = "http://h:8888/wikipedia_en_all_maxi_2022-05/A/User:The_other_Kiwix_guy/Landing"


def test_variables_of_both_benchmarks_and_env_files_name_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dotenv")
    (tmp_path / ".env").write_text(
        f"BASE=http://h\nWA_SHOPPING=${{BASE}}:7770/\nREDDIT=http://old\nWIKIPEDIA={WIKIPEDIA}\n"
    )
    variables = {"REDDIT": "http://h:9999", "WA_REDDIT": "http://h:9999/", "HOMEPAGE": "PASS", "MAP": "", "OTHER": "x"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    expected = {"shopping": "http://h:7770", "reddit": "http://h:9999", "wikipedia": WIKIPEDIA}
    assert parse_site_urls(["env"]) == expected
    assert parse_site_urls(["reddit=http://mine", "env"]) == {**expected, "reddit": "http://mine"}
    assert parse_site_urls(["reddit=http://mine"]) == {"reddit": "http://mine"}


@each_case(
    "variables, message",
    [
        ({}, "variables such as SHOPPING=http://host:7770 or WA_SHOPPING=…, .*found none"),
        ({"MAP": "PASS"}, "found none"),
        ({"MAP": "http://a", "WA_MAP": "http://b"}, "one address of map, found WA_MAP=http://b and MAP=http://a"),
        (
            {"MAP": "a:3000"},
            "the variable MAP: expected an address that starts with http:// or https://, found 'a:3000'",
        ),
    ],
)
def test_unusable_variables_are_reported(tmp_path: Path, variables: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        environment_site_urls(variables, tmp_path / ".env")
    assert re.search(message, str(error.value))


@pytest.mark.parametrize("home", ["webarena", "webarena-verified"])
def test_suite_keeps_accounts_and_sign_ins_at_any_address(home: str) -> None:
    own = load_catalogue(home)
    names = ["shopping", "shopping_admin", "reddit", "gitlab", "wikipedia"]
    urls = {name: f"https://h:{4000 + number}" for number, name in enumerate(names)} | {"wikipedia": WIKIPEDIA}
    hosted = load_catalogue(home, site_urls=urls)
    for name in names:
        before, after = own.apps[own.site(name).app], hosted.apps[hosted.site(name).app]
        assert after.users == before.users
        assert set(after.login) == set(before.login) & {name}
        assert hosted.site(name).default_user == own.site(name).default_user
        assert hosted.site(name).api == own.site(name).api
    assert hosted.site("reddit").start_url == "https://reddit.test/forums/all"
    assert hosted.site("shopping_admin").start_url == "https://h:4001/admin"  # Magento keeps its address
    assert hosted.site("wikipedia").start_url == WIKIPEDIA.replace("h:8888", "wikipedia.test")


def test_start_page_follows_the_address() -> None:
    hosted = load_catalogue("webarena", site_urls={"wikipedia": "http://h:8888/other/A/Main_Page"})
    assert hosted.site("wikipedia").start_url == "http://wikipedia.test/other/A/Main_Page"


def test_instances_and_full_reset_are_given_as_addresses() -> None:
    hosted = load_catalogue("webarena", site_urls=parse_site_urls(["reddit=http://a:1,http://b:2/"]))
    assert hosted.site("reddit").hosted == ("http://a:1", "http://b:2")
    assert hosted.apps["reddit"].max_replicas == 2
    urls = {"reddit": "http://h:1", "gitlab": "http://h:2", "map": "http://h:3", "full_reset": "http://h:7565"}
    hosted = load_catalogue("webarena", site_urls=urls)
    app = hosted.apps["hosted"]
    assert {site.name for site in app.sites} == set(app.login) == {"reddit", "gitlab"}
    assert set(app.users) == {"MarvelsGrantMan136", "byteblaze"}
    assert app.reset is not None
    assert app.reset.http is not None
    assert app.reset.http.url == "http://h:7565/reset"
    assert hosted.apps[hosted.site("map").app].read_only
    with pytest.raises(UsageError, match="one address of each site, found several instances"):
        load_catalogue("webarena", site_urls={"reddit": "http://a,http://b", "full_reset": "http://h"})


def test_extending_catalogue_adds_addresses_to_known_sites(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "extends: webarena\napps:\n  reddit:\n    backend: external\n    sites: {reddit: {url: 'http://h:9999'}}\n"
        "    reset: {run: [./reset.sh]}\n"
    )
    mine, known = load_catalogue(tmp_path / "mine.yaml"), load_catalogue("webarena")
    assert mine.apps["reddit"].login["reddit"] == known.apps["reddit"].login["reddit"]
    assert mine.site("reddit").start_url == "http://reddit.test/forums/all"
    assert mine.site("reddit").hosted == ("http://h:9999",)
