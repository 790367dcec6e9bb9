"""Grammar of WebCanvas (Mind2Web-Live): a JSON object with an action, its input and an element's number.

Source: the WebCanvas paper, table 10, and the planner of its code: ``thought``, ``action``, ``action_input``,
``element_id``, ``description``. Differences: a link is clicked instead of opening its address, ``switch_tab`` works,
text is typed unchanged, ``search`` (or ``google_search``) uses the search that the trial has, and an invalid reply gets
an error message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from pytest_webarena.actions import (
    Action,
    Back,
    Click,
    Element,
    FocusTab,
    Goto,
    Hover,
    Invalid,
    Noop,
    Note,
    Scroll,
    Search,
    Select,
    Stop,
    Type,
)
from pytest_webarena.browser.grammars.replies import json_objects
from pytest_webarena.errors import closest

__all__ = ["describe", "parse", "remarks"]

_EXAMPLE = '{"thought": "…", "action": "click", "action_input": "", "element_id": 12}'


def parse(text: str) -> Action:
    """Return the action in an agent's reply; `Invalid` with a reason for the agent if there is none. Never raises.

    >>> parse('{"thought": "search", "action": "fill_search", "action_input": "atlas", "element_id": "7"}')
    Type(target=Element(id='7'), text='atlas', clear=True, enter=True)
    """
    if (several := _several(text)) > 1:
        return Invalid(text, f"{several} different actions at once, so none was done. Reply with one of them alone.")
    for found in json_objects(text):
        verb = found.get("action")
        if not isinstance(verb, str):
            continue
        name = verb.strip().lower().replace(" ", "_")
        if name not in _VERBS:
            return Invalid(text, f"{verb[:80]!r} is no action; {closest(name[:40], _VERBS)}.")
        needs, make = _VERBS[name]
        values: dict[str, str] = {}
        for key in needs:
            value = found.get(key)
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                value = None
            content = "" if value is None else str(value).strip() if key == "element_id" else str(value)[:100_000]
            if key == "element_id" and not re.fullmatch(r"\[?\d+\]?", content, re.ASCII):
                return Invalid(text, f"{name}: expected a number from the observation as 'element_id'. {_usage(name)}")
            if key == "action_input" and value is None:
                return Invalid(text, f"{name}: expected text as 'action_input'. {_usage(name)}")
            values[key] = content.strip("[]") if key == "element_id" else content
        action = make(values.get("element_id", ""), values.get("action_input", ""))
        return action or Invalid(text, f"{name}: that 'action_input' makes no sense. {_usage(name)}")
    return Invalid(text, f"No action found. Reply with a JSON object such as {_EXAMPLE}.")


def _several(text: str) -> int:
    """Return the number of different actions at the same level of a reply; quoted earlier actions don't count."""
    found = (each for each in json_objects(text, outer=True) if isinstance(each.get("action"), str))
    return len({json.dumps([each.get(key) for key in _ACTS], sort_keys=True) for each in found})


def remarks(text: str) -> tuple[str, str, str]:
    """Return thought, description and the action alone from an agent's reply. Never raises.

    >>> remarks('{"thought": "the cart", "action": "click", "element_id": 4}')
    ('the cart', '', '{"action": "click", "element_id": 4}')
    """
    for found in json_objects(text):
        if isinstance(found.get("action"), str):
            texts = [each if isinstance(each := found.get(name), str) else "" for name in ("thought", "description")]
            keys = [key for key in ("action", "element_id", "action_input") if _is_plain(found.get(key))]
            action = json.dumps({key: found[key] for key in keys}, ensure_ascii=False)
            return texts[0].strip(), texts[1].strip(), action
    return "", "", ""


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and value != ""


def describe() -> str:
    """Return a short description of the grammar for prompts."""
    return _DESCRIPTION


def _tab(_: str, number: str) -> Action | None:
    number = number.strip()
    return FocusTab(int(number)) if re.fullmatch(r"\d{1,9}", number, re.ASCII) else None


_ACTS = ("action", "action_input", "element_id")
_INPUT, _BOTH, _ID = ("action_input",), ("element_id", "action_input"), ("element_id",)
_VERBS: Mapping[str, tuple[tuple[str, ...], Callable[[str, str], Action | None]]] = {
    "goto": (_INPUT, lambda _, text: Goto(text)),
    "search": (_INPUT, lambda _, text: Search(text.strip()) if text.strip() else None),
    "google_search": (_INPUT, lambda _, text: Search(text.strip()) if text.strip() else None),
    "click": (_ID, lambda id, _: Click(Element(id))),
    "hover": (_ID, lambda id, _: Hover(Element(id))),
    "fill_form": (_BOTH, lambda id, text: Type(Element(id), text, clear=True)),
    "fill_search": (_BOTH, lambda id, text: Type(Element(id), text, clear=True, enter=True)),
    "select_option": (_BOTH, lambda id, text: Select(Element(id), (text,))),
    "switch_tab": (_INPUT, _tab),
    "go_back": ((), lambda *_: Back()),
    "scroll_up": ((), lambda *_: Scroll("up")),
    "scroll_down": ((), lambda *_: Scroll("down")),
    "cache_data": (_INPUT, lambda _, text: Note(text)),
    "get_final_answer": (_INPUT, lambda _, text: Stop(text)),
    "none": ((), lambda *_: Noop()),
}


def _usage(name: str) -> str:
    fields = {"action": name, **{key: 12 if key == "element_id" else "…" for key in _VERBS[name][0]}}
    return f"For example: {json.dumps(fields, ensure_ascii=False)}"


_DESCRIPTION = """\
Reply with one JSON object, for example:
{"thought": "The cart holds what was asked for.", "action": "click", "action_input": "", "element_id": 12}
"element_id" is the number that the observation shows in brackets before an element. "action" is one of:

goto              open the address in "action_input"
search            search the web for "action_input"
click             click the element
hover             move the mouse over the element
fill_form         put "action_input" into the field, in place of what it holds
fill_search       the same, then press Enter
select_option     choose the option with the text "action_input" in the list
switch_tab        make the tab with the number in "action_input" current; they are numbered from 0
go_back           go back to the page before
scroll_down       scroll by one screen; or scroll_up
cache_data        keep "action_input" for the answer
get_final_answer  end the task with the answer in "action_input" (empty if none is asked for)
none              do nothing and look again
"""
