"""The pytest controller's side of the broker: opens its socket at once, and starts its process on demand.

The listening socket exists as soon as the launcher does. A thread waits for the first connection and then starts the
broker, which inherits the socket; a run that needs no site pays nothing for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.cleanup import reaper
from pytest_webarena.sites.cleanup.private_directory import (
    READY,
    REPORT,
    ReaperProcess,
    abandon_after_fork,
    child_environment,
    make_directory,
)
from pytest_webarena.sites.client.broker_request import read_order
from pytest_webarena.sites.protocol import keys

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.running import Pulls
    from pytest_webarena.sites.protocol.report import BrokerReport

__all__ = ["BrokerConfig", "BrokerLauncher"]

_BROKERS = 3
"""Maximum number of brokers that are started; one that died is replaced when the next client connects."""
_PAUSE = 10.0
"""Seconds between a broker's answer and the next health check."""
_SILENCE = 45.0
"""Seconds without an answer, after which the broker is killed and replaced. Together with `_PAUSE` it is less than
clients wait for a response (`lease._ANSWER`): they receive the reason, and their retry reaches another broker."""
_LOG_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """Settings of a run's sites."""

    catalogue: str = "embedded"
    """Name of a shipped catalogue, or path of a YAML file."""
    site_urls: Mapping[str, str] = field(default_factory=dict)
    """Addresses of sites that run elsewhere, by name."""
    run_dir: Path | None = None
    """Directory of ``broker.log``; None: the private directory, which is removed at the end."""
    max_replicas: int = 8
    """Maximum number of replicas of an app, unless its manifest sets it."""
    spares: int | None = None
    """Number of pristine spares of an app in addition to those in use, unless its manifest sets it. None: one, and more
    as soon as replicas are used up faster than they can be replaced."""
    memory: int | None = None
    """Memory in bytes for replicas and spares of all apps; every app may have one replica anyway. None: no limit."""
    pulls: Pulls = "small"
    """Which missing images are pulled: those of up to 1 GB, all, or none."""
    lease_timeout: float = 120.0
    """Time limit in seconds of lease requests without one."""
    allow_unreset: bool = False
    """Whether sites that run elsewhere may be left changed."""
    protect_unreset: bool = False
    """Whether a site that runs elsewhere and has no reset is withdrawn once a trial may have changed it."""
    record: Path | None = None
    """File for a new archive of all sites' responses; None: none."""
    reset_proofs: Path | None = None
    """File that keeps the proofs of resets, with which a resumed run compares; None: none."""


class BrokerLauncher:
    """Owns the broker of a run. A context manager; leaving it stops the broker.

    If this process ends for any reason, the broker notices, ends its replicas and is gone within seconds, together with
    everything on disk. With ``guarded`` False that holds only from `guard` or the first connection on; until then there
    is only an empty directory, which the next run's sweep removes.
    """

    def __init__(self, config: BrokerConfig, *, guarded: bool = True) -> None:
        self._config = config
        self._guard: ReaperProcess | None = None
        self._directory = make_directory()
        self.address = str(self._directory / "broker.sock")
        """Path of the Unix socket, for `BrokerClient`."""
        self._key = keys.make(self.address)
        self._agents = make_directory()
        self.agents_directory = self._agents / "agents"
        """Parent of agents' working directories, separate from the socket and the records. Its user creates it; it is
        removed with the launcher."""
        self.log = (config.run_dir or self._directory).absolute() / "broker.log"
        """The broker's log; it exists once the broker has been started."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.address)
        self._listener.listen(128)
        self._wake, self._waker = socket.socketpair()
        self._broker: subprocess.Popen[bytes] | None = None
        self._problems: list[str] = []
        self._stopping = False
        self._lock = threading.Lock()
        self._report: BrokerReport | None = None
        if guarded:
            self.guard()
        abandon_after_fork(self)
        self._thread = threading.Thread(target=self._serve_clients, name="webarena-broker-launcher", daemon=True)
        self._thread.start()

    def __enter__(self) -> BrokerLauncher:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def configure(self, config: BrokerConfig) -> None:
        """Change the broker's settings before any client connects."""
        self._config = config

    def guard(self) -> ReaperProcess:
        """Start the reaper of this launcher's directories, if it does not run yet."""
        with self._lock:
            if self._guard is None:
                self._guard = ReaperProcess()
                for directory in (self._directory, self._agents):
                    self._guard.add("dir", str(directory))
            return self._guard

    def stop(self, timeout: float = 10.0) -> BrokerReport:
        """End the broker and everything it started, and return its figures.

        It is asked to end, and killed after ``timeout`` seconds. Further calls return the same report.
        """
        with self._lock:
            self._stopping = True
            broker = self._broker
        if self._report is not None:
            return self._report
        with contextlib.suppress(OSError):
            self._waker.send(b"x")
        if broker is not None:
            _close_stdin(broker)
            self._end(broker, timeout)
        self._thread.join(5.0)
        report = self._read_report()
        self._listener.close()
        self._wake.close()
        self._waker.close()
        for directory in (self._directory, self._agents):
            reaper.remove_tree(directory, patience=2)
        keys.forget(self.address)
        if self._guard is not None:
            self._guard.close()
        self._report = replace(report, problems=(*report.problems, *self._problems))
        return self._report

    def abandon(self) -> None:
        """Detach a forked child from the broker, which must not live as long as the child."""
        for held in (self._listener, self._wake, self._waker):
            with contextlib.suppress(OSError):
                held.close()
        if self._broker is not None:
            _close_stdin(self._broker)

    # --- the thread

    def _serve_clients(self) -> None:
        while self._wait_for_client():
            broker = self._start()
            if broker is None:
                return
            problem = self._until_its_end(broker)
            if self._stopping:
                return
            self._problems.append(problem)
            if broker.returncode == 2 or len(self._problems) >= _BROKERS:
                self._refuse(problem)
                return

    def _wait_for_client(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            selector.select()
        return not self._stopping

    def _start(self) -> subprocess.Popen[bytes] | None:
        opened = self._open_log()
        known = Path(self._config.catalogue.removeprefix("archive:"))
        guard = self.guard()
        settings = {
            "catalogue": str(known.absolute()) if known.suffix or known.parent.name else self._config.catalogue,
            "site_urls": dict(self._config.site_urls),
            "directory": str(self._directory / f"broker-{len(self._problems)}"),
            "log": str(self.log),
            "max_replicas": self._config.max_replicas,
            "spares": self._config.spares,
            "memory": self._config.memory,
            "pulls": self._config.pulls,
            "lease_timeout": self._config.lease_timeout,
            "allow_unreset": self._config.allow_unreset,
            "protect_unreset": self._config.protect_unreset,
            "record": str(self._config.record.absolute()) if self._config.record is not None else "",
            "reset_proofs": str(self._config.reset_proofs.absolute()) if self._config.reset_proofs is not None else "",
            "python_path": os.environ.get("PYTHONPATH"),
            "key": self._key,
        }
        ordered = read_order(self.address)
        environment = ordered.pop("environment", {})
        settings |= ordered
        listener = self._listener.fileno()
        with self._lock, opened as log:
            if self._stopping:
                return None
            # A new session: Ctrl-C is for pytest, whose workers still have leases to release.
            self._broker = subprocess.Popen(
                [sys.executable, "-P", "-m", "pytest_webarena.sites.broker.main", str(listener)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                pass_fds=[listener],
                start_new_session=True,
                env=child_environment() | environment,
            )
        guard.add("wait", reaper.identity(self._broker.pid))
        with contextlib.suppress(OSError, ValueError):  # stopped in the meantime
            self._broker.stdin.write(json.dumps(settings).encode() + b"\n")  # type: ignore[union-attr]
        return self._broker

    def _open_log(self) -> IO[bytes]:
        """Open the broker's log in the run's directory; if that fails (a full disk, a removed directory), in the
        private one, because a missing log must not prevent the use of sites."""
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            return self.log.open("ab")
        except OSError:
            self.log = self._directory / "broker.log"
            return self.log.open("ab")

    def _until_its_end(self, broker: subprocess.Popen[bytes]) -> str:
        """Wait for the broker's end, and return its reason."""
        silent = False
        with contextlib.suppress(OSError, ValueError), broker.stdout as out:  # type: ignore[union-attr]
            output = out.readline()
            if output != READY:
                output += out.read()
            elif silent := _wait_for_silence(broker, out):
                broker.kill()
        broker.wait()
        _close_stdin(broker)
        if silent:
            return f"the site broker gave no sign of life for {_SILENCE:g} s, and was ended{self._log_tail()}"
        if broker.returncode == 2 and output:
            return output.decode("utf-8", "replace").strip()
        return f"the site broker ended with {_exit_text(broker.returncode)}{self._log_tail()}"

    def _refuse(self, problem: str) -> None:
        """Send every client the reason why there is no broker."""
        from pytest_webarena.sites.protocol.messages import error_line

        answer = error_line(None, SiteError(problem))
        self._listener.settimeout(1.0)
        while self._wait_for_client():
            with contextlib.suppress(OSError):
                client, _ = self._listener.accept()
                with client:
                    client.settimeout(1.0)
                    with contextlib.suppress(OSError):
                        client.recv(65536)  # its greeting; if it stays unread, the answer is cut off
                    client.sendall(answer)

    # --- the end

    def _end(self, broker: subprocess.Popen[bytes], timeout: float) -> None:
        # The thread ends when the broker has ended.
        self._thread.join(timeout)
        for ask in (broker.terminate, broker.kill):
            if self._thread.is_alive():
                ask()
                self._thread.join(1.0)
        if broker.returncode != 0:
            self._problems.append(f"the site broker did not end in good order: {_exit_text(broker.returncode)}")

    def _read_report(self) -> BrokerReport:
        from pytest_webarena.sites.protocol.report import BrokerReport

        try:
            data = json.loads((self._directory / REPORT).read_text())
        except FileNotFoundError:
            return BrokerReport(catalogue=self._config.catalogue)
        from pytest_webarena.sites.protocol.wire import decode

        return decode(BrokerReport, data)

    def _log_tail(self) -> str:
        try:
            lines = self.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        except OSError as error:
            return f"; its log {self.log} can't be read: {error.strerror}"
        return f"; the end of {self.log}:\n" + "\n".join(lines) if lines else f"; its log {self.log} is empty"


def _wait_for_silence(broker: subprocess.Popen[bytes], out: IO[bytes]) -> bool:
    """Wait until the broker ends, or stops answering. Returns True if it stopped answering."""
    while True:
        broker.stdin.write(b"\n")  # type: ignore[union-attr]
        # Twice: if all processes were suspended for a while, the broker is late but not silent.
        if not (_is_readable(out, _SILENCE / 2) or _is_readable(out, _SILENCE / 2)):
            return True
        if not os.read(out.fileno(), 1) or _is_readable(out, _PAUSE):  # end of file; it never writes unasked
            return False


def _is_readable(out: IO[bytes], seconds: float) -> bool:
    return bool(select.select([out], [], [], seconds)[0])


def _exit_text(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _close_stdin(broker: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        broker.stdin.close()  # type: ignore[union-attr]
