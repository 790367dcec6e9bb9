"""A process that loads a WSGI app once and forks replicas of it in milliseconds.

There is one per app, single-threaded, run as ``python -P -m pytest_webarena.sites.backends.forkserver``. It exchanges
JSON lines::

    → {"op": "load", …}              the fields of `LoadOrder`
    ← {"event": "loaded", "seed": "<digest of the seed>"}
    ← {"event": "failed", "id": "", "error": "…"}
    → {"op": "fork", …}              the fields of `ForkOrder`
    ← {"event": "ready", "id": "homepage-1.0", "pid": 7, "port": 41234, "fingerprint": "…"}   by the replica
    ← {"event": "failed", "id": "homepage-1.0", "error": "…"}                           likewise
    → {"op": "kill", "id": "homepage-1.0"}
    ← {"event": "exit", "id": "homepage-1.0", "code": -9}

With ``on_fork`` a *spare* child waits, with its data copied and its port open, so that a fork is a line through a pipe
and a rename. It has served no request, and shares its data and port with no other child.

The process ends with its replicas when stdin ends. A replica ends with it: on Linux through the kernel, elsewhere
through a pipe. Events are shorter than a pipe's atomic write, so that those of several replicas don't mix; tracebacks
are in the logs.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.death_signal import die_with_parent
from pytest_webarena.errors import UsageError
from pytest_webarena.sites.backends.children import ChildError, Loop, adopt_orphans, end_all, in_child, live_as
from pytest_webarena.sites.backends.compacting import compact, rehearse
from pytest_webarena.sites.backends.files import files_digest, state_digest
from pytest_webarena.sites.backends.wsgi import logged, require, visit

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__all__ = ["ForkOrder", "LoadOrder", "main"]

_ERROR_LIMIT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOrder:
    """What to load; attributes are written ``module:attribute``."""

    app: str
    needs: tuple[str, ...]
    """Modules without which loading is not attempted."""
    install: str
    factory: str
    seed: str
    data: str
    on_fork: str
    warm: tuple[str, ...]
    host: str
    """Host name for requests to the ``warm`` paths."""
    threads: int
    spares: bool
    """Whether a child waits for the next order: for apps with resets, not for read-only ones."""
    seed_dir: str
    """Directory of the seed, created here unless it exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOrder:
    """Which replica to fork."""

    id: str
    data_dir: str
    """Directory of its data, created as a copy of the seed."""
    log: str
    fingerprint: bool
    """Whether to compute the digest of its pristine files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spare:
    """A child without an order yet."""

    pid: int
    orders: int
    """File descriptor for its order."""
    data: Path


class _Server:
    """State of the fork server: one loaded app, its children by pid."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._order: LoadOrder | None = None
        self._app: WSGIApplication | None = None
        self._children: dict[int, str] = {}
        self._spare: _Spare | None = None
        self._spares = 0
        # Orders given to spares, by pid. A spare that dies with its order unread is replaced.
        self._given: dict[int, tuple[_Spare, ForkOrder]] = {}
        # Replicas hold the reading end; nothing is ever written.
        self._lifeline, self._life = os.pipe()
        self._pending = b""
        self._loop = Loop(0)

    def run(self) -> None:
        """Serve orders until stdin ends."""
        die_with_parent(os.getppid())
        self._loop.run(self._read_orders, self._collect)
        end_all(self._children)

    def _read_orders(self) -> bool:
        data = os.read(0, 65536)
        *lines, self._pending = (self._pending + data).split(b"\n")
        for text in lines:
            message = json.loads(text)
            operation = message.pop("op")
            if operation == "load":
                self._load(LoadOrder(**{**message, "warm": tuple(message["warm"])}))
            elif operation == "fork":
                self._fork(ForkOrder(**message))
                self._keep_spare()
            else:
                self._kill(message["id"])
        return bool(data)

    # --- loading

    def _load(self, order: LoadOrder) -> None:
        try:
            self._order = order
            require(order.app, order.needs, order.install)
            seed = Path(order.seed_dir)
            if not seed.exists():
                _make_seed(order, seed)
            create: Callable[[Path], WSGIApplication] = _attribute(order.factory)
            if order.on_fork:
                _attribute(order.on_fork)
            warm = seed.with_name(f"{seed.name}.warm")
            shutil.rmtree(warm, ignore_errors=True)
            shutil.copytree(seed, warm, symlinks=True)
            app = create(warm)
            for address in order.warm:
                visit(app, address, order.host)
            if order.on_fork:
                self._app = app
            else:
                shutil.rmtree(warm, ignore_errors=True)
            del app
            import waitress  # noqa: F401  # so that replicas need not
        except UsageError as error:  # its message tells what to do
            _send(self._out, "failed", id="", error=str(error)[:_ERROR_LIMIT], clear=True)
            return
        except ChildError as error:
            _send(self._out, "failed", id="", error=_plain(str(error)), clear=error.clear)
            return
        except Exception as error:
            traceback.print_exc()
            _send(self._out, "failed", id="", error=_short(error))
            return
        rehearse()
        compact()
        _send(self._out, "loaded", seed=files_digest(seed) or str(time.time_ns()))

    # --- replicas

    def _fork(self, order: ForkOrder) -> None:
        if self._give_spare(order):
            return
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            live_as(lambda: self._be_replica(parent, lambda: order))
        self._children[pid] = order.id

    def _give_spare(self, order: ForkOrder) -> bool:
        spare, self._spare = self._spare, None
        if spare is None:
            return False
        try:
            os.write(spare.orders, json.dumps(asdict(order)).encode())  # shorter than a pipe's buffer
        except BrokenPipeError:  # the spare has died
            return False
        finally:
            os.close(spare.orders)
        self._children[spare.pid] = order.id
        self._given[spare.pid] = spare, order
        return True

    def _keep_spare(self) -> None:
        """Fork ahead of the next order. Only an app created before the fork can switch to its data later."""
        if self._app is None or self._spare is not None or self._order is None or not self._order.spares:
            return
        self._spares += 1
        data = Path(f"{self._order.seed_dir}.spare-{self._spares}")
        parent = os.getpid()
        orders, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(writing)
            live_as(lambda: self._be_replica(parent, lambda: _read_order(orders), data))
        os.close(orders)
        self._children[pid] = ""
        self._spare = _Spare(pid=pid, orders=writing, data=data)

    def _be_replica(self, parent: int, wait: Callable[[], ForkOrder], spare: Path | None = None) -> None:
        self._detach(parent)
        problem: Exception | None = None
        server = None
        try:
            if spare is not None:
                self._copy_seed(spare)
            if self._app is not None:
                server = self._serve(self._app)
        except Exception as error:
            problem = error  # reported after the order arrives
        order = wait()
        _log_to(order.log)
        try:
            if problem is not None:
                raise problem
            data = Path(order.data_dir)
            if spare is not None:
                spare.rename(data)
            else:
                self._copy_seed(data)
            server = self._bind(data, server)
            fingerprint = state_digest(data) if order.fingerprint else None
        except Exception as error:
            _send(self._out, "failed", id=order.id, error=_short(error))
            raise
        _send(self._out, "ready", id=order.id, pid=os.getpid(), port=server.effective_port, fingerprint=fingerprint)
        os.close(self._out)
        server.run()

    def _detach(self, parent: int) -> None:
        die_with_parent(parent)
        os.setsid()  # processes that it starts are killed with it
        adopt_orphans()  # so that orphans still count as its activity
        self._loop.leave()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.close(self._life)
        if self._spare is not None:
            os.close(self._spare.orders)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        # A new buffer: the parent's may contain text, and its lock may be held.
        raw = io.FileIO(2, "w", closefd=False)
        sys.stdout = sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), line_buffering=True, errors="replace")
        threading.Thread(target=self._end_with_parent, daemon=True).start()

    def _copy_seed(self, to: Path) -> None:
        assert self._order is not None
        shutil.copytree(self._order.seed_dir, to, symlinks=True)

    def _serve(self, app: WSGIApplication) -> Any:
        """Returns a server that listens, and answers once it runs."""
        from waitress.server import create_server

        assert self._order is not None
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind(("127.0.0.1", 0))
        return create_server(logged(app), sockets=[listener], threads=self._order.threads, ident=None)

    def _bind(self, data: Path, server: Any) -> Any:
        """Let the app use ``data``: the app that was created before the fork, or a new one."""
        assert self._order is not None
        if server is None:
            return self._serve(_attribute(self._order.factory)(data))
        _attribute(self._order.on_fork)(data)
        return server

    def _end_with_parent(self) -> None:
        os.read(self._lifeline, 1)
        os._exit(1)

    # --- ends

    def _kill(self, replica: str) -> None:
        for pid, name in self._children.items():
            if name == replica:
                self._given.pop(pid, None)
                os.kill(pid, signal.SIGKILL)  # not waited for yet, so the pid is still the child's
                with contextlib.suppress(ProcessLookupError):  # it does not lead a group yet
                    os.killpg(pid, signal.SIGKILL)

    def _collect(self) -> None:
        for pid in list(self._children):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            name = self._children.pop(pid)
            spare, order = self._given.pop(pid, (None, None))
            if spare and order and not Path(order.log).exists():
                shutil.rmtree(spare.data, ignore_errors=True)
                self._fork(order)
                self._keep_spare()
            elif name:
                _send(self._out, "exit", id=name, code=os.waitstatus_to_exitcode(status))
            elif self._spare is not None and self._spare.pid == pid:
                os.close(self._spare.orders)
                shutil.rmtree(self._spare.data, ignore_errors=True)
                self._spare = None


def _make_seed(order: LoadOrder, seed: Path) -> None:
    unfinished = seed.with_name(f"{seed.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    if order.data:
        shutil.copytree(order.data, unfinished, symlinks=True)
    else:
        unfinished.mkdir(parents=True)
    if order.seed:
        fill: Callable[[Path], object] = _attribute(order.seed)
        _attribute(order.factory)  # loaded before the fork, so that it is loaded once
        in_child(partial(fill, unfinished))
    unfinished.rename(seed)


def _read_order(pipe: int) -> ForkOrder:
    """Wait for the order; exit at the pipe's end, when none will come."""
    text = b""
    while data := os.read(pipe, 65536):
        text += data
    os.close(pipe)
    if not text:
        os._exit(0)
    return ForkOrder(**json.loads(text))


def _log_to(path: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def _attribute(target: str) -> Any:
    module, _, path = target.partition(":")
    value: Any = import_module(module)
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _short(error: Exception) -> str:
    return _plain(f"{type(error).__name__}: {error}")


def _plain(text: str) -> str:
    return text.encode("ascii", "replace").decode()[:_ERROR_LIMIT]


def _send(to: int, event: str, **fields: Any) -> None:
    os.write(to, json.dumps({"event": event, **fields}).encode() + b"\n")


def main() -> None:
    """Serve the broker that started this process. The app's output goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    _Server(out).run()


if __name__ == "__main__":
    main()
