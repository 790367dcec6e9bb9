"""The common parent of fork servers: it loads the modules that their apps share, and forks one server for each app.

Unwritten memory pages then exist once for all of them, and shared modules are loaded once. It runs as ``python -P -m
pytest_webarena.sites.backends.common_parent MODULE…``. stdin is a Unix socket for orders; an order to spawn comes with
three open files, the child's stdin, stdout and stderr::

    → {"op": "spawn", "name": "homepage-1", "environ": {…}}       with three files
    → {"op": "kill", "name": "homepage-1"}
    ← {"event": "loaded", "name": "", "obstacle": ""}             first, once all is loaded
    ← {"event": "exit", "name": "homepage-1", "code": -9}

It runs no app code: a fork server loads its app after the fork, in a session of its own. All children end with it. A
fork does not copy threads, and locks that they hold stay locked for ever: if a module starts a thread, ``obstacle``
names it, and this process ends.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from pytest_webarena.death_signal import die_with_parent
from pytest_webarena.sites.backends import forkserver
from pytest_webarena.sites.backends.children import Loop, end_all, live_as
from pytest_webarena.sites.backends.compacting import compact

__all__ = ["FILES", "ORDER_LIMIT", "main"]

FILES = 3
"""stdin, stdout, stderr."""
ORDER_LIMIT = 65536
"""Maximum length in bytes of an order, which is one message and one read."""
_PATIENCE, _POLL = 0.5, 0.01
"""Seconds that a module's short-lived threads get to end, and between two checks."""


class _CommonParent:
    """Forks and kills children by orders, one after the other."""

    def __init__(self, orders: socket.socket, out: int) -> None:
        self._orders, self._out = orders, out
        self._children: dict[int, str] = {}
        self._pid = os.getpid()
        self._loop = Loop(orders.fileno())

    def run(self, obstacle: str) -> None:
        """Report that everything is loaded. Serve orders until the other end closes, unless there is ``obstacle``."""
        self._send_event("loaded", "", obstacle=obstacle)
        if not obstacle:
            self._loop.run(self._serve, self._collect)
            end_all(self._children)

    def _serve(self) -> bool:
        text, files, _, _ = socket.recv_fds(self._orders, ORDER_LIMIT, FILES)
        if not text:
            return False
        order = json.loads(text)
        if order["op"] == "kill":
            for pid, name in self._children.items():
                if name == order["name"]:
                    os.kill(pid, signal.SIGKILL)  # not waited for yet, so the pid is still the child's
        else:
            self._spawn(order, files)
            for file in files:
                os.close(file)
        return True

    def _spawn(self, order: Mapping[str, Any], files: Sequence[int]) -> None:
        try:
            if len(files) < FILES:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            pid = os.fork()
        except OSError as error:  # too many processes or too little memory must not end the others
            why = f"the common parent of the fork servers can't fork another one: {error}"
            os.write(files[2] if len(files) == FILES else 2, f"{why}\n".encode())
            self._send_event("exit", order["name"], code=1)
            return
        if pid == 0:
            live_as(lambda: self._be_fork_server(order["environ"], files))
        self._children[pid] = order["name"]

    def _be_fork_server(self, environ: Mapping[str, str], files: Sequence[int]) -> None:
        os.setsid()
        die_with_parent(self._pid)
        self._loop.leave()
        self._orders.close()
        for place, file in enumerate(files):
            os.dup2(file, place)
        for file in (*files, self._out):
            os.close(file)
        os.environ.update(environ)
        forkserver.main()

    def _collect(self) -> None:
        for pid in list(self._children):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._send_event("exit", self._children.pop(pid), code=os.waitstatus_to_exitcode(status))

    def _send_event(self, event: str, name: str, **fields: int | str) -> None:
        os.write(self._out, json.dumps({"event": event, "name": name, **fields}).encode() + b"\n")


def _load(modules: Sequence[str]) -> str:
    """Import the modules. Returns what prevents forking this process now; empty if nothing does."""
    starts = ""
    for module in modules:
        try:
            import_module(module)
        except Exception:
            traceback.print_exc()  # the app that needs it reports the error more precisely
        if not starts and _threads() > 1:
            starts = module
    waited = time.monotonic() + _PATIENCE
    while (count := _threads()) > 1 and time.monotonic() < waited:
        time.sleep(_POLL)
    if count == 1:
        return ""
    names = ", ".join(sorted(each.name for each in threading.enumerate() if each is not threading.main_thread()))
    return f"{starts or modules[-1]} starts threads when it is imported ({names or 'not of Python'})"


def _threads() -> int:
    """Returns the number of threads of this process, including those that libraries started."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def main() -> None:
    """Load the named modules, and serve the broker that started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=os.dup(0))
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    die_with_parent(os.getppid())
    obstacle = _load(sys.argv[1:])
    compact()
    _CommonParent(orders, out).run(obstacle)
    sys.stderr.flush()
    os._exit(0)  # does not wait for threads of libraries


if __name__ == "__main__":
    main()
