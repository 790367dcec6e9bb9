"""Reads a reply with calls of a computer-use tool: its actions in order, and the safety checks that it comes with.

If one of a reply's actions can't be carried out, none is, and the reply becomes an invalid action with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_webarena.actions import Action, Click, Drag, Hover, Invalid, Point, Scroll, Stop, Type
from pytest_webarena.agents.model.computer import anthropic_calls, google_calls, openai_calls
from pytest_webarena.agents.model.computer.screens import Region, Screen, UnusableCall
from pytest_webarena.llm.endpoint import APIName
from pytest_webarena.llm.messages import COMPUTER, ModelReply, ToolCall

__all__ = ["ComputerStep", "ComputerTurn", "SafetyCheck", "cursor_after", "read_computer"]

_MOST = 100
"""Maximum number of actions in one reply."""
_ACTIONS: Mapping[str, Mapping[str, Any]] = {
    "anthropic": anthropic_calls.ACTIONS,
    "google": google_calls.ACTIONS,
    "responses": openai_calls.ACTIONS,
}
_UNAVAILABLE = {**anthropic_calls.UNAVAILABLE, **google_calls.UNAVAILABLE}
_CONFIRM = "require_confirmation"
"""The decision of Google's safety system that a person may confirm."""
_ALLOWED = ("", "allowed", "regular")


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyCheck:
    """A safety check that the endpoint wants acknowledged before a call is carried out."""

    call: int
    """Index of the call in the reply."""
    text: str
    data: Mapping[str, Any]
    """The check as received."""
    is_confirmable: bool = True
    """Whether the endpoint continues after an acknowledgement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputerStep:
    """One action of a reply."""

    action: Action
    call: int = 0
    """Index of its call in the reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputerTurn:
    """What a reply asks for."""

    steps: tuple[ComputerStep, ...]
    """At least one step; only one if it is invalid or ends the trial."""
    checks: tuple[SafetyCheck, ...] = ()
    zooms: tuple[Region | None, ...] = ()
    """For each call, the part of the screenshot that its result shows enlarged; None: it shows the whole."""


def read_computer(reply: ModelReply, api: APIName, screen: Screen, cursor: Point | None = None) -> ComputerTurn:
    """Return the actions and safety checks of a reply. Never raises.

    A reply of text only is the answer: that is how the tools signal the end. ``cursor`` is where the mouse is.
    """
    calls = reply.tool_calls
    raw = "\n".join([reply.text, *(f"{call.name}({call.arguments})" for call in calls)]).strip()
    if reply.is_cut:
        what = "so nothing was carried out" if calls else "so it is no answer"
        return _invalid(raw, f"The reply was cut off ({reply.finish}), {what}.")
    if not calls:
        return ComputerTurn(steps=(ComputerStep(action=Stop(reply.text_without_thought.strip())),))
    steps: list[ComputerStep] = []
    zooms: list[Region | None] = []
    checks: list[SafetyCheck] = []
    wrong = ""
    for index, call in enumerate(calls):
        zoom = None
        try:
            values = _values(call)
            checks += _checks(values, index, api)
            for name, one in _actions(call, values, api):
                try:
                    found = _read(name, one, api, screen, cursor)
                    zoom = screen.region(one.get("region")) if name == "zoom" else zoom
                except UnusableCall as unusable:
                    raise UnusableCall(f"The computer action {name} can't be carried out: {unusable}") from None
                for action in found:
                    cursor = cursor_after(action, cursor)
                    steps.append(ComputerStep(action=action, call=index))
        except UnusableCall as unusable:
            wrong = wrong or str(unusable)
        zooms.append(zoom)
    if not wrong and not 0 < len(steps) <= _MOST:
        wrong = f"Expected 1 to {_MOST} actions, found {len(steps)}"
    if wrong:
        several = " None of the reply's actions was carried out." if len(steps) + len(calls) > 1 else ""
        return _invalid(raw, f"{wrong}.{several}", checks)
    return ComputerTurn(steps=tuple(steps), checks=tuple(checks), zooms=tuple(zooms))


def cursor_after(action: Action, cursor: Point | None) -> Point | None:
    """Return where the mouse is after an action on a point; ``cursor`` after others."""
    match action:
        case Drag(to=Point() as point):
            return point
        case Click(target=Point() as point) | Hover(target=Point() as point) | Type(target=Point() as point):
            return point
        case Scroll(target=Point() as point):
            return point
    return cursor


def _invalid(raw: str, reason: str, checks: list[SafetyCheck] | None = None) -> ComputerTurn:
    return ComputerTurn(steps=(ComputerStep(action=Invalid(raw, reason)),), checks=tuple(checks or ()))


def _values(call: ToolCall) -> Mapping[str, Any]:
    try:
        values = json.loads(call.arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise UnusableCall(f"Expected a JSON object as the input of {call.name}, found {call.arguments[:200]!r}")
    return values


def _actions(call: ToolCall, values: Mapping[str, Any], api: APIName) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the names and values of a call's actions."""
    if api == "responses":
        actions = values.get("actions")
        if call.name != COMPUTER or not isinstance(actions, list):
            raise UnusableCall(f"Expected calls of the computer tool, found {call.name!r}")
        for action in actions:
            if not isinstance(action, Mapping):
                raise UnusableCall(f"Expected a computer action, found {action!r}")
            yield _known(action.get("type"), api), action
    else:
        is_named = api == "google" or call.name != COMPUTER
        yield _known(call.name if is_named else values.get("action"), api), values


def _known(name: object, api: APIName) -> str:
    if isinstance(name, str) and name in _ACTIONS[api]:
        return name
    if isinstance(name, str) and name in _UNAVAILABLE:
        raise UnusableCall(f"The computer action {name!r} is not available here: {_UNAVAILABLE[name]}")
    raise UnusableCall(f"There is no computer action {name!r}; known are {', '.join(sorted(_ACTIONS[api]))}")


def _read(
    name: str, values: Mapping[str, Any], api: APIName, screen: Screen, cursor: Point | None
) -> tuple[Action, ...]:
    if api == "anthropic":
        return anthropic_calls.read_action(name, values, screen, cursor)
    if api == "google":
        return google_calls.read_action(name, values, screen)
    return openai_calls.read_action(values, screen)


def _checks(values: Mapping[str, Any], index: int, api: APIName) -> Iterator[SafetyCheck]:
    """Yield OpenAI's pending safety checks and Google's safety decision. What can't be read is not confirmable."""
    pending = values.get("checks") if api == "responses" else None
    for check in pending if isinstance(pending, list) else [pending] if pending else []:
        whole = isinstance(check, Mapping) and isinstance(check.get("id"), str)
        data = check if isinstance(check, Mapping) else {}
        text = f"{data.get('code')}: {data.get('message')}" if data else str(check)
        yield SafetyCheck(call=index, text=text, data=data, is_confirmable=whole)
    decision = values.get("safety_decision") if api == "google" else None
    if decision is not None:
        data = decision if isinstance(decision, Mapping) else {"decision": decision}
        if (what := data.get("decision")) not in _ALLOWED:
            text = f"{what}: {data.get('explanation')}"
            yield SafetyCheck(call=index, text=text, data=data, is_confirmable=what == _CONFIRM)
