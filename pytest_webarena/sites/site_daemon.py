"""A daemon that keeps sites running between commands, and its state file.

``webarena sites up`` starts it as ``python -P -m pytest_webarena.sites.site_daemon FD`` with one line of settings on
stdin, and waits on FD until it is ready. The daemon leases every site, serves all of them on one gateway and answers
`DaemonClient` on a Unix socket until it is stopped.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_webarena.errors import SiteError, UsageError, WebArenaError
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.cleanup import reaper
from pytest_webarena.sites.cleanup.private_directory import child_environment
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from pytest_webarena.sites.protocol.messages import SiteAccess
from pytest_webarena.sites.protocol.wire import decode, dumps

__all__ = ["DaemonClient", "DaemonSettings", "DaemonSite", "DaemonStatus", "start", "state_directory"]

_HOUR = 3600.0
_ANSWER = 60.0
_STATE = "standing.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSettings:
    """Settings of the daemon."""

    catalogue: str
    """Name or absolute path of the catalogue."""
    site_urls: Mapping[str, str] = field(default_factory=dict)
    apps: Mapping[str, tuple[str, ...]]
    """Sites by app; each app is leased and reset separately."""
    directory: Path
    """Directory of the state file and logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSite:
    """One app of the daemon."""

    app: str
    sites: tuple[str, ...]
    state: Literal["starting", "up", "failed"]
    seconds: float
    """Seconds since it entered this state."""
    problem: str = ""
    """Why it failed."""
    activity: str = ""
    """What takes long at present, e.g. pulling its image."""
    access: Mapping[str, SiteAccess] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStatus:
    """Status of the daemon and its apps."""

    pid: int
    catalogue: str
    proxy: str
    log: str
    apps: tuple[DaemonSite, ...]

    @property
    def waiting(self) -> bool:
        """Whether an app is still starting."""
        return any(app.state == "starting" for app in self.apps)


def state_directory(catalogue: str) -> Path:
    """Returns the directory for the daemon's state; there is one daemon per user and catalogue.

    It is below ``WEBARENA_STATE_DIR``, else ``$XDG_STATE_HOME/pytest-webarena``, else
    ``~/.local/state/pytest-webarena``.
    """
    own = os.environ.get("WEBARENA_STATE_DIR")
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    root = Path(own) if own else Path(base).expanduser() / "pytest-webarena"
    path = Path(catalogue)
    if not path.suffix and path.name == catalogue:
        return root / catalogue
    return root / f"{path.stem}-{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:8]}"


# --- client


class DaemonClient:
    """A client of the daemon of a catalogue."""

    def __init__(self, address: str, owner: str) -> None:
        self._address = address
        self._owner = owner

    @classmethod
    def find(cls, catalogue: str) -> DaemonClient | None:
        """Returns a client of the catalogue's running daemon; None when there is none. The state file of a dead one is
        removed."""
        file = state_directory(catalogue) / _STATE
        try:
            state = json.loads(file.read_text())
        except (OSError, ValueError):
            return None
        if not reaper.is_alive(state["owner"]):
            file.unlink(missing_ok=True)
            return None
        return cls(state["address"], state["owner"])

    def status(self) -> DaemonStatus:
        """Returns the current status."""
        return decode(DaemonStatus, self._ask("status"))

    def reset(self, app: str) -> None:
        """Begin to replace an app by a pristine one."""
        self._ask("reset", app=app)

    def logs(self, app: str, lines: int) -> str:
        """Returns the last log lines of an app."""
        text: str = self._ask("logs", app=app, lines=lines)
        return text

    def headers(self, site: str, headers: Mapping[str, str]) -> None:
        """Let the gateway add headers to every request to a site."""
        self._ask("headers", site=site, headers=dict(headers))

    def end(self) -> None:
        """Stop the daemon and wait for its end. Raises `SiteError` when that takes too long."""
        with contextlib.suppress(SiteError):  # it may end before it can answer
            self._ask("end")
        if not reaper.wait_until_ended(self._owner, _ANSWER):
            raise SiteError(f"expected the process {self._owner.partition('/')[0]} to end, found it still there")

    def _ask(self, operation: str, **arguments: Any) -> Any:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER)
            try:
                connection.connect(self._address)
                connection.sendall(dumps({"op": operation, **arguments}).encode() + b"\n")
                answer = json.loads(connection.makefile("rb").readline())
            except (OSError, ValueError) as error:
                raise SiteError(f"expected an answer of the process that runs the sites, found {error!r}") from None
        if "error" in answer:
            raise SiteError(answer["error"])
        return answer["result"]


def start(settings: DaemonSettings) -> DaemonClient:
    """Start the daemon, which outlives this process. Raises `SiteError` with its last log lines when it ends."""
    settings.directory.mkdir(parents=True, exist_ok=True)
    log = settings.directory / "standing.log"
    serves, ready_fd = os.pipe()
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pytest_webarena.sites.site_daemon", str(ready_fd)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            pass_fds=[ready_fd],
            start_new_session=True,
            env=child_environment(),
        )
    os.close(ready_fd)
    assert process.stdin is not None
    with process.stdin, contextlib.suppress(BrokenPipeError):  # it has died, which the other pipe shows, too
        process.stdin.write(dumps(settings).encode() + b"\n")
    with open(serves, "rb", buffering=0) as pipe:
        ready, _, _ = select.select([pipe], [], [], _ANSWER)
        if ready and pipe.read(1) and (client := DaemonClient.find(settings.catalogue)) is not None:
            process.returncode = 0  # it is independent from now on
            return client
    process.kill()
    process.wait()
    raise SiteError(f"the process that holds the sites did not start:\n{log.read_text(errors='replace')[-2000:]}")


# --- daemon


class _Daemon:
    """The apps, each on a lease of its own, all on one gateway."""

    def __init__(self, settings: DaemonSettings, launcher: BrokerLauncher, client: BrokerClient) -> None:
        self._settings = settings
        self._launcher = launcher
        self._client = client
        self._gateway: Lease = client.gateway()
        self._lock = threading.Lock()
        self._leases: dict[str, Lease] = {}
        self._since = dict.fromkeys(settings.apps, time.monotonic())
        self._problems: dict[str, str] = {}
        self._headers: dict[str, Mapping[str, str]] = {}
        for app in settings.apps:
            self._begin(app)

    def _begin(self, app: str) -> None:
        threading.Thread(target=self._lease, args=(app,), name=f"lease of {app}", daemon=True).start()

    def _lease(self, app: str) -> None:
        try:
            lease = self._client.lease(self._settings.apps[app], holder="webarena sites", timeout=_HOUR)
            self._gateway.join(lease)
            for site in lease.sites:
                self._gateway.set_headers(site, self._headers.get(site, {}))
        except WebArenaError as error:
            with self._lock:
                self._problems[app] = str(error)
                self._since[app] = time.monotonic()
        else:
            with self._lock:
                self._leases[app] = lease
                self._since[app] = time.monotonic()

    def status(self) -> DaemonStatus:
        with self._lock:
            leases, problems, since = dict(self._leases), dict(self._problems), dict(self._since)
        now = time.monotonic()
        activities = {app.app: app.activity for app in self._client.status().apps}
        apps = []
        for app, sites in self._settings.apps.items():
            state: Literal["starting", "up", "failed"]
            state = "up" if app in leases else "failed" if app in problems else "starting"
            problem = problems.get(app, "")
            if state == "up":
                try:
                    leases[app].check()
                except WebArenaError as error:
                    state, problem = "failed", str(error)
            access = leases[app].sites if state == "up" else {}
            apps.append(
                DaemonSite(
                    app=app, sites=sites, state=state, seconds=now - since[app], problem=problem,
                    activity=activities.get(app, ""), access=access,
                )
            )  # fmt: skip
        return DaemonStatus(
            pid=os.getpid(),
            catalogue=self._settings.catalogue,
            proxy=self._gateway.proxy,
            log=str(self._launcher.log),
            apps=tuple(apps),
        )

    def reset(self, app: str) -> None:
        with self._lock:
            if app in self._settings.apps and app not in self._leases and app not in self._problems:
                raise UsageError(f"{app} is still starting")
            lease = self._leases.pop(app, None)
            self._problems.pop(app, None)
            self._since[app] = time.monotonic()
        if lease is not None:
            lease.release()
        self._begin(app)

    def logs(self, app: str, lines: int) -> str:
        with self._lock:
            lease, problem = self._leases.get(app), self._problems.get(app)
        if lease is not None:
            return lease.logs(self._settings.apps[app][0], lines)
        return problem or f"{app} is still starting; the broker's log is {self._launcher.log}"

    def headers(self, site: str, headers: Mapping[str, str]) -> None:
        self._gateway.set_headers(site, headers)
        self._headers[site] = headers


class _DaemonServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, address: str, daemon: _Daemon) -> None:
        super().__init__(address, _RequestHandler)
        self.daemon = daemon
        self.ended = threading.Event()


class _RequestHandler(socketserver.StreamRequestHandler):
    server: _DaemonServer

    def handle(self) -> None:
        try:
            message = json.loads(self.rfile.readline())
        except ValueError:
            return
        operation = message.pop("op")
        daemon = self.server.daemon
        known: dict[str, Callable[..., Any]]
        known = {
            "status": daemon.status,
            "reset": daemon.reset,
            "logs": daemon.logs,
            "headers": daemon.headers,
        }
        try:
            if operation == "end":
                answer: dict[str, Any] = {"result": None}
            else:
                answer = {"result": known[operation](**message)}
        except WebArenaError as error:
            answer = {"error": str(error)}
        with contextlib.suppress(OSError):
            self.wfile.write(dumps(answer).encode() + b"\n")
        if operation == "end":
            self.server.ended.set()


@contextlib.contextmanager
def _state_file(directory: Path, address: str) -> Iterator[None]:
    file = directory / _STATE
    unfinished = directory / f"{_STATE}.new"
    unfinished.write_text(json.dumps({"owner": reaper.identity(), "address": address}))
    unfinished.replace(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def main() -> None:
    """Keep the sites running until stopped by a client, or by TERM or INT."""
    settings = decode(DaemonSettings, json.loads(sys.stdin.readline()))
    load_catalogue(settings.catalogue, site_urls=settings.site_urls)
    config = BrokerConfig(
        catalogue=settings.catalogue,
        site_urls=settings.site_urls,
        run_dir=settings.directory,
        max_replicas=2,
        spares=0,
        pulls="all",
        lease_timeout=_HOUR,
    )
    with BrokerLauncher(config) as launcher:
        client = BrokerClient(launcher.address, name="webarena sites")
        address = str(Path(launcher.address).with_name("standing.sock"))
        with client, _DaemonServer(address, _Daemon(settings, launcher, client)) as server:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, lambda *_: server.ended.set())
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
            with _state_file(settings.directory, address):
                with contextlib.suppress(OSError), open(int(sys.argv[1]), "wb", buffering=0) as ready_pipe:
                    ready_pipe.write(b"!")  # the state file exists now
                server.ended.wait()
            client.close()
            launcher.stop(timeout=30.0)
            server.shutdown()


if __name__ == "__main__":
    main()
