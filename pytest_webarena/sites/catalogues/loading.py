"""Reads catalogues: finds the file, resolves ``extends``, and reports every problem with its line."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from pytest_webarena.docs_site import docs
from pytest_webarena.errors import Problem, UsageError, closest
from pytest_webarena.gateway.server_certificates import authorities_problem
from pytest_webarena.secrets import mark_environment
from pytest_webarena.sites.backends import backend_names, is_backend
from pytest_webarena.sites.catalogues.archived import ARCHIVE, archive_of, archived_app, archived_catalogue
from pytest_webarena.sites.catalogues.data_folders import data_problem
from pytest_webarena.sites.catalogues.embedded_sites import CATALOGUES, embedded_apps
from pytest_webarena.sites.catalogues.external import (
    EXTERNAL,
    hosted_app,
    hosted_site,
    with_distinct_addresses,
    with_external_sites,
)
from pytest_webarena.sites.catalogues.format import APP, FILE, FORMAT_VERSION
from pytest_webarena.sites.catalogues.live import LIVE, live_app
from pytest_webarena.sites.catalogues.manifest import (
    Account,
    AppManifest,
    Catalogue,
    DatabaseManifest,
    DockerManifest,
    LoginRecipe,
    SiteManifest,
)
from pytest_webarena.sites.catalogues.program_files import code_files, command_files, files_identity
from pytest_webarena.sites.catalogues.running import HostedReset, HttpCall
from pytest_webarena.sites.catalogues.units import circle
from pytest_webarena.sites.protocol.wire import dumps
from pytest_webarena.tasks.file_reading import Entries, Invalid, Reading, TooManyProblems, shown
from pytest_webarena.tasks.lookalikes import with_lookalikes
from pytest_webarena.tasks.nodes import MapNode, Node, compose, near
from pytest_webarena.yaml_files import read_small

__all__ = ["CatalogueError", "load_catalogue", "looks_like_catalogue", "problems_of", "read_catalogue"]

_SHIPPED = Path(__file__).parent / "shipped"
_MAX_EXTENDS = 8
_LATER_KEYS = ("reads", "quiet", "reset", "loads", "sign_in_hosts", "private_hosts", "certificate_authority")
_CALLS = ("http", "ready", "proof")
"""Keys of a reset that are requests."""
_TESTED = ("facts", "trial_write")
"""Keys of a site that only the doctor reads."""
_APPS = re.compile(rb"^(apps|extends)\s*:", re.MULTILINE)
_TASKS = re.compile(rb"^tasks\s*:", re.MULTILINE)


class CatalogueError(UsageError):
    """A catalogue file that can't be used; one line for each problem, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.path, problem.line, problem.column)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def looks_like_catalogue(path: Path) -> bool:
    """Whether a YAML file has apps and no tasks."""
    try:
        text = read_small(path)
    except OSError:
        return False
    return bool(_APPS.search(text)) and not _TASKS.search(text)


def problems_of(path: Path) -> tuple[Problem, ...]:
    """Returns all problems of a catalogue file."""
    try:
        read_catalogue(path.absolute(), thorough=True)
    except CatalogueError as error:
        return tuple(_as_given(problem, path) for problem in error.problems)
    except UsageError as error:  # e.g. of the file that it extends
        expected, separator, found = str(error).removeprefix("expected ").partition(", found ")
        if not separator:
            expected, found = "a valid catalogue", f"an error: {error}"
        return (Problem(path=str(path), line=1, column=1, expected=expected, found=found),)
    return ()


def _as_given(problem: Problem, path: Path) -> Problem:
    return replace(problem, path=str(path)) if problem.path == str(path.absolute()) else problem


class _Source:
    """One app as written in one or more files: its keys, and the file of each."""

    def __init__(self, node: Node, entries: Entries, folder: Path, reading: Reading) -> None:
        self.node = node
        self.entries = entries
        self.folder = folder
        self.reading = reading
        """Reader of the file with most of the app; the keys of other files have been read before."""


def load_catalogue(name_or_path: str | Path, *, site_urls: Mapping[str, str] = MappingProxyType({})) -> Catalogue:
    """Read a shipped catalogue by name (``embedded``) or a user's by path (``sites.yaml``).

    ``site_urls`` are addresses of sites that run elsewhere, instead of the catalogue's own or in addition to them.

    Raises `UsageError` for an unknown name; for an invalid file it lists every problem with file and line.
    """
    catalogue = read_catalogue(name_or_path)
    return with_distinct_addresses(with_external_sites(catalogue, site_urls))


def read_catalogue(name_or_path: str | Path, *, thorough: bool = False) -> Catalogue:
    """Like `load_catalogue`, without sites that run elsewhere. ``thorough``: whether to check the initial data of apps,
    too."""
    if (archive := archive_of(str(name_or_path))) is not None:
        return archived_catalogue(archive)
    path = _find(str(name_or_path), Path())
    sources = _sources(path, 0)
    apps: dict[str, AppManifest] = {}
    with suppress(TooManyProblems):
        for name, source in sources.items():
            app = _app(name, source)
            if app is not None:
                _check_names(app, apps, source)
                apps[name] = app
        _check_dependencies(apps, sources)
        if thorough:
            _check_data(apps, sources)
    _complain([problem for reading in {source.reading for source in sources.values()} for problem in reading.problems])
    return Catalogue(name=path.stem, path=path, apps=apps)


def _find(name: str, folder: Path) -> Path:
    if "/" in name or "\\" in name or Path(name).suffix:
        path = (folder / name).absolute()
        if not path.is_file():
            raise UsageError(f"expected a catalogue file at {path}, found none")
        return path
    shipped = {name: _SHIPPED / name for name in CATALOGUES} | {path.stem: path for path in _SHIPPED.glob("*.yaml")}
    if name not in shipped:
        raise UsageError(f"there is no catalogue {name!r}; {closest(name, shipped)}; or give the path of a YAML file")
    return shipped[name]


def _sources(path: Path, depth: int) -> dict[str, _Source]:
    """Returns the unread apps of a file and of those it extends."""
    if path.parent == _SHIPPED and path.name in CATALOGUES:
        files = embedded_apps(path.name)
        _complain([problem for file in files for problem in file.reading.problems])
        return {file.app: _Source(file.node, file.entries, path.parent, file.reading) for file in files}
    root, problems = compose(read_small(path), str(path))
    _complain([replace(problem, expected=problem.expected.replace("'tasks'", "'apps'")) for problem in problems])
    assert root is not None  # an empty file is a problem
    reading = Reading(str(path))
    if isinstance(root, MapNode) and "services" in (keys := reading.entries(root)) and "apps" not in keys:
        raise UsageError(
            f"{path}: expected a catalogue, found a compose file: each of its services becomes an app, as in the "
            f"example of an application with a database and a worker at {docs('your-app')}"
        )
    try:
        file = FILE.read(root, reading)
    except TooManyProblems:
        file = Invalid.INVALID
    _complain(reading.problems)
    assert isinstance(root, MapNode)
    assert not isinstance(file, Invalid)
    if (version := file["schema_version"]) > FORMAT_VERSION:
        raise UsageError(f"{path}: expected a catalogue of version {FORMAT_VERSION} or older, found version {version}")
    sources: dict[str, _Source] = {}
    if file["extends"]:
        if depth >= _MAX_EXTENDS:
            raise UsageError(f"{path}: expected 'extends' to end, found catalogues that extend each other")
        sources = _sources(_find(file["extends"], path.parent), depth + 1)
    with suppress(TooManyProblems):
        sources |= _own(root, sources, path.parent, reading, extended=depth > 0)
    _complain(reading.problems)
    return sources


def _own(
    root: MapNode, below: Mapping[str, _Source], folder: Path, reading: Reading, *, extended: bool
) -> dict[str, _Source]:
    """Returns the apps of one file, each merged over the one with its name in ``below``."""
    _, apps = reading.entries(root).get("apps", (root, None))
    if apps is not None and not isinstance(apps, MapNode):
        reading.problem(apps, "a mapping from names to apps", shown(apps))
    own: dict[str, _Source] = {}
    for name, (_, node) in reading.entries(apps).items() if isinstance(apps, MapNode) else ():
        if not isinstance(node, MapNode):
            reading.problem(node, "a mapping (app)", shown(node))
            continue
        entries = reading.entries(node)
        APP.check_keys(entries, reading)
        for field in APP.fields if extended else ():  # else the wrong file would be named
            if field.key in entries:
                field.shape.read(entries[field.key][1], reading)
        base = below[name].entries if name in below else {}
        merged = {**base, **entries}
        if "sites" in base and "sites" in entries:
            merged["sites"] = (entries["sites"][0], _joined_sites(base["sites"][1], entries["sites"][1], reading))
        own[name] = _Source(node, merged, folder, reading)
    return own


def _joined_sites(below: Node, own: Node, reading: Reading) -> Node:
    """Returns the ``sites`` of an app; a site that is also in ``below`` keeps the keys from there that it does not
    set."""
    if not isinstance(below, MapNode) or not isinstance(own, MapNode):
        return own
    base = reading.entries(below)
    joined = MapNode(own.line, own.column)
    joined.entries = {}
    for name, (key, site) in reading.entries(own).items():
        old = base[name][1] if name in base else None
        if isinstance(site, MapNode) and isinstance(old, MapNode):
            both = MapNode(site.line, site.column)
            both.entries = {**reading.entries(old), **reading.entries(site)}
            both.items = [node for pair in both.entries.values() for node in pair]
            site = both
        joined.entries[name] = (key, site)
    joined.items = [node for pair in joined.entries.values() for node in pair]
    return joined


def _complain(problems: list[Problem]) -> None:
    if problems:
        text = read_small(Path(problems[0].path)).decode(errors="replace")
        raise CatalogueError(with_lookalikes(problems, text))


def _app(name: str, source: _Source) -> AppManifest | None:
    assert isinstance(source.node, MapNode)
    values = APP.read_entries(source.entries, source.node, source.reading)
    if isinstance(values, Invalid):
        return None
    return _manifest(name, values, source)


def _manifest(name: str, values: Mapping[str, Any], source: _Source) -> AppManifest | None:
    backend = values["backend"]
    if not is_backend(backend):
        known = backend_names()
        hint = near(backend, known)
        expected = f"a backend ({', '.join(known)} or module:class)"
        source.reading.problem(source.node, expected, repr(backend), hint if hint.startswith("did") else "")
        return None
    process, docker = values["process"], values["docker"]
    if process is not None and process.data:
        process = replace(process, data=_file(process.data, source.folder))
    if docker is not None:
        docker = _docker(docker, source.folder)
    authority = _file(values["certificate_authority"], source.folder) if values["certificate_authority"] else ""
    if authority and (problem := authorities_problem(authority)):
        expected = "a file with certificates in PEM form"
        source.reading.problem(source.entries["certificate_authority"][1], expected, problem)
        return None
    mark_environment(call.token_env for call in _reset_calls(values["reset"]) if call.token_env)
    app = AppManifest(
        **{
            **values,
            "name": name,
            "folder": source.folder,
            "process": process,
            "docker": docker,
            "certificate_authority": authority,
            "sites": tuple(_site(name, backend, site, given) for site, given in values["sites"].items()),
            "login": {
                site: _login(site, given["sign_in"], source.folder)
                for site, given in values["sites"].items()
                if given["sign_in"] is not None
            },
            "users": {user: _account(user, given) for user, given in values["users"].items()},
            "databases": {
                database: DatabaseManifest(name=database, **given) for database, given in values["databases"].items()
            },
        }
    )
    app = replace(app, digest=_digest(app))
    if backend == EXTERNAL:
        app = hosted_app(app)
    try:
        return archived_app(app) if backend == ARCHIVE else live_app(app) if backend == LIVE else app
    except UsageError as error:
        expected = "an archive that can be read" if backend == ARCHIVE else "a live site"
        source.reading.problem(source.node, expected, str(error))
        return None


def _reset_calls(reset: HostedReset | None) -> list[HttpCall]:
    return [call for name in _CALLS if (call := getattr(reset, name, None)) is not None]


def _site(app: str, backend: str, name: str, given: Mapping[str, Any]) -> SiteManifest:
    keys = ("host", "https", "port", "api", "http_credentials", "reach_header", "keep_address", "stand_in", *_TESTED)
    root, urls = given["root"].rstrip("/"), [url.rstrip("/") for url in given["url"]]
    site = SiteManifest(
        name=name,
        app=app,
        default_user=given["user"],
        root=root,
        start=given["start"] or root or "/",
        **{key: given[key] for key in keys},
    )
    if backend == EXTERNAL:
        return hosted_site(site, urls)
    return replace(site, base=urls[0], host=urlsplit(urls[0]).hostname or "") if urls else site


def _login(site: str, given: Mapping[str, Any], folder: Path) -> LoginRecipe:
    recipe = LoginRecipe(site=site, **given)
    state = _file(recipe.state, folder) if recipe.state else ""
    file, colon, function = recipe.script.rpartition(":")
    script = _file(file, folder) + colon + function if file.endswith(".py") else recipe.script
    return replace(recipe, state=state, script=script, folder=str(folder) if recipe.command else "")


def _account(name: str, given: Mapping[str, Any]) -> Account:
    """Returns an account with its secrets from the environment. Raises `UsageError` for one that can't be masked."""
    variables = [given[key] for key in ("password_env", "totp_env") if given[key]]
    mark_environment(variables)
    found = {
        key: os.environ.get(given[f"{key}_env"], "").strip() if given[f"{key}_env"] else given[key]
        for key in ("password", "totp")
    }
    return Account(**{**given, "username": given["username"] or name, **found})


def _docker(docker: DockerManifest, folder: Path) -> DockerManifest:
    volumes = tuple(
        replace(volume, source=_file(volume.source, folder)) if volume.source.startswith(("./", "../", "~")) else volume
        for volume in docker.volumes
    )
    tar = os.path.expandvars(docker.tar)  # an undefined variable means no file
    return replace(docker, volumes=volumes, tar=_file(tar, folder) if tar and "$" not in tar else "")


def _file(name: str, folder: Path) -> str:
    return str((folder / Path(name).expanduser()).absolute())


def _check_data(apps: Mapping[str, AppManifest], sources: Mapping[str, _Source]) -> None:
    for name, app in apps.items():
        if app.process is not None and app.process.data and (problem := data_problem(app.process.data)):
            source = sources[name]
            source.reading.problem(source.entries["process"][1], "data that can be copied for each replica", problem)


def _check_names(app: AppManifest, others: Mapping[str, AppManifest], source: _Source) -> None:
    node, reading = source.node, source.reading
    for other in others.values():
        also = f"also in '{other.name}'"
        for site in app.sites:
            for taken in other.sites:
                if taken.name == site.name:
                    reading.problem(node, "each site in one app", f"'{site.name}' again", f"{also}; rename one of them")
                elif taken.host == site.host:
                    hint = f"{also}; give one of them another host"
                    reading.problem(node, "each host once", f"'{site.host}' again", hint)


def _check_dependencies(apps: Mapping[str, AppManifest], sources: Mapping[str, _Source]) -> None:
    for app in apps.values():
        for needed in app.depends_on:
            if needed not in sources or needed == app.name:
                sources[app.name].reading.problem(
                    sources[app.name].node, "other apps of this catalogue in 'depends_on'", repr(needed),
                    closest(needed, sources),
                )  # fmt: skip
            elif needed in apps and app.read_only and not apps[needed].read_only and app.backend == "docker":
                sources[app.name].reading.problem(
                    sources[app.name].node, "a read-only app, which all trials share, to depend only on read-only apps",
                    f"{needed!r} in 'depends_on' of '{app.name}'", f"set 'read_only: true' in {needed}, or in neither",
                )  # fmt: skip
    if trail := circle(apps):
        source = sources[trail[0]]
        source.reading.problem(source.node, "apps that do not depend on themselves", " → ".join(trail))


def _digest(app: AppManifest) -> str:
    """Returns a hash of what determines the app's behaviour, as far as that is known without running it."""
    docker = replace(app.docker, pull_size="") if app.docker is not None else None
    process = replace(app.process, needs=(), install="") if app.process is not None else None
    described = replace(
        app, folder=Path(), max_replicas=None, spares=None, digest="", process=process, docker=docker,
        certificate_authority="",
    )  # fmt: skip
    data = json.loads(dumps(described))
    for site in data["sites"]:
        for name in ("keep_address", *_TESTED):  # of no effect on what the app does
            del site[name]
    for recipe in data["login"].values():
        recipe["folder"] = ""
    for account in data["users"].values():
        account |= {key: "" for key in ("password", "totp") if account[f"{key}_env"]}  # it differs by machine
    later = [(user, name) for user in data["users"].values() for name in ("totp", "password_env", "totp_env")]
    later += [(recipe, name) for recipe in data["login"].values() for name in ("command", "folder")]
    names = ("reach_header", "https", "http_credentials", "hosted", "stand_in")
    later += [(site, name) for site in data["sites"] for name in names]
    calls = [data["reset"][name] for name in _CALLS] if data["reset"] else []
    later += [(call, "token_env") for call in calls if call]
    later += [(data["reset"], "proof")] if data["reset"] else []
    for keys, name in (*((data, name) for name in _LATER_KEYS), *later):
        if not keys[name]:  # later versions' keys must not change the digests of apps without them
            del keys[name]
    total = hashlib.sha256(dumps(data).encode())
    if app.process is not None and app.process.factory:
        targets = (app.process.factory, app.process.seed, app.process.on_fork)
        for module in sorted({target.partition(":")[0] for target in targets if target}):
            total.update(_code_digest(module))
    if app.process is not None and app.process.command:
        total.update(files_identity(command_files(app), app.folder).encode())
    return total.hexdigest()[:16]


@cache
def _code_digest(module: str) -> bytes:
    """Returns a hash of a module's source files; for a package in a package, including its sibling modules, which it
    may use."""
    total = hashlib.sha256()
    for path in sorted(code_files(module)):
        total.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.digest()
