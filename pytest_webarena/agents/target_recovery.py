"""Recovers the target of a recorded step on a page that may have changed.

A wrong target is worse than none. If a name was shown in the recording and is not shown any more, the element was
renamed or removed, and whatever is at its place or has a similar name may be something else.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pytest_webarena.actions import Element, Point, Selector, Target
from pytest_webarena.agents.form_fields import named_elements
from pytest_webarena.agents.text_filters import text_filters
from pytest_webarena.tasks.syntax import CONTROLS, DOES_MORE, ROLES

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord, TargetRecord

__all__ = ["missing_target", "name_with_other_numbers", "targets_of"]

_ADDRESS = re.compile(r'a\[href=("(?!#!?"|javascript:)(?:[^"\\]|\\.)+")\]$', re.IGNORECASE)
"""The end of a selector that identifies a link by its address, as the only one on the page."""
_LONGEST = 80
_FIELDS = frozenset({"input", "select", "textarea"})
"""Tags of form fields, which have no text of their own but a text next to them."""
_CLIPPED = 200
"""Length in characters from which a recorded text may have been cut."""
Shown = list[tuple[str, str, str]]
Marks = tuple[tuple[str, str] | None, tuple[str, str] | None]
"""Role and name of the elements before and after one of several elements with the same name."""


def targets_of(step: StepRecord, recorded_text: str, current_text: str) -> Iterator[tuple[Target, str]]:
    """Possible targets of a step, best first, and how each was found (empty for the recorded one).

    ``recorded_text`` is the text shown before the step in the recording, ``current_text`` the one shown now."""
    target, hit = step.action.get("target"), step.target
    recorded = target if isinstance(target, Mapping) else {}
    if "selector" in recorded and not _counts_changed_elements(
        str(recorded["selector"]), hit, recorded_text, current_text
    ):
        yield Selector(str(recorded["selector"])), ""
    if hit is None:
        if "x" in recorded:
            yield Point(float(recorded["x"]), float(recorded["y"])), ""
        return
    if hit.tag == "canvas" and "x" in recorded:  # the middle of a canvas shows something else
        yield Point(float(recorded["x"]), float(recorded["y"])), "its position, because the point within it matters"
    recorded_elements, current = named_elements(recorded_text), named_elements(current_text)
    called = (hit.role, hit.name) if hit.name else None
    recovery = "role and name" if "selector" in recorded else ""
    if any(each[1:] == called for each in current):
        yield from _by_name(hit, recorded_elements, current, str(recorded.get("id", "")), recovery)
        return  # its place may now be another element's, or covered
    if (
        hit.role and hit.name and sum(each[1:] == called for each in recorded_elements) < 2
    ):  # otherwise it may be another one
        yield Selector(_role(hit.role, hit.name)), "role and name, outside of the observation"
    if any(each[1:] == called for each in recorded_elements):
        yield from _in_its_place(hit, name_with_other_numbers(hit, recorded_elements, current))
        yield from _link_with_address(hit)
        return
    known = hit.role in CONTROLS and 0 < len(hit.name) < _LONGEST and step.action.get("kind") != "upload"
    if known:
        yield from _link_with_address(hit)
    if hit.selector and (not known or hit.text or (hit.tag in _FIELDS and _rows_of(hit))):
        yield from _at_recorded_place(hit)
    # An element with a text is found by that text; its position may now belong to another row.
    read = any(text for _, text, *_ in hit.reads) or (not known and _is_read(hit))
    if hit.x is not None and hit.y is not None and ("x" in recorded or not known) and not read:
        yield Point(hit.x, hit.y), f"its position ({hit.x:g}, {hit.y:g})"


def _counts_changed_elements(selector: str, hit: TargetRecord | None, recorded_text: str, current_text: str) -> bool:
    """Whether a recorded selector finds its element by counting, the element was one of several with the same name, and
    these were added, removed or reordered since: it may find another one."""
    if hit is None or not hit.name:
        return False
    if not any(sign in selector for sign in (":nth-", "nth=")) and not (_rows_of(hit) and re.search(r"\d", selector)):
        return False
    old, new = (_neighbours(named_elements(text), (hit.role, hit.name)) for text in (recorded_text, current_text))
    return len(old) > 1 and all(_changed_sides(old, new))


def _changed_sides(recorded: list[Marks], current: list[Marks]) -> list[bool]:
    """Whether the neighbours before them, and those after them, differ from the recording; both do if elements were
    added or removed."""
    return [[each[side] for each in recorded] != [each[side] for each in current] for side in (0, 1)]


def missing_target(step: StepRecord, recorded_text: str, current_text: str) -> str:
    """Role and name of a step's target if it was shown in the recording and is not shown now; otherwise empty."""
    called = (step.target.role, step.target.name) if step.target is not None and step.target.name else None
    current, recorded = (
        [(role, name) for _, role, name in named_elements(text)] for text in (current_text, recorded_text)
    )
    return f"{called[0]} {called[1]!r}" if called is not None and called in recorded and called not in current else ""


def _by_name(
    hit: TargetRecord, recorded: Shown, current: Shown, id: str, recovery: str
) -> Iterator[tuple[Target, str]]:
    """Targets with the recorded role and name, which are shown; of several, the one that corresponds to the recorded
    one."""
    called = (hit.role, hit.name)
    old, twins = ([id for id, *each in texts if tuple(each) == called] for texts in (recorded, current))
    many = f"{len(old)} recorded, {len(twins)} now"
    if len(twins) == 1 and len(old) < 2:
        yield Element(twins[0]), recovery  # ids differ between runs, which is not reported
    elif not old:
        yield from _in_its_place(hit, [hit.name], f"its place in the document, role and name, one of {len(twins)}")
    elif id in old:
        place, same = _corresponding(_neighbours(recorded, called), old.index(id), _neighbours(current, called))
        if place >= 0:
            yield Element(twins[place]), recovery if same else f"its neighbours, role and name ({many})"
        else:
            yield from _below_an_id(hit, f"its place in the document, role and name ({many})")
    else:
        yield from _of_several_by_place(hit, _neighbours(recorded, called), _neighbours(current, called), recovery)


def _of_several_by_place(
    hit: TargetRecord, recorded: list[Marks], current: list[Marks], recovery: str
) -> Iterator[tuple[Target, str]]:
    """One of several elements when it is unknown which of them was used, as when an agent gave a point."""
    how_by_place = f"its place in the document, role and name ({len(recorded)} recorded, {len(current)} now)"
    changed_sides = _changed_sides(recorded, current)
    if all(changed_sides):  # elements were added, removed or reordered: the place may be another's
        yield from _below_an_id(hit, how_by_place)
    else:
        yield from _in_its_place(hit, [hit.name], how_by_place if any(changed_sides) else recovery)


def _corresponding(recorded: list[Marks], place: int, current: list[Marks]) -> tuple[int, bool]:
    """Index of the current element with the neighbours of the recorded one, -1 if unknown; and whether nothing has
    changed: the same number of elements, the same index and the same neighbours on both sides."""
    before, after = marks = recorded[place]
    many = len(recorded) == len(current)
    if marks == (None, None):
        return (place, True) if many else (-1, False)
    by_before = {number for number, each in enumerate(current) if before and each[0] == before}
    by_after = {number for number, each in enumerate(current) if after and each[1] == after}
    # A name may come before its controls or after them, so a neighbour on one side may be the name of another element.
    found = by_before | by_after if many else by_before & by_after
    if len(found) != 1:
        return -1, False
    [number] = found
    return number, many and number == place and current[number] == marks


def _neighbours(elements: Shown, role_and_name: tuple[str, str]) -> list[Marks]:
    """For each element with this role and name: the nearest elements before and after it with a unique name, up to the
    next one of its kind."""
    names = [(role, name) for _, role, name in elements]
    count = Counter(names)
    at = [number for number, each in enumerate(names) if each == role_and_name]
    marks = []
    for since, own, until in zip([-1, *at], at, [*at[1:], len(names)], strict=False):
        sides = (names[since + 1 : own][::-1], names[own + 1 : until])
        nearest = [next((each for each in side if each[1] and count[each] == 1), None) for side in sides]
        marks.append((nearest[0], nearest[1]))
    return marks


def _below_an_id(hit: TargetRecord, recovery: str) -> Iterator[tuple[Target, str]]:
    """The element at the recorded place, unless its selector counts siblings. An id may contain a count, too, so the
    rows around it are compared."""
    if ":nth-" not in hit.selector:
        yield from _in_its_place(hit, [hit.name], recovery, rows=True)


def _in_its_place(
    hit: TargetRecord, names: list[str], recovery: str = "", *, rows: bool = False
) -> Iterator[tuple[Target, str]]:
    """The element at the recorded place if it has the role and one of ``names``. With ``rows``, also the rows around it
    must have the recorded text."""
    if not hit.selector or hit.role not in ROLES:
        return
    for name in names:
        found_by = (
            recovery if name == hit.name else f"its place in the document, role and name but for numbers ({name!r})"
        )
        place = f"css={hit.selector} >> internal:and={json.dumps(_role(hit.role, name))}"
        for reading in text_filters((("*", ""), *_rows_of(hit))) if rows and _rows_of(hit) else [""]:
            yield Selector(place + reading), found_by


def _at_recorded_place(hit: TargetRecord) -> Iterator[tuple[Target, str]]:
    """The element at the recorded place. If it had a text, only with the same text, because otherwise it may be another
    element, or in another row."""
    if any(text for _, text, *_ in hit.reads):
        for reading in text_filters(hit.reads):
            yield Selector(f"css={hit.selector}{reading}"), "its place in the document and its text"
    elif not _is_read(hit):
        yield Selector(f"css={hit.selector}"), "its place in the document"
    else:
        text_pattern = r"\s+".join(re.sub(r"[^\w\s]", _escaped, hit.text).split())
        reads = f"internal:has-text=/^\\s*{text_pattern}\\s*$/i"
        yield Selector(f"css={hit.selector} >> {reads}"), "its place in the document and its text"


def _is_read(hit: TargetRecord) -> bool:
    """Whether the recorded text of an element is complete and not empty; for records without `reads`."""
    return bool(hit.name and hit.text) and len(hit.text) < _CLIPPED


def _rows_of(hit: TargetRecord) -> tuple[tuple[str, ...], ...]:
    return tuple(each for each in hit.reads[1:] if each[1])


def _escaped(sign: re.Match[str]) -> str:
    return f"\\u{ord(sign[0]):04x}" if ord(sign[0]) < 0x10000 else sign[0]


def _link_with_address(hit: TargetRecord) -> Iterator[tuple[Target, str]]:
    """The only link with the recorded address that does nothing else: a link with a script may, for example, delete its
    target."""
    match = _ADDRESS.search(hit.selector) if hit.role == "link" else None
    address = json.loads(match[1]) if match else ""
    if not address or {"'", '"'} <= set(address):
        return
    by_address = f"""//a[@href={'"' if "'" in address else "'"}{address}{'"' if "'" in address else "'"}]"""
    no_other = " or ".join(f"@{name}" for name in DOES_MORE)
    yield Selector(f"xpath={by_address}[not({no_other})][count({by_address})=1]"), "its address"


def name_with_other_numbers(hit: TargetRecord, recorded: Shown, current: Shown) -> list[str]:
    """The current name that differs from the recorded one only in numbers and punctuation (a count, a date), as a list
    of at most one. Empty if several elements have such names, then or now, because the number distinguishes them."""
    words = _words(hit.name)
    then, now = (
        [name for _, role, name in texts if role == hit.role and _words(name) == words] for texts in (recorded, current)
    )
    return now if words and len(then) == len(now) == 1 else []


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", name.casefold())


def _role(role: str, name: str) -> str:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'role={role}[name="{quoted}"s]'
