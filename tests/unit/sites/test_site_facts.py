"""What the doctor knows about the content of sites: keys of catalogues, clocks, links, stand-ins that depart."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.sites.catalogues.facts import SiteFact
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.trials.site_facts import clock_error, link_error
from tests.cases import each_case
from tests.hosted_stand_ins.deviations import DEVIATIONS
from tests.hosted_stand_ins.images import IMAGES
from tests.hosted_stand_ins.machine import running
from tests.hosted_stand_ins.options import Options

_CATALOGUE = """\
schema_version: 1
apps:
  shop:
    backend: external
    sites:
      shop:
        url: http://shop.example.org
        facts: {facts}
"""


def _shop(folder: Path, facts: str) -> Any:
    path = folder / "sites.yaml"
    path.write_text(_CATALOGUE.format(facts=facts))
    return load_catalogue(str(path)).apps["shop"]


def test_facts_are_read_and_leave_the_app_as_it_is(tmp_path: Path) -> None:
    app = _shop(tmp_path, "[{path: /, includes: Shop}, {path: /new, absent: true}]")
    assert app.sites[0].facts == (SiteFact(path="/", includes="Shop"), SiteFact(path="/new", absent=True))
    assert [str(fact) for fact in app.sites[0].facts] == ["/ shows 'Shop'", "/new does not exist yet"]
    assert app.digest == _shop(tmp_path, "[]").digest


@each_case("facts", ["[{path: /}]", "[{path: /, includes: a, absent: true}]"])
def test_fact_says_what_is_there_or_that_nothing_is(tmp_path: Path, facts: str) -> None:
    with pytest.raises(UsageError, match="expected 'includes' or 'locate', or 'absent: true'"):
        _shop(tmp_path, facts)


def _errors(site: str, options: Options) -> tuple[str, str]:
    with running({site: options}) as machine:
        stand_in = machine.sites[site]
        entry = machine.addresses[site]
        access: Any = SimpleNamespace(name=site, url=entry, start=entry)
        lease: Any = SimpleNamespace(
            harness_proxy=None, own_addresses=SimpleNamespace(names={stand_in.address: entry}), sites={site: access}
        )
        return clock_error(access, lease), link_error(access, lease, {})


@each_case(
    ("site", "options", "clock", "link"),
    [
        ("shopping", Options(clock_offset_days=-2), "its clock is 48 hours behind of this machine's", ""),
        ("gitlab", Options(clock_offset_days=3), "its clock is 72 hours ahead of this machine's", ""),
        ("homepage", Options(placeholder_links=True), "", "addresses with placeholders that nobody filled in"),
        (
            "shopping_admin",
            Options(base="http://old.example.org:7780", redirects_to_base=False),
            "",
            "all of its links lead to old.example.org:7780: the site has another base address",
        ),
        *((site, Options(), "", "") for site in IMAGES),
    ],
)
def test_clock_and_links_of_a_stand_in(site: str, options: Options, clock: str, link: str) -> None:
    found = _errors(site, options)
    assert (found[0].startswith(clock), found[1].startswith(link)) == (True, True), found
    assert (bool(found[0]), bool(found[1])) == (bool(clock), bool(link)), found


# --- the stand-ins themselves


def test_names_of_deviations_differ() -> None:
    assert len({deviation.name for deviation in DEVIATIONS}) == len(DEVIATIONS) >= 30
    defaults = [deviation.name for deviation in DEVIATIONS if deviation.options == Options()]
    assert not defaults
