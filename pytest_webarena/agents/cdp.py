"""Agents of kind ``cdp``: they get the intent and a CDP endpoint, drive the browser themselves, and return an answer.

For browser-use, Stagehand, computer-use loops and other programs with their own observations and actions. The agent is
a Python callable, a program (as kind ``process``) or an HTTP endpoint (as kind ``http``).
"""

from __future__ import annotations

import inspect
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from pytest_webarena.actions import Stop
from pytest_webarena.agents.code import contents
from pytest_webarena.agents.http import Endpoint, EndpointFailed, HttpKeys
from pytest_webarena.agents.kinds import AgentKind, Common
from pytest_webarena.agents.line_pipe import LinePipe, ProcessEnded
from pytest_webarena.agents.memory import Remembered
from pytest_webarena.agents.process import ProcessKeys, hidden_from, mark_all
from pytest_webarena.agents.protocol import AgentDefinition, Assignment, Reply, TaskView
from pytest_webarena.agents.python import load
from pytest_webarena.agents.sandbox import Destination
from pytest_webarena.agents.wire import (
    ProtocolBroken,
    encode,
    end_message,
    read_memory,
    read_reply,
    remember_message,
    task_message,
)
from pytest_webarena.browser.config import DialogPolicy
from pytest_webarena.errors import AgentAbsent, AgentError, ModelError, UsageError
from pytest_webarena.evidence import StopReason
from pytest_webarena.tasks.model import Task

__all__ = ["KIND", "CdpKeys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CdpKeys:
    """Keys of a definition of kind ``cdp``: exactly one of ``python``, ``command`` and ``url``, and the keys that
    belong to it."""

    python: str = ""
    """``module:attribute`` or ``file.py:attribute`` of a function ``(task, cdp_url)``, or of a class that is
    constructed with the task and has ``run(self, cdp_url)``. Returns the answer; may be async."""
    command: tuple[str, ...] = ()
    """Command of a program, as in kind ``process``. Its task message has a ``cdp_url``; its only message is the
    answer."""
    files: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    sandbox: tuple[str, ...] | Literal["bubblewrap"] = ()
    hosts: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    url: str = ""
    """Address of an endpoint, as in kind ``http``. Its task message has a ``cdp_url``; its reply is the answer."""
    key_env: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the Python callable; for programs and endpoints part of the task message."""
    scheme: str = "ws"
    """``ws`` passes the WebSocket address; ``http`` passes host and port, where ``/json/version`` returns it."""

    def __post_init__(self) -> None:
        given = [name for name in ("python", "command", "url") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError(f"expected one of python, command and url, found {', '.join(given) or 'none'}")
        for name in ("files", "env", "sandbox", "hosts", "readable"):
            if getattr(self, name) and not (self.command or (name == "files" and self.python)):
                raise ValueError(f"{name}: goes with command, not with {given[0]}")
        if self.key_env and not self.url:
            raise ValueError(f"key_env: goes with url, not with {given[0]}")
        if self.scheme not in ("ws", "http"):
            raise ValueError(f"scheme: expected ws or http, found {self.scheme!r}")
        if self.command:
            _ = self.process
        if self.url:
            _ = self.http

    @property
    def process(self) -> ProcessKeys:
        """Settings of the program."""
        return ProcessKeys(
            command=self.command,
            files=self.files,
            env=self.env,
            sandbox=self.sandbox,
            hosts=self.hosts,
            readable=self.readable,
            options=self.options,
        )

    @property
    def http(self) -> HttpKeys:
        """Settings of the endpoint. Requests are not retried, because a repeated request would drive the browser
        again."""
        return HttpKeys(url=self.url, key_env=self.key_env, options=self.options, timeout=24 * 3600.0, retries=0)


class _PythonDriver:
    def __init__(self, target: Any, view: TaskView, keys: CdpKeys) -> None:
        self._keys = keys
        self._run: Callable[[str], Any]
        if inspect.isclass(target):
            make: Callable[..., Any] = target
            driver = make(view, **keys.options)
            self._run = driver.run
            if hasattr(driver, "remember"):
                self.remember = driver.remember
        else:
            self._run = lambda url: target(view, url, **keys.options)

    def drive(self, cdp_url: str, http_url: str) -> Any:
        return self._run(cdp_url if self._keys.scheme == "ws" else http_url)


class _ProcessDriver:
    def __init__(self, assignment: Assignment, keys: CdpKeys, common: Common) -> None:
        self._trial = secrets.token_hex(8)
        self._keys = keys
        self._assignment = assignment
        self._base = common.base
        self._starting = threading.Lock()
        self._started: LinePipe | None = None
        self._over = False

    def drive(self, cdp_url: str, http_url: str) -> Reply:
        url = cdp_url if self._keys.scheme == "ws" else http_url
        self._start(Destination(host="127.0.0.1", port=urlsplit(url).port or 0))
        task = task_message(self._assignment, trial=self._trial, options=self._keys.options, cdp=url)
        return _answer(read_reply(self._pipe.ask(encode(task))))

    def remember(self, reason: StopReason) -> Remembered | None:
        return read_memory(self._pipe.ask(encode(remember_message(trial=self._trial, reason=reason))))

    def close(self) -> None:
        self._end(encode(end_message(trial=self._trial)))

    def cut_off(self) -> None:
        self._end()

    @property
    def _pipe(self) -> LinePipe:
        if self._started is None:
            raise ProcessEnded("the process was ended before it began")
        return self._started

    def _start(self, browser: Destination) -> None:
        """Start the process once the browser runs, because a sandbox has to know the browser's port."""
        with self._starting:
            if not self._over:
                self._started = LinePipe(
                    self._keys.process,
                    self._base,
                    self._assignment.folder,
                    self._assignment.temp_dir,
                    reach=(browser,),
                    hidden=hidden_from(self._assignment, self._base),
                )

    def _end(self, goodbye: bytes = b"") -> None:
        with self._starting:
            self._over = True
        if self._started is not None:
            self._started.close(goodbye)


class _HttpDriver:
    def __init__(self, assignment: Assignment, keys: CdpKeys) -> None:
        self._trial = secrets.token_hex(8)
        self._keys = keys
        self._assignment = assignment
        self._endpoint = Endpoint(keys.http)

    def drive(self, cdp_url: str, http_url: str) -> Reply:
        url = cdp_url if self._keys.scheme == "ws" else http_url
        task = task_message(self._assignment, trial=self._trial, options=self._keys.options, cdp=url)
        try:
            data = self._endpoint.post(task)
        except EndpointFailed as error:
            if error.unreachable:
                raise AgentAbsent(f"the agent did not take the task: {error}") from None
            raise
        return _answer(read_reply(data))

    def remember(self, reason: StopReason) -> Remembered | None:
        return read_memory(self._endpoint.post(remember_message(trial=self._trial, reason=reason)))

    def cut_off(self) -> None:
        self._endpoint.cut_off()


def _answer(reply: Reply) -> Reply:
    if not isinstance(reply.action, Stop):
        raise ProtocolBroken(f'expected {{"type": "answer", "answer": "…"}}, found {reply.raw[:200]!r}')
    return reply


def _build(common: Common, keys: CdpKeys) -> AgentDefinition:
    if keys.python:
        target, files = load(keys.python, common.base)
        if not callable(target) or (inspect.isclass(target) and not hasattr(target, "run")):
            raise UsageError(
                f"{common.where}: python: expected a function (task, cdp_url) or a class with run(self, cdp_url), "
                f"found {keys.python}"
            )
        if common.memory is not None and not (inspect.isclass(target) and hasattr(target, "remember")):
            raise UsageError(f"{common.where}: memory: expected a class with 'remember(self, reason)', found none")
        return common.definition(
            lambda assignment: _PythonDriver(target, assignment.view, keys),
            files=[*files, *contents(common.base, keys.files)],
            dialogs=_hold_dialogs,
            self_driving=True,
            rooted=keys.scheme == "http",
        )
    if keys.command:
        mark_all(keys.env)
        try:
            keys.process.check(common.base)
        except UsageError as error:
            raise UsageError(f"{common.where}: {error}") from None
        return common.definition(
            lambda assignment: _ProcessDriver(assignment, keys, common),
            files=keys.process.contents(common.base),
            tier=keys.process.tier,
            check=lambda settings: keys.process.check_program(common.where),
            dialogs=_hold_dialogs,
            self_driving=True,
            rooted=keys.scheme == "http",
            raises=(AgentError, ModelError),  # as for kind `process`
        )
    return common.definition(
        lambda assignment: _HttpDriver(assignment, keys),
        tier="process",
        endpoint=keys.url,
        check=lambda settings: keys.http.check_key(common.where),
        dialogs=_hold_dialogs,
        self_driving=True,
        rooted=keys.scheme == "http",
        raises=(AgentError, ModelError),
    )


def _hold_dialogs(task: Task, trial: int) -> DialogPolicy:
    """Hold dialogs open, because the agent's own client answers them."""
    return "hold"


KIND = AgentKind(
    name="cdp",
    about="a self-driving agent: gets the intent and a CDP endpoint, returns an answer",
    keys=CdpKeys,
    build=_build,
)
