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
from pytest_webarena.agents.text_filters import readings
from pytest_webarena.tasks.syntax import CONTROLS, DOES_MORE, ROLES

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord, TargetRecord

__all__ = ["but_for_numbers", "missing", "targets_of"]

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


def targets_of(step: StepRecord, then: str, now: str) -> Iterator[tuple[Target, str]]:
    """Possible targets of a step, best first, and how each was found (empty for the recorded one). ``then`` is the text
    shown before the step in the recording, ``now`` the current one."""
    target, hit = step.action.get("target"), step.target
    recorded = target if isinstance(target, Mapping) else {}
    if "selector" in recorded and not _counts_changed_elements(str(recorded["selector"]), hit, then, now):
        yield Selector(str(recorded["selector"])), ""
    if hit is None:
        if "x" in recorded:
            yield Point(float(recorded["x"]), float(recorded["y"])), ""
        return
    if hit.tag == "canvas" and "x" in recorded:  # the middle of a canvas shows something else
        yield Point(float(recorded["x"]), float(recorded["y"])), "its position, because the point within it matters"
    before, shown = named_elements(then), named_elements(now)
    called = (hit.role, hit.name) if hit.name else None
    how = "role and name" if "selector" in recorded else ""
    if any(each[1:] == called for each in shown):
        yield from _by_name(hit, before, shown, str(recorded.get("id", "")), how)
        return  # its place may now be another element's, or covered
    if hit.role and hit.name and sum(each[1:] == called for each in before) < 2:  # otherwise it may be another one
        yield Selector(_role(hit.role, hit.name)), "role and name, outside of the observation"
    if any(each[1:] == called for each in before):
        yield from _in_its_place(hit, but_for_numbers(hit, before, shown))
        yield from _link_with_address(hit)
        return
    known = hit.role in CONTROLS and 0 < len(hit.name) < _LONGEST and step.action.get("kind") != "upload"
    if known:
        yield from _link_with_address(hit)
    if hit.selector and (not known or hit.text or (hit.tag in _FIELDS and _rows_of(hit))):
        yield from _where_it_was(hit)
    # An element with a text is found by that text; its position may now belong to another row.
    read = any(text for _, text, *_ in hit.reads) or (not known and _is_read(hit))
    if hit.x is not None and hit.y is not None and ("x" in recorded or not known) and not read:
        yield Point(hit.x, hit.y), f"its position ({hit.x:g}, {hit.y:g})"


def _counts_changed_elements(selector: str, hit: TargetRecord | None, then: str, now: str) -> bool:
    """Whether a recorded selector finds its element by counting, the element was one of several with the same name, and
    these were added, removed or reordered since: it may find another one."""
    if hit is None or not hit.name:
        return False
    if not any(sign in selector for sign in (":nth-", "nth=")) and not (_rows_of(hit) and re.search(r"\d", selector)):
        return False
    old, new = (_neighbours(named_elements(text), (hit.role, hit.name)) for text in (then, now))
    return len(old) > 1 and all(_changed_sides(old, new))


def _changed_sides(then: list[Marks], now: list[Marks]) -> list[bool]:
    """Whether the neighbours before them, and those after them, differ from the recording; both do if elements were
    added or removed."""
    return [[each[side] for each in then] != [each[side] for each in now] for side in (0, 1)]


def missing(step: StepRecord, then: str, now: str) -> str:
    """Role and name of a step's target if it was shown in the recording and is not shown now; otherwise empty."""
    called = (step.target.role, step.target.name) if step.target is not None and step.target.name else None
    shown, before = ([(role, name) for _, role, name in named_elements(text)] for text in (now, then))
    return f"{called[0]} {called[1]!r}" if called is not None and called in before and called not in shown else ""


def _by_name(hit: TargetRecord, before: Shown, shown: Shown, id: str, how: str) -> Iterator[tuple[Target, str]]:
    """Targets with the recorded role and name, which are shown; of several, the one that corresponds to the recorded
    one."""
    called = (hit.role, hit.name)
    old, twins = ([id for id, *each in texts if tuple(each) == called] for texts in (before, shown))
    many = f"{len(old)} recorded, {len(twins)} now"
    if len(twins) == 1 and len(old) < 2:
        yield Element(twins[0]), how  # ids differ between runs, which is not reported
    elif not old:
        yield from _in_its_place(hit, [hit.name], f"its place in the document, role and name, one of {len(twins)}")
    elif id in old:
        place, same = _corresponding(_neighbours(before, called), old.index(id), _neighbours(shown, called))
        if place >= 0:
            yield Element(twins[place]), how if same else f"its neighbours, role and name ({many})"
        else:
            yield from _below_an_id(hit, f"its place in the document, role and name ({many})")
    else:
        yield from _of_several_by_place(hit, _neighbours(before, called), _neighbours(shown, called), how)


def _of_several_by_place(
    hit: TargetRecord, then: list[Marks], now: list[Marks], how: str
) -> Iterator[tuple[Target, str]]:
    """One of several elements when it is unknown which of them was used, as when an agent gave a point."""
    how_by_place = f"its place in the document, role and name ({len(then)} recorded, {len(now)} now)"
    changed_sides = _changed_sides(then, now)
    if all(changed_sides):  # elements were added, removed or reordered: the place may be another's
        yield from _below_an_id(hit, how_by_place)
    else:
        yield from _in_its_place(hit, [hit.name], how_by_place if any(changed_sides) else how)


def _corresponding(then: list[Marks], place: int, now: list[Marks]) -> tuple[int, bool]:
    """Index of the current element with the neighbours of the recorded one, -1 if unknown; and whether nothing has
    changed: the same number of elements, the same index and the same neighbours on both sides."""
    before, after = marks = then[place]
    many = len(then) == len(now)
    if marks == (None, None):
        return (place, True) if many else (-1, False)
    by_before = {number for number, each in enumerate(now) if before and each[0] == before}
    by_after = {number for number, each in enumerate(now) if after and each[1] == after}
    # A name may come before its controls or after them, so a neighbour on one side may be the name of another element.
    found = by_before | by_after if many else by_before & by_after
    if len(found) != 1:
        return -1, False
    [number] = found
    return number, many and number == place and now[number] == marks


def _neighbours(shown: Shown, called: tuple[str, str]) -> list[Marks]:
    """For each element with this role and name: the nearest elements before and after it with a unique name, up to the
    next one of its kind."""
    names = [(role, name) for _, role, name in shown]
    count = Counter(names)
    at = [number for number, each in enumerate(names) if each == called]
    marks = []
    for since, own, until in zip([-1, *at], at, [*at[1:], len(names)], strict=False):
        sides = (names[since + 1 : own][::-1], names[own + 1 : until])
        nearest = [next((each for each in side if each[1] and count[each] == 1), None) for side in sides]
        marks.append((nearest[0], nearest[1]))
    return marks


def _below_an_id(hit: TargetRecord, how: str) -> Iterator[tuple[Target, str]]:
    """The element at the recorded place, unless its selector counts siblings. An id may contain a count, too, so the
    rows around it are compared."""
    if ":nth-" not in hit.selector:
        yield from _in_its_place(hit, [hit.name], how, rows=True)


def _in_its_place(
    hit: TargetRecord, names: list[str], how: str = "", *, rows: bool = False
) -> Iterator[tuple[Target, str]]:
    """The element at the recorded place if it has the role and one of ``names``. With ``rows``, also the rows around it
    must have the recorded text."""
    if not hit.selector or hit.role not in ROLES:
        return
    for name in names:
        found_by = how if name == hit.name else f"its place in the document, role and name but for numbers ({name!r})"
        place = f"css={hit.selector} >> internal:and={json.dumps(_role(hit.role, name))}"
        for reading in readings((("*", ""), *_rows_of(hit))) if rows and _rows_of(hit) else [""]:
            yield Selector(place + reading), found_by


def _where_it_was(hit: TargetRecord) -> Iterator[tuple[Target, str]]:
    """The element at the recorded place. If it had a text, only with the same text, because otherwise it may be another
    element, or in another row."""
    if any(text for _, text, *_ in hit.reads):
        for reading in readings(hit.reads):
            yield Selector(f"css={hit.selector}{reading}"), "its place in the document and its text"
    elif not _is_read(hit):
        yield Selector(f"css={hit.selector}"), "its place in the document"
    else:
        words = r"\s+".join(re.sub(r"[^\w\s]", _escaped, hit.text).split())
        reads = f"internal:has-text=/^\\s*{words}\\s*$/i"
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
    led = _ADDRESS.search(hit.selector) if hit.role == "link" else None
    address = json.loads(led[1]) if led else ""
    if not address or {"'", '"'} <= set(address):
        return
    here = f"""//a[@href={'"' if "'" in address else "'"}{address}{'"' if "'" in address else "'"}]"""
    no_other = " or ".join(f"@{name}" for name in DOES_MORE)
    yield Selector(f"xpath={here}[not({no_other})][count({here})=1]"), "its address"


def but_for_numbers(hit: TargetRecord, before: Shown, shown: Shown) -> list[str]:
    """The current name that differs from the recorded one only in numbers and punctuation (a count, a date), as a list
    of at most one. Empty if several elements have such names, then or now, because the number distinguishes them."""
    words = _words(hit.name)
    then, now = (
        [name for _, role, name in texts if role == hit.role and _words(name) == words] for texts in (before, shown)
    )
    return now if words and len(then) == len(now) == 1 else []


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", name.casefold())


def _role(role: str, name: str) -> str:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'role={role}[name="{quoted}"s]'
