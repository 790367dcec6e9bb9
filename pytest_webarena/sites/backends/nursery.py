"""The common parent of fork servers: it has loaded what their apps have in common, and forks one for each.

Pages of memory that nobody writes to are then held once for all of them, and what is loaded takes its time once. Run as
``python -P -m pytest_webarena.sites.backends.nursery MODULE…``; stdin is a Unix socket on which orders come, each a
JSON object with three open files, the child's stdin, stdout and stderr::

    → {"op": "bear", "name": "homepage-1", "environ": {…}}       with three files
    → {"op": "kill", "name": "homepage-1"}
    ← {"event": "born", "name": "homepage-1", "pid": 7}
    ← {"event": "exit", "name": "homepage-1", "code": -9}

It runs nothing of the apps: a fork server loads its app after it was forked, in a session of its own. All end with it.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NoReturn

from pytest_webarena.sites.backends import forkserver

__all__ = ["FILES", "ORDER_LIMIT", "main"]

FILES = 3
"""stdin, stdout, stderr."""
ORDER_LIMIT = 65536
"""Bytes of an order: one message, one read."""
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


class _Nursery:
    """Children by pid, orders one after the other."""

    def __init__(self, orders: socket.socket, out: int) -> None:
        self._orders, self._out = orders, out
        self._children: dict[int, str] = {}
        self._pid = os.getpid()

    def run(self) -> None:
        """Serve orders until the other end closes."""
        waker, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        selector = selectors.DefaultSelector()
        selector.register(self._orders, selectors.EVENT_READ)
        selector.register(waker, selectors.EVENT_READ)
        inherited = (waker, woken)
        while True:
            for key, _ in selector.select():
                if key.fd == waker:
                    os.read(waker, 4096)
                elif not self._serve(selector, inherited):
                    self._end_all()
                    return
            self._collect()

    def _serve(self, selector: selectors.BaseSelector, inherited: Sequence[int]) -> bool:
        text, files, _, _ = socket.recv_fds(self._orders, ORDER_LIMIT, FILES)
        if not text:
            return False
        order = json.loads(text)
        if order["op"] == "kill":
            for pid, name in self._children.items():
                if name == order["name"]:
                    os.kill(pid, signal.SIGKILL)  # not waited for yet, so the pid is still the child's
            return True
        pid = os.fork()
        if pid == 0:
            selector.close()
            self._be_fork_server(order["environ"], files, inherited)
        for file in files:
            os.close(file)
        self._children[pid] = order["name"]
        self._tell("born", order["name"], pid=pid)
        return True

    def _be_fork_server(self, environ: Mapping[str, str], files: Sequence[int], inherited: Sequence[int]) -> NoReturn:
        code = 1
        try:
            os.setsid()
            _die_with_parent(self._pid)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._orders.close()
            for place, file in enumerate(files):
                os.dup2(file, place)
            for file in (*files, *inherited, self._out):
                os.close(file)
            os.environ.update(environ)
            forkserver.main()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            # Nothing of the parent's clean-up must run here.
            sys.stderr.flush()
            os._exit(code)

    def _collect(self) -> None:
        for pid in list(self._children):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._tell("exit", self._children.pop(pid), code=os.waitstatus_to_exitcode(status))

    def _end_all(self) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        for pid in self._children:
            os.waitpid(pid, 0)

    def _tell(self, event: str, name: str, **fields: int) -> None:
        os.write(self._out, json.dumps({"event": event, "name": name, **fields}).encode() + b"\n")


def _die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        prctl: Callable[..., int] = ctypes.CDLL(None).prctl
        prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died in between
            os._exit(1)


def main() -> None:
    """Load the modules that were named, and serve the broker that started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=os.dup(0))
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    _die_with_parent(os.getppid())
    for module in sys.argv[1:]:
        try:
            import_module(module)
        except Exception:
            traceback.print_exc()  # the app that needs it says so itself, and better
    gc.collect()
    gc.freeze()  # shared by all from now on; collecting would copy it
    _Nursery(orders, out).run()


if __name__ == "__main__":
    main()
