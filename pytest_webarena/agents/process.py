"""Agents of kind ``process``: a command in any language that reads and writes one JSON message per line.

The command gets a working directory with copies of its own files only, an allow-listed environment, and a parent
process (`supervisor`) that ends it and everything it started with the trial. No argument or variable leads to the
project, but it runs as the same user and may search for it. With ``sandbox: bubblewrap`` it sees only its own files
(`sandbox`); another ``sandbox`` is a command of the user's, such as ``docker run``. Its stderr is kept.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_webarena.agents.code import contents, imported_files
from pytest_webarena.agents.kinds import AgentKind, Common
from pytest_webarena.agents.line_pipe import LinePipe
from pytest_webarena.agents.memory import Remembered
from pytest_webarena.agents.program_files import refuse_answers
from pytest_webarena.agents.protocol import AgentDefinition, Assignment, IsolationTier, Reply
from pytest_webarena.agents.sandbox import BUBBLEWRAP, Destination, check, read_host
from pytest_webarena.agents.wire import (
    encode,
    end_message,
    observation_message,
    read_memory,
    read_reply,
    remember_message,
    task_message,
)
from pytest_webarena.errors import AgentError, ModelError, UsageError
from pytest_webarena.secrets import mark

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.evidence import StopReason

__all__ = ["KIND", "ProcessAgent", "ProcessKeys", "hidden_from", "mark_all"]

_SECRET = re.compile("AUTH|CREDENTIAL|KEY|PASS|SECRET|TOKEN", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessKeys:
    """Keys of a definition of kind ``process``."""

    command: tuple[str, ...]
    """Program and arguments, without a shell. Parts that begin with ``./`` are files next to the definition."""
    files: tuple[str, ...] = ()
    """Further files and folders next to the definition. They and the files in ``command`` are copied."""
    env: tuple[str, ...] = ()
    """Names of environment variables to pass, e.g. ``OPENAI_API_KEY``. Of all others only `line_pipe.ENVIRONMENT` is
    passed."""
    sandbox: tuple[str, ...] | Literal["bubblewrap"] = ()
    """``bubblewrap``, or a command put before ``command`` that isolates it, e.g. ``[docker, run, -i, …, image]``, in
    which ``{directory}`` is replaced by the working directory."""
    hosts: tuple[str, ...] = ()
    """Destinations that it may connect to from ``bubblewrap``, e.g. ``api.openai.com``,
    ``http://127.0.0.1:8000/v1``."""
    readable: tuple[str, ...] = ()
    """Further files and folders of this machine that are readable in ``bubblewrap``, e.g. ``/opt/models``,
    ``~/models``."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options passed to the agent in its first message."""
    max_line: int = 1_000_000
    """Maximum size of one message from the agent, in bytes."""
    max_output: int = 50_000_000
    """Maximum size of all messages from the agent in a trial, in bytes."""
    max_stderr: int = 1_000_000
    """Maximum number of bytes of stderr kept with the attempt; the rest is read and dropped."""

    def __post_init__(self) -> None:
        if not self.command:
            raise ValueError("command: expected a program and its arguments, found an empty list")
        for name in ("max_line", "max_output", "max_stderr"):
            if getattr(self, name) < 1000:
                raise ValueError(f"{name}: expected at least 1000 bytes, found {getattr(self, name)}")
        for name in ("hosts", "readable"):
            if getattr(self, name) and self.sandbox != BUBBLEWRAP:
                raise ValueError(f"{name}: goes with 'sandbox: {BUBBLEWRAP}', found sandbox: {self.sandbox or 'none'}")
        try:
            _ = self.places
        except ValueError as error:
            raise ValueError(f"hosts: {error}") from None
        for name in self.readable:
            if not Path(name).expanduser().is_absolute():
                raise ValueError(f"readable: expected an absolute path, or one that begins with ~, found {name!r}")
        for name in self.own_files:
            parts = Path(name).parts
            if not parts or Path(name).is_absolute() or ".." in parts:
                raise ValueError(f"expected a file next to the definition, found {name!r}")

    @property
    def tier(self) -> IsolationTier:
        """How well the agent is isolated from the answers."""
        if self.sandbox == BUBBLEWRAP:
            return "sandboxed"
        return "wrapped" if self.sandbox else "process"

    @property
    def wrapper(self) -> tuple[str, ...]:
        """The user's own isolating command; empty without one."""
        return () if isinstance(self.sandbox, str) else self.sandbox

    @property
    def places(self) -> tuple[Destination, ...]:
        """`hosts` as destinations."""
        return tuple(map(read_host, self.hosts))

    @property
    def own_files(self) -> tuple[str, ...]:
        """Files and folders next to the definition that belong to the agent, for its digest and for copying."""
        return tuple(dict.fromkeys([*(part for part in self.command if part.startswith("./")), *self.files]))

    def contents(self, base: Path) -> list[Path]:
        """All files below `own_files`, sorted, and scripts that the command names by absolute path, with the modules
        they import."""
        named = [Path(part) for part in self.command if Path(part).is_absolute() and Path(part).is_file()]
        scripts = [file for script in named if _is_text(script) for file in imported_files(script, script=True)]
        return [*contents(base, self.own_files), *scripts]

    def check(self, base: Path) -> None:
        """Raise `UsageError` when a file next to the definition is missing, or must not be given to an agent."""
        for name in self.own_files:
            if not (base / name).exists():
                raise UsageError(f"command: expected a file at {base / name}, found none")
        refuse_answers(base, self.own_files)

    def check_program(self, where: str) -> None:
        """Raise `UsageError` when the program does not exist on this machine, or its sandbox cannot be made."""
        if self.sandbox == BUBBLEWRAP:
            check(where)
            for name in self.readable:
                if not Path(name).expanduser().exists():
                    raise UsageError(f"{where}: readable: expected a file or folder at {name}, found none")
        program = (*self.wrapper, *self.command)[0]
        if not program.startswith("./") and shutil.which(program) is None:
            raise UsageError(f"{where}: command: expected a program that can be run, found none called {program!r}")


class ProcessAgent:
    """One process for one trial: started with the task, asked once per step, ended with all its children."""

    def __init__(self, assignment: Assignment, keys: ProcessKeys, base: Path) -> None:
        self._trial = secrets.token_hex(8)
        self._step = 0
        self._task = task_message(assignment, trial=self._trial, options=keys.options)
        self._pipe = LinePipe(keys, base, assignment.folder, assignment.temp_dir, hidden=hidden_from(assignment, base))

    def act(self, observation: Observation) -> Reply:
        """The process's reply. Waits without a limit, because the caller enforces the trial's deadline."""
        message = observation_message(observation, trial=self._trial, step=self._step)
        if not self._step:
            self._pipe.send(encode(self._task))
        self._step += 1
        return read_reply(self._pipe.ask(encode(message)))

    def remember(self, reason: StopReason) -> Remembered | None:
        """The agent's notes for later trials."""
        return read_memory(self._pipe.ask(encode(remember_message(trial=self._trial, reason=reason))))

    def close(self) -> None:
        """Send the end message, and end the process with everything it started."""
        self._pipe.close(encode(end_message(trial=self._trial)))

    def cut_off(self) -> None:
        """End the process at once, from any thread; a call that waits for it returns."""
        self._pipe.close()


def _build(common: Common, keys: ProcessKeys) -> AgentDefinition:
    try:
        keys.check(common.base)
    except UsageError as error:
        raise UsageError(f"{common.where}: {error}") from None
    mark_all(keys.env)
    return common.definition(
        lambda assignment: ProcessAgent(assignment, keys, common.base),
        files=keys.contents(common.base),
        tier=keys.tier,
        check=lambda settings: keys.check_program(common.where),
        raises=(AgentError, ModelError),  # no space for its files; it reports that its model failed
    )


def _is_text(file: Path) -> bool:
    """Whether a file is text. Programs of the system differ between machines and are not part of an agent."""
    with file.open("rb") as opened:
        return b"\0" not in opened.read(1024)


KIND = AgentKind(
    name="process",
    about="a program in any language, JSON lines on its stdin and stdout",
    keys=ProcessKeys,
    build=_build,
)


def hidden_from(assignment: Assignment, base: Path) -> tuple[Path, ...]:
    """Folders that a sandboxed agent must not see even if they are below a visible one."""
    found = [base, Path.cwd(), Path.home(), Path(tempfile.gettempdir())]
    if assignment.folder is not None:
        found += assignment.folder.absolute().parents[:3]  # of the trial, of all trials, of the run
    if assignment.task.location.path:
        found.append(Path(assignment.task.location.path).absolute().parent)
    return tuple(found)


def mark_all(names: Sequence[str]) -> None:
    """Mask the values of those variables in everything that is written whose names suggest a secret."""
    for name in names:
        if _SECRET.search(name):
            mark(os.environ.get(name, ""))
