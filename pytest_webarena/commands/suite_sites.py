"""The part of ``webarena sites doctor`` that tests the assumptions of a suite's catalogue about its sites."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.errors import WebArenaError
from pytest_webarena.sites.catalogues.site_addresses import parse_site_urls

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
    from pytest_webarena.sites.doctor import Diagnosis
    from pytest_webarena.trials.site_assumptions import Assumption

__all__ = ["add_options", "choose_catalogue", "examine_suite"]

_REPORT = "sites-report.md"
_STATES = {"confirmed": "ok", "refuted": "failed", "untested": "note"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of the doctor."""
    parser.add_argument("--suite", metavar="SUITE", help="test the assumptions of this suite's catalogue")
    parser.add_argument("--report", metavar="FILE", default=_REPORT, help=f"report of --suite (default: {_REPORT})")


def choose_catalogue(options: argparse.Namespace) -> None:
    """Use the suite's own catalogue if no other is named."""
    from pytest_webarena.suites.published import SUITES

    if options.suite in SUITES and not options.sites_given:
        options.sites = SUITES[options.suite].sites


def examine_suite(
    options: argparse.Namespace, catalogue: Catalogue, apps: Sequence[AppManifest]
) -> Iterator[Diagnosis]:
    """Test the assumptions about the sites of ``apps``, all leased together, and write the report."""
    from pytest_webarena.browser.config import EngineConfig
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
    from pytest_webarena.sites.client.lease import BrokerClient
    from pytest_webarena.sites.doctor import Diagnosis
    from pytest_webarena.suites.loading import load_suite
    from pytest_webarena.trials.site_assumptions import examine_assumptions, report_of, start_paths

    starts = start_paths(load_suite(options.suite))
    names = [site.name for app in apps for site in app.sites if site.name in starts or app.login]
    if not names:
        yield Diagnosis(subject=options.suite, state="note", text="none of its sites is there")
        return
    found: list[Assumption] = []
    urls = parse_site_urls(options.site_url)
    config = BrokerConfig(catalogue=catalogue.option, site_urls=urls, max_replicas=1)
    timeout = sum(app.start_timeout for app in apps)
    problem = ""
    with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="webarena sites") as client:
        try:
            with client.lease(names, holder="webarena sites doctor", timeout=timeout) as lease:
                engine_config = EngineConfig(trust=lease.trust.spki if lease.trust is not None else "")
                with BrowserEngine(engine_config) as engine:
                    for assumption in examine_assumptions(engine, lease, starts):
                        found.append(assumption)
                        text = assumption.claim + (f" Found: {assumption.found}" if assumption.found else "")
                        subject, state = assumption.site or "all sites", _STATES[assumption.state]
                        yield Diagnosis(subject=subject, state=state, text=text)  # type: ignore[arg-type]
        except WebArenaError as error:
            problem = str(error)
            yield Diagnosis(subject=options.suite, state="failed", text="; ".join(problem.splitlines()))
    hosted = [url for app in apps for site in app.sites for url in site.hosted]
    facts = {
        "catalogue": catalogue.name,
        "sites": ", ".join(f"{site.name} ({app.backend})" for app in apps for site in app.sites if site.name in names),
        "pytest-webarena": version("pytest-webarena"),
        "date": time.strftime("%Y-%m-%d"),
    } | ({"stopped by": " ".join(problem.split())} if problem else {})
    report = report_of(found, title=f"Sites of {options.suite}", facts=facts, hidden=hosted)
    Path(options.report).write_text(report, encoding="utf-8")
    yield Diagnosis(subject="report", state="ok", text=f"{len(found)} assumptions in {options.report}")
