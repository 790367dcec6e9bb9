"""The doctor on stand-ins for WebArena's hosted sites: faithful ones, and ones that depart in one point."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.commands.cli import main
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.trials import site_facts
from pytest_webarena.trials.site_facts import fact_error, mark_left, write_error
from tests.hosted_stand_ins.deviations import DEVIATIONS, Deviation
from tests.hosted_stand_ins.machine import Layout, Machine, running
from tests.hosted_stand_ins.options import Options
from tests.hosted_stand_ins.task_pages import pages_of_tasks

_RESET_SITES = ("reddit", "gitlab")
"""Sites with a form for a trial write in the catalogue."""

_HARMLESS = {"other-field-names": "the catalogue finds the fields by their test ids, as upstream's script does"}
"""Deviations that change nothing that a task or the harness uses."""


def _facts(site: str) -> Any:
    return load_catalogue("webarena").sites[site]


def _access(machine: Machine, site: str) -> Any:
    return SimpleNamespace(name=site, url=machine.sites[site].address)


def _direct(machine: Machine, site: str) -> SessionConfig:
    """Return the settings of a session without a gateway: the stand-in also answers as a proxy."""
    return SessionConfig(proxy=machine.sites[site].address)


def _fact_errors(engine: BrowserEngine, site: str, options: Options) -> dict[str, str]:
    with running({site: options}) as machine, engine.session(_direct(machine, site)) as session:
        return {str(fact): fact_error(session, _access(machine, site), fact) for fact in _facts(site).facts}


def test_scripts_of_a_page_are_part_of_a_fact(engine: BrowserEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_facts, "_PATIENCE", 0.5)
    tile, search, route = map(str, _facts("map").facts)
    both = Options(missing=("/tile/", "/osrm/"))
    assert _fact_errors(engine, "map", both) == {
        tile: "no such element",
        search: "",
        route: 'the page shows "Couldn\'t find a route between those two places."',
    }
    monkeypatch.setattr(site_facts, "_PATIENCE", 10.0)
    assert not any(_fact_errors(engine, "map", Options()).values())


def _sign_in(engine: BrowserEngine, machine: Machine, site: str) -> Mapping[str, Any]:
    """Return the storage state of the published account."""
    from pytest_webarena.browser.login import login

    app = load_catalogue("webarena").apps[site]
    (account,) = app.users.values()
    return login(engine, app.login[site], account, url=machine.sites[site].address, proxy=machine.sites[site].address)


def test_entry_that_a_reset_leaves_is_found(engine: BrowserEngine) -> None:
    with running() as machine:
        site, mark = _access(machine, "reddit"), f"doctor{secrets.token_hex(4)}"
        lease: Any = SimpleNamespace(proxy=site.url)
        state = _sign_in(engine, machine, "reddit")
        problem, url = write_error(engine, lease, site, _facts("reddit").trial_write, state, mark)
        assert problem == ""
        with engine.session(_direct(machine, "reddit"), tab=False) as session:
            assert mark_left(session, url, mark) == f"{url} still shows the entry: the reset did not restore the data"
            machine.sites["reddit"].reset()
            assert mark_left(session, url, mark) == ""


# --- whole runs of the doctor


def _report(machine: Machine, target: Path, names: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run the doctor as a lab does; return its findings that are not fulfilled, one line each."""
    hosted = names or tuple(machine.addresses)
    urls = [f"--site-url={name}={machine.addresses[name]}" for name in hosted]
    if set(hosted) & set(_RESET_SITES):
        urls.append(f"--site-url=full_reset={machine.reset_address}")
    code = main(["sites", "doctor", "--suite=webarena", f"--report={target}", *names, *urls])
    printed = " ".join(capsys.readouterr().out.split())
    found = re.findall(r"(?:MISSING|FAILED) .*?(?= (?:ok|note|MISSING|FAILED) [a-z_]+ | \d+ missing|$)", printed)
    assert bool(found) == bool(code), printed
    return found


@pytest.fixture(params=["machine", "hosts"])
def faithful(request: pytest.FixtureRequest) -> Iterator[Machine]:
    layout: Layout = request.param
    with running(layout=layout, extra=pages_of_tasks()) as machine:
        yield machine


@pytest.mark.exhaustive
def test_doctor_confirms_faithful_stand_ins(
    faithful: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _report(faithful, tmp_path / "report.md", (), capsys) == []
    rows = (tmp_path / "report.md").read_text().splitlines()
    assert sum("| confirmed |" in row for row in rows) > 100
    assert "127.0." not in "".join(rows)


@pytest.mark.exhaustive
@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda deviation: deviation.name)
def test_doctor_names_deviation(deviation: Deviation, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running({deviation.site: deviation.options}, extra=pages_of_tasks()) as machine:
        found = _report(machine, tmp_path / "report.md", (deviation.site,), capsys)
    if deviation.name in _HARMLESS:
        assert found == []
        return
    named = [line for line in found if any(hint.lower() in line.lower() for hint in deviation.hint)]
    assert named, found
