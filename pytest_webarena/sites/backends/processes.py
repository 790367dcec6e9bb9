"""Replicas that are commands, and helpers for all processes: how they ended, what they logged."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from pytest_webarena.errors import SiteError, SiteUnready
from pytest_webarena.sites.backends.activity import Activity, stopped, threads_of
from pytest_webarena.sites.backends.ready import wait_ready
from pytest_webarena.sites.backends.stand_ins import StandIns
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.cleanup import reaper

__all__ = ["CommandReplica", "exit_text", "is_signal", "log_tail", "start_command"]

_TAIL_LINES = 20
_TAIL_BYTES = 8192
_PORT_TRIES = 3
_LONGEST_PATH = 1000
_OF_SHELLS = 128
"""Number that shells add to a signal to report it as an exit code."""
_MARK = "PYTEST_WEBARENA_REPLICA"
"""Environment variable that identifies a replica's processes anywhere."""


def exit_text(code: int) -> str:
    """Returns a return code in words.

    >>> exit_text(-9)
    'signal SIGKILL (out of memory, or killed by another program)'
    """
    if code >= 0:
        return f"exit code {code}"
    hint = " (out of memory, or killed by another program)" if code == -signal.SIGKILL else ""
    return f"signal {signal.Signals(-code).name}{hint}"


def is_signal(code: int | None) -> bool:
    """Returns whether a return code is a signal, also in the form in which a shell reports that of its child.

    >>> [is_signal(code) for code in (-9, 137, 1, 255, None)]
    [True, True, False, False, False]
    """
    return code is not None and (code < 0 or code - _OF_SHELLS in set(signal.Signals))


def log_tail(path: Path) -> str:
    """Returns the last lines of a log as a suffix of an error message; says so if the log is empty."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    except OSError:
        return ""
    return "; last log lines:\n" + "\n".join(f"    {line}" for line in lines) if lines else "; its log is empty"


class CommandReplica:
    """A running command and the processes it started."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        port: int,
        data_dir: Path,
        log: Path,
        mark: str,
        ports: Mapping[str, int],
    ) -> None:
        self.port = port
        self.ports = ports
        """Ports of its stand-ins, by site."""
        self.activity = Activity(partial(threads_of, process.pid, mark))
        self.data_dir = data_dir
        self.fingerprint: str | None = None
        self._process, self._log, self._mark = process, log, mark
        self._identity = reaper.identity(process.pid)

    async def died(self) -> str:
        """Returns how it ended; empty while it runs."""
        code = self._process.returncode
        return "" if code is None else f"it ended with {exit_text(code)}{log_tail(self._log)}"

    async def signalled(self) -> bool:
        """Returns whether a signal ended it, or stopped one of its processes."""
        return is_signal(self._process.returncode) or await stopped(self._process.pid, self._mark)

    async def stop(self) -> None:
        """Kill it and everything it started, and wait for its end."""
        await asyncio.to_thread(reaper.reap, [("pid", self._identity), ("mark", self._mark)])
        await self._process.wait()


async def start_command(
    app: AppManifest,
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    data: str,
    data_dir: Path,
    log: Path,
) -> CommandReplica:
    """Run ``command`` on a free port with a data directory of its own, and wait until the app is ready."""
    for attempt in range(1, _PORT_TRIES + 1):
        await asyncio.to_thread(_make_data, data, data_dir)
        port = _free_port()
        stand_ins = StandIns.of(app, _free_port)
        filling = {"{port}": str(port), "{data_dir}": str(data_dir), "{python}": sys.executable, **stand_ins.filling}
        words = [_fill(_found_from(word, app), filling) for word in command]
        replica = await _spawn(app, words, environ, filling, port, data_dir, log, stand_ins)
        try:
            await wait_ready(
                app.ready, "127.0.0.1", port,
                server_name=app.sites[0].host, timeout=app.start_timeout, died=replica.died,
            )  # fmt: skip
        except BaseException as error:
            lost_port = bool(await replica.died()) and _taken(port)
            alive = not await replica.died()
            await replica.stop()
            if isinstance(error, SiteError) and lost_port and attempt < _PORT_TRIES:
                continue  # another process took the port before the command listened
            if isinstance(error, SiteError) and alive:
                raise SiteError(f"{error}{log_tail(log)}") from error
            raise
        return replica
    raise AssertionError("unreachable")


async def _spawn(
    app: AppManifest,
    command: Sequence[str],
    environ: Mapping[str, str],
    filling: Mapping[str, str],
    port: int,
    data_dir: Path,
    log: Path,
    stand_ins: StandIns,
) -> CommandReplica:
    mark = f"{_MARK}={secrets.token_hex(8)}"
    marked = {**os.environ, **dict([mark.split("=", 1)])}
    filled = {name: _fill(value, filling) for name, value in environ.items()}
    in_data_dir = app.process is not None and app.process.in_data_dir
    if in_data_dir:
        paths = [str(app.folder), filled.get("PYTHONPATH", marked.get("PYTHONPATH", ""))]
        filled["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    try:
        await stand_ins.start(app, marked, data_dir, log)
        with log.open("ab") as out:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
                cwd=data_dir if in_data_dir else app.folder, env={**marked, **filled}, start_new_session=True,
            )  # fmt: skip
    except BaseException as error:
        if stand_ins.sites:
            await asyncio.to_thread(reaper.reap, [("mark", mark)])
        if not isinstance(error, OSError):
            raise
        kind = SiteUnready if isinstance(error, FileNotFoundError | PermissionError) else SiteError
        raise kind(f"the app {app.name!r}: its command {command[0]!r} can't be run: {error}") from error
    return CommandReplica(process, port, data_dir, log, mark, stand_ins.ports)


def _found_from(word: str, app: AppManifest) -> str:
    """Returns a word of a command as it is found from the directory in which the command runs: the path of a file of
    the catalogue's folder, other than a database."""
    if app.process is None or not app.process.in_data_dir or not word or "\0" in word or len(word) > _LONGEST_PATH:
        return word
    if word in {database.path for database in app.databases.values()}:
        return word
    path = app.folder / word
    return str(path) if path.exists() else word


def _fill(text: str, filling: Mapping[str, str]) -> str:
    for name, value in filling.items():
        text = text.replace(name, value)
    return text


def _make_data(data: str, data_dir: Path) -> None:
    shutil.rmtree(data_dir, ignore_errors=True)
    if data:
        shutil.copytree(data, data_dir, symlinks=True)
    else:
        data_dir.mkdir(parents=True)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _taken(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
