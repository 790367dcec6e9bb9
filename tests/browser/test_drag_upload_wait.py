"""Actions that WebArena does not have: dragging, uploads, dialog answers, wheel, waiting, reloading, typing at the
cursor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Click,
    DismissDialog,
    Drag,
    FocusTab,
    Note,
    Point,
    Press,
    Reload,
    Scroll,
    Selector,
    Type,
    Upload,
    Wait,
)
from pytest_webarena.browser.acting.keys import _NAMED
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import TaskError
from tests.cases import each_case

if TYPE_CHECKING:
    from tests.browser.conftest import Web

Show = Callable[[str], Session]
OpenSession = Callable[..., Session]


def done(session: Session, action: Action) -> str | None:
    outcome = session.execute(action)
    assert outcome.error == ""
    return outcome.value


def js(session: Session, expression: str) -> object:
    return session.read_page(open=None, locate=f"js={expression}").value


# --- dragging

BOXES = """<body style='margin:0'><style>.b {{position: absolute; width: 60px; height: 60px}}</style>
<div id=a class=b style='left:10px;top:10px;background:red' {0}>A</div>
<div id=z class=b style='left:400px;top:{1}px;background:blue' {2}>Z</div><p id=log>-</p>"""


@pytest.mark.matrix(1)
@pytest.mark.parametrize("top", [200, 3000])
def test_drag_sends_html_drag_and_drop_events(show: Show, top: int) -> None:
    session = show(
        BOXES.format(
            "draggable=true ondragstart=\"event.dataTransfer.setData('text', 'A')\"",
            top,
            "ondragover='event.preventDefault()'"
            " ondrop=\"log.textContent = 'got ' + event.dataTransfer.getData('text')\"",
        )
    )
    assert done(session, Drag(Selector("css=#a"), Selector("css=#z"))) == "to generic 'Z'"
    assert js(session, "log.textContent") == "got A"


def test_drag_sends_mouse_moves(show: Show) -> None:
    session = show(
        BOXES.format("", 200, "")
        + """<script>let on = false, moves = 0;
        a.onmousedown = () => on = true;
        onmousemove = e => { if (on) { moves++; a.style.left = e.clientX + 'px'; a.style.top = e.clientY + 'px' } };
        onmouseup = e => { if (on) log.textContent = moves > 3 ? e.clientX + ',' + e.clientY : 'jumped'; on = false }
        </script>"""
    )
    done(session, Drag(Selector("css=#a"), Point(300, 150)))
    assert js(session, "log.textContent") == "300,150"
    done(session, Drag(Point(310, 160), Point(0.5, 0.5, relative=True)))
    assert js(session, "log.textContent") == "640,360"


def test_failed_drag_releases_the_mouse(show: Show) -> None:
    session = show(BOXES.format("", 200, "") + "<script>onmouseup = () => log.textContent = 'up'</script>")
    assert "No element matches" in session.execute(Drag(Selector("css=#a"), Selector("css=#none"))).error
    assert js(session, "log.textContent") == "up"


LIST = """<ol id=list><li id=One>One<li id=Two>Two<li id=Three>Three<li id=Four>Four</ol><script>
let held = null, silent = false;
const sort = over => {
  if (silent || !over || over === held || over.parentNode !== list) return;
  const all = [...list.children], later = all.indexOf(held) < all.indexOf(over);
  if (later) over.after(held); else over.before(held);
  silent = true;
  setTimeout(() => silent = false, 400);
};
for (const item of list.children) {
  item.draggable = NATIVE;
  item.ondragstart = () => held = item;
  item.ondragover = event => { event.preventDefault(); sort(event.target); };
  item.onmousedown = event => {
    if (item.draggable) return;
    event.preventDefault();
    window.timer = setTimeout(() => held = item, WAIT);
  };
}
onmousemove = event => { held ? sort(event.target) : clearTimeout(window.timer) };
onmouseup = () => held = null;
</script>"""
"""As SortableJS and dnd-kit: it ignores the mouse while its items move, and may begin only if the button is held."""


@pytest.mark.matrix(1)
@each_case(("native", "wait"), [("true", 0), ("false", 0), ("false", 120)])
@pytest.mark.parametrize(
    ("item", "to", "order"), [("One", "Four", "Two,Three,Four,One"), ("Four", "One", "Four,One,Two,Three")]
)
def test_drag_sorts_a_list(show: Show, native: str, wait: int, item: str, to: str, order: str) -> None:
    session = show(LIST.replace("NATIVE", native).replace("WAIT", str(wait)))
    done(session, Drag(Selector(f"css=#{item}"), Selector(f"css=#{to}")))
    assert js(session, "[...list.children].map(item => item.id).join()") == order


# --- uploads


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Two files that an agent may upload."""
    for name in ("cv.pdf", "photo.png"):
        (tmp_path / name).write_text(f"this is {name}")
    return {name: tmp_path / name for name in ("cv.pdf", "photo.png")}


FORM = """<input type=file id=one {0}><button onclick='one.click()'>Choose…</button>
<label for=one>Label</label><p>Text</p>"""
ZONE = """<div id=zone style="width:200px; height:80px"><p>Drop files here</p></div><p id=log>-</p><script>
zone.ondragenter = event => event.preventDefault();
zone.ondragover = event => event.preventDefault();
zone.ondrop = async event => {
  event.preventDefault();
  const files = [...event.dataTransfer.files];
  const texts = await Promise.all(files.map(async file => `${file.name} ${file.type} ${await file.text()}`));
  log.textContent = texts.join();
};
</script>"""
CHOSEN = "[...one.files].map(f => f.name + ':' + f.size).join()"


@each_case("frame", ["", "http://a.test/zone", "http://b.test/zone"])
def test_files_are_dropped_onto_zone_without_file_field(
    open_session: OpenSession, web: Web, files: dict[str, Path], frame: str
) -> None:
    session = open_session(uploads=files)
    if frame:
        web.put(frame, ZONE)
    session.open_tabs([web.put("/", f"<iframe src={frame}></iframe>" if frame else ZONE)])
    way = "css=iframe >> internal:control=enter-frame >> " if frame else ""
    assert done(session, Upload(Selector(f"{way}text=Drop files here"), ("cv.pdf", "photo.png"))) is not None
    text = "cv.pdf application/pdf this is cv.pdf,photo.png image/png this is photo.png"
    assert session.read_page(open=None, locate=f"{way}css=#log").texts == (text,)


@pytest.mark.matrix(2)
@pytest.mark.parametrize("target", ["css=#one", "text=Choose…", "text=Label"])
def test_upload_works_through_any_element_that_opens_the_dialog(
    open_session: OpenSession, web: Web, files: dict[str, Path], target: str
) -> None:
    session = open_session(uploads=files)
    session.open_tabs([web.put("/", FORM.format(""))])
    assert done(session, Upload(Selector(target), ("cv.pdf",))) == "cv.pdf"
    assert js(session, CHOSEN) == "cv.pdf:14"


HIDING = """<div style="position:relative">{0}<div style="position:absolute; inset:0">{1}</div></div>"""
FIELD = "<input type=file id=one multiple {0}>"


@each_case(
    ("html", "target"),
    [
        (HIDING.format(FIELD.format("aria-label=File"), "Drop here"), "css=#one"),
        (HIDING.format(FIELD.format(""), "<label for=one>Browse</label>"), "text=Browse"),
        ("<div id=t>" + FIELD.format("hidden") + "<p>Drop here</p></div>", "css=#t"),
        (FIELD.format("hidden") + HIDING.format("<label for=one>Browse</label>", "Cover"), "text=Browse"),
    ],
)
def test_file_field_takes_files_without_a_click(
    open_session: OpenSession, web: Web, files: dict[str, Path], html: str, target: str
) -> None:
    session = open_session(uploads=files)
    listen = "for (const kind of ['click', 'input', 'change']) addEventListener(kind, e => log.append(e.type, ' '))"
    session.open_tabs([web.put("/", f"{html}<p id=log></p><script>{listen}</script>")])
    outcome = session.execute(Upload(Selector(target), ("cv.pdf", "photo.png")))
    assert outcome.error == ""
    assert outcome.target is not None
    assert js(session, CHOSEN) == "cv.pdf:14,photo.png:17"
    assert js(session, "log.textContent") == "input change "


def test_open_file_dialog_takes_the_files_of_any_target(
    open_session: OpenSession, web: Web, files: dict[str, Path]
) -> None:
    session = open_session(uploads=files)
    page = FORM.format("hidden") + "<p onclick='clicked.value = 1'>Clicked</p><input id=clicked>"
    session.open_tabs([web.put("/", page)])
    upload = Upload(Selector("text=Clicked"), ("cv.pdf",))
    done(session, Click(Selector("text=Choose…")))
    done(session, upload)
    assert (js(session, CHOSEN), js(session, "clicked.value")) == ("cv.pdf:14", "")
    done(session, Click(Selector("text=Choose…")))
    done(session, Click(Selector("css=#clicked")))  # so the dialog counts as cancelled
    assert "opened no file dialog" in session.execute(upload).error


def test_open_file_dialog_is_reported_and_can_be_answered_later(
    open_session: OpenSession, web: Web, files: dict[str, Path]
) -> None:
    session = open_session(uploads=files)
    session.open_tabs([web.put("/", FORM.format("multiple hidden"))])
    done(session, Click(Selector("text=Choose…")))
    message = "The page opened a dialog to choose a file. Available files: cv.pdf, photo.png."
    assert session.observe().notes == (message,)
    done(session, Upload(None, ("cv.pdf", "photo.png")))
    assert js(session, CHOSEN) == "cv.pdf:14,photo.png:17"
    done(session, Upload(Selector("css=#one"), ("cv.pdf",)))  # invisible, but a solution may name it
    assert js(session, CHOSEN) == "cv.pdf:14"


def test_upload_error_says_what_is_wrong(open_session: OpenSession, web: Web, files: dict[str, Path]) -> None:
    session = open_session(uploads={**files, "gone.txt": Path("/nonexistent/gone.txt")})
    session.open_tabs([web.put("/", FORM.format(""))])
    field = Selector("css=#one")

    def error(action: Action) -> str:
        return session.execute(action).error

    assert "There is no file '/etc/passwd' to upload" in error(Upload(field, ("/etc/passwd",)))
    assert "did you mean 'cv.pdf'?" in error(Upload(field, ("cv.pfd",)))
    assert "Say which file" in error(Upload(field, ()))
    refused = error(Upload(Selector("text=Text"), ("cv.pdf",)))
    assert "opened no file dialog" in refused
    assert "no files can be dropped on it" in refused
    assert "No file dialog is open" in error(Upload(None, ("cv.pdf",)))
    assert "Only one file can be chosen" in error(Upload(field, ("cv.pdf", "photo.png")))
    assert "can't be chosen by typing" in error(Type(field, "cv.pdf"))
    for attribute, reason in {"disabled": "is disabled", "webkitdirectory": "takes a folder"}.items():
        session.read_page(open=None, locate=f"js=one.{attribute} = true")
        assert reason in error(Upload(field, ("cv.pdf",)))
        session.read_page(open=None, locate=f"js=one.{attribute} = false")
    assert js(session, CHOSEN) == ""
    with pytest.raises(TaskError, match=r"expected a file for 'gone.txt', found none"):
        session.execute(Upload(field, ("gone.txt",)))


# --- dialogs


def test_prompt_is_answered_with_text(open_session: OpenSession, web: Web) -> None:
    session = open_session(dialogs="hold")
    page = "<button onclick=\"setTimeout(() => log.textContent = prompt('Who?', 'Ada'))\">B</button><p id=log>-</p>"
    session.open_tabs([web.put("/", page)])
    for action, shown in (
        (AcceptDialog(), "Ada"),
        (AcceptDialog("Grace 漢字"), "Grace 漢字"),
        (AcceptDialog(""), ""),
        (DismissDialog(), ""),
    ):
        done(session, Click(Selector("text=B")))
        assert session.observe().dialog == "prompt 'Who?' (proposed answer: 'Ada')"
        done(session, action)
        assert js(session, "log.textContent") == shown
    for action in (AcceptDialog(), DismissDialog()):
        assert session.execute(action).error == "No dialog is open."


# --- wheel and pixels


def test_scroll_by_pixels(show: Show) -> None:
    session = show("<body style='margin:0'><div style='height:5000px'>x</div>")
    done(session, Scroll("down", pixels=300))
    done(session, Scroll("up", pixels=50))
    assert js(session, "scrollY") == 250
    for far in (0, -5, float("nan"), float("inf")):
        assert "more than 0" in session.execute(Scroll("down", pixels=far)).error


def test_scroll_at_point_sends_wheel_events_there(show: Show) -> None:
    session = show(
        "<body style='margin:0'><div id=d style='height:200px;overflow:auto'><div style='height:5000px'></div></div>"
        "<div id=map style='height:200px'></div><div style='height:5000px'></div>"
        "<script>const turned = e => { e.preventDefault(); map.title = e.deltaY };"
        "map.addEventListener('wheel', turned, {passive: false})</script>"
    )
    done(session, Scroll("down", Point(100, 100), pixels=120))
    assert (js(session, "d.scrollTop"), js(session, "scrollY")) == (120, 0)
    outcome = session.execute(Scroll("up", Point(100, 300), pixels=40))  # such as a map that zooms
    assert (outcome.error, outcome.events) == ("", ())
    assert (js(session, "map.title"), js(session, "scrollY")) == ("-40", 0)


def test_scroll_reports_what_moved(show: Show) -> None:
    session = show(
        "<body style='margin:0'><p id=flat style='height:50px; margin:0'>Flat</p>"
        "<div id=box style='height:50px; overflow:auto'><p id=inner style='height:200px'>Tall</p></div>"
    )

    def scrolled(target: Point | Selector | None, pixels: float = 100) -> tuple[str, ...]:
        outcome = session.execute(Scroll("down", target, pixels))
        return (outcome.error, *(event.text for event in outcome.events))

    flat, inner = Selector("css=#flat"), Selector("css=#inner")
    assert scrolled(flat) == ("Nothing moved: neither paragraph 'Flat' nor its page scrolls down.",)
    assert scrolled(inner, 5000) == ("",)
    assert scrolled(inner) == ("Nothing moved: this is already at the bottom.",)
    assert scrolled(Point(20, 20)) == ("", "The mouse wheel was turned over paragraph 'Flat', but nothing scrolled.")
    session.read_page(open=None, locate="js=box.remove()")
    assert scrolled(None) == ("Nothing moved: nothing on this page scrolls down.",)
    session.read_page(open=None, locate="js=flat.style.marginBottom = '5000px'")
    assert scrolled(flat) == ("", "The page scrolled, because nothing around paragraph 'Flat' scrolls further.")
    assert scrolled(None) == scrolled(Selector("css=body")) == scrolled(Point(20, 20)) == ("",)


# --- keyboard


def test_type_without_target_types_at_the_cursor(show: Show) -> None:
    session = show("<input id=i value=old autofocus><iframe srcdoc='<input>'></iframe>")
    done(session, Click(Selector("css=#i")))
    done(session, Type(None, "Zoë 漢字 😀", clear=True))
    assert js(session, "i.value") == "Zoë 漢字 😀"
    done(session, Type(None, "", clear=True))
    assert js(session, "i.value") == ""


def test_every_named_key_can_be_pressed(show: Show) -> None:
    session = show(
        "<textarea id=t></textarea><script>keys = 0; t.onkeydown = e => { keys++; e.preventDefault() }</script>"
    )
    done(session, Click(Selector("css=#t")))
    tab = session._tabs.current

    async def press_all() -> None:  # without waiting for the page after each
        for key in _NAMED:
            await tab.page.keyboard.press(key)

    session._engine.run(press_all(), timeout=30.0, what="pressing all keys")
    assert js(session, "keys") == len(_NAMED)


@pytest.mark.matrix(2)
@pytest.mark.parametrize("character", ["é", "漢", "😀", "ß", "€"])
def test_characters_without_a_key_can_be_pressed(show: Show, character: str) -> None:
    session = show("<input id=i autofocus>")
    done(session, Press(character, Selector("css=#i")))
    assert js(session, "i.value") == character


# --- navigation, waiting, notes


def test_reload_loads_page_again_within_deadline(show: Show, web: Web) -> None:
    session = show("<p id=p>-</p><script>p.textContent = 'loaded ' + performance.navigation.type</script>")
    assert done(session, Reload()) == "http://a.test/"
    assert js(session, "p.textContent") == "loaded 1"
    web.slow("/", 60.0, "")
    assert "did not answer within 2.5 s" in session.execute(Reload()).error
    assert js(session, "p.textContent") == "loaded 1"


def test_wait_ends_when_page_changes(show: Show) -> None:
    session = show("<button onclick=\"setTimeout(() => p.textContent = 'done', 1500)\">B</button><p id=p>-</p>")
    done(session, Click(Selector("text=B")))
    began = time.monotonic()
    done(session, Wait(10))
    assert js(session, "p.textContent") == "done"
    assert time.monotonic() - began < 9.0
    done(session, Wait(0.05))  # nothing changes
    for seconds in (-1, float("nan"), float("inf")):
        assert "how many seconds" in session.execute(Wait(seconds)).error


def test_wait_follows_navigation(show: Show, web: Web) -> None:
    web.put("/next", "<title>Next</title>")
    session = show("<script>setTimeout(() => location = '/next', 600)</script>")
    done(session, Wait(10))
    assert session.observe().title == "Next"


def test_note_action_is_recorded_only(show: Show) -> None:
    session = show("<title>Here</title>")
    assert done(session, Note("12 in stock")) == "12 in stock"
    assert session.observe().notes == ()


# --- selectors of the Playwright grammar have Playwright's meaning

PAGE = """<title>T</title><nav><a href='#a'>Cart</a> <a href='#b'>Cart (2)</a></nav>
<label>Name <input id=name></label><input placeholder='Search here' id=q>
<img alt='A dog' width=9 height=9 onclick="hit('dog')"><ul><li>One <button onclick="hit('one')">Buy</button>
<li>Two <button data-testid=two onclick="hit('two')">Buy</button></ul>
<select aria-label=Size><option>S<option>M</select><label><input type=checkbox id=box>Agree</label>
<button disabled>Off</button><h2 title='Big' onclick="hit('h2')">Head</h2><p id=log>-</p>
<iframe srcdoc="<button onclick='parent.hit(`frame`)'>Inner</button>"></iframe>
<script>function hit(what) { log.textContent = what }</script>"""


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("code", "expression", "value"),
    [
        ('page.get_by_role("link", name="Cart", exact=True).click()', "location.hash", "#a"),
        ('page.get_by_role("link", name="cart").nth(1).click()', "location.hash", "#b"),
        ('page.get_by_role("link", name=re.compile(r"\\(2\\)$")).click()', "location.hash", "#b"),
        ('page.get_by_label("Name").fill("Ada")', "document.getElementById('name').value", "Ada"),
        ('page.get_by_placeholder("search").fill("tea")', "q.value", "tea"),
        ('page.get_by_alt_text("dog").click()', "log.textContent", "dog"),
        ('page.get_by_title("Big").click()', "log.textContent", "h2"),
        ('page.get_by_test_id("two").click()', "log.textContent", "two"),
        ('page.get_by_role("listitem").filter(has_text="One").get_by_role("button").click()', "log.textContent", "one"),
        ('page.locator("li", has_text="Two").get_by_text("Buy").click()', "log.textContent", "two"),
        (
            'page.get_by_role("listitem").filter(has=page.get_by_test_id("two")).get_by_text("Buy").click()',
            "log.textContent",
            "two",
        ),
        ('page.locator("li").last.get_by_role("button").click()', "log.textContent", "two"),
        ('page.frame_locator("iframe").get_by_role("button", name="Inner").click()', "log.textContent", "frame"),
        ('page.get_by_label("Size").select_option("M")', "document.querySelector('select').value", "M"),
        ('page.get_by_label("Agree").check()', "String(box.checked)", "true"),
    ],
)
def test_playwright_grammar_locators_find_elements(show: Show, code: str, expression: str, value: str) -> None:
    session = show(PAGE)
    done(session, grammar("playwright").parse(f"```{code}```"))
    assert js(session, expression) == value


def test_tabs_can_be_focused_while_a_file_dialog_is_open(show: Show) -> None:
    session = show(FORM.format(""))
    done(session, Click(Selector("text=Choose…")))
    assert session.observe().notes == ("The page opened a dialog to choose a file. There are no files to upload.",)
    done(session, FocusTab(0))


def test_drag_passes_the_points_of_its_path(show: Show) -> None:
    session = show(
        "<title>0</title><script>let held = false, seen = [];"
        "onmousedown = () => held = true;"
        "onmousemove = event => { if (held) seen.push(event.clientX + ',' + event.clientY); };"
        "onmouseup = () => { held = false; document.title = ['50,300', '400,50', '600,300'].map("
        "  place => seen.indexOf(place)).join(' '); };</script>"
    )
    session.execute(Drag(Point(50, 50), Point(600, 300), path=(Point(50, 300), Point(400, 50))))
    passed = [int(each) for each in session.observe().title.split()]
    assert len(passed) == 3
    assert -1 < passed[0] < passed[1] < passed[2]
