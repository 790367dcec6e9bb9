"""Forks processes that have pytest and the plugin loaded already: ``python fork_server.py ADDRESS MODULE…``.

Each connection brings the three standard streams and a command in one line; it receives the new process's pid and, when
that has ended, its return code. The server ends when its standard input does. It imports nothing of the suite, whose
modules would otherwise be in every process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.metadata
import io
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import types
from typing import Any, NoReturn

_STREAMS = 3


def _load(modules: list[str]) -> None:
    """Import the modules, and read once which packages are installed."""
    for name in modules:
        importlib.import_module(name)
    for each in importlib.metadata.distributions():
        if any(entry.group == "pytest11" for entry in each.entry_points):
            _ = each.metadata
    gc.collect()
    gc.freeze()  # so that no collection in a child copies its pages


def _serve(address: str) -> dict[str, Any]:
    """Fork a process for each connection; returns its command, in that process only."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    awake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    waiting: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as events:
        for source in (listener.fileno(), awake, 0):
            events.register(source, selectors.EVENT_READ)
        os.write(1, b"ready\n")
        while True:
            ready = {key.fd for key, _ in events.select()}
            if 0 in ready:
                sys.exit()
            if awake in ready:
                os.read(awake, 4096)
                _report_ended(waiting)
            if listener.fileno() in ready:
                connection, _ = listener.accept()
                command, streams = _receive(connection)
                pid = os.fork()
                if not pid:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for number, stream in enumerate(streams):
                        os.dup2(stream, number)
                        os.close(stream)
                    for end in (awake, waker):
                        os.close(end)
                    for each in (listener, connection, *waiting.values()):
                        each.close()
                    return command
                for stream in streams:
                    os.close(stream)
                waiting[pid] = connection
                _send(connection, pid)


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, streams, _, _ = socket.recv_fds(connection, 65536, _STREAMS)
    while not data.endswith(b"\n"):
        received = connection.recv(65536)
        if not received:
            sys.exit("fork_server: a client ended before its command did")
        data += received
    return json.loads(data), streams


def _report_ended(waiting: dict[int, socket.socket]) -> None:
    while waiting:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with waiting.pop(pid) as connection:
            _send(connection, os.waitstatus_to_exitcode(status))


def _send(connection: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # nobody waits for this process
        connection.sendall(b"%d\n" % number)


def _run(command: dict[str, Any]) -> NoReturn:
    """Continue as ``python [-u] -m MODULE …`` or ``python [-u] -c CODE …`` would begin."""
    os.environ.clear()
    os.environ.update(command["env"])
    os.chdir(command["cwd"])
    options = command["arguments"]
    unbuffered = options[0] == "-u"
    options = options[unbuffered:]
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        setattr(sys, name, _stream(number, unbuffered))
        setattr(sys, f"__{name}__", getattr(sys, name))
    given = os.environ.get("PYTHONPATH")
    sys.path[:0] = ["" if options[0] == "-c" else os.getcwd(), *(given.split(os.pathsep) if given else [])]
    kind, what, sys.argv = options[0], options[1], ["", *options[2:]]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.argv[0] = "-c"
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(what, vars(main))
    sys.exit()


def _stream(number: int, unbuffered: bool) -> io.TextIOWrapper:
    if number == 0:
        return io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    raw: Any = io.FileIO(number, "w", closefd=False)
    errors = "backslashreplace" if number == 2 else "strict"
    return io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),
        errors=errors,
        line_buffering=number == 2,
        write_through=unbuffered,
    )


if __name__ == "__main__":
    del sys.path[0]
    _load(sys.argv[2:])
    _run(_serve(sys.argv[1]))
