"""Where the target of a recorded step may be on a page that need not be what it was.

Wrong targets are worse than none. What had a name that was shown, and is shown no more, has another name by now or is
gone: what stands in its place, or is called nearly the same, may be anything.
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
"""At the end of an element's selector: no other link of the page led there."""
_LONGEST = 80
_FIELDS = frozenset({"input", "select", "textarea"})
"""Tags of what has no text of its own, but stands by one."""
_CLIPPED = 200
"""Characters of a recorded text that may go on."""
Shown = list[tuple[str, str, str]]
Marks = tuple[tuple[str, str] | None, tuple[str, str] | None]
"""What stands before and after one of several that are called alike, by role and name."""


def targets_of(step: StepRecord, then: str, now: str) -> Iterator[tuple[Target, str]]:
    """Where the element may be, best first, and by what that is; empty for the recorded one. ``then`` and ``now`` are
    the texts that were shown before the step, and are shown."""
    said, hit = step.action.get("target"), step.target
    recorded = said if isinstance(said, Mapping) else {}
    if "selector" in recorded and not _counts_others(str(recorded["selector"]), hit, then, now):
        yield Selector(str(recorded["selector"])), ""
    if hit is None:
        if "x" in recorded:
            yield Point(float(recorded["x"]), float(recorded["y"])), ""
        return
    if hit.tag == "canvas" and "x" in recorded:  # its middle is another thing that is drawn there
        yield Point(float(recorded["x"]), float(recorded["y"])), "its position, for where in it counts"
    before, shown = named_elements(then), named_elements(now)
    called = (hit.role, hit.name) if hit.name else None
    how = "role and name" if "selector" in recorded else ""
    if any(each[1:] == called for each in shown):
        yield from _by_name(hit, before, shown, str(recorded.get("id", "")), how)
        return  # where it was, something else may be by now, or lie over it
    if hit.role and hit.name and sum(each[1:] == called for each in before) < 2:  # else it may be another one
        yield Selector(_role(hit.role, hit.name)), "role and name, outside of what was shown"
    if any(each[1:] == called for each in before):
        yield from _in_its_place(hit, but_for_numbers(hit, before, shown))
        yield from _by_address(hit)
        return
    known = hit.role in CONTROLS and 0 < len(hit.name) < _LONGEST and step.action.get("kind") != "upload"
    if known:
        yield from _by_address(hit)
    if hit.selector and (not known or hit.text or (hit.tag in _FIELDS and _rows_of(hit))):
        yield from _where_it_was(hit)
    # What reads like something is looked for by that; at its position there may be another row by now.
    read = any(text for _, text, *_ in hit.reads) or (not known and _is_read(hit))
    if hit.x is not None and hit.y is not None and ("x" in recorded or not known) and not read:
        yield Point(hit.x, hit.y), f"its position ({hit.x:g}, {hit.y:g})"


def _counts_others(selector: str, hit: TargetRecord | None, then: str, now: str) -> bool:
    """Whether a recorded selector finds its element by counting those before it, of which it was one of several
    called alike, and these came, went or have another order by now: it may find another one."""
    if hit is None or not hit.name:
        return False
    if not any(sign in selector for sign in (":nth-", "nth=")) and not (_rows_of(hit) and re.search(r"\d", selector)):
        return False
    old, new = (_beside(named_elements(text), (hit.role, hit.name)) for text in (then, now))
    return len(old) > 1 and all(_unlike_sides(old, new))


def _unlike_sides(then: list[Marks], now: list[Marks]) -> list[bool]:
    """Whether something else stands before them, and behind them, than then; where others came or went, both."""
    return [[each[side] for each in then] != [each[side] for each in now] for side in (0, 1)]


def missing(step: StepRecord, then: str, now: str) -> str:
    """What had been shown of a step's target and is shown no more, its role and name; empty where it is shown."""
    called = (step.target.role, step.target.name) if step.target is not None and step.target.name else None
    shown, before = ([(role, name) for _, role, name in named_elements(text)] for text in (now, then))
    return f"{called[0]} {called[1]!r}" if called is not None and called in before and called not in shown else ""


def _by_name(hit: TargetRecord, before: Shown, shown: Shown, id: str, how: str) -> Iterator[tuple[Target, str]]:
    """By its role and name, which are shown; of several, by which of them it was."""
    called = (hit.role, hit.name)
    old, twins = ([id for id, *each in texts if tuple(each) == called] for texts in (before, shown))
    many = f"{len(old)} then, now {len(twins)}"
    if len(twins) == 1 and len(old) < 2:
        yield Element(twins[0]), how  # ids differ between runs, that is no news
    elif not old:
        yield from _in_its_place(hit, [hit.name], f"its place in the document, role and name, one of {len(twins)}")
    elif id in old:
        place, same = _same_of(_beside(before, called), old.index(id), _beside(shown, called))
        if place >= 0:
            yield Element(twins[place]), how if same else f"what is next to it, role and name ({many})"
        else:
            yield from _below_an_id(hit, f"its place in the document, role and name ({many})")
    else:
        yield from _of_several_by_place(hit, _beside(before, called), _beside(shown, called), how)


def _of_several_by_place(
    hit: TargetRecord, then: list[Marks], now: list[Marks], how: str
) -> Iterator[tuple[Target, str]]:
    """One of several of which nobody knows which it was, as where an agent said a point."""
    told = f"its place in the document, role and name ({len(then)} then, now {len(now)})"
    unlike = _unlike_sides(then, now)
    if all(unlike):  # others came, went or have another order: the place may be another's
        yield from _below_an_id(hit, told)
    else:
        yield from _in_its_place(hit, [hit.name], told if any(unlike) else how)


def _same_of(then: list[Marks], place: int, now: list[Marks]) -> tuple[int, bool]:
    """Which of those called so by now has the neighbours that one had; -1 where nobody knows. And whether there is
    nothing to tell of that: it is the same one of as many, with the same on both sides."""
    before, after = marks = then[place]
    many = len(then) == len(now)
    if marks == (None, None):
        return (place, True) if many else (-1, False)
    by_before = {number for number, each in enumerate(now) if before and each[0] == before}
    by_after = {number for number, each in enumerate(now) if after and each[1] == after}
    # Names may stand before what is done to their things, or after: the neighbour on one side is another one's name.
    found = by_before | by_after if many else by_before & by_after
    if len(found) != 1:
        return -1, False
    [number] = found
    return number, many and number == place and now[number] == marks


def _beside(shown: Shown, called: tuple[str, str]) -> list[Marks]:
    """Of all that are called so: the nearest before and after, up to the next of them, that is alone with its name."""
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
    """What stands where it stood, unless that counts what comes before it; an id may count, too, so rows are read."""
    if ":nth-" not in hit.selector:
        yield from _in_its_place(hit, [hit.name], how, rows=True)


def _in_its_place(
    hit: TargetRecord, names: list[str], how: str = "", *, rows: bool = False
) -> Iterator[tuple[Target, str]]:
    """What stands where it stood, if it has its role and one of these names; ``rows``: and these read as they did."""
    if not hit.selector or hit.role not in ROLES:
        return
    for name in names:
        said = how if name == hit.name else f"its place in the document, role and name but for numbers ({name!r})"
        place = f"css={hit.selector} >> internal:and={json.dumps(_role(hit.role, name))}"
        for reading in readings((("*", ""), *_rows_of(hit))) if rows and _rows_of(hit) else [""]:
            yield Selector(place + reading), said


def _where_it_was(hit: TargetRecord) -> Iterator[tuple[Target, str]]:
    """What stands where it stood; of what reads like something only if it does so still, for this may be something
    else, or another row's."""
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
    """Whether its text is all there, and says something: of records that have no more."""
    return bool(hit.name and hit.text) and len(hit.text) < _CLIPPED


def _rows_of(hit: TargetRecord) -> tuple[tuple[str, ...], ...]:
    return tuple(each for each in hit.reads[1:] if each[1])


def _escaped(sign: re.Match[str]) -> str:
    return f"\\u{ord(sign[0]):04x}" if ord(sign[0]) < 0x10000 else sign[0]


def _by_address(hit: TargetRecord) -> Iterator[tuple[Target, str]]:
    """The one link that leads where it led, and does nothing else: a script may send what is there to be deleted."""
    led = _ADDRESS.search(hit.selector) if hit.role == "link" else None
    address = json.loads(led[1]) if led else ""
    if not address or {"'", '"'} <= set(address):
        return
    here = f"""//a[@href={'"' if "'" in address else "'"}{address}{'"' if "'" in address else "'"}]"""
    no_other = " or ".join(f"@{name}" for name in DOES_MORE)
    yield Selector(f"xpath={here}[not({no_other})][count({here})=1]"), "its address"


def but_for_numbers(hit: TargetRecord, before: Shown, shown: Shown) -> list[str]:
    """The name that differs from its own in numbers and signs alone: a count, a date. If there is one such element and
    there was one: with several, the number says which is which."""
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
