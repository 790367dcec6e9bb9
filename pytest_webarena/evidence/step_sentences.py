"""A step as a sentence: the only place that words an action for reports, pages, the terminal and messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from pytest_webarena.evidence.steps import ScriptAct, StepRecord
from pytest_webarena.signals import TargetRecord
from pytest_webarena.text import clip

__all__ = ["action_sentence", "script_sentence", "step_sentence", "target_words"]

_WIDTH = 60
"""Maximum length of a quoted text or a selector in a sentence."""


def step_sentence(step: StepRecord) -> str:
    """Return a step as a sentence without a full stop.

    >>> from pytest_webarena.signals import TargetRecord
    >>> field = TargetRecord(role="textbox", name="Search")
    >>> typed = {"kind": "type", "target": {"id": "4"}, "text": "blue", "enter": True}
    >>> step_sentence(StepRecord(index=0, action=typed, raw="", target=field))
    'Type “blue” into “Search” and press Enter'
    """
    return action_sentence(step.action, step.target)


def action_sentence(action: Mapping[str, Any], hit: TargetRecord | None = None) -> str:
    """Return an action (`actions.as_record`) as a sentence. ``hit`` is the element that it hit, if it hit one.

    >>> action_sentence({"kind": "goto", "url": "http://a.test/"})
    'Go to http://a.test/'
    >>> action_sentence({"kind": "click", "target": {"selector": "css=#save"}, "count": 2})
    'Double-click css=#save'
    """
    kind = str(action.get("kind", "?"))
    where = target_words(hit) or _aim(action.get("target"))
    if (wording := _WORDING.get(kind)) is not None:
        with suppress(TypeError, ValueError, AttributeError):  # records of other people may hold anything
            return wording(action, where)
    words = [kind.replace("_", " ").capitalize(), where]
    words += [_quoted(value) for key, value in action.items() if key != "kind" and value and isinstance(value, str)]
    return " ".join(word for word in words if word)


def script_sentence(act: ScriptAct) -> str:
    """Return what a script did as a sentence.

    >>> from pytest_webarena.signals import TargetRecord
    >>> corn = TargetRecord(role="combobox", name="Corn")
    >>> script_sentence(ScriptAct(event="change", target=corn, value="Rye"))
    'Set “Corn” to “Rye”'
    """
    where = target_words(act.target) or clip(act.selector, _WIDTH)
    if act.event in ("change", "input", "set"):
        return f"Set {where} to {_quoted(act.value or '')}"
    if act.event == "keydown":
        return f"Press {clip(act.value or '', _WIDTH)} in {where}"
    return f"{act.event.capitalize()} {where}"


def target_words(hit: TargetRecord | None) -> str:
    """Return an element by its name, text, role or selector; empty if nothing of it is known.

    >>> target_words(TargetRecord(role="button", name="Add to cart")), target_words(TargetRecord(role="img"))
    ('“Add to cart”', 'the img')
    """
    if hit is None:
        return ""
    if name := hit.name or hit.text:
        return _quoted(name)
    kind = hit.role or hit.tag
    selector = clip(hit.selector, _WIDTH)
    return f"the {kind} {selector}".rstrip() if kind else selector


def _aim(target: object) -> str:
    """The recorded target of an action of which it is unknown what it hit."""
    if not isinstance(target, Mapping):
        return ""
    if target.get("selector"):
        return clip(str(target["selector"]), 2 * _WIDTH)
    if target.get("id"):
        return f"element {clip(str(target['id']), _WIDTH)}"
    return f"({target.get('x')}, {target.get('y')})" if "x" in target else ""


def _quoted(text: object) -> str:
    return f"“{clip(str(text), _WIDTH)}”"


def _listed(texts: object) -> str:
    return ", ".join(map(_quoted, texts)) if isinstance(texts, (list, tuple)) else _quoted(texts)


def _in(where: str, word: str = "in") -> str:
    return f" {word} {where}" if where else ""


def _click(action: Mapping[str, Any], where: str) -> str:
    verb = "Double-click" if action.get("count") == 2 else "Click"
    if (button := action.get("button") or "left") != "left":
        verb = f"{button.capitalize()}-click"
    held = "+".join(action.get("modifiers") or ())
    return f"{verb} {where}" + (f" with {held}" if held else "")


def _type(action: Mapping[str, Any], where: str) -> str:
    text = _quoted(action.get("text", ""))
    words = f"Fill {where} with {text}" if action.get("clear") and where else f"Type {text}{_in(where, 'into')}"
    return words + (" and press Enter" if action.get("enter") else "")


def _scroll(action: Mapping[str, Any], where: str) -> str:
    pixels = f" by {action['pixels']:g} pixels" if action.get("pixels") else ""
    return f"Scroll {action.get('direction', '')}{pixels}{_in(where)}"


def _stop(action: Mapping[str, Any], where: str) -> str:
    if answer := action.get("answer"):
        return f"Answer {_quoted(answer)}"
    return f"Stop: {clip(reason, _WIDTH)}" if (reason := str(action.get("reason") or "")) else "Stop without an answer"


def _dialog(action: Mapping[str, Any], where: str) -> str:
    return "Accept the dialog" + (f" with {_quoted(action['text'])}" if action.get("text") else "")


_WORDING: dict[str, Callable[[Mapping[str, Any], str], str]] = {
    "click": _click,
    "hover": lambda action, where: f"Hover over {where}",
    "type": _type,
    "press": lambda action, where: f"Press {clip(str(action.get('keys', '')), _WIDTH)}{_in(where)}",
    "scroll": _scroll,
    "select": lambda action, where: f"Select {_listed(action.get('options', ()))}{_in(where)}",
    "check": lambda action, where: f"{'Check' if action.get('checked', True) else 'Uncheck'} {where}",
    "drag": lambda action, where: f"Drag {where} to {_aim(action.get('to'))}",
    "upload": lambda action, where: f"Upload {_listed(action.get('files', ()))}{_in(where, 'to')}",
    "accept_dialog": _dialog,
    "dismiss_dialog": lambda action, where: "Dismiss the dialog",
    "goto": lambda action, where: f"Go to {clip(str(action.get('url', '')), 2 * _WIDTH)}",
    "new_tab": lambda action, where: "Open a new tab",
    "close_tab": lambda action, where: "Close the tab",
    "tab_focus": lambda action, where: f"Switch to tab {action.get('index')}",
    "go_back": lambda action, where: "Go back",
    "go_forward": lambda action, where: "Go forward",
    "reload": lambda action, where: "Reload the page",
    "wait": lambda action, where: f"Wait {action.get('seconds', 1):g} s",
    "noop": lambda action, where: "Do nothing",
    "note": lambda action, where: f"Note {_quoted(action.get('text', ''))}",
    "search": lambda action, where: f"Search for {_quoted(action.get('query', ''))}",
    "stop": _stop,
    "invalid": lambda action, where: f"Invalid action: {clip(str(action.get('reason', '')), 2 * _WIDTH)}",
}
"""Wording of each kind of action, from its record and the words of its target."""
