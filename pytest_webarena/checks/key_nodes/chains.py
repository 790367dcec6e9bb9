"""Decides whether a selector matches a recorded element or one of its ancestors: yes, no, or unknown.

Only recorded data counts, so that old records can be tested against new selectors. Where a record lacks what a selector
asks, nothing is guessed (Kleene's three-valued logic: None is "unknown").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pytest_webarena.checks.key_nodes.roles import is_control, may_be, role_of
from pytest_webarena.checks.key_nodes.selectors import (
    Attribute,
    Complex,
    Compound,
    Nth,
    Opaque,
    ParsedSelector,
    Part,
    Pseudo,
    Role,
    Tag,
    TextIs,
)
from pytest_webarena.signals import DomEvent, ElementRecord

__all__ = ["hits", "labels", "unknown_label"]

_MOST_ATTRIBUTES = 40
_LONGEST_VALUE = 300
_MOST_CHARACTERS = 30_000
"""Characters of all attributes together, from which on some may not have been recorded."""
_LONGEST_TEXT = 200
_FRAMES = ("iframe", "frame", "object", "embed")

Known = bool | None


def hits(selector: ParsedSelector, event: DomEvent) -> Known:
    """Whether the event's target is an element that the selector matches, or lies within one in the same document."""
    chain = _Chain(event)
    if not chain.elements:
        return None
    inside = _or((chain.located(selector, index) for index in chain.document(0)), open_end=chain.open_above(0))
    return inside if inside is False else _and([inside, chain.shown_in(selector.frame, 0)])


def labels(event: DomEvent) -> Iterator[str]:
    """Yields the texts and names of the control and the element that an event hit."""
    for each in (event.control, event.target):
        if each is not None:
            yield from (text for text in (each.text, each.name) if text.strip())


def unknown_label(event: DomEvent) -> str:
    """Returns why the texts of `labels` may be incomplete; empty when they are complete."""
    if any(each is not None and len(each.text) >= _LONGEST_TEXT for each in (event.control, event.target)):
        return "only the beginning was recorded of the text"
    inside = event.chain and not is_control(event.chain[0])
    if event.control is None and inside and any(map(is_control, _Chain(event).around_target())):
        return "the name of what is around it was not recorded"
    return ""


def _and(values: Iterable[Known]) -> Known:
    found: Known = True
    for value in values:
        if value is False:
            return False
        found = None if value is None else found
    return found


def _or(values: Iterable[Known], *, open_end: bool = False) -> Known:
    found: Known = None if open_end else False
    for value in values:
        if value:
            return True
        found = None if value is None else found
    return found


def _not(value: Known) -> Known:
    return None if value is None else not value


class _Chain:
    """A target and its ancestors."""

    def __init__(self, event: DomEvent) -> None:
        self.event = event
        self.elements = event.chain
        told = sum(len(value) for each in event.chain for value in each.attributes.values())
        self._longest = _LONGEST_VALUE if told < _MOST_CHARACTERS else 1
        """Length in characters from which on a value may have been shortened."""
        ends = [number for number, each in enumerate(event.chain, start=1) if each.within in ("frame", "root")]
        self._ends = (*ends, len(event.chain))
        """Positions at which documents end in the chain; the last document may be incomplete."""

    def _end(self, index: int) -> int:
        return next((end for end in self._ends if end > index), index)

    def document(self, index: int) -> range:
        """Returns the positions of ``index`` and its ancestors in its document, outwards, through shadow trees."""
        return range(index, self._end(index))

    def _around_target(self, index: int) -> bool:
        """Whether this element contains the target. The text of a document in a frame is not text of the frame's
        element."""
        return all(each.within not in ("frame", "root") for each in self.elements[:index])

    def around_target(self) -> Iterator[ElementRecord]:
        """Yields the ancestors of the target in its document."""
        return (self.elements[each] for each in self._around(0))

    def _around(self, index: int) -> range:
        return range(index + 1, self._end(index))

    def open_above(self, index: int) -> bool:
        """Whether further ancestors in its document are unknown."""
        end = self._end(index)
        return end == index or self.elements[end - 1].within not in ("frame", "root")

    def located(self, selector: ParsedSelector, index: int) -> Known:
        """Whether the selector matches this element, as far as its document shows."""
        return self._parts(selector.parts, index)

    def shown_in(self, frame: ParsedSelector | None, index: int) -> Known:
        """Whether ``frame`` matches the element that shows the document of ``index``."""
        if frame is None:
            return True
        *_, outermost = self.document(index)
        if self.elements[outermost].within != "frame":
            return False if self.elements[outermost].within == "root" and self.event.whole else None
        if outermost + 1 == len(self.elements):
            return None  # nothing around it was recorded
        return _and([self.located(frame, outermost + 1), self.shown_in(frame.frame, outermost + 1)])

    def _parts(self, parts: tuple[Part, ...], index: int) -> Known:
        own = _or(self._complex(each, len(each.compounds) - 1, index) for each in parts[-1])
        if own is False or len(parts) == 1:
            return own
        outside = (self._parts(parts[:-1], each) for each in self._around(index))
        return _and([own, _or(outside, open_end=self.open_above(index))])

    def _complex(self, wanted: Complex, last: int, index: int) -> Known:
        own = self._compound(wanted.compounds[last], index)
        if own is False or last == 0:
            return own
        combinator = wanted.combinators[last - 1]
        if combinator in "+~":
            return False if self.elements[index].nth == 1 else None  # siblings are not recorded
        around = self._around(index)
        if combinator == ">":
            around = around[:1]
        rest = (self._complex(wanted, last - 1, each) for each in around)
        is_open = self.open_above(index) and (combinator == " " or not around)
        return _and([own, _or(rest, open_end=is_open)])

    def _compound(self, tests: Compound, index: int) -> Known:
        found: Known = True
        for test in tests:  # most elements fail the first test
            known = self._test(test, index)
            if known is False:
                return False
            found = None if known is None else found
        return found

    def _test(self, test: Tag | Attribute | Nth | Pseudo | TextIs | Role | Opaque, index: int) -> Known:
        element = self.elements[index]
        match test:
            case Tag(name):
                return not name or element.tag == name
            case Attribute():
                return _attribute(test, element, self._longest)
            case Nth():
                return _nth(test, element)
            case Pseudo():
                return self._pseudo(test, index)
            case TextIs():
                return self._text(test, index)
            case Role():
                return self._role(test, index)
            case Opaque():
                return None

    def _pseudo(self, test: Pseudo, index: int) -> Known:
        element = self.elements[index]
        match test.name:
            case "not":
                return _not(_or(self._complex(each, len(each.compounds) - 1, index) for each in test.of))
            case "is":
                return _or(self._complex(each, len(each.compounds) - 1, index) for each in test.of)
            case "root":
                return element.within in ("frame", "root")
            case "only-child":
                return element.children == 1 if element.children else None
            case "only-of-type":
                return element.of_type == 1 if element.of_type else None
            case "true":
                return True

    def _text(self, test: TextIs, index: int) -> Known:
        """Whether an element's text matches. Only the target's own text is recorded; an ancestor's text contains it.

        A text selector matches the innermost element with the text. An ancestor therefore matches only if the target's
        text is a part of the wanted text, as the ``now`` in ``Buy <b>now</b>``.
        """
        if not self._around_target(index):
            return False if self.elements[index].tag in _FRAMES else None
        text, wanted = _flat(self.event.target.text), _flat(test.text)
        if not test.exact:
            text, wanted = text.casefold(), wanted.casefold()
        is_cut = len(self.event.target.text) >= _LONGEST_TEXT
        if index == 0:
            if test.exact:
                return None if is_cut and wanted.startswith(text.rstrip("…")) else text == wanted
            return wanted in text or (None if is_cut else False)
        if not test.exact and wanted in text:
            return True
        control = self.event.control
        if control is not None and control.place == index and len(control.text) < _LONGEST_TEXT:
            whole = _flat(control.text) if test.exact else _flat(control.text).casefold()
            if test.exact or wanted not in whole or not test.smallest:
                return whole == wanted or (not test.exact and wanted in whole)
        return False if test.smallest and not is_cut and text not in wanted else None

    def _role(self, test: Role, index: int) -> Known:
        element = self.elements[index]
        told = self.event.target.role if index == 0 and self.event.target.role in _TOLD else ""
        role = told or role_of(element)
        if role != test.role:
            return None if not told and test.role in may_be(element) else False
        if test.name is None:
            return True
        fold: Callable[[str], str] = str.casefold if test.ignore_case else str
        wanted = fold(_flat(test.name))
        if index == 0 and told:
            return fold(_flat(self.event.target.name)) == wanted
        control = self.event.control
        if control is not None and control.place == index and control.name and role in _NAMED_BY_CONTENT:
            return fold(_flat(control.name)) == wanted
        label = element.attributes.get("aria-label")
        if label and "aria-labelledby" not in element.attributes:
            return fold(_flat(label)) == wanted
        if "aria-labelledby" in element.attributes or role not in _NAMED_BY_CONTENT:
            return None
        inner = _flat(self.event.target.text)
        if not self._around_target(index):
            return None
        return None if len(inner) >= _LONGEST_TEXT or fold(inner) in wanted else False


_NAMED = (
    "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row "
    "rowheader switch tab tooltip treeitem"
)
_NAMED_BY_CONTENT = frozenset(_NAMED.split())


_TOLD = frozenset({*_NAMED_BY_CONTENT, "combobox", "listbox", "searchbox", "slider", "spinbutton", "textbox", "img"})
"""Roles that recorders determine reliably."""


def _flat(text: str) -> str:
    return " ".join(text.split())


def _attribute(test: Attribute, element: ElementRecord, longest: int) -> Known:
    value = element.attributes.get(test.name)
    if value is None:
        return None if len(element.attributes) >= _MOST_ATTRIBUTES else False
    if not test.operator:
        return True
    wanted = test.value
    if test.ignore_case:
        value, wanted = value.casefold(), wanted.casefold()
    if len(value) >= longest and value.endswith("…"):
        return _of_cut(test.operator, value[:-1], wanted)
    match test.operator:
        case "=":
            return value == wanted
        case "~=":
            return bool(wanted) and wanted in value.split()
        case "|=":
            return value == wanted or value.startswith(f"{wanted}-")
        case "^=":
            return bool(wanted) and value.startswith(wanted)
        case "$=":
            return bool(wanted) and value.endswith(wanted)
        case "*=":
            return bool(wanted) and wanted in value


def _of_cut(operator: str, begin: str, wanted: str) -> Known:
    """Like `_attribute`, for a value of which only the beginning was recorded."""
    if not wanted:
        return False
    match operator:
        case "=":
            return None if wanted.startswith(begin) else False
        case "^=" if len(wanted) <= len(begin):
            return begin.startswith(wanted)
        case "^=":
            return None if wanted.startswith(begin) else False
        case "|=":
            return True if begin.startswith(f"{wanted}-") else None if wanted.startswith(begin) else False
        case "*=":
            return wanted in begin or None
        case "~=":
            words = begin.split()
            whole = words if begin[-1:].isspace() else words[:-1]
            return wanted in whole or None
    return None


def _nth(test: Nth, element: ElementRecord) -> Known:
    place, count = (element.nth_of_type, element.of_type) if test.of_type else (element.nth, element.children)
    if not place or (test.from_end and not count):
        return None
    number = count - place + 1 if test.from_end else place
    rest = number - test.offset
    return rest == 0 if test.step == 0 else rest % test.step == 0 and rest // test.step >= 0
