"""The part of ``webarena sites doctor`` that visits sites: pages, sign-ins, and the assumptions of a suite."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.errors import SiteError, WebArenaError
from pytest_webarena.secrets import scrub
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.site_addresses import FULL_RESET, parse_site_urls

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
    from pytest_webarena.sites.client.lease import BrokerClient, Lease
    from pytest_webarena.sites.doctor import Diagnosis
    from pytest_webarena.trials.site_assumptions import Assumption

__all__ = ["add_options", "choose_catalogue", "needed_apps", "visit_sites"]

_REPORT = "sites-report.md"
_STATES = {"confirmed": "ok", "refuted": "failed", "untested": "note"}
_HOLDER = "webarena sites doctor"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of the doctor."""
    parser.add_argument("--suite", metavar="SUITE", help="test the assumptions of this suite's catalogue")
    parser.add_argument("--report", metavar="FILE", help=f"write a report (default with --suite: {_REPORT})")


def choose_catalogue(options: argparse.Namespace) -> None:
    """Use the suite's own catalogue if no other is named."""
    from pytest_webarena.suites.published import SUITES

    if options.suite in SUITES and not options.sites_given:
        options.sites = SUITES[options.suite].sites


def needed_apps(options: argparse.Namespace, apps: Sequence[AppManifest]) -> list[AppManifest]:
    """Return those of ``apps`` that serve the suite's sites, or sites that the user named, and what these depend on."""
    if not options.suite:
        return list(apps)
    from pytest_webarena.suites.loading import load_suite
    from pytest_webarena.trials.site_assumptions import start_paths

    starts = start_paths(load_suite(options.suite))
    wanted = {app.name for app in apps if _names(app, starts, whole=False)}
    by_name = {app.name: app for app in apps}
    while more := {name for each in wanted & by_name.keys() for name in by_name[each].depends_on} - wanted:
        wanted |= more
    return [app for app in apps if app.name in wanted]


def visit_sites(options: argparse.Namespace, catalogue: Catalogue, apps: Sequence[AppManifest]) -> Iterator[Diagnosis]:
    """Visit each instance of the sites of ``apps``: those of a suite together, else app by app. Write the report."""
    from pytest_webarena.sites.doctor import Diagnosis
    from pytest_webarena.suites.loading import load_suite
    from pytest_webarena.trials.site_assumptions import report_of, start_paths

    starts = start_paths(load_suite(options.suite)) if options.suite else {}
    visited = needed_apps(options, apps)
    visited = [app for app in visited if _names(app, starts, whole=not options.suite)]
    if options.suite and not visited:
        yield Diagnosis(subject=options.suite, state="note", text="none of its sites is there")
        return
    found: list[Assumption] = []
    problems: list[str] = []
    instances = max((_instances(app) for app in visited), default=0)
    for number in range(instances):
        present = [app for app in visited if _instances(app) > number]
        of = f", instance {number + 1}" if instances > 1 else ""
        with _Sites(options, catalogue, present, number) as sites:
            try:
                for assumption in sites.together(starts) if options.suite else sites.one_by_one():
                    found.append(replace(assumption, site=f"{assumption.site or 'all'}{of}"))
                    yield _diagnosis(found[-1])
            except WebArenaError as error:
                problems.append("; ".join(str(error).splitlines()))
                yield Diagnosis(subject=f"{options.suite}{of}", state="failed", text=problems[-1])
    target = options.report or (_REPORT if options.suite else "")
    if not target:
        return
    hosted = [url for app in apps for site in app.sites for url in site.hosted]
    kinds = ", ".join(f"{site.name} ({app.backend})" for app in visited for site in app.sites)
    facts = {
        "catalogue": catalogue.name,
        "sites": kinds,
        "pytest-webarena": version("pytest-webarena"),
        "date": time.strftime("%Y-%m-%d"),
    } | ({"stopped by": " ".join("; ".join(problems).split())} if problems else {})
    report = report_of(found, title=f"Sites of {options.suite or catalogue.name}", facts=facts, hidden=hosted)
    Path(target).write_text(scrub(report), encoding="utf-8")
    yield Diagnosis(subject="report", state="ok", text=f"{len(found)} assumptions in {target}")


def _names(app: AppManifest, starts: Mapping[str, Sequence[str]], *, whole: bool) -> list[str]:
    """Return the sites of an app to visit; of live sites those with an account, since the others are not ours."""
    whole = whole or app.backend == EXTERNAL
    return [site.name for site in app.sites if site.name in starts or app.login or (whole and app.backend != "live")]


def _instances(app: AppManifest) -> int:
    return len(app.sites[0].hosted) if app.backend == EXTERNAL else 1


def _diagnosis(found: Assumption) -> Diagnosis:
    from pytest_webarena.sites.doctor import Diagnosis

    text = found.claim + (f" Found: {found.found}" if found.found else "")
    return Diagnosis(subject=found.site, state=_STATES[found.state], text=text)  # type: ignore[arg-type]


class _Sites:
    """One instance of each of some apps, and the browser that visits them; a context manager."""

    def __init__(
        self, options: argparse.Namespace, catalogue: Catalogue, apps: Sequence[AppManifest], number: int
    ) -> None:
        from pytest_webarena.sites.client.launcher import BrokerConfig

        urls = parse_site_urls(options.site_url)
        if number or any(_instances(app) > 1 for app in apps):
            urls = {name: url for name, url in urls.items() if name != FULL_RESET} | {
                site.name: site.hosted[number] for app in apps if app.backend == EXTERNAL for site in app.sites
            }
        self._apps = apps
        self._config = BrokerConfig(catalogue=catalogue.option, site_urls=urls, max_replicas=1)
        self._stack = ExitStack()
        self._engines: dict[str, BrowserEngine] = {}
        self._client: BrokerClient

    def __enter__(self) -> _Sites:
        from pytest_webarena.sites.client.launcher import BrokerLauncher
        from pytest_webarena.sites.client.lease import BrokerClient

        with ExitStack() as stack:
            launcher = stack.enter_context(BrokerLauncher(self._config))
            self._client = stack.enter_context(BrokerClient(launcher.address, name="webarena sites"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def together(self, starts: Mapping[str, Sequence[str]]) -> Iterator[Assumption]:
        """Yield what a suite with these start pages assumes, with all sites leased at once."""
        from pytest_webarena.trials.site_assumptions import Mark, examine_assumptions, examine_restored

        names = [name for app in self._apps for name in _names(app, starts, whole=False)]
        known = {site.name: site for app in self._apps for site in app.sites}
        resets = [site.name for app in self._apps if app.reset is not None for site in app.sites]
        timeout = sum(app.start_timeout for app in self._apps)
        marks: dict[str, Mark] = {}
        with self._leased(names, timeout) as (engine, lease):
            yield from examine_assumptions(engine, lease, starts, known=known, resets=resets, marks=marks)
        if marks:
            with self._leased(names, timeout) as (engine, lease):
                yield from examine_restored(engine, lease, marks)

    def one_by_one(self) -> Iterator[Assumption]:
        """Yield whether start pages work and accounts can sign in, app by app."""
        from pytest_webarena.trials.sign_in_checks import examine_sign_in
        from pytest_webarena.trials.site_assumptions import Assumption, examine_pages

        states = {state: name for name, state in _STATES.items()}
        for app in self._apps:
            try:
                with self._leased(_names(app, {}, whole=True), app.start_timeout) as (engine, lease):
                    if app.backend != "live":
                        yield from examine_pages(engine, lease)
                    for site in lease.sites.values():
                        for each in examine_sign_in(engine, lease, site):
                            yield Assumption(site=each.subject, claim=each.text, state=states[each.state])  # type: ignore[arg-type]
            except WebArenaError as error:
                text = f"Its sites could not be examined: {error}".splitlines()[0]
                fails = isinstance(error, SiteError) and error.cause == "site"
                yield Assumption(site=app.name, claim=text, state="refuted" if fails else "untested")

    @contextmanager
    def _leased(self, names: Sequence[str], timeout: float) -> Iterator[tuple[BrowserEngine, Lease]]:
        from pytest_webarena.browser.config import EngineConfig
        from pytest_webarena.browser.engine import BrowserEngine

        with self._client.lease(list(names), holder=_HOLDER, timeout=timeout) as lease:
            trust = lease.trust.spki if lease.trust is not None else ""
            if trust not in self._engines:
                self._engines[trust] = self._stack.enter_context(BrowserEngine(EngineConfig(trust=trust)))
            yield self._engines[trust], lease
