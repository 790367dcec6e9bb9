"""Processes of pytest that are forked from one that has imported pytest and the plugin: they start ten times as fast.

A test whose subject is how a process starts uses the fixture ``real_processes``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["FORKING", "PRELOADED", "ForkedProcess", "start"]

PRELOADED = (
    "asyncio",
    "encodings.utf_16_be",
    "multiprocessing.connection",
    "playwright.async_api",
    "pytest_playwright.pytest_playwright",
    "pytest_webarena.agents.definitions",
    "pytest_webarena.agents.shipped",
    "pytest_webarena.checks.answer_form",
    "pytest_webarena.checks.url",
    "pytest_webarena.cluster.cluster_address",
    "pytest_webarena.embedded",
    "pytest_webarena.llm_judge.judge_eligibility",
    "pytest_webarena.plugin.hooks",
    "pytest_webarena.plugin.ray_dispatch",
    "pytest_webarena.plugin.reporting.allure.identity",
    "pytest_webarena.plugin.reporting.allure.result",
    "pytest_webarena.plugin.reporting.allure.run_files",
    "pytest_webarena.plugin.run_facts",
    "pytest_webarena.results.comparing.detecting",
    "pytest_webarena.results.comparing.wording",
    "pytest_webarena.results.key_node_scores",
    "pytest_webarena.results.model_calls",
    "pytest_webarena.sites.backends",
    "pytest_webarena.sites.broker.memory",
    "pytest_webarena.sites.client.launcher",
    "pytest_webarena.sites.catalogues.account_checks",
    "pytest_webarena.sites.catalogues.loading",
    "pytest_webarena.sites.catalogues.signing_in",
    "pytest_webarena.sites.protocol.report",
    "pytest_webarena.suites.loading",
    "pytest_webarena.trials.archive_misses",
    "pytest_webarena.trials.cancellation",
    "pytest_webarena.trials.executor",
    "pytest_webarena.trials.rescoring",
    "pytest_webarena.trials.stopping",
    "pytest_webarena.trials.trial_environment",
    "pytest_webarena.trials.threaded_executor",
    "pytest_webarena.trials.concurrency",
    "statistics",
)
"""Modules that runs of pytest use. `xdist.plugin` must not be there: it stores the module path that it finds at its
import."""
_SERVER = Path(__file__).parent / "fork_server.py"


class ForkedProcess:
    """Like `subprocess.Popen`, for a command that `start` accepts; the process is not a child of this one."""

    def __init__(self, arguments: Sequence[str], cwd: str, env: Mapping[str, str], streams: Sequence[Any]) -> None:
        self.args = [sys.executable, *arguments]
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        with contextlib.ExitStack() as given:
            numbers = [self._open(number, stream, given) for number, stream in enumerate(streams)]
            self._connection = socket.socket(socket.AF_UNIX)
            self._connection.connect(_address(os.getpid()))
            request = json.dumps({"arguments": list(arguments), "cwd": cwd, "env": dict(env)}).encode() + b"\n"
            sent = socket.send_fds(self._connection, [request], numbers)
            self._connection.sendall(request[sent:])
        self._received = b""
        self.pid = self._reply(None)

    def _open(self, number: int, stream: Any, given: contextlib.ExitStack) -> int:
        """Returns a file descriptor for a standard stream of the process; ``given`` closes what it opens."""
        if stream is None:
            return number
        if stream == subprocess.PIPE:
            ends = os.pipe()
            theirs, ours = ends if number == 0 else ends[::-1]
            setattr(self, ("stdin", "stdout", "stderr")[number], os.fdopen(ours, "wb" if number == 0 else "rb"))
        elif stream == subprocess.DEVNULL:
            theirs = os.open(os.devnull, os.O_RDWR)
        else:
            return stream if isinstance(stream, int) else stream.fileno()
        given.callback(os.close, theirs)
        return theirs

    def poll(self) -> int | None:
        """Returns the process's return code, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Returns the process's return code when it has ended.

        Raises:
            subprocess.TimeoutExpired: after ``timeout`` seconds.
        """
        if self.returncode is None:
            try:
                self.returncode = self._reply(timeout)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._connection.close()
        return self.returncode

    def _reply(self, timeout: float | None) -> int:
        """Returns the next number from the server."""
        self._connection.settimeout(timeout)
        while b"\n" not in self._received:
            received = self._connection.recv(64)
            if not received:
                raise ChildProcessError(f"the server of forked processes ended before {self.args}")
            self._received += received
        line, _, self._received = self._received.partition(b"\n")
        return int(line)

    def kill(self) -> None:
        """Kill the process, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def start(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    **streams: Any,
) -> ForkedProcess | subprocess.Popen[bytes]:
    """Start a command of Python: forked, if it is a run of pytest or an xdist worker that would import the same.

    ``streams`` are `subprocess.Popen`'s ``stdin``, ``stdout`` and ``stderr``.
    """
    environ = dict(os.environ if env is None else env)
    program, *arguments = [os.fspath(each) for each in command]
    if arguments[:1] == ["-mpytest"]:
        arguments[:1] = ["-m", "pytest"]
    is_pytest = arguments[:2] in (["-m", "pytest"], ["-u", "-c"])
    if program != sys.executable or not is_pytest or not _imports_the_same(environ):
        return subprocess.Popen(command, cwd=cwd, env=environ, **streams)
    places = [streams.get(name) for name in ("stdin", "stdout", "stderr")]
    return ForkedProcess(arguments, str(cwd or Path.cwd()), environ, places)


FORKING = types.SimpleNamespace(**vars(subprocess) | {"Popen": start})
"""The module `subprocess` for those who start pytest."""


def _imports_the_same(environ: Mapping[str, str]) -> bool:
    """Whether Python would start with this environment as the server did.

    Rewritten assertions need modules that are not imported yet.
    """
    return "--assert=plain" in environ.get("PYTEST_ADDOPTS", "") and _of_python(environ) == _of_python(os.environ)


def _of_python(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith("PYTHON") and name != "PYTHONPATH"}


@functools.cache
def _address(owner: int) -> str:
    """Start this process's server and return the path of its socket.

    ``owner`` is the pid: a fork has a server of its own.
    """
    directory = tempfile.mkdtemp(prefix="webarena-tests-")
    address = os.path.join(directory, "fork")
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    server = subprocess.Popen(
        [sys.executable, str(_SERVER), address, *PRELOADED], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None

    def stop() -> None:
        assert server.stdin is not None
        if os.getpid() == owner:
            server.stdin.close()
            server.wait()
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(stop)
    assert server.stdout.readline() == b"ready\n", "the server of forked processes did not start"
    server.stdout.close()
    return address
