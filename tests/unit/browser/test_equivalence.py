"""Equivalence of actions, which decides whether an action is a repetition."""

from __future__ import annotations

from pytest_webarena.actions import (
    AcceptDialog,
    Back,
    Click,
    CloseTab,
    DismissDialog,
    Drag,
    Element,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Note,
    Press,
    Reload,
    Scroll,
    Select,
    Stop,
    Type,
    Upload,
    Wait,
)
from pytest_webarena.browser.acting.equivalence import equivalent
from tests.cases import each_case

FOUR, FIVE = Element("4"), Element("5")


@each_case(
    ("a", "b"),
    [
        (Click(FOUR), Click(FOUR, button="right")),
        (Type(FOUR, "a"), Type(FOUR, "b", enter=True)),  # the text does not count
        (Hover(FOUR), Hover(FOUR)),
        (Press("ctrl+a"), Press("Control+A")),
        (Press("nonsense"), Press("nonsense")),
        (Scroll("down"), Scroll("down")),
        (Goto("http://a.test"), Goto("http://a.test")),
        (FocusTab(1), FocusTab(1)),
        (Stop("x"), Stop("x")),
        (Invalid("x", "r"), Invalid("y", "s")),
        (NewTab(), NewTab()),
        (CloseTab(), CloseTab()),
        (Back(), Back()),
        (Forward(), Forward()),
        (Noop(), Noop()),
        (Select(FOUR, ("a",)), Select(FOUR, ("a",))),
    ],
)
def test_equal_actions_are_equivalent(a: object, b: object) -> None:
    assert equivalent(a, b)  # type: ignore[arg-type]
    assert equivalent(b, a)  # type: ignore[arg-type]


@each_case(
    ("a", "b"),
    [
        (Click(FOUR), Click(FIVE)),
        (Click(FOUR), Hover(FOUR)),
        (Type(FOUR, "a"), Click(FOUR)),
        (Type(FOUR, "a"), Type(FIVE, "a")),
        (Press("Enter"), Press("Escape")),
        (Scroll("down"), Scroll("up")),
        (Goto("http://a.test"), Goto("http://a.test/")),
        (FocusTab(1), FocusTab(0)),
        (Stop("x"), Stop("y")),
        (Back(), Forward()),
        (Noop(), Invalid("", "")),
        (Select(FOUR, ("a",)), Select(FOUR, ("b",))),
        (Drag(FOUR, FIVE), Drag(FIVE, FOUR)),
        (Upload(FOUR, ("a",)), Upload(FOUR, ("b",))),
        (Upload(FOUR, ("a",)), Select(FOUR, ("a",))),
        (AcceptDialog("a"), AcceptDialog()),
        (AcceptDialog(), DismissDialog()),
        (Note("a"), Note("b")),
        (Wait(1), Noop()),
        (Reload(), Back()),
    ],
)
def test_different_actions_are_not_equivalent(a: object, b: object) -> None:
    assert not equivalent(a, b)  # type: ignore[arg-type]
    assert not equivalent(b, a)  # type: ignore[arg-type]
