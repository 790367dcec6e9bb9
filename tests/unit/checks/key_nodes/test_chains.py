"""Selectors against recorded elements: match, no match, or undecided."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_webarena.checks.key_nodes.chains import hits
from pytest_webarena.checks.key_nodes.selector_reading import LONGEST, SelectorFault, parse_selector
from pytest_webarena.signals import ControlRecord
from tests.cases import each_case

from .trials import element, event

PAGE = "html > body.home > main#shop[data-kind=toys] > ul > li.item.hot > a[href=/kettle] > span.label"


@each_case(
    ("selector", "known"),
    [
        ("span", True),
        ("css=span.label", True),
        ("SPAN", True),
        ("span.Label", False),
        ("*", True),
        ("a", True),  # it is inside the link
        ("body", True),
        ("button", False),
        ("li > a > span", True),
        ("li > span", False),
        ("li span", True),
        ("main#shop li.item.hot", True),
        ("main#shop li.item.cold", False),
        ("div, a", True),
        ("a[href]", True),
        ("a[href='/kettle']", True),
        ('a[href="/KETTLE" i]', True),
        ("a[href='/KETTLE']", False),
        ("a[href^='/ket']", True),
        ("a[href$=tle]", True),
        ("a[href*=ettl]", True),
        ("a[href^='']", False),
        ("li[class~=hot]", True),
        ("li[class~='item hot']", False),
        ("main[data-kind|=toys]", True),
        ("[title]", False),
        ("li:first-child", True),
        ("li:nth-child(2)", False),
        ("li:nth-child(odd)", True),
        ("li:nth-child(n+2)", False),
        ("li:nth-child(-n+3)", True),
        ("li:nth-last-of-type(1)", True),
        ("li:only-child", True),
        ("span:not(.label)", False),
        ("a:not(.label)", True),
        (":is(button, a):not([disabled])", True),
        (":where(main, nav) a", True),
        (":root", True),
        ("span:root", False),
        ("html:root > body", True),
        ("main >> a", True),
        ("nav >> a", False),
        ("a >> main", False),
        ("css=main >> visible=true >> css=span", True),
        ("id=shop", True),
        ("role=link", True),
        ("role=listitem >> role=link", True),
        ("role=button", False),
        ("div + a", False),  # the first child has no previous sibling
        ("div ~ span", False),
        ("a:hover", None),
        ("b:hover", False),
        ("li:has(b)", None),
        ("nav:has(b)", False),
        ("xpath=//a", None),
        ("//a", None),
        ("a >> nth=0", None),
        ("nth=0 >> b", False),
        ("role=region", False),
        (r"#\73hop", True),
        (r"main#sho\p", True),
    ],
)
def test_selectors_match_recorded_chains(selector: str, known: bool | None) -> None:
    assert hits(parse_selector(selector), event(PAGE)) is known


@each_case(
    ("selector", "known"),
    [("div + li", None), ("div ~ li", None), ("div + p", False), ("li:nth-child(3)", True), ("li:last-child", False)],
)
def test_sibling_conditions_are_undecided(selector: str, known: bool | None) -> None:
    base = event("html > ul")
    place = element("li", nth=3, children=5, nth_of_type=2, of_type=2, within="element")
    made = replace(base, chain=(place, *base.chain))
    assert hits(parse_selector(selector), made) is known


def test_selectors_enter_shadow_trees_but_not_frames() -> None:
    """As in Playwright, selectors enter shadow trees but not frames."""
    shadow = event("html > body > x-shop#host >>> div > button#buy")
    assert hits(parse_selector("x-shop button"), shadow)
    assert hits(parse_selector("x-shop > div"), shadow)
    frame = event("html > body > iframe#pay | html > body > button#buy")
    assert hits(parse_selector("body > button"), frame)
    assert hits(parse_selector("iframe button"), frame) is False
    assert hits(parse_selector("#pay"), frame) is False
    assert hits(parse_selector("html:root button"), frame)


@each_case(
    ("selector", "known"),
    [
        ("iframe#pay >> ENTER >> #buy", True),
        ("main > iframe >> ENTER >> button", True),
        ("iframe >> ENTER >> iframe#pay >> ENTER >> body > button", True),
        ("main >> iframe#outer >> ENTER >> iframe >> ENTER >> css=button", None),
        ("iframe#outer >> ENTER >> #buy", False),  # two frames away
        ("#pay >> ENTER >> #sell", False),
        ("#play >> ENTER >> #buy", False),
        ("#pay >> ENTER >> main button", False),
        ("main >> #buy", False),
        ("#pay:has(a) >> ENTER >> #buy", None),
        ("text=Buy >> ENTER >> #buy", False),  # a frame's element has no text
        ('role=button[name="Buy"] >> ENTER >> #buy', False),
    ],
)
def test_selectors_across_frames(selector: str, known: bool | None) -> None:
    """As Playwright writes them: the frame, then the element in its document."""
    wanted = parse_selector(selector.replace("ENTER", "internal:control=enter-frame"))
    page = "html > body > main > iframe#outer | html > main > iframe#pay | html > body > button#buy"
    told = {"text": "Buy", "role": "button", "name": "Buy"}
    if selector.startswith("main >> iframe#outer"):
        page = page.removeprefix("html > body > main > ")
        assert hits(wanted, event(page, within="element", target=told)) is known
    else:
        assert hits(wanted, event(page, target=told)) is known


def test_selector_of_a_frame_without_recorded_parents_is_undecided() -> None:
    inner = event("html > body > button#buy", within="frame")
    for selector, known in {"#pay >> ENTER >> #buy": None, "#pay >> ENTER >> #sell": False}.items():
        assert hits(parse_selector(selector.replace("ENTER", "internal:control=enter-frame")), inner) is known
    assert hits(parse_selector("#pay >> internal:control=enter-frame >> #buy"), event("html > button#buy")) is False


@pytest.mark.parametrize("selector", ["internal:control=enter-frame >> a", "iframe >> internal:control=enter-frame"])
def test_frame_border_without_two_sides_is_refused(selector: str) -> None:
    with pytest.raises(SelectorFault, match=r"there is no(thing after| frame before) 'internal:control=enter-frame'"):
        parse_selector(selector)


def test_selectors_beyond_a_truncated_chain_are_undecided() -> None:
    cut = event("div > button#buy", within="element")
    assert hits(parse_selector("#buy"), cut)
    assert hits(parse_selector("form #buy"), cut) is None
    assert hits(parse_selector("div > #buy"), cut)
    assert hits(parse_selector("section > div"), cut) is None
    assert hits(parse_selector("section > #buy"), cut) is None  # an ancestor may match itself
    assert hits(parse_selector("#buy"), event("")) is None


def test_selector_in_a_cross_process_frame_ignores_the_page_around() -> None:
    frame = event("html > body > button#buy", within="frame")
    assert hits(parse_selector("body > #buy"), frame)
    assert hits(parse_selector("#sell"), frame) is False


def test_attributes_omitted_from_a_full_chain_are_undecided() -> None:
    full = event("html" + "".join(f"[a{number}={'x' * 1500}]" for number in range(30)) + " > a[href=/ke…]")
    assert hits(parse_selector("a[href='/kettle']"), full) is None
    assert hits(parse_selector("a[href='/kettle']"), event("html > a[href=/ke…]")) is False


def test_truncated_attributes_are_undecided_where_they_matter() -> None:
    long = event(f"a[href={'x' * 299}…]")
    for selector, known in {
        f"a[href^={'x' * 200}]": True,
        "a[href^=y]": False,
        "a[href$=x]": None,
        "a[href*=xx]": True,
        "a[href*=y]": None,
        f"a[href={'x' * 400}]": None,
        "a[href=y]": False,
        "a[href~=x]": None,
        "a[href|=y]": False,
    }.items():
        assert hits(parse_selector(selector), long) is known, selector
    many = event("a" + "".join(f"[a{number}=1]" for number in range(40)))
    assert hits(parse_selector("[title]"), many) is None
    assert hits(parse_selector("[a7='1']"), many) is True


@each_case(
    ("selector", "known"),
    [
        ("text=buy", True),
        ('text="Buy now"', True),
        ('text="Buy"', False),
        ("text=sell", False),
        ("text=Please buy now, or else", None),  # an ancestor may match
        ('"Buy now"', True),
        (":text('buy')", True),
        ("b:text-is('Buy now')", True),
        ("button:has-text('Buy')", True),
        ("button:has-text('Sell')", None),
        ('role=button[name="Buy now"]', None),  # the rest of the button's text is not recorded
        ('role=button[name="Sell"]', False),
        ('role=button[name="buy now" i]', None),
        ("role=button[name=/buy/]", None),
        ("role=button[disabled]", None),
        ("role=button", True),
    ],
)
def test_text_and_name_selectors(selector: str, known: bool | None) -> None:
    made = event("html > button > b", target={"text": "Buy now"})
    assert hits(parse_selector(selector), made) is known


@each_case(
    ("selector", "known"),
    [
        ('role=button[name="Buy now for 5"]', True),
        ('role=button[name="Buy now"]', False),
        ('text="Buy now for 5"', True),
        ('button:text-is("Buy now for")', False),
        ("button:has-text('for 5')", True),
        ("button:has-text('for 6')", False),
        ("main:has-text('for 6')", None),
        ('role=link[name="Buy now for 5"]', False),
    ],
)
def test_text_selectors_use_the_whole_button_text(selector: str, known: bool | None) -> None:
    whole = ControlRecord(place=1, name="Buy now for 5", text="Buy now for 5")
    made = event("html > main > button > b", target={"text": "Buy now"}, control=whole)
    assert hits(parse_selector(selector), made) is known


def test_role_selectors_use_recorded_names() -> None:
    own = event("html > button", target={"role": "button", "name": "Buy", "text": "x"})
    assert hits(parse_selector('role=button[name="Buy"]'), own)
    assert hits(parse_selector('role=button[name="buy"]'), own) is False
    assert hits(parse_selector('role=link[name="Buy"]'), own) is False
    label = event("html > button[aria-label=Buy] > svg")
    assert hits(parse_selector('role=button[name="Buy"]'), label)
    assert hits(parse_selector('role=button[name="Sell"]'), label) is False


@each_case(
    ("tag", "role"),
    [
        ("a[href=/]", "link"),
        ("a", ""),
        ("input", "textbox"),
        ("input[type=checkbox]", "checkbox"),
        ("input[type=search]", "searchbox"),
        ("input[list=x]", "combobox"),
        ("input[type=password]", ""),
        ("select", "combobox"),
        ("select[multiple=]", "listbox"),
        ("div[role=button]", "button"),
        ("h2", "heading"),
    ],
)
def test_role_selectors_use_implicit_roles(tag: str, role: str) -> None:
    known = hits(parse_selector(f"role={role or 'button'}"), event(f"html > {tag}"))
    assert known is bool(role)


@each_case(
    "selector",
    [
        "", " ", "a >> ", ">> a", "a[", "a[]", "a[x", "a[x=]", "a[=x]", "a > ", "> a", "a,", ",a", "a..b", "#", "a#",
        ":foo", ":foo(1)", ":nth-child(x)", ":not(", ":not()", "a::before", "role=", "role=Button", "role=button[name]",
        "role=button[", "css=", "foo=bar", "a b}", "1a", "a" * (LONGEST + 1), ":not(" * 9 + "a" + ")" * 9,
    ],
)  # fmt: skip
def test_invalid_selectors_are_refused(selector: str) -> None:
    with pytest.raises(SelectorFault, match=r"\w"):
        parse_selector(selector)


def test_undecidable_selectors_give_their_reason() -> None:
    assert "XPath" in parse_selector("//a").undecidable
    assert "next to" in parse_selector("a + b").undecidable
    assert parse_selector("a + b, c").undecidable == ""
    assert parse_selector("a:hover").undecidable
    assert parse_selector("main >> a > b").undecidable == ""
