"""Rates without errors and with errors as failures are the same in all reports of one run."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.plugin.reporting.junit import write_properties
from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.reports import write_allure_results
from pytest_webarena.results import RunDir
from pytest_webarena.results.conditions import summaries_of
from pytest_webarena.results.export import export
from pytest_webarena.results.gate import Gate
from pytest_webarena.results.plan import PlannedTrial, cover, extend_plan, read_plan
from pytest_webarena.results.viewer import write_view
from tests.browser.conftest import PeoplesBrowser

from ..made_up import UNDECIDED, make_run, make_trial

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

pytestmark = pytest.mark.browser

COUNTS, FAILED_COUNTS = "6–7/9", "6–7/12"
RATE, FAILED = ("66.7%", "35.4%", "87.9%"), ("50.0%", "25.4%", "74.6%")
"""The rate and both ends of its interval, without errors and with errors as failures."""


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A run with six trials that passed, two that failed, an undecided one, two errors, and one that they stopped."""
    run = make_run(tmp_path / "run")
    outcomes = ["passed"] * 6 + ["failed"] * 2 + ["undecided"] + ["error"] * 2
    for number, outcome in enumerate(outcomes):
        more = {"outcome": "failed", **UNDECIDED} if outcome == "undecided" else {"outcome": outcome}
        make_trial(run, f"t{number}", evidence=False, agent_digest="x", **more)
    keys = [record.key for record in run.records()]
    stopped = PlannedTrial(key=replace(keys[0], task="t11"), stopped="2 errors in a row")
    extend_plan(run.path, [*(PlannedTrial(key=key) for key in keys), stopped])
    export(run)
    return run


def terminal(run: RunDir) -> str:
    return " ".join(line.text for line in summary_lines(summaries_of(run, run.records()).values()))


def junit(run: RunDir, tmp_path: Path) -> str:
    """Return the suite's properties in the JUnit XML of a run of pytest that ends with the run's figures."""
    from _pytest.junitxml import LogXML

    log = LogXML(str(tmp_path / "junit.xml"), None)
    log.pytest_sessionstart()
    log.pytest_sessionfinish()
    config = type("Config", (), {"pluginmanager": type("Plugins", (), {"get_plugins": staticmethod(lambda: [log])})})
    write_properties(config, summaries_of(run, run.records()).values())  # type: ignore[arg-type]
    found = ElementTree.parse(tmp_path / "junit.xml").iter("property")
    return " ".join(f"{each.get('name')}: {each.get('value')}" for each in found)


def allure(run: RunDir, tmp_path: Path) -> str:
    write_allure_results(run.path, tmp_path / "allure")
    [globals_] = (tmp_path / "allure").glob("*-globals.json")
    attached = {each["name"]: each["source"] for each in json.loads(globals_.read_text())["attachments"]}
    return (tmp_path / "allure" / str(attached["success rates.txt"])).read_text()


def gate(run: RunDir, threshold: float) -> str:
    """Return the message of the gate, which ``webarena runs gate`` leaves out where errors stopped trials."""
    records = run.records()
    ruling = Gate(min_pass_rate=threshold, max_errors=9).rule(
        summaries_of(run, records), cover(read_plan(run.path), records)
    )
    assert ruling is not None
    return ruling.message


def viewer(run: RunDir, tmp_path: Path, browser: PeoplesBrowser) -> str:
    write_view(run, tmp_path / "view.html")
    texts: list[str] = []

    async def look(context: BrowserContext) -> None:
        page = await context.new_page()
        await page.goto((tmp_path / "view.html").as_uri())
        texts.append(await page.inner_text("#agents"))
        texts.append(await page.inner_text("#rates-table"))

    browser.use(look, viewport={"width": 1280, "height": 800})
    return " ".join(texts).replace(" %", "%")


@pytest.mark.skipif(sys.platform == "win32", reason="runs need POSIX")
def test_all_reports_print_the_same_two_rates(
    run: RunDir, tmp_path: Path, peoples_browser: PeoplesBrowser, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*arguments: str) -> str:
        main([*arguments])
        return capsys.readouterr().out

    make_trial(other := make_run(tmp_path / "other"), "t0", evidence=False, agent_digest="x")
    reports = {
        "terminal": terminal(run),
        "JUnit": junit(run, tmp_path),
        "Allure": allure(run, tmp_path),
        "tables": printed("compare", "tables", str(run.path)),
        "compare": printed("compare", "agents", str(run.path), str(other.path)),
        "gate": gate(run, 0.6),
        "failing gate": gate(run, 0.9),
        "viewer": viewer(run, tmp_path, peoples_browser),
    }
    for name, report in reports.items():
        text = " ".join(report.split())
        for value, low, high in (RATE, FAILED):
            assert value in text, (name, text)
            assert re.search(rf"{low[:-1]}%?(?: to |–){high[:-1]}", text), (name, text)
        assert FAILED_COUNTS in text, (name, text)
        if name != "tables":  # which has columns for judged and undecided trials
            assert COUNTS in text or ("6/9" in text and "undecided" in text), (name, text)
    figures = json.loads((run.path / "summary.json").read_text())["agents"]["a"]["rate"]
    assert [f"{each:.1%}" for each in (figures["value"], *figures["interval95"])] == [*RATE]
    failed = figures["errors_failed"]
    assert [f"{each:.1%}" for each in (failed["value"], *failed["interval95"])] == [*FAILED]
    assert (failed["passed"], failed["trials"]) == (6, 12)
