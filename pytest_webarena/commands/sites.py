"""``webarena sites``: start, inspect and stop sites manually, outside of any test run."""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_webarena.commands import suite_sites
from pytest_webarena.commands.images import pull_missing
from pytest_webarena.commands.other_hosts import examine_other_hosts
from pytest_webarena.errors import SiteError, SiteMissing, UsageError, WebArenaError
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
from pytest_webarena.sites.catalogues.site_addresses import parse_site_urls
from pytest_webarena.sites.site_daemon import (
    DaemonClient,
    DaemonSettings,
    DaemonSite,
    DaemonStatus,
    start,
    state_directory,
)

if TYPE_CHECKING:
    from pytest_webarena.sites.doctor import Diagnosis
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["add_commands"]

_WIDTH = 80
_LABEL = 18
_POLL = 0.5
_SAY_AGAIN = 15.0
"""Seconds between progress lines where a line can't be overwritten."""


def add_commands(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the sub-parsers of ``webarena sites``."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--sites", metavar="CATALOGUE", help="catalogue (default: the ini file's, or embedded)")
    shared.add_argument(
        "--site-url",
        action="append",
        default=[],
        metavar="SITE=URL",
        help="a site that runs elsewhere; env: from variables",
    )

    def add(name: str, run: object, help: str, *, some: bool = True) -> argparse.ArgumentParser:
        parser = actions.add_parser(name, help=help, parents=[shared])
        if some:
            parser.add_argument("names", nargs="*", metavar="SITE", help="default: all of the catalogue")
        parser.set_defaults(run=run)
        return parser

    add("list", _list, "list sites, apps and accounts", some=False)
    up = add("up", _up, "start sites and leave them running")
    up.add_argument("--no-wait", action="store_true", help="don't wait until they answer")
    add("status", _status, "list running sites")
    logs = add("logs", _logs, "print the logs of sites")
    logs.add_argument("-n", "--lines", type=int, default=50, metavar="N", help="default: 50")
    reset = add("reset", _reset, "reset running sites")
    reset.add_argument("--no-wait", action="store_true", help="don't wait until they answer")
    opening = add("open", _open, "open a signed-in browser window on sites", some=False)
    opening.add_argument("site", nargs="?", metavar="SITE", help="where to begin (default: the first)")
    opening.add_argument("--user", metavar="ACCOUNT", help="account to sign in; '' for none (default: the site's)")
    opening.add_argument("--browser-executable", metavar="PATH", help="browser to use (default: as for pytest)")
    add("down", _down, "stop sites that up started", some=False)
    doctor = add("doctor", _doctor, "check engine, images, browser, sign-ins, reuse, queues")
    suite_sites.add_options(doctor)
    add("verify", _verify, "run the proofs of recipes and resets")
    doctor.add_argument("--quick", action="store_true", help="start nothing, so don't measure 'reuse: clean'")


# --- looking


def _list(options: argparse.Namespace) -> int:
    catalogue = _catalogue(options)
    for app in catalogue.apps.values():
        about = [
            app.backend,
            *(["read-only, shared"] if app.read_only else []),
            f"about {app.boot_seconds:g} s to start",
        ]
        if app.depends_on:
            about.append(f"with {', '.join(app.depends_on)}")
        _print_row(app.name, ", ".join(about))
        for site in app.sites:
            login = app.login.get(site.name)
            sign_in_text = (
                f", {site.default_user or 'no account'} signed in by {login.kind}" if login is not None else ""
            )
            own = f", hosted at {', '.join(site.hosted)}" if site.hosted else ""
            _print_row(f"  {site.name}", f"{site.start_url}{sign_in_text}{own}")
        if app.users:
            names = list(app.users)
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            _print_row("  accounts", ", ".join(names[:3]) + more)
        if app.databases:
            _print_row("  databases", ", ".join(f"{name} ({one.engine})" for name, one in app.databases.items()))
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from pytest_webarena.agents import sandbox
    from pytest_webarena.browser.config import EngineConfig
    from pytest_webarena.browser.launching.discovery import find_browser
    from pytest_webarena.sites.doctor import Diagnosis, examine, examine_resets
    from pytest_webarena.sites.quiet_measuring import examine_quiet

    suite_sites.choose_catalogue(options)
    if options.quick and (options.suite or options.report):
        raise UsageError("--quick: expected no --suite and --report, which visit sites; leave out one of them")
    catalogue = _catalogue(options)
    apps = _apps(catalogue, options.names)
    findings = examine(apps, catalogue=catalogue.option, named=bool(options.names))
    try:
        browser = find_browser(EngineConfig().executable)
        findings.append(Diagnosis(subject="browser", state="ok", text=f"{browser.name} at {browser.executable}"))
    except WebArenaError as error:
        findings.append(Diagnosis(subject="browser", state="missing", text=str(error)))
    works, sentence = sandbox.examine()  # optional: agents that need a sandbox report its absence themselves
    findings.append(Diagnosis(subject="sandbox", state="ok" if works else "note", text=sentence))
    for finding in findings:
        _print_finding(finding)
    failed = 0
    if not options.quick:
        present_subjects = {finding.subject for finding in findings if finding.state == "ok"}
        present = [app for app in apps if present_subjects >= {app.name, *app.depends_on}]
        for finding in _reuse(catalogue, present):
            _print_finding(finding)
            failed += finding.state == "failed"
        for finding in examine_resets(present):
            _print_finding(finding)
            failed += finding.state == "failed"
        for finding in examine_quiet(catalogue, present, parse_site_urls(options.site_url)):
            _print_finding(finding)
            failed += finding.state == "failed"
        if "browser" in present_subjects:
            for finding in suite_sites.visit_sites(options, catalogue, present):
                _print_finding(finding)
                failed += finding.state == "failed"
            for finding in examine_other_hosts(catalogue, present, parse_site_urls(options.site_url)):
                _print_finding(finding)
    missing = sum(finding.state == "missing" for finding in findings)
    print(("nothing is missing" if not missing else f"{missing} missing") + (f", {failed} failed" if failed else ""))
    return 1 if missing or failed else 0


def _verify(options: argparse.Namespace) -> int:
    from pytest_webarena.sites.doctor import examine_resets
    from pytest_webarena.sites.recipe_proofs import examine_proofs

    catalogue = _catalogue(options)
    apps = _apps(catalogue, options.names)
    chosen, hosted = [app for app in apps if app.backend == "docker"], [app for app in apps if app.reset is not None]
    if not chosen and not hosted:
        raise UsageError(f"verify: expected apps in containers, or with 'reset', found none in {catalogue.option}")
    present, missing = _present(chosen)
    failed = len(missing)
    for finding in missing:
        _print_finding(finding)
    proofs = examine_proofs(catalogue, [app for app in present if app in chosen])
    for finding in itertools.chain(proofs, examine_resets(hosted)):
        _print_finding(finding)
        failed += finding.state == "failed"
    print("all proofs hold" if not failed else f"{failed} failed")
    return 1 if failed else 0


def _reuse(catalogue: Catalogue, apps: Sequence[AppManifest]) -> Iterator[Diagnosis]:
    """Whether ``apps`` start, and whether their ``reuse`` setting is right, or could be changed."""
    from pytest_webarena.sites.catalogues.units import units_of
    from pytest_webarena.sites.doctor import Diagnosis
    from pytest_webarena.sites.reset_measuring import measure

    wanted = [
        app for app in apps if app.sites and not app.read_only and app.reuse != "never" and app.backend != EXTERNAL
    ]
    declared = {app.name: app.reuse == "clean" for app in wanted}
    units = units_of(catalogue.apps)
    for found in measure(catalogue, wanted) if wanted else ():
        if not found.starts:
            yield Diagnosis(subject=found.app, state="failed", text=f"it could not be started: {found.text}")
        elif found.holds is None:
            yield Diagnosis(
                subject=found.app,
                state="note",
                text=f"whether reuse: clean is safe can't be determined: {found.text}",
            )
        elif found.holds and (unsaid := [one.name for one in units[found.app].apps if one.reuse != "clean"]):
            text = f"reuse: clean would be safe: {found.text}. Its memory can't be checked"
            yield Diagnosis(
                subject=found.app, state="note", text=f"{text}. To say so for {', '.join(unsaid)}:\nreuse: clean"
            )
        elif found.holds:
            yield Diagnosis(subject=found.app, state="ok", text=f"reuse: clean is safe: {found.text}")
        elif declared[found.app]:
            text = f"it sets reuse: clean, which is not safe: {found.text}. Its replicas are reset after each trial"
            yield Diagnosis(subject=found.app, state="note", text=text)
        else:
            yield Diagnosis(subject=found.app, state="ok", text=f"reuse: clean would not be safe: {found.text}")


def _print_finding(finding: Diagnosis) -> None:
    marks = {"ok": "ok", "note": "note", "missing": "MISSING", "failed": "FAILED"}
    first, *commands = finding.text.splitlines()
    _print_row(f"{marks[finding.state]:<8}{finding.subject}", first, width=26)
    for command in commands:
        print(f"    {command.strip()}")  # not wrapped, so that it can be copied


def _status(options: argparse.Namespace) -> int:
    client = _running(options)
    status = client.status()
    chosen = _chosen(status, options.names)
    for site in chosen:
        _show(site)
    print(f"proxy {status.proxy} · log {status.log}")
    return 0 if all(site.state == "up" for site in chosen) else 1


def _logs(options: argparse.Namespace) -> int:
    client = _running(options)
    for site in _chosen(client.status(), options.names):
        print(f"--- {site.app}")
        print(client.logs(site.app, options.lines).rstrip())
    return 0


# --- starting and ending


def _up(options: argparse.Namespace) -> int:
    catalogue = _catalogue(options)
    if (running := DaemonClient.find(options.sites)) is not None:
        status = running.status()
        raise UsageError(
            f"sites of {options.sites} run already (process {status.pid}); "
            f"'webarena sites reset' or 'down' with --sites={options.sites}"
        )
    try:
        pull_missing(_apps(catalogue, options.names), usable=True)
    except SiteMissing as missed:  # the others may be available
        print(missed, file=sys.stderr)
    wanted, missing = _present(_apps(catalogue, options.names, asked_only=True))
    for finding in missing:
        _print_finding(finding)
    if not wanted:
        raise SiteMissing("none of the named sites is on this machine")
    settings = DaemonSettings(
        catalogue=catalogue.option,
        site_urls=parse_site_urls(options.site_url),
        apps={app.name: tuple(site.name for site in app.sites) for app in wanted if app.sites},
        directory=state_directory(options.sites),
    )
    client = start(settings)
    if not options.no_wait:
        hints = {app.name: app.boot_seconds for app in wanted}
        _wait(client, hints, list(settings.apps))
    code = _status(argparse.Namespace(**{**vars(options), "names": []}))
    print(f"'webarena sites open --sites={options.sites}' shows them, 'down' ends them")
    return code if not options.no_wait else 0


def _present(apps: Sequence[AppManifest]) -> tuple[list[AppManifest], list[Diagnosis]]:
    """The apps that can run, and why the others can't."""
    from pytest_webarena.sites.doctor import examine

    missing = [finding for finding in examine(apps) if finding.state == "missing"]
    general = [finding for finding in missing if not finding.app]
    if general:
        raise SiteMissing(general[0].text)
    lost = {finding.app for finding in missing}
    return [app for app in apps if app.name not in lost and not lost & set(app.depends_on)], missing


def _reset(options: argparse.Namespace) -> int:
    client = _running(options)
    chosen = _chosen(client.status(), options.names)
    for site in chosen:
        client.reset(site.app)
    if options.no_wait:
        return 0
    hints = {name: app.boot_seconds for name, app in _catalogue(options).apps.items()}
    _wait(client, hints, [site.app for site in chosen])
    return _status(options)


def _down(options: argparse.Namespace) -> int:
    client = DaemonClient.find(options.sites)
    if client is None:
        print(f"no sites of {options.sites} run")
        return 0
    client.end()
    print(f"the sites of {options.sites} are down")
    return 0


def _wait(client: DaemonClient, hints: Mapping[str, float], apps: Sequence[str]) -> None:
    """Wait until all of ``apps`` are up or have failed, and print the progress."""
    began, printed = time.monotonic(), 0.0
    fancy = sys.stdout.isatty()
    before: set[str] = set()
    while True:
        status = client.status()
        starting = [site for site in status.apps if site.app in apps and site.state == "starting"]
        done = {site.app for site in status.apps if site.app in apps} - {site.app for site in starting}
        text = ", ".join(_progress(site, hints.get(site.app, 0.0)) for site in starting)
        if fancy:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{('starting: ' + text if starting else '')[:width]:<{width}}", end="" if starting else "\r")
        elif starting and (done != before or time.monotonic() - printed >= _SAY_AGAIN) and time.monotonic() - began > 2:
            printed = time.monotonic()
            print(f"starting: {text}", flush=True)
        before = done
        if not starting:
            return
        time.sleep(_POLL)


def _progress(site: DaemonSite, hint: float) -> str:
    return f"{site.app} {site.seconds:.0f} s of about {max(1, hint):.0f}" + (
        f" ({site.activity})" if site.activity else ""
    )


# --- visiting


def _open(options: argparse.Namespace) -> int:
    status = _running(options).status()
    sites = {name: site for app in status.apps for name, site in app.access.items()}
    if not sites:
        raise SiteError("no site is up yet; see 'webarena sites status'")
    name = options.site or next(iter(sites))
    if name not in sites:
        raise UsageError(f"expected a site that is up ({', '.join(sites)}), found {name!r}")
    site = sites[name]
    if not _can_show():
        print(f"There is no display to open a window on. The sites are served by the HTTP proxy {status.proxy}:")
        print(f"  curl --proxy {status.proxy} {site.start}")
        print(f"  chromium --proxy-server={status.proxy} --proxy-bypass-list='<-loopback>' {site.start}")
        return 0
    user = site.default_user if options.user is None else options.user
    if user and user not in site.users:
        raise UsageError(
            f"--user: expected an account of {name} ({', '.join(list(site.users)[:5])}, …), found {user!r}"
        )
    _show_window(options, status.proxy, site, user)
    return 0


def _show_window(options: argparse.Namespace, proxy: str, site: SiteAccess, user: str) -> None:
    from pytest_webarena.browser.config import EngineConfig, SessionConfig
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.login import login, login_headers

    state = None
    config = EngineConfig(
        executable=options.browser_executable,
        launch_args={"headless": False},
    )
    with BrowserEngine(config) as engine:
        if user and site.login is not None:
            if headers := login_headers(site.login, site.users[user]):
                _running(options).headers(site.name, headers)
            state = login(engine, site.login, site.users[user], url=site.url, proxy=proxy)
        with engine.session(SessionConfig(proxy=proxy, storage_state=state)) as session:
            session.open_tabs([site.start])
            print(
                f"{site.start}, {f'signed in as {user}' if user else 'signed out'}; "
                "press Enter to close the browser, the sites keep running"
            )
            sys.stdin.readline()


def _can_show() -> bool:
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


# --- what they share


def _catalogue(options: argparse.Namespace) -> Catalogue:
    return load_catalogue(options.sites, site_urls=parse_site_urls(options.site_url))


def _apps(catalogue: Catalogue, names: Sequence[str], *, asked_only: bool = False) -> list[AppManifest]:
    """The apps of some sites (or all), with the apps that they need.

    Without ``names``, ``asked_only`` leaves out apps that are only needed by others.
    """
    if names:
        return list(catalogue.apps_of(names))
    needed = {name for app in catalogue.apps.values() for name in app.depends_on} if asked_only else set()
    return [app for app in catalogue.apps.values() if app.name not in needed]


def _running(options: argparse.Namespace) -> DaemonClient:
    client = DaemonClient.find(options.sites)
    if client is None:
        raise UsageError(f"no sites of {options.sites} run; start them with: webarena sites up --sites={options.sites}")
    return client


def _chosen(status: DaemonStatus, names: Iterable[str]) -> list[DaemonSite]:
    """The apps with these names, their own or a site's; all without names."""
    wanted = list(names)
    if not wanted:
        return list(status.apps)
    for name in wanted:
        if not any(name == app.app or name in app.sites for app in status.apps):
            known = ", ".join(site for app in status.apps for site in app.sites)
            raise UsageError(f"expected a site that runs ({known}), found {name!r}")
    return [app for app in status.apps if any(name == app.app or name in app.sites for name in wanted)]


def _show(site: DaemonSite) -> None:
    _print_row(site.app, f"{site.state} for {site.seconds:.0f} s")
    for name, access in site.access.items():
        _print_row(f"  {name}", access.start)
    for line in _lines(site.problem):
        print(f"  {line}")


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from textwrap.wrap(line, _WIDTH - 2, break_long_words=False) if not line.startswith(" ") else [line]


def _print_row(label: str, text: str, *, width: int = _LABEL) -> None:
    lines = textwrap.wrap(text, _WIDTH - width, break_long_words=False, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        head = label if number == 0 else ""
        print(f"{head:<{width}}{'' if len(head) < width else ' '}{line}")
