"""State of the panel: what it shows and what its author requests. Several threads read and write it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pytest_webarena.agents.builtin import describe_step
from pytest_webarena.errors import UsageError
from pytest_webarena.recorder.editing import ANSWER, Edits, editable, key_of, value_of
from pytest_webarena.recorder.key_nodes import ProposedNode
from pytest_webarena.recorder.proposing import ProposedCheck
from pytest_webarena.recorder.steps import RecordedStep
from pytest_webarena.recorder.variables import VARIABLE

__all__ = ["Panel", "PanelRequest", "Phase", "Result"]

Phase = Literal["starting", "doing", "proving", "choosing", "trying", "over"]
"""``doing``: a person uses the browser. ``proving``, ``trying``: the harness does. ``choosing``: checks are chosen."""

_LOG = 400
"""Maximum number of lines in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelRequest:
    """The author's request for the next operation."""

    what: Literal["finish", "again", "prove", "try", "write", "leave"]
    checks: frozenset[int] = frozenset()
    """Indices of proposed checks, from 0."""
    without: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Columns that these checks leave out, by index."""
    nodes: frozenset[int] = frozenset()
    fillings: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of the last trial."""

    passed: bool
    about: str
    checks: tuple[tuple[str, bool, str], ...] = ()
    """For each check of the task: its description, whether it passes in all instances, and otherwise why not."""
    doubts: tuple[str, ...] = ()
    """Warnings to the author that do not fail the trial."""
    text: str = ""
    """Text of the task file."""
    written: str = ""
    """Path of the written file; empty if it is not written yet."""


@dataclass(slots=True, kw_only=True)
class _State:
    phase: Phase = "starting"
    intent: str = ""
    steps: tuple[RecordedStep, ...] = ()
    edits: Edits = field(default_factory=Edits)
    before: list[Edits] = field(default_factory=list)
    checks: tuple[ProposedCheck, ...] = ()
    nodes: tuple[ProposedNode, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    """Problems that were found when the steps were done again, by key of the step."""
    proved: Edits | None = None
    """Edits with which the steps were done again."""
    result: Result | None = None
    trials: int = 0
    log: list[str] = field(default_factory=list)


class Panel:
    """Thread-safe state that `flow` creates and that the server updates with what the author does."""

    def __init__(self, intent: str, answer: str, sites: Sequence[str], accounts: Sequence[str] = ()) -> None:
        self._sites, self._accounts = tuple(sites), tuple(accounts)
        self._lock = threading.Lock()
        self._state = _State(intent=intent, edits=Edits(answer=answer))
        self._asked: queue.Queue[PanelRequest] = queue.Queue()

    # --- for the flow

    @property
    def edits(self) -> Edits:
        """The author's edits of the steps."""
        with self._lock:
            return self._state.edits

    @property
    def intent(self) -> str:
        """The intent that agents will receive."""
        with self._lock:
            return self._state.intent

    def begin(self) -> None:
        """Start a new recording. Earlier steps are discarded."""
        with self._lock:
            previous = self._state
            self._state = _State(phase="doing", intent=previous.intent, edits=Edits(answer=previous.edits.answer))

    def set_phase(self, phase: Phase) -> None:
        """Change to another phase."""
        with self._lock:
            self._state.phase = phase
            if phase in ("proving", "trying"):
                self._state.log = []

    def set_steps(self, steps: Sequence[RecordedStep]) -> None:
        """Set the steps recorded so far."""
        with self._lock:
            self._state.steps = tuple(steps)

    def propose(
        self,
        checks: Sequence[ProposedCheck],
        nodes: Sequence[ProposedNode],
        problems: Mapping[str, str],
        edits: Edits,
    ) -> None:
        """Set the checks and key nodes to choose from, after the steps were done again with these edits."""
        with self._lock:
            state = self._state
            state.checks, state.nodes, state.problems = tuple(checks), tuple(nodes), dict(problems)
            state.proved, state.phase, state.result = edits, "choosing", None

    def set_result(self, result: Result) -> None:
        """Set the result of a trial."""
        with self._lock:
            self._state.result, self._state.phase = result, "choosing"
            self._state.trials += 1

    def log(self, text: str) -> None:
        """Append a line to the log."""
        with self._lock:
            self._state.log = [*self._state.log[1 - _LOG :], text]

    def next_request(self, seconds: float | None = None) -> PanelRequest | None:
        """Return the author's next request; None if there is none within ``seconds``."""
        try:
            return self._asked.get(timeout=seconds)
        except queue.Empty:
            return None

    # --- for the server

    def snapshot(self) -> dict[str, Any]:
        """Return the state that the page shows, as plain data."""
        with self._lock:
            state, names = self._state, self._state.edits.names
            stale = state.proved is not None and _of_steps(state.proved) != _of_steps(state.edits)
            return {
                "phase": state.phase,
                "intent": state.intent,
                "sites": list(self._sites),
                "accounts": list(self._accounts),
                "answer": state.edits.answer,
                "answer_name": names.get(ANSWER, ""),
                "steps": [_shown(step, state) for step in state.edits.applied(state.steps)],
                "can_undo": bool(state.before),
                "variables": state.edits.variables(state.steps),
                "checks": [
                    {"about": each.about, "recommended": each.recommended, "columns": list(each.optional_columns)}
                    for each in state.checks
                ],
                "nodes": [{"about": each.about, "step": each.step + 1} for each in state.nodes],
                "stale": stale,
                "result": _result(state.result),
                "trials": state.trials,
                "log": list(state.log),
            }

    def change(self, data: Mapping[str, Any]) -> None:
        """Apply a change that the author made on the page. `UsageError` if it is not possible."""
        with self._lock:
            if self._state.phase not in ("doing", "choosing"):
                raise UsageError(
                    "expected to be asked when nothing is being tried, found a trial going on; wait for it"
                )
            match data:
                case {"intent": str(text)}:
                    self._state.intent = " ".join(text.split())
                case {"answer": str(text)}:
                    self._edit(replace(self._state.edits, answer=text.strip()))
                case {"leave_out": str(key)}:
                    self._edit(self._state.edits.delete_step(self._known(key)))
                case {"leave_out_last": True}:
                    steps = self._state.edits.applied(self._state.steps)
                    if steps:
                        self._edit(self._state.edits.delete_step(key_of(steps[-1])))
                case {"give": str(key), "value": str(value)}:
                    self._edit(self._state.edits.set_value(self._known(key), value))
                case {"name": str(key), "variable": str(name)}:
                    self._edit(self._state.edits.name(self._known(key), self._variable(name.strip(), key)))
                case {"take_back": True}:
                    if self._state.before:
                        self._state.edits = self._state.before.pop()
                case _:
                    raise UsageError(f"expected something that can be changed, found {', '.join(map(str, data))[:80]}")

    def ask(self, data: Mapping[str, Any]) -> None:
        """Queue a request of the author. `UsageError` if it is not possible now."""
        with self._lock:
            phase, intent, checks, nodes = (
                self._state.phase,
                self._state.intent,
                len(self._state.checks),
                len(self._state.nodes),
            )
            what = data.get("what")
            allowed = {
                "doing": ("finish", "again", "leave"),
                "choosing": ("prove", "again", "try", "write", "leave"),
            }.get(phase, ())
            if what not in allowed:
                if not allowed:
                    raise UsageError("expected to be asked when nothing is being done, found something going on; wait")
                raise UsageError(f"expected one of {', '.join(allowed)} while {phase}, found {what!r}")
            if what in ("finish", "prove", "try") and not intent:
                raise UsageError("expected what the agent is to do, found nothing; write it at the top")
            if what == "try" and not (_numbers(data.get("checks"), checks) or _numbers(data.get("nodes"), nodes)):
                raise UsageError("expected a check that is ticked, found none: a task without one proves nothing")
            if what == "try":
                self._state.result = None
            self._state.phase = {"finish": "proving", "prove": "proving", "try": "trying"}.get(what, phase)  # type: ignore[assignment]
        self._asked.put(
            PanelRequest(
                what=what,
                checks=_numbers(data.get("checks"), checks),
                without=_columns(data.get("without"), checks),
                nodes=_numbers(data.get("nodes"), nodes),
                fillings=str(data.get("fillings", "")),
            )
        )

    def _edit(self, edits: Edits) -> None:
        self._state.before.append(self._state.edits)
        self._state.edits = edits

    def _known(self, key: str) -> str:
        if key != ANSWER and all(key != key_of(step) for step in self._state.steps):
            raise UsageError("expected a step that is there, found one that has gone on growing; look at it again")
        return key

    def _variable(self, name: str, key: str) -> str:
        if name and not VARIABLE.fullmatch(name):
            raise UsageError(f"expected a variable name of letters, digits and '_', found {name[:60]!r}")
        edits = self._state.edits
        other = edits.name(key, "").variables(self._state.steps).get(name)
        mine = edits.answer if key == ANSWER else self._value(key)
        if name and other not in (None, mine):
            raise UsageError(f"expected {name} to keep its value {other!r}, found {mine!r}")
        return name

    def _value(self, key: str) -> str | None:
        steps = self._state.edits.applied(self._state.steps)
        return next((value_of(step.action) for step in steps if key_of(step) == key), None)


def _of_steps(edits: Edits) -> tuple[object, ...]:
    return edits.deleted_steps, dict(edits.values), edits.answer


def _shown(step: RecordedStep, state: _State) -> dict[str, Any]:
    key = key_of(step)
    value = value_of(step.action)
    return {
        "key": key,
        "text": describe_step(step.action),
        "problem": step.problem or state.problems.get(key, ""),
        "value": value,
        "editable": editable(step.action),
        "name": state.edits.names.get(key, "") if value is not None else "",
        "edited": key in state.edits.values,
    }


def _result(result: Result | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "passed": result.passed,
        "about": result.about,
        "checks": [{"about": about, "holds": holds, "why": why} for about, holds, why in result.checks],
        "doubts": list(result.doubts),
        "text": result.text,
        "written": result.written,
    }


def _numbers(data: object, count: int) -> frozenset[int]:
    found = data if isinstance(data, list) else []
    return frozenset(each for each in found if isinstance(each, int) and 0 <= each < count)


def _columns(data: object, count: int) -> dict[int, tuple[str, ...]]:
    found = data if isinstance(data, dict) else {}
    return {
        int(number): tuple(each for each in names if isinstance(each, str))
        for number, names in found.items()
        if str(number).isdecimal() and int(number) < count and isinstance(names, list)
    }
