"""Equality of an action with a recorded step: kind, element and value."""

from __future__ import annotations

from pytest_webarena.actions import (
    Action,
    Back,
    Click,
    Element,
    Goto,
    Note,
    Point,
    Press,
    Scroll,
    Select,
    Selector,
    Type,
    as_record,
)
from pytest_webarena.agents.step_equality import difference
from pytest_webarena.evidence import StepRecord, TargetRecord
from tests.cases import each_case

SEEN = "[1] link 'Home'\n[2] link 'Basket'\n[3] link 'Buy'\n[4] link 'Buy'\n[5] textbox 'Name' value: 'Ada'"
HOME = TargetRecord(role="link", name="Home")
BUY = TargetRecord(role="link", name="Buy")


def difference_of(made: Action, recorded: Action, target: TargetRecord | None = None) -> str:
    return difference(made, StepRecord(index=0, action=as_record(recorded), raw="", target=target), SEEN)


@each_case(
    ("made", "recorded", "target"),
    [
        (Click(Element("1")), Click(Element("1")), None),
        (Click(Element("4")), Click(Element("4")), BUY),
        (Click(Element("1")), Click(Selector("css=nav a")), HOME),
        (Click(Selector('role=link[name="Home"]')), Click(Element("1")), HOME),
        (Click(Selector('role=link[name="Home"s]')), Click(Element("1")), HOME),
        (Click(Point(100, 50)), Click(Point(102, 48)), None),
        (Click(Point(0.5, 0.25, relative=True)), Click(Point(0.501, 0.25, relative=True)), None),
        (Press("ctrl+A"), Press("Control+a"), None),
        (Goto("http://Shop.test:80"), Goto("http://shop.test/"), None),
        (Type(Element("5"), "a\r\nb"), Type(Element("5"), "a\nb"), None),
        (Note("one"), Note("two"), None),
        (Back(), Back(), None),
    ],
)
def test_equal_actions_have_no_difference(made: Action, recorded: Action, target: TargetRecord | None) -> None:
    assert difference_of(made, recorded, target) == ""


@each_case(
    ("made", "recorded", "target", "expected"),
    [
        (Click(Element("2")), Click(Element("1")), HOME, "another element"),
        (Click(Element("3")), Click(Element("4")), BUY, "another element"),
        (Click(Element("2")), Click(Selector("css=nav a")), HOME, "another element"),
        (Click(Element("3")), Click(Selector("css=.buy")), BUY, "one of several elements link 'Buy'"),
        (Click(Element("1")), Click(Selector("css=nav a")), None, "may not be the recorded one"),
        (Click(Selector("css=a")), Click(Element("1")), HOME, "may not be the recorded one"),
        (Click(Element("9")), Click(Selector("css=nav a")), HOME, "may not be the recorded one"),
        (Click(Point(100, 50)), Click(Point(110, 50)), None, "another place"),
        (Click(Point(0.5, 0.5, relative=True)), Click(Point(0.51, 0.5, relative=True)), None, "another place"),
        (Click(Element("1"), count=2), Click(Element("1")), None, "another count"),
        (Click(Element("1"), modifiers=("Control",)), Click(Element("1")), None, "another modifiers"),
        (Press("Enter", Element("5")), Press("Enter"), None, "another element"),
        (Press("Enter"), Press("Enter", Element("5")), None, "no element"),
        (Type(Element("5"), " Ada"), Type(Element("5"), "Ada"), None, "another text"),
        (Type(Element("5"), "ada"), Type(Element("5"), "Ada"), None, "another text"),
        (Type(Element("5"), "Ada", enter=True), Type(Element("5"), "Ada"), None, "another enter"),
        (Select(Element("5"), ("One",)), Select(Element("5"), ("one",)), None, "another"),
        (Goto("http://shop.test/A"), Goto("http://shop.test/a"), None, "another url"),
        (Goto("http://shop.test/?a=1"), Goto("http://shop.test/"), None, "another url"),
        (Scroll("down"), Scroll("up"), None, "another direction"),
        (Back(), Press("Enter"), None, "another kind"),
    ],
)
def test_different_actions_are_explained(
    made: Action, recorded: Action, target: TargetRecord | None, expected: str
) -> None:
    assert expected in difference_of(made, recorded, target)


def test_malformed_recorded_action_is_a_difference() -> None:
    step = StepRecord(index=0, action={"kind": "click", "target": {"who": "knows"}}, raw="")
    assert "can't be read" in difference(Click(Element("1")), step, SEEN)
