"""Agents of kind ``human``: a person types actions at the terminal, or uses the browser window and types the answer."""

from __future__ import annotations

import json
import os
import select
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_webarena.agents.kinds import AgentKind, Common
from pytest_webarena.agents.protocol import AgentDefinition, Assignment, Reply
from pytest_webarena.errors import AgentError, UsageError

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation

__all__ = ["KIND", "HumanKeys"]

_TERMINAL = "/dev/tty"
_HELP = """\
Type an action, e.g.  click [42]   type [7] [hello] [1]   scroll [down]   goto [http://…]   stop [answer]
or  see (the page again)   help   give up"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanKeys:
    """Keys of a definition of kind ``human``."""

    mode: Literal["terminal", "window"] = "terminal"
    """``terminal``: each observation is printed, and the person types an action. ``window``: the person uses the
    browser (with ``--headed``) and types only the answer; visited pages are recorded."""
    participant: str = ""
    """Name of the person, in a study with several people: `webarena compare tables` has a row for each."""


class _Terminal:
    """The user's terminal, independent of pytest's capturing of stdin and stdout. `cut_off` ends a wait from another
    thread."""

    def __init__(self) -> None:
        try:
            self._tty = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            raise AgentError(f"expected a terminal to type at, found none: {error}") from None
        self._wake, self._waker = os.pipe()
        self._rest = b""

    def print_text(self, text: str) -> None:
        data = (text + "\n").encode("utf-8", "replace")
        while data:
            data = data[os.write(self._tty, data) :]

    def ask(self) -> str:
        """The next line; `EOFError` at the end of input or after `cut_off`."""
        os.write(self._tty, b"> ")
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._tty, self._wake], [], [])
            if self._wake in ready:
                raise EOFError
            data = os.read(self._tty, 65536)
            if not data:
                raise EOFError
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    def cut_off(self) -> None:
        os.write(self._waker, b"x")

    def close(self) -> None:
        for descriptor in (self._tty, self._wake, self._waker):
            os.close(descriptor)


def _objective(assignment: Assignment) -> str:
    """The objective, and the path of its images."""
    view = assignment.view
    if not view.images or assignment.folder is None:
        return view.objective
    return f"{view.objective}\n({len(view.images)} pictures belong to it: {assignment.folder / 'inputs'})"


class _AtTerminal:
    def __init__(self, assignment: Assignment) -> None:
        self._view = assignment.view
        self._terminal = _Terminal()
        self._step = 0
        self._terminal.print_text(f"\n{assignment.task.id}: {_objective(assignment)}\n{_HELP}")

    def act(self, observation: Observation) -> Reply:
        """The action that the person typed."""
        self._step += 1
        prompt = f"\n{observation.render()}\n[step {self._step} of {self._view.max_steps}] {self._view.intent}"
        self._terminal.print_text(prompt)
        while True:
            try:
                line = self._terminal.ask()
            except EOFError:
                return Reply("", raw="", ended=("invalid", "no more input at the terminal"))
            if line == "give up":
                return Reply("", raw=line, ended=("invalid", "the human gave up"))
            if line in ("", "help", "see"):
                self._terminal.print_text(prompt if line == "see" else _HELP)
                continue
            return Reply(f"```{line}```", raw=line)

    def cut_off(self) -> None:
        self._terminal.cut_off()

    def close(self) -> None:
        self._terminal.close()


class _AtWindow:
    def __init__(self, assignment: Assignment) -> None:
        self._intent = _objective(assignment)
        self._terminal = _Terminal()

    def drive(self, cdp_url: str, http_url: str) -> Reply | str:
        """Wait for the answer."""
        with urllib.request.urlopen(f"{http_url}/json/version", timeout=10) as response:
            if "Headless" in json.load(response).get("User-Agent", ""):
                raise AgentError("expected a browser with a window to use; run with --headed")
        self._terminal.print_text(
            f"\n{self._intent}\nUse the browser's window; then type the answer (or an empty line)."
        )
        try:
            return self._terminal.ask()
        except EOFError:
            return Reply("", ended=("invalid", "no answer at the terminal"))

    def cut_off(self) -> None:
        self._terminal.cut_off()

    def close(self) -> None:
        self._terminal.close()


def _build(common: Common, keys: HumanKeys) -> AgentDefinition:
    def check(settings: object) -> None:
        try:
            os.close(os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY))
        except OSError as error:
            raise UsageError(f"{common.where}: expected a terminal to type at, found none: {error}") from None

    def make(assignment: Assignment) -> _AtTerminal | _AtWindow:
        if "PYTEST_XDIST_WORKER" in os.environ:
            raise AgentError("expected one trial at a time for a human; run with -n 0")
        return _AtTerminal(assignment) if keys.mode == "terminal" else _AtWindow(assignment)

    at_window = keys.mode == "window"
    return common.definition(
        make,
        check=check,
        participant=keys.participant.strip(),
        dialogs=(lambda task, trial: "hold") if at_window else None,
        asks_models=False,
        self_driving=at_window,
        raises=(AgentError,),
    )


KIND = AgentKind(
    name="human",
    about="a person at the terminal or in the browser's window",
    keys=HumanKeys,
    build=_build,
    remembers=False,
)
