"""Observations of real pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element, FocusTab, NewTab, Scroll, Selector
from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.session import Session

Show = Callable[[str], Session]

FORM = """<!doctype html><title>Contact</title><h1>Contact us</h1>
<form><label>Name <input name=n required></label>
<label>Email <input type=email value="ada@a.test"></label>
<label for=s>Subject</label><select id=s><option>Sales</option><option selected value=sup>Support</option></select>
<fieldset><legend>Urgency</legend><label><input type=radio name=u>Low</label>
<label><input type=radio name=u checked>High</label></fieldset>
<label><input type=checkbox checked> Send a copy</label>
<textarea aria-label=Message>hello
there</textarea><div contenteditable aria-label=Rich>rich <b>text</b></div>
<input type=date value=2026-01-02 aria-label=When><button disabled>Send</button></form>
<p>We answer within <a href="#help">two days</a>.</p>
<ul><li>One</li><li><img alt="A dog" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" width=9 height=9></li></ul>
<iframe srcdoc="<p>inner <button>In frame</button></p>" title="Frame"></iframe>
<div style="height:2000px"></div><p>The bottom</p>"""

FORM_LINES = """\
Tab 0 (current): Contact

[#] RootWebArea 'Contact' focused: True
	[#] heading 'Contact us'
	[#] form ''
		[#] StaticText 'Name '
		[#] textbox 'Name' required: True
		[#] StaticText 'Email '
		[#] textbox 'Email' required: False value: 'ada@a.test'
		[#] StaticText 'Subject'
		[#] combobox 'Subject' hasPopup: menu expanded: False value: 'Support'
			[#] option 'Sales' selected: False
			[#] option 'Support' selected: True
		[#] group 'Urgency'
			[#] StaticText 'Urgency'
			[#] radio 'Low' checked: false
			[#] radio 'High' checked: true
		[#] checkbox 'Send a copy' checked: true
		[#] textbox 'Message' required: False value: 'hello\\nthere'
		[#] generic 'Rich' editable: richtext
			[#] StaticText 'rich '
			[#] StaticText 'text'
		[#] Date 'When' value: '2026-01-02'
		[#] button 'Send' disabled: True
	[#] StaticText 'We answer within '
	[#] link 'two days'
	[#] StaticText '.'
	[#] ListMarker '• '
	[#] StaticText 'One'
	[#] ListMarker '• '
	[#] image 'A dog'
	[#] Iframe 'Frame'
		[#] StaticText 'inner '
		[#] button 'In frame'"""


def id_of(session: Session, line: str) -> str:
    """Return the id that the observation prints before ``role 'name'``."""
    found = re.search(rf"\[(\d+)\] {re.escape(line)}", session.observe().text)
    assert found, f"{line} is not in\n{session.observe().text}"
    return found[1]


def test_form_is_printed_in_webarena_format(show: Show) -> None:
    observation = show(FORM).observe()
    assert re.sub(r"\[\d+\]", "[#]", observation.text) == FORM_LINES
    assert (observation.url, observation.title) == ("http://a.test/", "Contact")
    assert observation.viewport == (1280, 720)
    assert re.fullmatch(r"… 2\.\d screens below", observation.scroll.describe())
    assert [(tab.title, tab.url, tab.active) for tab in observation.tabs] == [("Contact", "http://a.test/", True)]
    assert (observation.error, observation.dialog, observation.notes) == ("", None, ())
    assert observation.screenshot is None


def test_observation_shows_viewport_only_by_default(open_session: Callable[..., Session], show: Show) -> None:
    session = show(FORM)
    assert "The bottom" not in session.observe().text
    for _ in range(3):
        session.execute(Scroll("down"))
    at_end = session.observe()
    assert "The bottom" in at_end.text
    assert "Contact us" not in at_end.text
    assert "above" in at_end.scroll.describe()
    assert "below" not in at_end.scroll.describe()
    whole = open_session(observation=ObservationConfig(current_viewport_only=False))
    whole.open_tabs(["http://a.test/"])
    assert "Contact us" in whole.observe().text
    assert "The bottom" in whole.observe().text


def test_fixed_and_off_screen_elements_are_shown_only_if_visible(show: Show) -> None:
    session = show(
        "<body style='margin:0;height:5000px'><div style='position:fixed;top:0'>Fixed</div>"
        "<div style='position:absolute;top:1000px'>Middle</div><div style='position:absolute;left:-900px'>Left</div>"
        "<p style='display:none'>None</p>"
        "<div style='display:contents'><button style='display:contents'>Go</button></div>"
    )
    first = session.observe().text
    assert "'Fixed'" in first
    assert "button 'Go'" in first
    assert "'Left'" not in first
    assert "'None'" not in first
    assert "'Middle'" not in first
    session.execute(Scroll("down"))
    second = session.observe().text
    assert "'Fixed'" in second
    assert "'Middle'" in second
    assert "button 'Go'" not in second


def test_long_select_shows_selected_option_and_how_to_choose_others(show: Show) -> None:
    options = "".join(f"<option {'selected' if n == 70 else ''}>Country {n}</option>" for n in range(80))
    session = show(f"<select aria-label=Country>{options}</select>")
    lines = session.observe().text.split("\n")
    combobox = next(line for line in lines if "combobox" in line)
    assert combobox.endswith("value: 'Country 70'")
    assert sum("option 'Country" in line for line in lines) == 51
    assert any("option 'Country 70' selected: True" in line for line in lines)
    assert (
        lines[-1].strip()
        == f"… 29 more options; to choose one of them, type its text into [{combobox.split(']')[0].strip()[1:]}]"
    )


@pytest.mark.parametrize("extractor", ["exact", "fast"])
def test_option_groups_are_shown(open_session: Callable[..., Session], web: Any, extractor: Any) -> None:
    session = open_session(observation=ObservationConfig(extractor=extractor))
    groups = "<optgroup label=G1><option>a</optgroup><optgroup label=G2><option selected>b</optgroup>"
    session.open_tabs([web.put("/", f"<select aria-label=S>{groups}</select><meter value=.4></meter>")])
    lines = [re.sub(r"\[\d+\] ", "", line) for line in session.observe().text.split("\n")[3:]]
    assert lines[1:5] == [
        "\t\tgroup 'G1'",
        "\t\t\toption 'a' selected: False",
        "\t\tgroup 'G2'",
        "\t\t\toption 'b' selected: True",
    ]
    assert lines[5].endswith(" value: 0.4")


def test_text_is_shown_exactly_once(show: Show) -> None:
    session = show(
        "<a href=/x>Order <b>10</b></a><table><tr><th>10<th>1<th>on</table><button>Save</button><p>Save</p>"
        "<label>Qty <input></label>"
    )
    lines = [re.sub(r"\s*\[\d+\] ", "", line) for line in session.observe().text.split("\n")[3:]]
    assert lines == [
        "link 'Order 10'",
        "table ''",
        "row ''",
        "columnheader '10' required: False",
        "columnheader '1' required: False",
        "columnheader 'on' required: False",
        "button 'Save'",
        "StaticText 'Save'",
        "StaticText 'Qty '",
        "textbox 'Qty' required: False",
    ]


def test_shadow_roots_and_nested_frames_are_shown(show: Show) -> None:
    session = show(
        "<div id=host></div><script>host.attachShadow({mode:'open'}).innerHTML='<button>Shadow</button>'</script>"
        """<iframe srcdoc="<iframe srcdoc='<button>Deep</button>'></iframe>"></iframe>"""
    )
    text = session.observe().text
    assert "button 'Shadow'" in text
    assert "button 'Deep'" in text
    session.execute(Click(Element(id_of(session, "button 'Deep'"))))
    assert "button 'Deep' focused: True" in session.observe().text


def test_element_ids_are_stable(show: Show) -> None:
    session = show(
        "<button id=keep>Keep</button><button onclick=\"list.innerHTML='<li>'+(n++)\">Render</button><ul id=list></ul>"
        "<script>n=0</script>"
    )
    keep, render = id_of(session, "button 'Keep'"), id_of(session, "button 'Render'")
    for _ in range(3):
        assert session.execute(Click(Element(render))).error == ""
        assert id_of(session, "button 'Keep'") == keep
        assert id_of(session, "button 'Render'") == render
    items = [re.search(r"\[(\d+)\] StaticText '2'", session.observe().text)]
    session.execute(Click(Element(render)))
    assert items[0] is not None
    assert f"[{items[0][1]}]" not in session.observe().text  # the new item has a new id


def test_focused_element_is_reported(show: Show) -> None:
    session = show("<input aria-label=A><input aria-label=B>")
    assert session.observe().focused == ""
    session.execute(Click(Selector("css=input >> nth=1")))
    observation = session.observe()
    assert re.fullmatch(r"\[\d+\] textbox 'B'", observation.focused)


def test_all_tabs_are_listed(session: Session, web: object, show: Show) -> None:
    show("<title>One</title>")
    session.execute(NewTab())
    observation = session.observe()
    assert observation.text.split("\n")[0] == "Tab 0: One | Tab 1 (current): "
    assert observation.url == "about:blank"
    session.execute(FocusTab(0))
    assert session.observe().text.split("\n")[0] == "Tab 0 (current): One | Tab 1: "


def test_max_chars_limits_the_text(open_session: Callable[..., Session], show: Show) -> None:
    show("".join(f"<p>Line number {n}</p>" for n in range(200)))
    session = open_session(observation=ObservationConfig(current_viewport_only=False, max_chars=400))
    session.open_tabs(["http://a.test/"])
    text = session.observe().text
    assert len(text) <= 400
    assert re.fullmatch(r"… cut here: \d+ more lines, \d+ characters", text.split("\n")[-1])


def test_screenshots_are_jpegs_of_the_viewport(open_session: Callable[..., Session], show: Show) -> None:
    show("<body style='background:red'>")
    session = open_session(observation=ObservationConfig(kinds=("screenshot",)))
    session.open_tabs(["http://a.test/"])
    shot = session.observe().screenshot
    assert shot is not None
    assert shot[:3] == b"\xff\xd8\xff"
    assert session.screenshot()[:3] == b"\xff\xd8\xff"


@pytest.mark.parametrize("name", ["caf\\u00e9 \\ud83d\\ude00", "half \\ud83d"])
def test_observation_of_any_text_can_be_encoded(show: Show, name: str) -> None:
    session = show(f"<body><script>document.title = '{name}'; document.body.append('{name}')</script>")
    observation = session.observe()
    assert observation.render().encode()
    assert observation.title.encode()
    assert session.tabs()[0].html.encode()


def test_failed_cross_site_frame_does_not_break_the_observation(show: Show, web: object) -> None:
    session = show("<iframe src='http://elsewhere.test/x' title=Other></iframe><p>Own text")
    text = session.observe().text
    assert "Iframe 'Other'" in text
    assert "'Own text'" in text
