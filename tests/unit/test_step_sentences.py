"""Sentences about steps."""

from __future__ import annotations

from typing import Any, get_args

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Back,
    Check,
    Click,
    Drag,
    Element,
    Goto,
    Invalid,
    Point,
    Press,
    Reload,
    Scroll,
    Select,
    Selector,
    Stop,
    Type,
    Upload,
    Wait,
    as_record,
)
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.evidence.step_sentences import _WORDING, action_sentence
from tests.cases import each_case

CART = TargetRecord(role="button", name="Add to cart")
SEARCH = TargetRecord(role="textbox", name="Search")


@each_case(
    ("action", "hit", "sentence"),
    [
        (Click(Element("4")), CART, "Click “Add to cart”"),
        (Click(Element("4")), None, "Click element 4"),
        (Click(Point(3, 5), count=2, modifiers=("Shift",)), None, "Double-click (3, 5) with Shift"),
        (Click(Element("4"), button="right"), TargetRecord(tag="canvas"), "Right-click the canvas"),
        (Type(Element("7"), "blue"), SEARCH, "Type “blue” into “Search”"),
        (Type(None, "blue", enter=True), None, "Type “blue” and press Enter"),
        (Type(Selector("css=#q"), "blue", clear=True), None, "Fill css=#q with “blue”"),
        (Press("Control+a"), SEARCH, "Press Control+a in “Search”"),
        (Scroll("down", pixels=300), None, "Scroll down by 300 pixels"),
        (Select(Element("4"), ("Rye", "Oats")), TargetRecord(name="Corn"), "Select “Rye”, “Oats” in “Corn”"),
        (Check(Element("4"), checked=False), TargetRecord(name="Gift"), "Uncheck “Gift”"),
        (Drag(Selector("css=#a"), Selector("css=#b")), None, "Drag css=#a to css=#b"),
        (Upload(None, ("cv.pdf",)), None, "Upload “cv.pdf”"),
        (AcceptDialog("yes"), None, "Accept the dialog with “yes”"),
        (Goto("http://a.test/"), None, "Go to http://a.test/"),
        (Back(), None, "Go back"),
        (Reload(), None, "Reload the page"),
        (Wait(2), None, "Wait 2 s"),
        (Stop("rye"), None, "Answer “rye”"),
        (Stop(""), None, "Stop without an answer"),
        (Stop("", reason="no such shop"), None, "Stop: no such shop"),
        (Invalid("clik [4]", "no such action"), None, "Invalid action: no such action"),
    ],
)
def test_a_step_reads_as_a_sentence(action: Action, hit: TargetRecord | None, sentence: str) -> None:
    assert action_sentence(as_record(action), hit) == sentence


def test_every_kind_of_action_has_a_wording() -> None:
    assert {kind.kind for kind in get_args(Action)} - {"by_script"} == set(_WORDING)


@each_case(
    "record",
    [
        {},
        {"kind": 5},
        {"kind": "wait", "seconds": "long"},
        {"kind": "scroll", "pixels": []},
        {"kind": "click", "target": 3},
    ],
)
def test_a_record_of_somebody_else_never_ends_in_an_error(record: dict[str, Any]) -> None:
    assert action_sentence(record)
