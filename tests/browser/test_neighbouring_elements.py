"""Neighbouring elements of a page, which an audit's wrong agent uses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_webarena.actions import Check, Click, Select, Selector
from pytest_webarena.agents.neighbour import step_on_neighbour
from pytest_webarena.browser.session import Session
from tests.cases import each_case

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

PAGE = """<!doctype html><title>Shop</title>
<nav><a href="/">Home</a> <a href="/lists">Lists</a></nav>
<main>
<ul class=projects>
  <li><h3><a href="/clock">Clock</a></h3><a class=more href="/clock#about">About Clock</a><button>Star</button></li>
  <li><h3><a href="/bees">Bees</a></h3><button>Star</button></li>
  <li><h3><a href="/mites">Mites</a></h3><button disabled>Star</button></li>
</ul>
<form><label>Title <input id=title></label><label>Label <input id=label></label><input type=file aria-label=Picture>
<fieldset><label><input type=radio name=size value=s> Small</label>
<label><input type=radio name=size value=l> Large</label></fieldset>
<select id=score><option value="">Choose<option>1<option>2<option disabled>3</select>
<button id=save>Save</button><button id=draft>Save as draft</button></form>
<p><a href="#" id=first>Grid</a><a href="#">Rows</a></p>
<section data-facet=brand><span>Aldergate</span><span>Lee</span></section>
<button style="display:none">Hidden</button>
</main>
<aside><a href="#top">Up</a> <a href="/alone" id=alone>Help</a></aside>
<footer><button>Sign out</button></footer>
<iframe srcdoc="<button>One</button><button>Two</button>"></iframe>"""


@pytest.fixture
def page(show: Callable[[str], Session]) -> Session:
    return show(PAGE)


@each_case(
    ("selector", "neighbour"),
    [
        ('role=link[name="Clock"s]', "link 'Bees'"),
        ('role=heading >> role=link[name="Mites"]', "link 'Clock'"),  # round the corner
        ('css=li:has-text("Clock") >> role=button[name="Star"]', "button 'Star'"),  # the same of the next row
        ("css=.more", "link 'Bees'"),  # the only one of its kind; a link to the same page does not count
        ('role=navigation >> role=link[name="Home"]', "link 'Lists'"),
        ('role=button[name="Save"s]', "button 'Save as draft'"),  # no file field
        ("css=#draft", "button 'Save'"),
        ("css=#title", "textbox 'Label'"),
        ('role=radio[name="Small"]', "radio 'Large'"),
        ('role=button[name="Sign out"]', ""),  # nothing else in its part of the page
        ("css=#first", "link 'Rows'"),  # links that run scripts
        ("css=#alone", ""),  # a link to a place of this page leads nowhere
        ("css=[data-facet=brand] >> text=Aldergate", "generic 'Lee'"),
        ('css=iframe >> internal:control=enter-frame >> role=button[name="One"]', "button 'Two'"),
        ("css=fieldset", ""),
        ("css=#nothing", ""),
    ],
)
def test_neighbour_is_the_next_element_of_the_same_kind(page: Session, selector: str, neighbour: str) -> None:
    found = page.find_neighbour(selector)
    other = found.neighbour_target if found is not None else None
    assert (f"{other.role} {other.name!r}" if other is not None else "") == neighbour
    if found is not None and other is not None:
        assert page.element_of(found.neighbour) == other
        assert found.target != other


def test_wrong_action_targets_the_next_row_or_radio(page: Session) -> None:
    star = Click(Selector('css=li:has-text("Clock") >> role=button[name="Star"]'))
    other, _ = step_on_neighbour(star, page.find_neighbour)
    assert other is not None
    outcome = page.execute(other)
    assert (outcome.error, outcome.target and outcome.target.selector) == (
        "",
        "html > body > main > ul > li:nth-of-type(2) > button",
    )
    radio, _ = step_on_neighbour(Check(Selector('role=radio[name="Small"]')), page.find_neighbour)
    assert radio is not None
    assert page.execute(radio).error == ""
    assert page.element_of("css=input[value=l]:checked") is not None


@each_case(("chosen", "other"), [("1", "2"), ("2", "1")])
def test_wrong_selection_uses_another_enabled_option(page: Session, chosen: str, other: str) -> None:
    step = Select(Selector("css=#score"), (chosen,))
    assert step_on_neighbour(step, page.find_neighbour) == (
        Select(Selector("css=#score"), (other,)),
        f"option {other!r}, not {chosen!r}",
    )
