"""Observation forms other than the accessibility tree: HTML, screenshots, set of marks, compat; also combined."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_webarena.actions import Click, Element, Scroll, Type
from pytest_webarena.browser.config import Geolocation, ObservationConfig
from pytest_webarena.browser.session import Session

BOTH = pytest.mark.parametrize("extractor", ["exact", "fast"])
See = Callable[..., Session]

PAGE = """<!doctype html><title>Shop</title><script>var hidden = 1</script><style>p{margin:0}</style>
<h1>A <em>fine</em> shop</h1><div><div>Open</div><div>daily</div></div>
<form action=/go><label>Name <input name=n placeholder="Your name" value=Ada required></label>
<select aria-label=Size><option>S<option selected>M</select><input type=hidden name=h value=1>
<input type=checkbox checked aria-label=Gift><input type=password value=abc aria-label=Code>
<textarea aria-label=Note>one
two</textarea><button onclick="event.preventDefault(); this.textContent = 'Sent'">Send</button></form>
<p>Read <a href="/terms">our <b>terms</b></a>, please.</p><p style="display:none">None</p>
<p style="visibility:hidden">Hidden</p><details><summary>More</summary>Inside</details><svg><text>No</text></svg>
<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<button>Shadow</button>'</script>
<iframe srcdoc="<p>Inner</p><button>Framed</button>" title=Frame height=60></iframe>
<div style="height:2000px"></div><button>Far below</button>"""

HTML = """\
Tab 0 (current): Shop

<h1> A fine shop
Open
daily
<form action="/go">
	<label> Name
		[#] <input name="n" placeholder="Your name" value="Ada" required>
	[#] <select aria-label="Size">
		[#] <option> S
		[#] <option selected> M
	[#] <input type="checkbox" aria-label="Gift" checked>
	[#] <input type="password" aria-label="Code" value="•••">
	[#] <textarea aria-label="Note"> one two
	[#] <button> Send
<p> Read
	[#] <a href="/terms"> our terms
	, please.
<details>
	[#] <summary> More
[#] <button> Shadow
<iframe title="Frame" scroll="0.3 screens below">
	<p> Inner
	[#] <button> Framed"""


@pytest.fixture
def see(open_session: Callable[..., Session], web: Any) -> See:
    """Show a page in a session with the given observation settings."""

    def see(html: str, session: dict[str, Any] | None = None, **settings: Any) -> Session:
        made = open_session(observation=ObservationConfig(**settings), **(session or {}))
        made.open_tabs([web.put("/", html)])
        return made

    return see


def anonymous(text: str) -> str:
    return re.sub(r"\[\d+\]", "[#]", text)


def id_of(session: Session, what: str) -> Element:
    found = re.search(rf"\[(\d+)\] {re.escape(what)}", session.observe().text)
    assert found, session.observe().text
    return Element(found[1])


@BOTH
def test_html_form_is_pruned_and_its_ids_work(see: See, extractor: str) -> None:
    session = see(PAGE, kinds=("html",), extractor=extractor)
    observation = session.observe()
    assert anonymous(observation.text) == HTML
    assert observation.title == "Shop"
    assert 2 < observation.scroll.screens_below < 4
    send = id_of(session, "<button> Send")
    assert session.execute(Click(send)).error == ""
    assert session.execute(Type(id_of(session, "<input name"), "Grace", clear=True)).error == ""
    assert id_of(session, "<button> Sent") == send
    assert 'value="Grace"' in session.observe().text


@BOTH
def test_html_form_of_whole_page(see: See, extractor: str) -> None:
    text = see(PAGE, kinds=("html",), extractor=extractor, html_viewport_only=False).observe().text
    assert anonymous(text) == f"{HTML}\n[#] <button> Far below"


@BOTH
def test_raw_html_contains_the_whole_document(see: See, extractor: str) -> None:
    text = see(PAGE, kinds=("raw_html",), extractor=extractor).observe().text
    whole = text.partition("\n\n")[2]
    assert whole.startswith("<!DOCTYPE html>\n<html><head><title>Shop</title><script>var hidden = 1</script>")
    for part in ('<p style="display:none">None</p>', "Far below", 'name="h" value="1"', "</body></html>"):
        assert part in whole


@BOTH
def test_long_selects_are_shortened_in_html_form(see: See, extractor: str) -> None:
    options = "".join(f"<option {'selected' if n == 7 else ''}>O{n}" for n in range(9))
    session = see(f"<select>{options}</select><p>After", kinds=("html",), extractor=extractor, max_options=2)
    lines = anonymous(session.observe().text).split("\n")[2:]
    assert lines == [
        "[#] <select>",
        "\t[#] <option> O0",
        "\t[#] <option> O1",
        "\t[#] <option selected> O7",
        "\t… 6 more options; to choose one of them, type its text into [#]",
        "<p> After",
    ]


@BOTH
def test_combined_forms_have_the_same_ids(see: See, extractor: str) -> None:
    kinds = ("accessibility_tree", "html", "set_of_marks", "screenshot")
    observation = see(PAGE, kinds=kinds, extractor=extractor).observe()
    tree, html, marks = observation.text.split("\n\n")[1:]
    assert [part.split("\n")[0] for part in (tree, html, marks)] == [
        "Accessibility tree:",
        "HTML:",
        "Marks in the picture:",
    ]
    for element, printed in (("button 'Send'", "<button> Send"), ("link 'our terms'", '<a href="/terms">')):
        number = re.search(rf"\[(\d+)\] {re.escape(element)}", tree)
        assert number
        assert f"[{number[1]}] {printed}" in html
        assert f"[{number[1]}] {element}" in marks.split("\n")
    assert len(observation.images) == 2
    assert observation.picture == observation.marked


@BOTH
def test_marks_are_drawn_at_their_elements(see: See, extractor: str) -> None:
    session = see(
        "<body style='margin:0;background:white'><button style='position:absolute;left:200px;top:300px;width:160px;"
        "height:90px;border:0;background:white'></button><p style='margin:0'>Text</p>"
        "<iframe srcdoc='<body style=\"margin:0\"><input>' style='position:absolute;left:600px;top:100px;"
        "border:10px solid white;padding:5px'></iframe><a href=x style='position:absolute;top:5000px'>Below</a>",
        kinds=("set_of_marks",),
        extractor=extractor,
        screenshot_format="png",
    )
    observation = session.observe()
    assert observation.screenshot is None
    assert observation.marked is not None
    assert [line.split("] ")[1].split(" ")[0] for line in observation.text.split("\n")[2:]] == ["button", "textbox"]
    image = Image.open(io.BytesIO(observation.marked)).convert("RGB")
    assert image.size == (1280, 720)
    white = (255, 255, 255)
    for x, y in ((200, 350), (360, 350), (280, 300), (280, 390)):  # the button's four sides
        assert any(image.getpixel((x + near, y + near)) != white for near in (-1, 0, 1)), (x, y)
    assert image.getpixel((300, 350)) == white
    assert image.getpixel((615, 128)) != white  # the field's left side, in its frame
    session.execute(Click(id_of(session, "textbox")))
    assert "textbox '' focused: True" in session.observe().text


def test_screenshot_size_and_format_settings_apply(see: See) -> None:
    html = "<body style='margin:0;background:linear-gradient(red,blue);height:1440px'>"
    for settings, format, size in (
        ({"screenshot_size": (640, 640)}, "JPEG", (640, 360)),
        ({"screenshot_format": "png", "screenshot_size": (5000, 5000)}, "PNG", (1280, 720)),
        ({"screenshot_format": "webp", "screenshot_full_page": True}, "WEBP", (1280, 1440)),
    ):
        shot = see(html, kinds=("screenshot",), **settings).observe().screenshot
        assert shot is not None
        image = Image.open(io.BytesIO(shot))
        assert (image.format, image.size) == (format, size)
    sharp = see(html, {"device_scale": 2, "viewport": (400, 300)}, kinds=("screenshot",)).observe().screenshot
    assert sharp is not None
    assert Image.open(io.BytesIO(sharp)).size == (800, 600)


def test_screenshot_shows_scrolled_viewport(see: See) -> None:
    half = "<div style='height:720px;background:"
    html = f"<body style='margin:0'>{half}red'></div>{half}lime'></div>"
    session = see(html, kinds=("screenshot",), screenshot_size=(320, 180), screenshot_format="png")
    session.execute(Scroll("down"))
    shot = session.observe().screenshot
    assert shot is not None
    assert Image.open(io.BytesIO(shot)).convert("RGB").getpixel((160, 90)) == (0, 255, 0)


def test_record_screenshots_are_not_given_to_the_agent(see: See) -> None:
    observation = see("<p>x", {"record_screenshots": True}).observe()
    assert (observation.images, observation.screenshot) == ((), None)
    assert observation.picture is not None
    assert observation.picture[:3] == b"\xff\xd8\xff"


def test_geolocation_locale_and_scale_apply_and_are_recorded(see: See, web: Any) -> None:
    script = (
        "<p id=p><script>navigator.geolocation.getCurrentPosition(at => p.append(at.coords.latitude), "
        "() => p.append('refused')); p.append(navigator.language, ' ', devicePixelRatio, ' ')</script>"
    )
    settings = {"geolocation": Geolocation(latitude=52.5, longitude=13.4), "locale": "de-DE", "device_scale": 2}
    session = see("", settings)
    session.open_tabs([web.put("http://localhost/", script)])  # browsers give the location only to secure contexts
    assert re.findall(r"StaticText '(.*)'", session.observe().text) == ["de-DE", "2", "52.5"]
    environment = session.environment
    assert environment["geolocation"] == {"latitude": 52.5, "longitude": 13.4, "accuracy": 0.0}
    assert environment["os"]
    assert "chrom" in environment["browser"].lower()
    assert environment["observation"]["kinds"] == ["accessibility_tree"]


# Output of the original harness for this page (`benchmarks/upstream_agreement.py`), without ids.
COMPAT = """\
Tab 0 (current): Defects

[#] RootWebArea 'Defects' focused: True
	[#] combobox 'Size' hasPopup: menu expanded: False
	[#] textbox 'Email' required: False
		[#] StaticText 'ada@a.test'
	[#] StaticText 'Total of 10'
	[#] button 'Save'
	[#] Iframe 'Frame'
	[#] button 'Sliver'"""

DEFECTS = """<!doctype html><title>Defects</title><body style="margin:0">
<select aria-label=Size><option>S<option selected>M</select><input aria-label=Email value=ada@a.test>
<p>Total of 10</p><p>Total</p><button>Save</button><p>Save</p><ul><li></li></ul>
<div role=separator aria-label=Thin style="position:absolute;left:0;top:500px;width:1280px;height:0.5px"></div>
<iframe srcdoc="<p>Inner</p>" title=Frame></iframe>
<button style="position:absolute;left:0;top:719px;height:40px">Sliver</button>"""


def test_compat_form_reproduces_defects_of_the_original_harness(see: See) -> None:
    text = see(DEFECTS, extractor="exact", compat=True).observe().text
    assert anonymous(text) == COMPAT
    ours = anonymous(see(DEFECTS, extractor="exact").observe().text)
    for line in (
        "option 'M' selected: True",
        "value: 'ada@a.test'",
        "StaticText 'Total'\n",
        "StaticText 'Save'",
        "'Inner'",
    ):
        assert line in ours
    assert "separator 'Thin'" in ours


def test_compat_form_of_whole_page_contains_inline_text_boxes(see: See) -> None:
    text = see("<p>one</p>", extractor="exact", compat=True, current_viewport_only=False).observe().text
    lines = re.sub(r"\[-?\d+\]", "[#]", text).split("\n")[3:]
    assert lines == ["\t[#] StaticText 'one'", "\t\t[#] InlineTextBox 'one'"]


def test_compat_form_ids_can_be_clicked(see: See) -> None:
    session = see("<button onclick='this.textContent=`Done`'>Go</button>", extractor="exact", compat=True)
    assert session.execute(Click(id_of(session, "button 'Go'"))).error == ""
    assert "button 'Done'" in session.observe().text


def test_the_documented_examples_are_true(see: See) -> None:
    text = (Path(__file__).parents[2] / "docs" / "observations.md").read_text("utf-8")
    page = text.partition("```html\n")[2].partition("```")[0]
    others: dict[str, dict[str, Any]] = {
        "accessibility_tree": {},
        "compat": {"extractor": "exact", "compat": True},
        "max_tokens 120": {"max_tokens": 120},
    }
    shown = re.findall(r"^```text (.+)$", text, re.MULTILINE)
    assert {*others, "html"} < set(shown)
    for name in shown:
        settings = others.get(name, {"kinds": (name,)})
        documented = text.partition(f"```text {name}\n")[2].partition("\n```")[0]
        observation = see(page, **settings).observe()
        seen = observation.render() if name == "accessibility_tree" else observation.text
        assert (anonymous(seen) if name == "compat" else seen) == documented, name


def test_every_setting_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "observations.md").read_text("utf-8")
    for name in ObservationConfig().to_plain():
        assert f"`{name}`" in text, name


def test_closed_shadow_roots_are_in_the_exact_tree(see: See) -> None:
    html = "<div id=host></div><script>host.attachShadow({mode:'closed'}).innerHTML='<button>Inner</button>'</script>"
    seen = {
        (kind, extractor): "Inner" in see(html, kinds=(kind,), extractor=extractor).observe().text
        for kind in ("accessibility_tree", "html")
        for extractor in ("exact", "fast")
    }
    assert seen == {
        ("accessibility_tree", "exact"): True,
        ("html", "exact"): True,
        ("accessibility_tree", "fast"): False,
        ("html", "fast"): False,
    }


LISTED = """\
Tab 0 (current): Shop

heading 'A fine shop'
text 'Open'
text 'daily'
text 'Name'
	[#] textbox 'Your name' value 'Ada' (required)
[#] combobox 'Size'
	[#] option 'S'
	[#] option 'M' (selected)
[#] checkbox 'Gift' (checked)
[#] textbox 'Code' value '•••'
[#] textbox 'Note' value 'one two'
[#] button 'Send'
text 'Read'
	[#] link 'our terms'
	text ', please.'
[#] button 'More'
[#] button 'Shadow'
frame 'Frame' (0.3 screens below)
	text 'Inner'
	[#] button 'Framed'"""


@BOTH
def test_webcanvas_form_ids_can_be_clicked(see: See, extractor: str) -> None:
    session = see(PAGE, kinds=("webcanvas",), extractor=extractor)
    assert anonymous(session.observe().text) == LISTED
    send = id_of(session, "button 'Send'")
    assert session.execute(Click(send)).error == ""
    assert id_of(session, "button 'Sent'") == send
    whole = see(PAGE, kinds=("webcanvas",), extractor=extractor, html_viewport_only=False).observe().text
    assert anonymous(whole) == f"{LISTED}\n[#] button 'Far below'"


SCRIPTED = """<!doctype html><title>Scripted</title><style>.hand { cursor: pointer } p { margin: 0 }</style>
<div class=hand><h3>Card</h3><p>More about it</p><a href=/x>Open</a></div>
<ul class=hand><li>One<li>Two</ul><div id=rows><p>Row</p></div><p id=menu>Report</p><p>Plain</p>
<label class=hand>Name <input></label><div id=all><button>Save</button><p>Beside</p></div>
<div class="hand icon-close" style="width: 20px; height: 20px"></div>
<div style="position: relative; width: 200px"><input aria-label=Street style="width: 200px">
<span style="position: absolute; inset: 0">Street and number</span></div>
<script>rows.onclick = all.onclick = () => {}; menu.oncontextmenu = () => {}</script>"""


@BOTH
def test_elements_that_only_scripts_make_usable_are_marked(see: See, extractor: str) -> None:
    session = see(SCRIPTED, kinds=("set_of_marks", "html"), extractor=extractor)
    marks, html = anonymous(session.observe().text).split("\n\n")[1:]
    only_fast = ["[#] StaticText 'Report'"] if extractor == "fast" else []
    assert [line.split(" required")[0] for line in marks.split("\n")[1:]] == [
        "[#] heading 'Card'", "[#] link 'Open'", "[#] StaticText 'One'", "[#] StaticText 'Two'", "[#] StaticText 'Row'",
        *only_fast, "[#] textbox 'Name'", "[#] button 'Save'",
        "[#] generic '' clickable: True class: 'hand icon-close'", "[#] textbox 'Street'",
    ]  # fmt: skip
    assert "[#] <div>\n\t<h3> Card\n\t<p> More about it\n\t[#] <a" in html
    assert "<ul>\n\t[#] <li> One\n\t[#] <li> Two" in html
    assert '[#] <div class="hand icon-close">' in html
    assert "\n<label> Name" in html
    number = id_of(session, "StaticText 'One'")
    assert session.execute(Click(number)).error == ""
    assert session.observe().text.count("StaticText 'One'") == 1  # listeners are asked for again, at no cost


INNER_TREES = """<!doctype html><title>Inner</title><ul id=list><li>Item 1</ul><p>Plain</p>
<iframe srcdoc="<div id=framed>Framed</div><script>framed.onclick = () => { framed.textContent = 'Went' }</script>">
</iframe><section id=host></section><script>
list.firstChild.addEventListener('pointerdown', () => {});
list.firstChild.onclick = () => {};
const shadow = host.attachShadow({mode: 'open'});
shadow.innerHTML = '<div>Shadow</div><b>Bold</b>';
shadow.firstChild.onclick = () => {};
</script>"""


@BOTH
@pytest.mark.parametrize("form", ["html", "set_of_marks"])
def test_listeners_in_frames_and_shadow_trees_give_elements_ids(see: See, extractor: str, form: str) -> None:
    session = see(INNER_TREES, kinds=(form,), extractor=extractor)
    text = session.observe().text
    with_id = [line for line in text.split("\n")[1:] if "[" in line]
    assert re.findall(r"Item 1|Framed|Shadow|Plain|Bold", "\n".join(with_id)) == ["Item 1", "Framed", "Shadow"]
    framed = next(line for line in with_id if "Framed" in line)
    assert session.execute(Click(Element(re.findall(r"\[(\d+)\]", framed)[0]))).error == ""
    assert "Went" in session.observe().text


def test_page_where_the_pointer_is_the_same_everywhere_has_no_marks(see: See) -> None:
    html = "<style>* { cursor: pointer }</style><p>One</p><button>Save</button>"
    assert anonymous(see(html, kinds=("set_of_marks",)).observe().text).split("\n")[2:] == ["[#] button 'Save'"]


REPLACED = """<label for=s>Fruit</label><div role=combobox tabindex=0 aria-expanded=true>
<select id=s tabindex=-1 style="opacity: 0; pointer-events: none"><option>Apple<option selected>Mango</select>
<div>Mango</div><div role=listbox><div role=option aria-selected=false>Apple</div></div></div>
<select tabindex=-1 style="width: 1px; height: 1px; position: absolute"><option>Clipped</select>
<select aria-label=Year tabindex=-1 style="opacity: 0"><option>2027</select>
<input type=checkbox tabindex=-1 id=c style="width: 1px; height: 1px; opacity: 0"><label for=c>Gift</label>"""


@BOTH
@pytest.mark.parametrize("form", ["accessibility_tree", "html"])
def test_fields_that_widgets_replace_are_omitted(see: See, extractor: str, form: str) -> None:
    text = see(REPLACED, kinds=(form,), extractor=extractor).observe().text
    assert "Clipped" not in text
    assert "option 'Mango'" not in text
    assert "> Mango\n" in text or form == "accessibility_tree"
    assert "2027" in text
    assert "checkbox" in text
    if form == "accessibility_tree" and extractor == "fast":
        assert "value: 'Mango'" in text
