"""Accessible names of fields: events and actions report the same name, and Playwright finds the field by it."""

from __future__ import annotations

import pytest

from pytest_webarena.actions import Click, Select, Selector, Type
from pytest_webarena.recorder.selectors import selectors_of
from tests.browser.listening import Show, events, shared, show, web
from tests.processes import wait_until

__all__ = ["shared", "show", "web"]

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

SIZES = "<option>Small<option selected>Medium<option>Large"
FIELDS = f"""<style>.loud {{ text-transform: uppercase }} .tip {{ visibility: hidden }}</style>
<form onsubmit="return false">
<label>Size <select id=size>{SIZES}</select></label>
<label><select id=fit>{SIZES}</select><div>Fit</div>of <b>it</b>em</label>
<label>Sizes <select id=sizes multiple>{SIZES}</select></label>
<label><input type=checkbox id=wrap> Wrap it <select>{SIZES}</select> boxes</label>
<label>Note <textarea id=note>Dear all</textarea></label>
<label>Save as <button id=draft>a draft</button></label>
<label class=loud><span class=tip>Help!</span>Colour<span hidden>s</span><br>of <img alt=paint src="data:,">
<input id=paint>
<i aria-hidden=true>*</i></label>
<span id=by>Sort by</span> <select id=sort aria-labelledby="by order">{SIZES}</select>
<p id=order hidden>in <em>order</em></p>
</form>"""
CALLED = {
    "size": ("combobox", "Size"),
    "fit": ("combobox", "Fit of item"),
    "sizes": ("listbox", "Sizes"),
    "wrap": ("checkbox", "Wrap it Medium boxes"),
    "note": ("textbox", "Note"),
    "draft": ("button", "Save as"),
    "paint": ("textbox", "Colour of paint"),
    "sort": ("combobox", "Sort by in order"),
}


@pytest.mark.matrix(2)
@pytest.mark.parametrize("field", CALLED)
def test_field_name_excludes_the_value_of_a_field_in_its_label(show: Show, field: str) -> None:
    session = show(FIELDS)
    at, (role, name) = Selector(f"#{field}"), CALLED[field]
    if field in ("note", "paint"):
        outcome = session.execute(Type(at, "oil"))
    else:
        outcome = session.execute(Select(at, ("Large",)) if "box" in role and field != "wrap" else Click(at))
    assert outcome.error == ""
    selector = f"#{field}"
    wait_until(lambda: any(each.target.selector == selector for each in events(session)))
    event = next(each for each in events(session) if each.target.selector == selector)
    assert outcome.target is not None
    assert (event.target.role, event.target.name) == (outcome.target.role, outcome.target.name) == (role, name)
    proposed = selectors_of(event)[0]
    assert proposed == f'role={role}[name="{name}"s]'
    [by_name, by_id] = session.find_matches([proposed, at.selector])
    assert (by_name.is_unique, by_name.element) == (True, by_id.element)
