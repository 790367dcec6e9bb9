"""Healing of selectors: which evidence is needed to accept an element as the recorded one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_webarena.actions import Selector
from pytest_webarena.browser.reports import SelectorMatch
from pytest_webarena.recorder.healing import look_for
from pytest_webarena.recorder.selector_families import family, role_and_name, submitting_only
from pytest_webarena.signals import TargetRecord
from tests.cases import each_case

NAME, TEXT, ID, TEST_ID = 'role=button[name="Save note"s]', 'text="Save note"', "css=#save", "data-testid=save"
FIELD, FORM, CLASSES = 'css=input[name="title"]', 'css=form[action="/save"] button', "css=button.plain"
AROUND, PLACE = "css=form.panel button", "css=#main > form > button:nth-of-type(2)"
KEPT = TargetRecord(selector="#save", role="button", name="Keep note", tag="button")
LINK = TargetRecord(selector="#save", role="link", name="Keep", tag="a")
SAVE = TargetRecord(selector="#save", role="button", name="Save note", tag="button")
DROP = TargetRecord(selector="#drop", role="button", name="Drop", tag="button")


class Page:
    """Elements by selector, in document order; buttons submit their form unchanged."""

    def __init__(self, found: dict[str, list[TargetRecord]]) -> None:
        self.found = found

    def find(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        return next(iter(self.found.get(selector, [])), None)

    def find_matches(self, selectors: Sequence[str]) -> list[SelectorMatch]:
        known: list[TargetRecord] = []
        seen = []
        for hits in (self.found.get(each.partition(":not(")[0], []) for each in selectors):
            if hits and hits[0] not in known:
                known.append(hits[0])
            seen.append(
                SelectorMatch(count=len(hits), element=known.index(hits[0]), target=hits[0])
                if hits
                else SelectorMatch()
            )
        return seen


def look_for_step(repair_selectors: Sequence[str], **found: list[TargetRecord]) -> tuple[str, tuple[str, ...], str]:
    """Return the result for a step with ``repair_selectors``; keywords name constants that find elements."""
    page = Page({globals()[name]: hits for name, hits in found.items()})
    result = look_for(Selector(NAME, repair_selectors=tuple(repair_selectors)), page, 0.0)
    return (result.target.selector if result.target else "", result.families, result.note)


@each_case(
    ("selector", "name"),
    [
        (NAME, "its name"), (TEXT, "its name"), ('internal:label="Title"s', "its name"),
        ('css=input[placeholder="Title"]', "its name"), (TEST_ID, "its test id"), (ID, "its id"),
        ('css=[id="a.b"]', "its id"), (FIELD, "its attribute name"), ('css=a[href="/x"]', "its address"),
        ('css=nav[aria-label="Main"] > a', "its place"), ('css=nav a[href="/x"]', "its address"),
        ('css=form[action="/x"] input[name="q"]', "its attribute name"), ('css=nav a[aria-label="x"]', "its name"),
        (CLASSES, "classes"), (AROUND, "what is around it"), ('css=main button[type="submit"]', "what is around it"),
        ('css=form[action="/x"] input[type="search"]', "what is around it"),
        ('css=form[action="/x"] input[type="submit"]', "its form"), (FORM, "its form"),
        (PLACE, "its place"), ("css=button", "its place"), ("role=button", "its place"),
        ("xpath=//button", "its place"), (f"css=iframe >> internal:control=enter-frame >> {ID}", "its id"),
    ],
)  # fmt: skip
def test_selector_family_is_recognised(selector: str, name: str) -> None:
    assert family(selector) == name


@each_case(
    ("selector", "known", "added"),
    [
        (FORM, (), ', [name])'), (FORM, ('css=button[name="op"]',), ")"), (FORM, (NAME, ID), ', [name])'),
        (f'{FORM}[type="submit"]', (), ', [name])'), ('css=form[action="/x"] input[type="submit"]', (), ', [name])'),
        (AROUND, (), ', [name])'), ('css=form[action="/x"] button[type="button"]', (), None), (ID, (), None),
        ('css=form[action="/x"] input[type="search"]', (), None), ("css=nav button", (), None),
    ],
)  # fmt: skip
def test_form_selector_requires_a_plain_submit_button(selector: str, known: tuple[str, ...], added: str | None) -> None:
    sending = submitting_only(selector, known)
    others = ':not([type="button"], [type="reset"], [formaction]'
    assert sending == (selector if added is None else selector + others + added)
    assert (family(sending), submitting_only(sending, known)) == (family(selector), sending)


def test_link_is_found_by_its_url_unless_it_leads_nowhere() -> None:
    for address, taken in (
        ("/notes", True), ("#notes", True), ("#", False), ("#!", False), ("javascript:go()", False),
        ("JavaScript:go()", False),
    ):  # fmt: skip
        way = f'css=nav a[href="{address}"]'
        result = look_for(Selector('role=link[name="Notes"s]', repair_selectors=(way,)), Page({way: [LINK]}), 0.0)
        assert (result.target is not None) == taken, address


class Scripted(Page):
    """A page on which every link has a script."""

    def find_matches(self, selectors: Sequence[str]) -> list[SelectorMatch]:
        plain = super().find_matches(selectors)
        return [
            SelectorMatch() if "[data-method]" in each else seen for each, seen in zip(selectors, plain, strict=True)
        ]


def test_link_with_a_script_is_not_found_by_its_url() -> None:
    """A link that deletes an issue may have the issue's URL."""
    way, place = 'css=a[href="/issues/5"]', "css=#main > a:nth-of-type(1)"
    found = {way: [LINK], place: [LINK], ID: [LINK]}
    for page, repair_selectors, taken in (
        (Scripted(found), (way,), False), (Scripted(found), (way, place), False), (Page(found), (way,), True),
        (Scripted(found), (way, place, ID), True),
    ):  # fmt: skip
        result = look_for(Selector('role=link[name="Issue 5"s]', repair_selectors=repair_selectors), page, 0.0)
        assert (result.target is not None) == taken, repair_selectors
    named = TargetRecord(selector="#x", role="link", name="Issue 5 (delete)", tag="a")
    page = Scripted({each: [named] for each in (way, ID, place)})
    assert look_for(Selector('role=link[name="Issue 5"s]', repair_selectors=(way, ID, place)), page, 0.0).target is None


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        (r"""role=button[name="It\'s"s]""", "It's"),
        ('role=button[name="a\tb"]', "a b"),
        (r'role=button[name="\"\\"s]', '"\\'),
    ],
)
def test_names_in_selectors_are_parsed_as_by_playwright(selector: str, name: str) -> None:
    assert role_and_name([selector]) == ("button", name)


def test_name_in_capitals_is_the_same_name() -> None:
    """With `text-transform: uppercase`, browsers report the displayed text."""
    shouted = TargetRecord(selector="#save", role="button", name="SAVE NOTE", tag="button")
    page = Page({ID: [shouted], FORM: [shouted]})
    assert look_for(Selector(ID, repair_selectors=(NAME, FORM)), page, 0.0).note == ""


def test_element_found_by_its_selector_is_not_healed() -> None:
    assert look_for_step([ID], NAME=[KEPT], ID=[KEPT]) == (NAME, (), "")
    assert look_for_step([], NAME=[KEPT, DROP]) == (NAME, (), "")


@each_case(
    ("repair_selectors", "found", "by"),
    [
        ([TEXT, ID, FORM], {"ID": [KEPT], "FORM": [KEPT]}, ("its id", "its form")),
        ([ID, PLACE], {"ID": [KEPT], "PLACE": [KEPT]}, ("its id", "its place")),
        ([ID, FORM, PLACE], {"ID": [KEPT], "FORM": [KEPT], "PLACE": [DROP]}, ("its id", "its form")),  # it has moved
        ([FIELD, AROUND], {"FIELD": [KEPT], "AROUND": [KEPT]}, ("its attribute name", "what is around it")),
    ],
)  # fmt: skip
def test_two_agreeing_selector_families_heal_a_step(
    repair_selectors: list[str], found: dict[str, list[TargetRecord]], by: tuple[str, ...]
) -> None:
    new = 'role=button[name="Keep note"s]'
    page = Page({globals()[name]: hits for name, hits in found.items()} | {new: [KEPT]})
    result = look_for(Selector(NAME, repair_selectors=tuple(repair_selectors)), page, 0.0)
    assert result.target is not None
    assert (result.target.selector, result.families) == (new, by)
    assert result.target.repair_selectors == tuple(each for each in repair_selectors if page.found.get(each) == [KEPT])


@each_case(
    ("repair_selectors", "found", "why"),
    [
        ([], {}, "nothing that is known of it finds one"),
        ([TEXT, ID], {}, "nothing that is known of it finds one"),
        ([ID], {"ID": [KEPT]}, "its id alone would find one, which is not enough"),
        ([TEXT, PLACE], {"PLACE": [KEPT]}, "only its place in the document finds something"),
        ([AROUND, PLACE], {"AROUND": [KEPT], "PLACE": [KEPT]},
         "what is around it and its place alone would find one, which is not enough"),
        ([ID, FORM], {"ID": [KEPT], "FORM": [DROP]}, "its id and its form do not find the same element"),
        ([ID, TEST_ID, FORM], {"ID": [KEPT], "TEST_ID": [KEPT], "FORM": [DROP]}, "do not find the same element"),
        ([ID, PLACE], {"ID": [KEPT], "PLACE": [DROP]}, "its id and its place do not find the same element"),
        ([TEXT, 'internal:label="Save note"s', ID, FORM],
         {"TEXT": [DROP], "ID": [KEPT], "FORM": [KEPT]}, "do not find the same element"),
        ([ID, FORM], {"ID": [KEPT], "FORM": [KEPT, DROP]}, "its id alone would find one"),  # one of several
        ([ID, FORM], {"ID": [LINK], "FORM": [LINK]}, "a button was recorded, and there is link 'Keep' now"),
        ([ID, FORM, TEST_ID, PLACE], {"FORM": [KEPT], "PLACE": [KEPT]},
         "its form and its place would find one, but its id and its test id nothing any more"),
        ([ID, CLASSES, AROUND, PLACE], {"CLASSES": [KEPT], "AROUND": [KEPT], "PLACE": [KEPT]},
         "classes, what is around it and its place alone would find one, which is not enough"),
    ],
)  # fmt: skip
def test_healing_needs_two_agreeing_selector_families(
    repair_selectors: list[str], found: dict[str, list[TargetRecord]], why: str
) -> None:
    selector, by, note = look_for_step(repair_selectors, **found)
    assert (selector, by) == ("", ())
    assert why in note


def test_selectors_of_one_family_count_once() -> None:
    """Several selectors by name fail together when the name changes."""
    selector, _, note = look_for_step([TEXT, 'css=button[title="Save note"]'], TEXT=[KEPT])
    assert (selector, note) == ("", "its name alone would find one, which is not enough")


@pytest.mark.parametrize("more", ["Save note as draft", "Note"])
def test_similar_name_needs_a_selector_that_excludes_neighbours(more: str) -> None:
    """Neighbouring elements often have names with more or fewer words."""
    neighbour = TargetRecord(selector="#save", role="button", name=more, tag="button")
    for repair_selectors, taken in (
        ((ID, PLACE), False),
        ((ID, TEST_ID), True),
        ((FORM, PLACE), True),
        ((ID, AROUND), False),
    ):
        page = Page({each: [neighbour] for each in repair_selectors})
        result = look_for(Selector(NAME, repair_selectors=repair_selectors), page, 0.0)
        assert (result.target is not None) == taken, repair_selectors
        assert taken or "may be next to what was recorded: button 'Save note'" in result.note


def test_conflict_with_two_agreeing_families_finds_no_element() -> None:
    found = {"NAME": [DROP], "ID": [KEPT], "FORM": [KEPT]}
    why = "its selector finds button 'Drop', and its id and its form another element"
    assert look_for_step([ID, FORM], **found) == ("", (), why)


@each_case(
    ("repair_selectors", "found", "note"),
    [
        ([ID, TEST_ID], {"ID": [KEPT], "TEST_ID": [DROP]},
         "the page differs: by its id another element would be found"),
        ([ID, TEST_ID, PLACE], {"PLACE": [DROP]}, "the page differs: by its id and its test id it is found no more"),
        ([ID, TEST_ID, PLACE], {"PLACE": [DROP], "TEST_ID": [DROP]}, ""),  # its id alone has changed
        ([CLASSES, PLACE], {"PLACE": [KEPT]}, "the page differs: by classes and its place it is found no more"),
        ([CLASSES, PLACE], {"PLACE": [DROP]}, ""),
        ([TEXT], {}, ""),
    ],
)  # fmt: skip
def test_found_element_is_kept_with_a_note_when_others_disagree(
    repair_selectors: list[str], found: dict[str, list[TargetRecord]], note: str
) -> None:
    assert look_for_step(repair_selectors, NAME=[DROP], **found) == (NAME, (), note)


def test_element_found_by_id_with_another_name_is_noted() -> None:
    page = Page({ID: [KEPT], FORM: [KEPT]})
    result = look_for(Selector(ID, repair_selectors=(NAME, FORM)), page, 0.0)
    assert result.note == "the page differs: it is button 'Keep note', and button 'Save note' was recorded"
    page.found[ID] = page.found[NAME] = [SAVE]
    page.found[FORM] = [SAVE]
    assert look_for(Selector(ID, repair_selectors=(NAME, FORM)), page, 0.0).note == ""


def test_element_found_by_place_alone_is_noted_as_unsure() -> None:
    """Other elements had that name when recorded; otherwise the step would use it."""
    page = Page({PLACE: [SAVE], NAME: [DROP]})
    assert (
        look_for(Selector(PLACE, repair_selectors=(NAME,)), page, 0.0).note == "its place alone says which one is meant"
    )
    assert look_for(Selector(PLACE), page, 0.0).note == "its place alone says which one is meant"
    assert look_for(Selector(PLACE), page, 0.0).is_uncertain
    page.found = {PLACE: [DROP, SAVE]}
    assert "2 elements, and its place alone says" in look_for(Selector(PLACE), page, 0.0).note
    assert look_for(Selector(PLACE), page, 0.0).is_uncertain
    page.found = {NAME: [SAVE], CLASSES: [SAVE]}
    assert look_for(Selector(PLACE, repair_selectors=(NAME, CLASSES)), page, 0.0).target is None


def test_first_match_is_rejected_when_others_agree_on_another() -> None:
    found = {"NAME": [DROP, KEPT], "ID": [KEPT], "FORM": [KEPT]}
    selector, by, note = look_for_step([ID, FORM], **found)
    assert (selector, by) == (ID, ("its id", "its form"))
    assert "finds 2 elements, and another one first" in note


@each_case(
    ("repair_selectors", "found", "result"),
    [
        ([ID], {"ID": [KEPT]}, ("", "its selector finds 2 elements, and its id not the first")),
        ([ID], {"ID": [DROP]}, (NAME, "")),
        ([CLASSES, PLACE], {"PLACE": [DROP]},
         ("", "its selector finds 2 elements, and nothing that few elements share says which one is meant")),
        ([PLACE], {"PLACE": [DROP]},
         (NAME, "its selector finds 2 elements, and its place alone says which one is meant")),
        ([PLACE], {"PLACE": [KEPT]},
         ("", "its selector finds 2 elements, and nothing that few elements share says which one is meant")),
        ([], {}, (NAME, "")),
    ],
)  # fmt: skip
def test_first_match_is_used_only_if_confirmed_or_nothing_else_known(
    repair_selectors: list[str], found: dict[str, list[TargetRecord]], result: tuple[str, str]
) -> None:
    selector, _, note = look_for_step(repair_selectors, NAME=[DROP, KEPT], **found)
    assert (selector, note) == result
