"""``webarena init`` for an app that exists: writes its catalogue and first tasks, and runs them."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_webarena.commands.playing import open_runtime
from pytest_webarena.errors import TaskFileError, UsageError, WebArenaError, writing
from pytest_webarena.project_setup.catalogue_writing import (
    accounts_of,
    app_of_address,
    app_of_command,
    catalogue_text,
    with_findings,
)
from pytest_webarena.project_setup.compose.importing import import_compose
from pytest_webarena.project_setup.exploring import Explored, Missing, explore
from pytest_webarena.project_setup.first_tasks import first_tasks
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.ledger.snapshot import database_file, files_below

__all__ = ["set_up"]

_DRAFT = ".webarena-init.yaml"
_SITES = "sites.yaml"
_DATA = "webarena-data"
_PYTEST_SECONDS = 600.0
_OURS = re.compile(r"(?:.*/)?(?:__pycache__|\.[^/]+)(?:/.*)?|webarena-runs/.*")
"""Files below the project's folder that programs other than the app write."""


@dataclass(slots=True)
class _Project:
    """What is known of the app."""

    directory: Path
    apps: dict[str, Any]
    lead: str
    """The app with the site that is explored."""
    site: str
    builds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def app(self) -> dict[str, Any]:
        found: dict[str, Any] = self.apps[self.lead]
        return found


def set_up(options: argparse.Namespace, write_rest: Callable[[Path], None]) -> int:
    """Write the catalogue and the tasks, and run them. ``write_rest`` writes a project's other files.

    Returns 0 if the tasks pass and nothing is missing, else 1. Files are written once the app has started.
    """
    directory: Path = options.directory
    tasks = directory / "tasks" / f"{options.name}.yaml"
    for path in (directory / _SITES, tasks):
        if path.exists():
            raise UsageError(f"expected a new {path}, found one; move it away, or name another directory")
    project = _describe(options)
    if project is None:
        return 1
    with _ended_by_signal(), _initial_data(project, "" if options.data else options.database), _draft(project) as draft:
        if missing := _requirements(project, draft):
            return _report(missing, "nothing was written")
        before = _own_files(directory)
        try:
            found = _explore(project, draft, options)
        except WebArenaError as error:
            return _report([Missing("start", _sentence(error))], "nothing was written")
        found.missing += _changed_files(before, _own_files(directory))
        project.apps[project.lead] = with_findings(project.app, project.site, found)
        _write(draft, catalogue_text(project.apps))
        _measure_reuse(project, draft, found)
        _write(directory / _SITES, catalogue_text(project.apps))
    text = first_tasks(project.site, found.pages, options.start or "/")
    if text:
        tasks.parent.mkdir(parents=True, exist_ok=True)
        _write(tasks, text)
    else:
        found.missing.append(
            Missing("tasks", "no page with a heading was found; write tasks yourself, or name --start")
        )
    write_rest(directory)
    for note in found.notes:
        print(f"note: {note}")
    if text and (why := _run_tasks(directory)):
        found.missing.append(Missing("pytest", why))
    if found.missing:
        return _report(found.missing, f"{_SITES} and the tasks were written")
    print("\nThe tasks pass: run pytest again at any time, and pytest --audit to try wrong agents.")
    return 0


def _describe(options: argparse.Namespace) -> _Project | None:
    """Returns the app without what only a running one shows; None if a Compose file has what can't be had."""
    directory: Path = options.directory
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", options.name):
        raise UsageError(f"--name: expected letters, digits, '_' and '-', found {options.name!r}")
    for name in ("start", "login"):
        if (path := getattr(options, name)) and not path.startswith("/"):
            raise UsageError(f"--{name}: expected a path that starts with '/', found {path!r}")
    accounts = accounts_of(options.user)
    builds: Mapping[str, tuple[str, ...]] = {}
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    if options.compose is not None:
        imported = import_compose(options.compose, directory, services=options.service)
        for each in imported.findings:
            print(f"{each.state:<8} {options.compose}:{each.line}: {each.place}: {each.text}")
        if imported.refused:
            print(f"\n{len(imported.refused)} refused; nothing was written. Change these lines and try again.")
            return None
        apps, builds = dict(imported.apps), imported.builds
        lead = next(iter(apps))
        site = next(iter(apps[lead]["sites"]))
        if options.start:
            apps[lead]["sites"][site]["start"] = options.start
    else:
        site = lead = options.name
        host = f"{site.lower().replace('_', '-')}.test"
        if options.url is not None:
            authority = options.certificate_authority
            own = os.path.relpath(authority, directory) if authority is not None else ""
            app = app_of_address(options.url, site, options.start, own)
        else:
            data = options.data or _data_folder(directory, options.database)
            app = app_of_command(
                options.app_command, host, site, database=options.database, data=data, env=options.env,
                start=options.start,
            )  # fmt: skip
        apps = {lead: app}
    if accounts:
        apps[lead]["users"] = accounts
    return _Project(directory, apps, lead, site, builds)


def _data_folder(directory: Path, database: str) -> str:
    """Returns the folder with the initial data of each copy of the app; empty if there is no database yet."""
    return f"./{_DATA}" if database and (directory / database).is_file() else ""


@contextmanager
def _initial_data(project: _Project, database: str) -> Iterator[None]:
    """Copy the project's database as initial data, and remove the copy unless the catalogue was written. An existing
    copy is kept and reported."""
    target = project.directory / _DATA
    if project.app.get("process", {}).get("data") != f"./{_DATA}" or not _data_folder(project.directory, database):
        yield
        return
    name, content = f"{_DATA}/{database}", database_file(project.directory / database)
    if target.exists():
        own = target / database
        equal = own.is_file() and own.read_bytes() == content
        state = f"equals {database}" if equal else f"differs from {database}; delete {_DATA} for a new copy"
        print(f"{name}: used as it is, since it exists; it {state}")
        yield
        return
    try:
        with writing(target):
            (target / database).parent.mkdir(parents=True)
            (target / database).write_bytes(content)
        yield
    finally:
        if (project.directory / _SITES).exists():
            print(f"{name}: a copy of {database}, with which each copy of the app starts")
        else:
            shutil.rmtree(target, ignore_errors=True)


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Let SIGTERM end the block as an exception does, so that temporary files are removed."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _draft(project: _Project) -> Iterator[Path]:
    """Write the catalogue under another name, next to where it will be."""
    path = project.directory / _DRAFT
    _write(path, catalogue_text(project.apps))
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    with writing(path):
        path.write_text(text, "utf-8")


def _requirements(project: _Project, draft: Path) -> list[Missing]:
    """Build images, and return what the app needs and this machine does not have."""
    from pytest_webarena.sites.doctor import examine

    try:
        catalogue = load_catalogue(str(draft))
    except TaskFileError as error:
        first = error.problems[0]
        return [Missing("catalogue", f"expected {first.expected}, found {first.found}")]
    for name, argv in project.builds.items():
        print(f"building {project.apps[name]['docker']['image']}", flush=True)
        if shutil.which(argv[0]) is None:
            return [Missing(name, f"the program {argv[0]} is not installed; build its image elsewhere")]
        done = subprocess.run(argv, cwd=project.directory, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            return [Missing(name, f"its image can't be built: {''.join(last)}")]
    found = examine(list(catalogue.apps.values()), catalogue=str(draft))
    return [Missing(each.subject, each.text) for each in found if each.state == "missing"]


def _explore(project: _Project, draft: Path, options: argparse.Namespace) -> Explored:
    app = project.app
    is_external = app["backend"] == "external"
    begin = (
        f"visiting pages of {project.lead} twice"
        if is_external
        else f"starting {project.lead} twice, and visiting its pages"
    )
    print(begin, flush=True)
    ledger = "databases" in app and "process" in app
    with open_runtime(str(draft), headed=False, executable=None) as runtime:
        found = explore(runtime, project.site, sign_in=options.login, ledger=ledger)
    if found.form is not None and "users" not in app:
        text = f"{found.form.path} has a form, but no account is known: --user=NAME:PASSWORD"
        found.missing.append(Missing("sign-in", text))
    if found.form is None and "users" in app and not any(each.subject == "sign-in" for each in found.missing):
        found.missing.append(Missing("sign-in", "no page with a form was found; name it: --login=/PATH"))
    for key, hosts in found.hosts.items():
        found.notes.append(f"{key}: pages ask for {', '.join(hosts)}; remove what they can do without")
    if noise := [*found.ignore, *found.ignore_files]:
        found.notes.append(f"ignored, since visits alone change it: {', '.join(noise)}")
    if is_external and found.changed:
        found.notes.append(
            f"{', '.join(found.changed[:5])} changed between two visits: they show times or random content, or a "
            "link changes data when it is opened. Then restore the site, and name no such link in tasks"
        )
    if is_external:
        example = 'reset: {http: {url: "{url}/reset"}}'
        found.notes.append(
            f"it has no 'reset', so tasks that change it are skipped: add the key to the app ({example})"
        )
        if found.writes:
            sent, paths = (", ".join(each) for each in (found.writes, dict.fromkeys(found.writes.values())))
            text = (
                f"pages themselves send {sent}, which counts as a change; if it changes nothing, add 'reads: [{paths}]'"
            )
            found.notes.append(text)
    return found


def _measure_reuse(project: _Project, draft: Path, found: Explored) -> None:
    """Set ``reuse: clean`` if it holds."""
    from pytest_webarena.sites.reset_measuring import measure

    if project.app["backend"] != "process" or any(each.subject == "data" for each in found.missing):
        return
    catalogue = load_catalogue(str(draft))
    (measured,) = measure(catalogue, [catalogue.apps[project.lead]])
    if measured.holds:
        project.app["reuse"] = "clean"
    found.notes.append(f"reuse: {'clean' if measured.holds else 'never'}: {measured.text}")


def _own_files(directory: Path) -> Mapping[str, str]:
    files = files_below(directory, []) or {}
    ours = {(each.st_dev, each.st_ino) for each in _streams()}
    return {
        name: state
        for name, state in files.items()
        if not _OURS.fullmatch(name) and _identity(directory / name) not in ours
    }


def _streams() -> Iterator[os.stat_result]:
    """Yields what this program's own output goes to, which may be a file in the project."""
    for number in (1, 2):
        with suppress(OSError):
            yield os.fstat(number)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _changed_files(before: Mapping[str, str], after: Mapping[str, str]) -> list[Missing]:
    """Returns a problem if the app wrote into its own folder, where a reset restores nothing."""
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if not changed:
        return []
    text = (
        f"the app writes into its own folder ({', '.join(changed[:3])}), which no reset restores; name its database "
        "(--database=FILE), or let it write into {data_dir}, by an argument of --command or by --env"
    )
    return [Missing("data", text)]


def _run_tasks(directory: Path) -> str:
    """Run the tasks as users do. Returns the reason why they do not pass; empty if they do."""
    print("running the tasks", flush=True)
    argv = [sys.executable, "-m", "pytest", "tasks", f"--sites=./{_SITES}", "-q", "--color=no"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["COLUMNS"] = "400"  # of the summary's lines, which are cut
    try:
        done = subprocess.run(
            [*argv, "-o", "webarena_tasks=tasks/**/*.yaml"], cwd=directory, env=environment, capture_output=True,
            text=True, timeout=_PYTEST_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"the tasks did not end within {_PYTEST_SECONDS:g} s; run pytest to see why"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return f"{lines[0] if lines else (done.stdout + done.stderr).strip()[-300:]}; run pytest to see all of it"


def _sentence(error: WebArenaError) -> str:
    first, *log = str(error).splitlines() or [""]
    return f"{first} {log[-1].strip()}" if log else first


def _report(missing: Sequence[Missing], written: str) -> int:
    print(f"\nMissing ({written}):")
    for each in missing:
        first, *commands = each.text.splitlines()
        print(f"  {each.subject}: {first}")
        for command in commands:
            print(f"    {command.strip()}")
    return 1
