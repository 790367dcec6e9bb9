"""Where the target of a recorded step may be on a page that need not be what it was.

Wrong targets are worse than none. What had a name that was shown, and is shown no more, has another name by now or is
gone: what stands in its place, or is called nearly the same, may be anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pytest_webarena.actions import Element, Point, Selector, Target
from pytest_webarena.agents.fields import named_elements
from pytest_webarena.tasks.syntax import ROLES

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord, TargetRecord

__all__ = ["missing", "targets_of"]

_ADDRESS = re.compile(r'a\[href="(?!#"|javascript:)[^"]+"\]$')
"""At the end of an element's selector: no other link of the page led there."""
Shown = list[tuple[str, str, str]]


def targets_of(step: StepRecord, then: str, now: str) -> Iterator[tuple[Target, str]]:
    """Where the element may be, best first, and by what that is; empty for the recorded one. ``then`` and ``now`` are
    the texts that were shown before the step, and are shown."""
    said, hit = step.action.get("target"), step.target
    recorded = said if isinstance(said, Mapping) else {}
    if "selector" in recorded:
        yield Selector(str(recorded["selector"])), ""
    if hit is None:
        if "x" in recorded:
            yield Point(float(recorded["x"]), float(recorded["y"])), ""
        return
    before, shown = named_elements(then), named_elements(now)
    twins = [id for id, role, name in shown if hit.name and (role, name) == (hit.role, hit.name)]
    was_shown = bool(hit.name) and any((role, name) == (hit.role, hit.name) for _, role, name in before)
    yield from _by_name(step, hit, before, twins, "role and name" if "selector" in recorded else "")
    if was_shown and not twins:
        yield from _in_its_place(hit, _but_for_numbers(hit, shown))
    elif not twins and hit.selector:
        yield Selector(f"css={hit.selector}"), "its place in the document"
    if hit.x is not None and hit.y is not None and ("x" in recorded if twins else not was_shown):
        yield Point(hit.x, hit.y), f"its position ({hit.x:g}, {hit.y:g})"


def missing(step: StepRecord, then: str, now: str) -> str:
    """What had been shown of a step's target and is shown no more, its role and name; empty where it is shown."""
    called = (step.target.role, step.target.name) if step.target is not None and step.target.name else None
    shown, before = ([(role, name) for _, role, name in named_elements(text)] for text in (now, then))
    return f"{called[0]} {called[1]!r}" if called is not None and called in before and called not in shown else ""


def _by_name(
    step: StepRecord, hit: TargetRecord, before: Shown, twins: list[str], how: str
) -> Iterator[tuple[Target, str]]:
    """By its role and name; of several, by which of them it was, if they are as many as then."""
    then = sum((role, name) == (hit.role, hit.name) for _, role, name in before)
    place = _place_among_twins(step, hit, before)
    if len(twins) == 1 and then < 2:
        yield Element(twins[0]), how  # ids differ between runs, that is no news
    elif twins and len(twins) == then and place >= 0:
        yield Element(twins[place]), how
    elif twins:
        many = f"its place in the document, role and name ({then} then, now {len(twins)})"
        yield from _in_its_place(hit, [hit.name], how if len(twins) == then else many)
    elif hit.role and hit.name:
        yield Selector(_role(hit.role, hit.name)), "role and name, outside of what was shown"


def _in_its_place(hit: TargetRecord, names: list[str], how: str = "") -> Iterator[tuple[Target, str]]:
    """What stands where it stood, if it has its role and one of these names; or leads where it led."""
    if not hit.selector or hit.role not in ROLES:
        return
    for name in names:
        said = how if name == hit.name else f"its place in the document, role and name but for numbers ({name!r})"
        yield Selector(f"css={hit.selector} >> internal:and={json.dumps(_role(hit.role, name))}"), said
    if hit.role == "link" and _ADDRESS.search(hit.selector):
        yield Selector(f"css={hit.selector}"), "its address"


def _but_for_numbers(hit: TargetRecord, shown: Shown) -> list[str]:
    """Names of its role that differ from its own in numbers and signs alone: counts, dates, times."""
    words = re.findall(r"[^\W\d_]+", hit.name.casefold())
    alike = [name for _, role, name in shown if role == hit.role and re.findall(r"[^\W\d_]+", name.casefold()) == words]
    return list(dict.fromkeys(alike)) if words else []


def _place_among_twins(step: StepRecord, hit: TargetRecord, before: Shown) -> int:
    """Which of several elements of the same role and name it was, from 0; -1 where nobody knows."""
    recorded = step.action.get("target")
    twins = [id for id, role, name in before if (role, name) == (hit.role, hit.name)]
    id = str(recorded["id"]) if isinstance(recorded, Mapping) and "id" in recorded else ""
    return twins.index(id) if id in twins else -1


def _role(role: str, name: str) -> str:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'role={role}[name="{quoted}"s]'
