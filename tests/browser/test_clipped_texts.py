"""Texts that a page moves away or clips to draw an icon in their place: the element around them is printed and used."""

from __future__ import annotations

import re

import pytest

from pytest_webarena.actions import Click, Element
from tests.browser.test_forms import See, see

__all__ = ["see"]

BOTH = pytest.mark.parametrize("extractor", ["exact", "fast"])
ICONS = """<!doctype html><title>Icons</title><style>
.icon { cursor: pointer; display: block; width: 20px; height: 20px; overflow: hidden; position: relative }
b { display: block; text-indent: -99999px }
i { position: absolute; width: 1px; height: 1px; overflow: hidden; left: 4px }
u { position: absolute; left: 60px; white-space: nowrap }
</style><div>Calendar<div id=moved class="icon next" title="Next month"><b>Next</b></div>
<div id=titled class="icon back" title=Back></div><div id=clipped class=icon><i>Close</i></div>
<div id=beyond class=icon><u>Options of this list</u></div></div>
<script>for (const el of document.querySelectorAll('.icon')) el.onclick = () => { document.title = el.id }</script>"""


@BOTH
def test_usable_element_whose_text_is_moved_away_has_a_line_with_its_text(see: See, extractor: str) -> None:
    session = see(ICONS, kinds=("accessibility_tree", "set_of_marks"), extractor=extractor)
    tree = session.observe().text.split("\n\n")[1]
    assert re.findall(r"generic '.*", tree) == [
        "generic 'Next' clickable: True", "generic 'Back' clickable: True",
        "generic 'Options of this list' clickable: True",
    ]  # fmt: skip
    assert "StaticText 'Close'" in tree


@BOTH
def test_click_on_a_text_that_is_moved_away_acts_on_the_element_around_it(see: See, extractor: str) -> None:
    session = see(ICONS, kinds=("accessibility_tree",), extractor=extractor, current_viewport_only=False)
    went = []
    for text in ("Next", "Back", "Close", "Options"):
        (id,) = re.findall(rf"\[(\d+)\] \w+ '{text}", session.observe().text)
        assert session.execute(Click(Element(id))).error == ""
        went.append(session.observe().title)
    assert went == ["moved", "titled", "clipped", "beyond"]


PARTS = """<!doctype html><title>Parts</title><style>
i { cursor: pointer; display: inline-block; width: 9px; height: 9px } b { cursor: pointer }
</style><div role=tree><div role=treeitem aria-expanded=false>Fruits<i class=open></i></div></div>
<button>Save<i class=icon></i></button><div role=button>Send <b>now</b></div>"""


@BOTH
def test_icon_in_a_control_made_of_other_elements_has_an_id(see: See, extractor: str) -> None:
    kinds = ("accessibility_tree", "html", "set_of_marks")
    text = see(PARTS, kinds=kinds, extractor=extractor).observe().text
    parts = [line.split("] ")[1] for line in text.split("\n") if re.search(r"\] (<[ib][ >]|generic)", line)]
    line = ["generic '' clickable: True class: 'open'"] * (extractor == "fast")  # Chromium's tree omits empty elements
    assert parts == [*line, '<i class="open">', *line]


REPLACED = """<div id=next style="width: 20px; height: 20px; overflow: hidden; text-indent: -9999px">Next</div>
<img alt="" style="cursor: pointer" width=9 height=9>
<script>next.onclick = () => { document.title = 'Went' }</script>"""


@BOTH
def test_text_that_an_icon_replaces_is_printed_and_stands_for_it(see: See, extractor: str) -> None:
    session = see(REPLACED, kinds=("accessibility_tree",), extractor=extractor)
    text = session.observe().text
    (id,) = re.findall(r"\[(\d+)\] StaticText 'Next'", text)
    assert ("generic '' clickable: True" in text) == (extractor == "fast")  # Chromium's tree omits such pictures
    assert session.execute(Click(Element(id))).error == ""
    assert session.observe().title == "Went"
