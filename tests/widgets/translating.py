"""Writes a step of a cell as an agent would in each grammar, from what the agent's observation prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from pytest_webarena import actions
from pytest_webarena.actions import Action, Selector, Target
from tests.widgets.raw import Shown, squeeze

__all__ = ["NoVerb", "Unseen", "call_of", "id_of", "reply"]


_TEXTS = ("statictext", "labeltext", "text", "heading", "paragraph", "generic")
"""Roles of lines that are about a text instead of a control."""


class NoVerb(Exception):
    """The grammar can't express the step."""


class Unseen(Exception):
    """The observation has no line for the element; the text says which."""


@dataclass(frozen=True, slots=True)
class _Line:
    id: str
    role: str
    rest: str
    before: str
    """The line above it."""


def _lines(text: str) -> list[_Line]:
    found, before = [], ""
    for line in text.splitlines():
        match = re.match(r"\s*\[(\w+)\] (\w+)\s?(.*)", line)
        if match:
            found.append(_Line(match[1], match[2].lower(), squeeze(match[3]), squeeze(before)))
        before = line
    return found


def id_of(text: str, shown: Shown) -> str:
    """Return the id that an agent finds for an element: by role and name, by its text, or next to its name.

    Raises:
        Unseen: No line of the observation is about the element.
    """
    lines = _lines(text)
    role, name, words = shown.role.lower(), shown.name, shown.text

    def named(line: _Line, wanted: str) -> bool:
        return bool(wanted) and (line.rest.startswith((f"'{wanted}'", f'"{wanted}"')))

    def has(line: str, wanted: str) -> bool:
        return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", line, re.IGNORECASE) is not None

    def inside(line: _Line) -> bool:
        label = line.rest.split("'")[1:2]
        return bool(label) and len(label[0]) > 1 and label[0] in words

    rules: list[Callable[[_Line], bool]] = [
        lambda line: line.role == role and named(line, name),
        lambda line: bool(role) and line.role not in _TEXTS and named(line, name),
        lambda line: named(line, words),
        lambda line: line.role == role and has(line.rest, name),
        lambda line: has(line.rest, name) or has(line.rest, words),
        lambda line: has(line.before, name) or has(line.before, words),
        inside,
        lambda line: has(line.rest, shown.classes),
    ]
    for rule in rules:
        for line in lines:
            if rule(line):
                return line.id
    same = [line for line in lines if role and line.role == role and (not name or line.rest.startswith("''"))]
    if len(same) == 1:
        return same[0].id
    raise Unseen(f"no line for {role or 'the element'} {name or words!r}")


def reply(grammar: str, step: Action, aim: Callable[[Target], str]) -> str:
    """Return the agent's reply; ``aim`` returns an element's id or its point, as the grammar's argument.

    Raises:
        NoVerb: The grammar can't express the step.
    """
    if grammar == "playwright":
        return f"```{call_of(step)}```"
    if grammar == "tools":
        return json.dumps(_tool(step, aim))
    if grammar == "webcanvas":
        return json.dumps(_webcanvas(step, aim))
    return f"```{_bracket(grammar, step, aim)}```"


def _bracket(grammar: str, step: Action, aim: Callable[[Target], str]) -> str:
    full = grammar != "webarena"
    match step:
        case actions.Click(target, "left", 1, ()):
            return f"click {aim(target)}"
        case actions.Hover(target):
            return f"hover {aim(target)}"
        case actions.Type(target, text, False) if target is not None:
            return f"type {aim(target)} [{text}]" + ("" if full else " [0]")
        case actions.Press(keys, None):
            return f"press [{keys}]"
        case actions.Scroll(direction, None):
            return f"scroll [{direction}]"
    if not full:
        raise NoVerb(step.kind)
    match step:
        case actions.Click(target, "left", 2, ()):
            return f"double_click {aim(target)}"
        case actions.Click(target, "right", 1, ()):
            return f"right_click {aim(target)}" if grammar == "set_of_marks" else f"click {aim(target)} [right]"
        case actions.Type(target, text, True) if target is not None:
            return f"fill {aim(target)} [{text}]"
        case actions.Press(keys, target) if target is not None:
            return f"press {aim(target)} [{keys}]"
        case actions.Scroll(direction, target) if target is not None:
            return f"scroll {aim(target)} [{direction}]"
        case actions.Select(target, options):
            return f"select {aim(target)} " + " ".join(f"[{each}]" for each in options)
        case actions.Check(target, checked):
            return f"{'check' if checked else 'uncheck'} {aim(target)}"
        case actions.Drag(target, to):
            return f"drag {aim(target)} {aim(to)}"
        case actions.Upload(target, files) if target is not None:
            return f"upload {aim(target)} " + " ".join(f"[{each}]" for each in files)
        case actions.AcceptDialog(answer):
            return "accept" if answer is None else f"accept [{answer}]"
        case actions.DismissDialog():
            return "dismiss"
    raise NoVerb(step.kind)


def _tool(step: Action, aim: Callable[[Target], str]) -> dict[str, object]:
    def call(name: str, **arguments: object) -> dict[str, object]:
        return {"name": name, "arguments": {key: value for key, value in arguments.items() if value is not None}}

    match step:
        case actions.Click(target, button, count, _):
            options = {"button": None if button == "left" else button, "count": None if count == 1 else count}
            return call("click", element=aim(target), **options)
        case actions.Hover(target):
            return call("hover", element=aim(target))
        case actions.Type(target, text, clear) if target is not None:
            return call("type", element=aim(target), text=text, clear=clear or None)
        case actions.Press(keys, target):
            return call("press", keys=keys, element=None if target is None else aim(target))
        case actions.Scroll(direction, target):
            return call("scroll", direction=direction, element=None if target is None else aim(target))
        case actions.Select(target, options):
            return call("select", element=aim(target), options=list(options))
        case actions.Check(target, checked):
            return call("check", element=aim(target), checked=None if checked else False)
        case actions.Drag(target, to):
            return call("drag", element=aim(target), to=aim(to))
        case actions.Upload(target, files) if target is not None:
            return call("upload", element=aim(target), files=list(files))
        case actions.AcceptDialog(text):
            return call("accept_dialog", text=text)
        case actions.DismissDialog():
            return call("dismiss_dialog")
    raise NoVerb(step.kind)


def _webcanvas(step: Action, aim: Callable[[Target], str]) -> dict[str, object]:
    match step:
        case actions.Click(target, "left", 1, ()):
            return {"action": "click", "element_id": int(aim(target))}
        case actions.Hover(target):
            return {"action": "hover", "element_id": int(aim(target))}
        case actions.Type(target, text, True) if target is not None:
            return {"action": "fill_form", "element_id": int(aim(target)), "action_input": text}
        case actions.Select(target, (option,)):
            return {"action": "select_option", "element_id": int(aim(target)), "action_input": option}
        case actions.Scroll("down", None):
            return {"action": "scroll_down"}
    raise NoVerb(step.kind)


def call_of(step: Action) -> str:
    """Return a step as a call of Playwright."""
    match step:
        case actions.Click(target, button, count, _):
            options = f"button={button!r}" if button != "left" else ""
            return f"{_locator(target)}.{'dblclick' if count == 2 else 'click'}({options})"
        case actions.Hover(target):
            return f"{_locator(target)}.hover()"
        case actions.Type(target, text, clear):
            return f"{_locator(target)}.{'fill' if clear else 'type'}({text!r})"
        case actions.Press(keys, None):
            return f"page.press({keys!r})"
        case actions.Press(keys, target):
            return f"{_locator(target)}.press({keys!r})"
        case actions.Scroll(direction, None):
            return f"page.scroll({direction!r})"
        case actions.Select(target, options):
            return f"{_locator(target)}.select_option({list(options)!r})"
        case actions.Check(target, checked):
            return f"{_locator(target)}.{'check' if checked else 'uncheck'}()"
        case actions.Drag(target, to):
            return f"{_locator(target)}.drag_to({_locator(to)})"
        case actions.Upload(target, files):
            return f"{_locator(target)}.set_input_files({list(files)!r})"
        case actions.AcceptDialog(answer):
            return f"dialog.accept({'' if answer is None else repr(answer)})"
        case actions.DismissDialog():
            return "dialog.dismiss()"
    raise NoVerb(step.kind)


def _locator(target: Target | None) -> str:
    if not isinstance(target, Selector):
        raise NoVerb("no selector")
    selector = target.selector
    if by_role := re.fullmatch(r'role=(\w+)\[name="([^"]*)"\]', selector):
        return f"page.get_by_role({by_role[1]!r}, name={by_role[2]!r}, exact=True)"
    if by_label := re.fullmatch(r'internal:label="([^"]*)"s', selector):
        return f"page.get_by_label({by_label[1]!r}, exact=True)"
    if by_text := re.fullmatch(r"text=(.*)", selector):
        return f"page.get_by_text({by_text[1]!r})"
    return f"page.locator({selector!r})"
