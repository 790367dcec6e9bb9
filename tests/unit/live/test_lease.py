"""Leases of live sites through a broker: terms and trust, without any connection to a site."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.errors import BrowserError, UsageError
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from pytest_webarena.sites.protocol.messages import LiveWishes
from pytest_webarena.tasks.model import LiveTerms
from tests.processes import DEADLINE


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerLauncher(BrokerConfig(catalogue="live", run_dir=tmp_path_factory.mktemp("run"))) as launcher:
        yield launcher.address


def refusal(lease: Lease, url: str, **how: object) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.proxy}))
    with pytest.raises(urllib.error.HTTPError) as raised:
        opener.open(urllib.request.Request(url, headers={"Accept": "text/html"}, **how), timeout=DEADLINE)  # type: ignore[arg-type]
    text: str = raised.value.read().decode()
    return text


def test_lease_carries_the_terms_of_its_task(address: str) -> None:
    wishes = LiveWishes(
        starts=("https://www.shop.example.co.uk/",),
        terms=LiveTerms(domains=("agency.org",), reads=("/search",), robots="ignore"),
    )
    with BrokerClient(address, name="gw0") as client, client.lease(["live"], holder="x", live=wishes) as lease:
        assert lease.live["domains"] == ["agency.org", "example.co.uk"]
        assert (lease.live["reads"], lease.live["robots"], lease.live["pages_per_second"]) == (
            ["POST /search"],
            "ignore",
            1.0,
        )
        assert lease.trust is not None
        assert "can&#x27;t be reached" in refusal(lease, "http://127.0.0.1/")
        assert "not of this task&#x27;s domains (agency.org, example.co.uk)" in refusal(lease, "http://elsewhere.org/")
        assert "was not sent" in refusal(lease, "http://agency.org/buy", data=b"a=1")
        assert [each.intercepted for each in lease.requests()] == [False, False, True]


def test_terms_apply_to_one_lease_only(address: str) -> None:
    wishes = LiveWishes(starts=("https://agency.org/",), terms=LiveTerms(writes=("/buy",)))
    with BrokerClient(address, name="gw0") as client:
        with client.lease(["live"], holder="x", live=wishes) as lease:
            assert lease.live["writes"] == ["POST /buy"]
        with client.lease(["live"], holder="y") as lease:
            assert (lease.live["domains"], lease.live["writes"]) == ([], [])
            assert "not of this task&#x27;s domains (no site)" in refusal(lease, "http://agency.org/")


def test_public_suffix_as_start_is_a_usage_error(address: str) -> None:
    with (
        BrokerClient(address, name="gw0") as client,
        pytest.raises(UsageError, match=r"expected the address of a site"),
    ):
        client.lease(["live"], holder="x", live=LiveWishes(starts=("https://co.uk/",)))


def test_browser_that_cannot_trust_the_authority_is_an_error(address: str) -> None:
    """Firefox cannot be set to trust an authority for one run."""
    with (
        BrokerClient(address, name="gw1", trusts=False) as client,
        pytest.raises(
            BrowserError, match=r"live: expected Chromium, .* run without --browser, or with --browser=chromium"
        ),
    ):
        client.lease(["live"], holder="x")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("{pages_per_secnd: 1}", "has no option 'pages_per_secnd'; did you mean 'pages_per_second'"),
        ("{pages_per_second: 0}", "a number above 0 in the option 'pages_per_second'"),
        ("{robots: maybe}", "obey or ignore in the option 'robots'"),
        ("{reads: [GET /x]}", "requests such as 'POST /search'"),
        ('{contact: "a\\r\\nX: y"}', "a text of plain characters in the option 'contact'"),
    ],
)
def test_invalid_live_options_are_usage_errors(tmp_path: Path, options: str, expected: str) -> None:
    file = tmp_path / "sites.yaml"
    file.write_text(
        f"apps: {{a: {{backend: live, options: {options}, sites: {{tea: {{url: 'https://www.example.com'}}}}}}}}"
    )
    with pytest.raises(UsageError) as error:
        load_catalogue(file)
    assert expected in str(error.value)


def test_live_site_without_a_url_is_a_usage_error(tmp_path: Path) -> None:
    file = tmp_path / "sites.yaml"
    file.write_text("apps: {a: {backend: live, sites: {tea: {host: tea.test}}}}")
    with pytest.raises(UsageError, match="a 'url' of the site tea"):
        load_catalogue(file)
