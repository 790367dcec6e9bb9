"""Writes actions and tasks as in task files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from pytest_webarena import actions
from pytest_webarena.actions import Action, Selector
from pytest_webarena.suites.writing import yaml_lines, yaml_scalar

__all__ = ["as_step", "plain_scalar", "solution_lines", "step_lines", "task_lines"]

_WIDTH = 110
"""Maximum length of a line with a list or mapping."""


def as_step(action: Action) -> Any:
    """Return a step of ``solution`` as YAML data. `ValueError` for an action that solutions can't contain.

    >>> as_step(actions.Type(Selector("css=#title"), "Rye", clear=True))
    {'fill': {'css=#title': 'Rye'}}
    >>> as_step(actions.Click(Selector("text=Map"), button="right"))
    {'click': {'selector': 'text=Map', 'button': 'right'}}
    >>> as_step(actions.AcceptDialog())
    'accept_dialog'
    """
    match action:
        case actions.Goto(url):
            return {"goto": url}
        case actions.Click(target):
            options = {"button": action.button, "count": action.count, "modifiers": list(action.modifiers)}
            defaults = {"button": "left", "count": 1, "modifiers": []}
            extra = {key: value for key, value in options.items() if value != defaults[key]}
            return {"click": {"selector": _selector(target), **extra} if extra else _selector(target)}
        case actions.Type(target, text):
            return {"fill" if action.clear else "type": {_selector(target): text}}
        case actions.Press(keys, target):
            return {"press": keys if target is None else {_selector(target): keys}}
        case actions.Select(target, options):
            return {"select": {_selector(target): _one_or_many(options)}}
        case actions.Check(target, checked):
            return {"check" if checked else "uncheck": _selector(target)}
        case actions.Hover(target):
            return {"hover": _selector(target)}
        case actions.Drag(target, to):
            return {"drag": {_selector(target): _selector(to)}}
        case actions.Upload(target, files) if target is not None:
            return {"upload": {_selector(target): _one_or_many(files)}}
        case actions.FocusTab(index):
            return {"tab": index}
        case actions.AcceptDialog(text):
            return "accept_dialog" if text is None else {"accept_dialog": text}
        case actions.Stop(answer):
            return {"stop": answer} if answer else "stop"
        case actions.Back() | actions.Forward() | actions.Reload() | actions.NewTab() | actions.CloseTab():
            return {"go_back": "back", "go_forward": "forward"}.get(action.kind, action.kind)
        case actions.DismissDialog() | actions.Noop():
            return action.kind
    raise ValueError(f"expected an action that solutions support, found {action.kind}")


def task_lines(
    task: Mapping[str, Any], checks: Sequence[Sequence[str]], steps: Sequence[tuple[Action, str]]
) -> list[str]:
    """Return the lines of one item of ``tasks:``.

    Args:
        task: The keys before the checks.
        checks: The lines of each check, without indentation, as in `Proposal.lines`.
        steps: The steps of the solution, each with a problem that is written as a comment, or an empty string.
    """
    lines = yaml_lines([dict(task)], 2)
    if checks:
        lines.append("    checks:")
        lines += [f"      {line}" for check in checks for line in check]
    else:
        lines.append("    checks: []")
    return [*lines, *(f"    {line}" for line in solution_lines(steps))]


def solution_lines(steps: Sequence[tuple[Action, str]]) -> list[str]:
    """Return the lines of ``solution:`` with its steps; none without steps."""
    lines = ["solution:"] if steps else []
    for action, problem in steps:
        if problem:
            lines.append(f"  # check this step: {' '.join(problem.split())}")
        lines += [f"  {line}" for line in step_lines(action)]
    return lines


def step_lines(action: Action) -> list[str]:
    """Return the lines of one item of a solution, without indentation, including its repair selectors.

    >>> print(*step_lines(actions.Type(Selector('role=textbox[name="Title"]'), "Rye", clear=True)))
    - fill: {'role=textbox[name="Title"]': Rye}
    >>> print(*step_lines(actions.Check(Selector("css=#a", repair_selectors=("text=A",)))), sep="\n")
    - check: css=#a
      repair_selectors: [text=A]
    """
    targets = (
        ("repair_selectors", getattr(action, "target", None)),
        ("repair_selectors_to", getattr(action, "to", None)),
    )
    repairs = [
        (key, target.repair_selectors)
        for key, target in targets
        if isinstance(target, Selector) and target.repair_selectors
    ]
    return [*_step(action), *(line for key, selectors in repairs for line in _repair_lines(key, selectors))]


def _repair_lines(key: str, selectors: Sequence[str]) -> list[str]:
    line = f"  {key}: [{', '.join(plain_scalar(each, flow=True) for each in selectors)}]"
    if len(line) <= _WIDTH:
        return [line]
    return [f"  {key}:", *(f"    - {plain_scalar(each)}" for each in selectors)]


def _step(action: Action) -> list[str]:
    match as_step(action):
        case str(word):
            return [f"- {word}"]
        case dict(step):
            ((key, value),) = step.items()
    if isinstance(value, str):
        return [f"- {key}: {plain_scalar(value)}"]
    if isinstance(value, dict) and key != "click" and all(isinstance(each, str) for each in value.values()):
        ((selector, text),) = value.items()
        line = f"- {key}: {{{plain_scalar(selector, flow=True)}: {plain_scalar(text, flow=True)}}}"
        return [line] if len(line) <= _WIDTH else [f"- {key}:", f"    {plain_scalar(selector)}: {plain_scalar(text)}"]
    return yaml_lines([{key: value}])


def plain_scalar(text: str, *, flow: bool = False) -> str:
    """Write a text in the plainest YAML form that reads back unchanged, because selectors are full of quotes."""
    if "{{" not in text and "{%" not in text:
        for form in (text, "'" + text.replace("'", "''") + "'"):
            line = f"[{form}, {{{form}: 1}}]" if flow else f"- {form}\n- {form}: 1"
            try:
                if form.isprintable() and yaml.safe_load(line) == [text, {text: 1}]:
                    return form
            except yaml.YAMLError:
                continue
    return yaml_scalar(text, flow=flow)


def _selector(target: object) -> str:
    if not isinstance(target, Selector):
        raise ValueError(f"expected a selector, found {target!r}")
    return target.selector


def _one_or_many(values: Sequence[str]) -> Any:
    return values[0] if len(values) == 1 else list(values)
