"""Actions as tools: JSON schemas for a model's function calling, and parsing of the calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    DismissDialog,
    Drag,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Note,
    Press,
    Reload,
    Scroll,
    Select,
    Stop,
    Type,
    Upload,
    Wait,
    infeasible,
)
from pytest_webarena.browser.acting.keys import HELD, HELD_ALIASES
from pytest_webarena.browser.grammars.arguments import Arguments, Parameter, WrongArgument, shown
from pytest_webarena.browser.grammars.replies import json_objects
from pytest_webarena.errors import closest

__all__ = ["describe", "parse", "parse_call", "tools"]

_DIRECTIONS = ("up", "down", "left", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tool:
    name: str
    doc: str
    parameters: tuple[Parameter, ...] = ()
    make: Callable[..., Action]
    """Called with the given arguments by name; omitted ones are not passed."""


def _target(doc: str, name: str = "element", *, required: bool = True) -> Parameter:
    return Parameter(name=name, kind="target", doc=doc, required=required)


def _text(name: str, doc: str, *, required: bool = True, choices: tuple[str, ...] = ()) -> Parameter:
    return Parameter(name=name, kind="text", doc=doc, required=required, choices=choices)


def _some(
    name: str,
    kind: Literal["number", "count", "flag", "texts"],
    doc: str,
    choices: tuple[str, ...] = (),
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> Parameter:
    return Parameter(name=name, kind=kind, doc=doc, required=False, choices=choices, aliases=aliases)


_ALL = (
    _Tool(
        name="click",
        doc="Click an element.",
        parameters=(
            _target("What to click"),
            _text("button", "The mouse button; left if left out.", required=False, choices=("left", "right", "middle")),
            _some("count", "count", "2 is a double click; 1 if left out."),
            _some("modifiers", "texts", "Keys held down meanwhile.", HELD, HELD_ALIASES),
        ),
        make=lambda element, button="left", count=1, modifiers=(): Click(element, button, count, modifiers),
    ),
    _Tool(
        name="hover",
        doc="Move the mouse over an element.",
        parameters=(_target("Where"),),
        make=lambda element: Hover(element),
    ),
    _Tool(
        name="type",
        doc="Click a field and type text into it; without a field: wherever the cursor is.",
        parameters=(
            _text("text", "What to type."),
            _target("The field", required=False),
            _some("clear", "flag", "Remove what the field holds first; false if left out."),
            _some("enter", "flag", "Press Enter afterwards; false if left out."),
        ),
        make=lambda text, element=None, clear=False, enter=False: Type(element, text, clear, enter),
    ),
    _Tool(
        name="press",
        doc="Press a key or a combination, e.g. Enter, ArrowDown, Control+a.",
        parameters=(_text("keys", "Key, or keys joined by +."), _target("Where to press it", required=False)),
        make=lambda keys, element=None: Press(keys, element),
    ),
    _Tool(
        name="scroll",
        doc="Scroll the page, or a part of it.",
        parameters=(
            _text("direction", "Where to.", choices=_DIRECTIONS),
            _target("The part to scroll; the page if left out", required=False),
            _some("pixels", "number", "How far; one screen if left out."),
        ),
        make=lambda direction, element=None, pixels=None: Scroll(direction, element, pixels),
    ),
    _Tool(
        name="select",
        doc="Choose options of a drop-down list or list box.",
        parameters=(
            _target("The list"),
            Parameter(name="options", kind="texts", doc="Texts of the options."),
        ),
        make=lambda element, options: Select(element, options),
    ),
    _Tool(
        name="check",
        doc="Tick or untick a checkbox, or choose a radio button.",
        parameters=(_target("The box"), _some("checked", "flag", "Whether it is to be ticked; true if left out.")),
        make=lambda element, checked=True: Check(element, checked),
    ),
    _Tool(
        name="drag",
        doc="Drag one element to where another one is.",
        parameters=(_target("What to drag"), _target("Where to drop it", "to")),
        make=lambda element, to: Drag(element, to),
    ),
    _Tool(
        name="upload",
        doc="Choose files in a file field, or in the file dialog that is open.",
        parameters=(
            Parameter(name="files", kind="texts", doc="Names of the files."),
            _target("The file field, or the button that opens a file dialog", required=False),
        ),
        make=lambda files, element=None: Upload(element, files),
    ),
    _Tool(
        name="accept_dialog",
        doc="Press OK in the open alert, confirm or prompt dialog.",
        parameters=(_text("text", "The answer to a prompt.", required=False),),
        make=lambda text=None: AcceptDialog(text),
    ),
    _Tool(name="dismiss_dialog", doc="Press Cancel in the open dialog.", make=DismissDialog),
    _Tool(
        name="goto",
        doc="Open an address in the current tab.",
        parameters=(_text("url", "The address."),),
        make=lambda url: Goto(url),
    ),
    _Tool(name="go_back", doc="Go back to the page before.", make=Back),
    _Tool(name="go_forward", doc="Go forward to the page after.", make=Forward),
    _Tool(name="reload", doc="Load the page again.", make=Reload),
    _Tool(name="new_tab", doc="Open an empty tab and make it current.", make=NewTab),
    _Tool(name="close_tab", doc="Close the current tab.", make=CloseTab),
    _Tool(
        name="focus_tab",
        doc="Make a tab current.",
        parameters=(Parameter(name="index", kind="count", doc="Its number, from 0."),),
        make=lambda index: FocusTab(index),
    ),
    _Tool(
        name="wait",
        doc="Wait until the page changes.",
        parameters=(_some("seconds", "number", "At most so long; 1 if left out."),),
        make=lambda seconds=1.0: Wait(seconds),
    ),
    _Tool(name="noop", doc="Do nothing and look again.", make=Noop),
    _Tool(
        name="note",
        doc="Keep a finding on record.",
        parameters=(_text("text", "What to keep."),),
        make=lambda text: Note(text),
    ),
    _Tool(
        name="stop",
        doc="End the task.",
        parameters=(Parameter(name="answer", kind="any", doc="The answer, if the task asks for one.", required=False),),
        make=lambda answer="": Stop(answer),
    ),
    _Tool(
        name="report_infeasible",
        doc="End the task by saying that it can't be done.",
        parameters=(_text("reason", "Why.", required=False),),
        make=lambda reason="": infeasible(reason),
    ),
)
_BY_NAME = {tool.name: tool for tool in _ALL}


def tools(
    *,
    targets: Literal["elements", "points", "both"] = "elements",
    only: tuple[str, ...] = (),
    answer: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the tools for a model's function calling: name, description and JSON schema of the parameters.

    ``targets`` selects how calls name elements: by the observation's ids, by coordinates, or either. ``only`` restricts
    the tools to those names. ``answer`` is the JSON schema of the answer with which the task ends
    (`TaskView.answer_schema`); None: a text.

    >>> [tool["name"] for tool in tools(only=("click", "stop"))]
    ['click', 'stop']
    """
    found = [_schema(tool, targets) for tool in _ALL if not only or tool.name in only]
    for tool in found:
        if tool["name"] == "stop" and answer is not None:
            tool["parameters"]["properties"]["answer"] = dict(answer)
    return found


def _schema(tool: _Tool, targets: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in tool.parameters:
        found = parameter.schema(targets)
        properties |= found
        if parameter.required and not (parameter.kind == "target" and targets == "both"):
            required += found
    return {
        "name": tool.name,
        "description": tool.doc,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    }


def parse_call(name: str, arguments: Mapping[str, Any] | str | None = None) -> Action:
    """Return the action of a call; ``arguments`` are a mapping or JSON text. `Invalid` if it is none. Never raises.

    >>> parse_call("click", '{"element": "4"}')
    Click(target=Element(id='4'), button='left', count=1, modifiers=())
    """
    text = f"{name}({shown(arguments, 500)})"
    tool = _BY_NAME.get(name)
    if tool is None:
        return Invalid(text, f"There is no tool {str(name)[:80]!r}; {closest(str(name)[:40], _BY_NAME)}.")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return Invalid(text, f"The arguments of {name} are not valid JSON. {_usage(tool)}")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping) or not all(isinstance(key, str) for key in arguments):
        return Invalid(text, f"The arguments of {name} are not a JSON object. {_usage(tool)}")
    parsed = Arguments(arguments)
    try:
        stray = parsed.unknown({each for parameter in tool.parameters for each in parameter.names})
        if stray is not None:
            raise WrongArgument(f"there is no argument {stray[:80]!r}")
        values = {parameter.name: parsed.read(parameter) for parameter in tool.parameters}
    except WrongArgument as wrong:
        return Invalid(text, f"{name}: {wrong}. {_usage(tool)}")
    return tool.make(**{key: value for key, value in values.items() if value is not None})


def parse(text: str) -> Action:
    """Return the action of the call that a reply contains as JSON, for models without function calling. Never raises.

    >>> parse('I look at the cart. {"name": "click", "arguments": {"element": "42"}}').target
    Element(id='42')
    """
    for found in json_objects(text):
        calls = found.get("tool_calls")
        if isinstance(calls, list) and calls and isinstance(calls[0], dict):
            found = calls[0]
        inner = found.get("function")
        if isinstance(inner, dict):
            found = inner
        name = next((found[key] for key in ("name", "tool", "action", "function") if found.get(key)), None)
        if isinstance(name, str):
            arguments: Any = next(
                (found[key] for key in ("arguments", "parameters", "args", "input") if key in found), {}
            )
            action = parse_call(name, arguments)
            return Invalid(text, action.reason) if isinstance(action, Invalid) else action
    return Invalid(text, f"No action found. Reply with a JSON object such as {_EXAMPLE}.")


_EXAMPLE = '{"name": "click", "arguments": {"element": "42"}}'


def describe() -> str:
    """Return a short description of the tools for prompts of models that do not receive them as tools."""
    lines = [
        "Reply with one action as a JSON object: the name of a tool and its arguments. For example:",
        _EXAMPLE,
        "Arguments marked ? may be left out.",
        "",
    ]
    for tool in _ALL:
        lines.append(f"{_signature(tool)}: {tool.doc}")
        lines += [f"    {parameter.name}: {parameter.doc}" for parameter in tool.parameters]
    return "\n".join(lines) + "\n"


def _signature(tool: _Tool) -> str:
    return f"{tool.name}({', '.join(each.name + ('' if each.required else '?') for each in tool.parameters)})"


def _usage(tool: _Tool) -> str:
    return f"It is called as {_signature(tool)}."
