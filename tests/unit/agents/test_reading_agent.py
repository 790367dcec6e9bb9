"""The demo's reading agent on canned pages: it searches, selects, clicks and reads answers."""

from __future__ import annotations

import pytest

from agents.reading_agent import ReadingAgent, query
from pytest_webarena.actions import Action, Click, Element, Stop, Type
from pytest_webarena.testing import play

HOME = "\t[9] textbox 'Search the store' value: 'lamp'\n\t[10] button 'Search'\n\t[11] link 'Offers'"
FOUND = "[20] link 'Merlin Rucksack, 45 L'\n[21] link 'Merlin Rucksack, 28 L'\n[22] link 'Bags (2)'"
PRODUCT = """[30] table ''
\t[31] rowheader 'Capacity' required: False
\t[32] cell '28 L'
\t[33] rowheader 'Weight' required: False
\t[34] cell '890 g'
[35] radio '36-40' checked: false
[36] radio '40' checked: false
[37] spinbutton 'Quantity' value: 1
[38] button 'Add to basket'"""


def actions_for(intent: str, *pages: str) -> list[Action]:
    return list(play(ReadingAgent, list(pages), intent=intent))


def test_reading_agent_searches_follows_a_link_and_answers() -> None:
    assert actions_for("How many grams does the 28-litre Merlin Rucksack weigh?", HOME, FOUND, PRODUCT) == [
        Type(Element("9"), "Merlin Rucksack", clear=True, enter=True),
        Click(Element("21")),
        Stop("890 g"),
    ]


def test_reading_agent_selects_option_and_quantity_and_clicks_once() -> None:
    pages = [PRODUCT] * 4
    assert actions_for("Put two of the sage Scree Boots in size 40 into my basket.", *pages) == [
        Click(Element("36")),
        Type(Element("37"), "2", clear=True),
        Click(Element("38")),
        Stop(""),
    ]


def test_reading_agent_applies_each_filter_once() -> None:
    facets = "[1] link '10 to 25 kr ({})'\n[2] link '3 stars ({})'\n[3] link '0 to 10 kr (7)'"
    pages = [facets.format(30, 9), facets.format(9, 8), facets.format(8, 8)]
    done = actions_for('Search for "honey" and narrow it down to what costs 10 to 25 kr and has 3 stars.', *pages)
    assert done == [Click(Element("1")), Click(Element("2")), Stop("")]


@pytest.mark.parametrize(
    ("intent", "sought"),
    [
        ('Who gave "Dusk Desk Lamp, 450 lm" its lowest rating?', "Dusk Desk Lamp"),
        ("Put four of the large mugs called Estuary into my basket, and nothing else.", "Estuary"),
        ("how old is the library", "the library"),
    ],
)
def test_search_query_is_taken_from_the_intent(intent: str, sought: str) -> None:
    assert query(intent) == sought
