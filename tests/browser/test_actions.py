"""Actions on real pages, and the error when an action has no effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_webarena.actions import Action, Click, Element, Goto, Hover, Noop, Point, Scroll, Selector, Target
from pytest_webarena.browser.session import Session

if TYPE_CHECKING:
    from tests.browser.conftest import Web

from tests.browser.acting import LOG, by_id, done, logged
from tests.cases import each_case

Show = Callable[[str], Session]


# --- mouse


def test_click_hits_its_element_and_records_the_target(show: Show) -> None:
    session = show(f"{LOG}<button data-testid=go onclick=\"log('hit')\">Go <b>now</b></button>")
    outcome = session.execute(Click(by_id(session, "button 'Go now'")))
    assert logged(session) == ("hit",)
    target = outcome.target
    assert target is not None
    assert (target.role, target.name, target.tag, target.text) == ("button", "Go now", "button", "Go now")
    assert target.selector == 'button[data-testid="go"]'
    assert target.x is not None
    assert target.x > 0
    assert set(outcome.seconds) == {"act", "settle"}


@each_case(
    ("click", "events"),
    [
        (Click(Selector("css=#b"), count=2), ("click", "click", "dblclick")),
        (Click(Selector("css=#b"), button="right"), ("contextmenu",)),
        (Click(Selector("css=#b"), modifiers=("Shift",)), ("click+shift",)),
        (Hover(Selector("css=#b")), ("over",)),
    ],
)
def test_click_variants_send_their_mouse_events(show: Show, click: Action, events: tuple[str, ...]) -> None:
    session = show(
        f"<button id=b>B</button>{LOG}<script>for (const t of ['click', 'dblclick', 'contextmenu'])"
        "b.addEventListener(t, e => log(t + (e.shiftKey ? '+shift' : '')));"
        f"{'b.onmouseenter = () => log(`over`)' if isinstance(click, Hover) else ''}</script>"
    )
    done(session, click)
    assert logged(session) == events
    done(session, Hover(Point(600, 600)))  # where no element is


def test_click_scrolls_to_element_out_of_view(show: Show) -> None:
    session = show(
        "<header style='position:fixed;top:0;height:80px;width:100%;background:gray'>Bar</header>"
        f"<div style='height:3000px'></div><button onclick=\"log('hit')\">Far</button>"
        f"<div style='height:3000px'></div>{LOG}"
    )
    target = session.execute(Click(Selector("text=Far"))).target
    assert logged(session) == ("hit",)
    assert target is not None
    assert target.y is not None
    assert target.y > 3000  # where it was before scrolling, as in the screenshot


def test_text_and_wrapped_links_can_be_clicked(show: Show) -> None:
    session = show(
        f"{LOG}<div style='width:120px'><a href='#x' onclick=\"log('link')\">a link that wraps over lines</a></div>"
        "<p onclick=\"log('text')\">Plain text</p>"
    )
    done(session, Click(by_id(session, "link 'a link")))
    done(session, Click(by_id(session, "StaticText 'Plain text'")))
    assert logged(session) == ("link", "text")


def test_click_on_hidden_checkbox_uses_its_label(show: Show) -> None:
    session = show(
        "<style>input {position: absolute; opacity: 0; width: 1px; height: 1px}"
        "span {display: inline-block; width: 40px; height: 20px; background: red}</style>"
        "<label><input type=checkbox aria-label=Nice><span></span></label>"
    )
    done(session, Click(by_id(session, "checkbox 'Nice'")))
    assert "checkbox 'Nice' focused: True checked: true" in session.observe().text


def test_click_on_point_hits_these_coordinates(show: Show) -> None:
    session = show(
        f"<body style='margin:0'><button style='width:100px;height:50px' onclick=\"log('hit')\">P</button>{LOG}"
    )
    outcome = session.execute(Click(Point(50, 25)))
    assert logged(session) == ("hit",)
    assert outcome.target is not None
    assert outcome.target.name == "P"
    assert "outside the viewport" in session.execute(Click(Point(5000, 10))).error


def test_element_in_scrolled_frame_is_clicked(show: Show) -> None:
    session = show(
        "<div style='height:900px'></div><iframe style='border:7px solid;padding:11px;height:100px' srcdoc=\""
        "<div style='height:500px'></div><button onclick='this.textContent=`hit`'>Inner</button>\"></iframe>"
    )
    session.execute(Scroll("down"))
    done(session, Click(Selector("css=iframe >> internal:control=enter-frame >> text=Inner")))
    assert "button 'hit'" in session.observe().text


# --- targets that can't be clicked are reported, and nothing else is clicked instead


@each_case(
    ("html", "message"),
    [
        ("<button id=t disabled>T</button>", "is disabled"),
        ("<button id=t style='position:absolute;left:-9999px'>T</button>", "can't be scrolled into view"),
        (
            "<button id=t>T</button><div role=dialog aria-label=News style='position:fixed;inset:0'>x</div>",
            "covered by dialog 'News'",
        ),
        ("<button id=t style='visibility:hidden;display:none'>T</button>", "is not visible"),
        ("<select id=t style='position:absolute; clip:rect(0 0 0 0)'></select>", "the page does not draw it"),
    ],
)
def test_click_error_says_why_element_cannot_be_clicked(show: Show, html: str, message: str) -> None:
    session = show(html)
    assert message in session.execute(Click(Selector("css=#t"))).error


def test_stale_id_is_an_error_and_clicks_nothing(show: Show, web: Web) -> None:
    session = show(f"{LOG}<div id=box><button onclick=\"log('old')\">Old</button></div>")
    old = by_id(session, "button 'Old'")
    done(session, Click(Selector("css=#box")))  # nothing there to change it
    session.read_page(open=None, locate="js=box.innerHTML = `<button onclick=\"log('new')\">New</button>`")
    outcome = session.execute(Click(old))
    assert (
        outcome.error
        == f"Element [{old.id}] (button 'Old') is no longer on the page. Use an id of the latest observation."
    )
    assert "old" not in logged(session)[1:]
    assert "new" not in logged(session)


def test_id_of_another_document_is_never_reused(session: Session, web: Web) -> None:
    # Pages of two sites live in two processes, whose ids both start from 1 and so collide.
    page = "<title>{0}</title><button onclick='document.title=`hit`'>{0}</button>"
    session.open_tabs([web.put("http://one.test/", page.format("One"))])
    old = by_id(session, "button 'One'")
    done(session, Goto(web.put("http://two.test/", page.format("Two"))))
    assert "not on the page shown now" in session.execute(Click(old)).error
    assert session.observe().title == "Two"
    new = by_id(session, "button 'Two'")
    done(session, Goto("http://one.test/"))
    assert "not on the page shown now" in session.execute(Click(new)).error
    assert session.observe().title == "One"


def test_unknown_id_is_an_error(show: Show) -> None:
    session = show("<button>B</button>")
    session.observe()
    assert "There is no element [99999]" in session.execute(Click(Element("99999"))).error
    assert "There is no element [nonsense]" in session.execute(Click(Element("nonsense"))).error
    assert "There is no element [999" in session.execute(Click(Element("9" * 5_000))).error


def test_observation_repeats_error_until_an_action_works(show: Show) -> None:
    session = show("<button>B</button>")
    error = session.execute(Click(Element("99999"))).error
    assert session.observe().error == error
    done(session, Noop())
    assert session.observe().error == ""
    session.note_error("that was no action")
    assert session.observe().error == "that was no action"


# --- selectors


def test_action_waits_for_selector_to_match(calm: Session, web: Web) -> None:
    late = '<button onclick="document.title = this.textContent">Late</button>'
    page = f"<title>early</title><script>setTimeout(() => document.body.innerHTML = '{late}', 300)</script>"
    calm.open_tabs([web.put("/", page)])
    done(calm, Click(Selector('role=button[name="Late"]')))
    assert calm.observe().title == "Late"


LEAVES = """<button id=save>Save</button><script>
document.getAnimations = () => {  // as asked for by who looks for a place to click, and waits for them to end
  setTimeout = () => 0;
  location = '%s';
  return [{playState: 'running', finished: new Promise(() => {}),
           effect: {target: document.body, getComputedTiming: () => ({endTime: 1})}}];
};
</script>"""


def test_action_follows_navigation_while_waiting_for_selector(calm: Session, web: Web) -> None:
    """Two navigations: one during the first lookup, one during the wait."""
    web.put("/next", LEAVES % "/end")
    web.put("/end", f"{LOG}<button id=save onclick=\"log('hit')\">Save</button>")
    calm.open_tabs([web.put("/", LEAVES % "/next")])
    done(calm, Click(Selector("css=#save")))
    assert logged(calm) == ("hit",)


@each_case(
    ("target", "message"),
    [
        (Selector("css=.missing"), "No element matches 'css=.missing' on http://a.test/ (waited 0.8 s)."),
        (Selector("css=:::"), "is not a selector"),
        (Selector("role=button[nonsense=1]"), "is not a selector"),
    ],
)
def test_unmatched_selector_is_an_error(show: Show, target: Target, message: str) -> None:
    assert message in show("<p>x").execute(Click(target)).error


def test_click_waits_until_element_is_no_longer_covered(calm: Session, web: Web) -> None:
    page = (
        f"{LOG}<button onclick=\"log('hit')\">B</button><div id=veil style='position:fixed;inset:0'></div>"
        "<script>setTimeout(() => veil.remove(), 300)</script>"
    )
    calm.open_tabs([web.put("/", page)])
    done(calm, Click(Selector("text=B")))
    assert logged(calm) == ("hit",)
