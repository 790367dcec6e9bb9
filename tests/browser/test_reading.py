"""What checks read of pages, without effects that the agent could notice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import Back, Click, Goto, NewTab, Scroll, Selector
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.reading import page_reading
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import SiteError, TaskError
from tests.browser.conftest import CALM, QUICK, Web
from tests.cases import each_case
from tests.processes import wait_until

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from tests.browser.conftest import Request

Show = Callable[[str], Session]
PAGE = """<title>T</title><h1>Head &amp; line</h1><p class=x>One</p><p class=x>Two <b>bold</b></p><p hidden>Hidden</p>
<input value=typed><textarea>area</textarea><select><option>A<option selected>B</select><input type=checkbox checked>"""


TEXTS: dict[str, tuple[str, ...]] = {
    "css=.x": ("One", "Two bold"),
    "role=heading": ("Head & line",),
    "text=One": ("One",),
    "css=input >> nth=0": ("typed",),
    "css=textarea": ("area",),
    "css=select": ("B",),
    "css=[type=checkbox]": ("true",),
    "css=.none": (),
    "js=document.title": ("T",),
    "js=1 + 1": ("2",),
    "js=2.5": ("2.5",),
    "js=null": (),
    "js=document.querySelector('.none')": (),
    "js=document.querySelector('h1')": ("Head & line",),
    "js=document.querySelectorAll('.x')": ("One", "Two bold"),
    "js=[...document.querySelectorAll('.x')].map(e => e.innerText)": ("One", "Two bold"),
    "js=const a = 1; a > 0": ("true",),
    "js=Promise.resolve('later')": ("later",),
}


@pytest.fixture(scope="module")
def page_session(engine: BrowserEngine) -> Iterator[Session]:
    """A session at `PAGE`, for tests that only read it."""
    web = Web()
    with engine.session(SessionConfig(proxy=web.proxy, deadlines=QUICK)) as session:
        session.open_tabs([web.put("/", PAGE)])
        yield session
    web.close()


def test_locators_read_the_current_tab(page_session: Session) -> None:
    session = page_session
    readings = {locate: session.read_page(open=None, locate=locate) for locate in TEXTS}
    assert {locate: reading.texts for locate, reading in readings.items()} == TEXTS
    assert {(each.url, each.status, each.error) for each in readings.values()} == {("http://a.test/", 200, "")}


@each_case("locate", ["css=.x", "js=document.title"])
def test_locators_read_a_new_page(page_session: Session, locate: str) -> None:
    reading = page_session.read_page(open="http://a.test/", locate=locate)
    assert reading.texts == TEXTS[locate]
    assert (reading.url, reading.status, reading.error) == ("http://a.test/", 200, "")


def test_script_values_keep_their_type(page_session: Session) -> None:
    assert page_session.read_page(open=None, locate="js=({a: [1, true, null]})").value == {"a": [1, True, None]}
    assert page_session.read_page(open=None, locate="js=undefined").value is None


def test_whole_page_text_excludes_hidden_elements(page_session: Session) -> None:
    reading = page_session.read_page(open=None, locate=None)
    assert "Two bold" in reading.texts[0]
    assert "Hidden" not in reading.texts[0]
    assert "<p hidden" in reading.html


def test_error_thrown_by_script_is_recorded(page_session: Session) -> None:
    reading = page_session.read_page(open=None, locate="js=document.querySelector('.none').innerText")
    assert reading.texts == ()
    assert reading.error.startswith("TypeError: Cannot read properties of null")
    assert reading.invalid == ""
    broken = page_session.read_page(open=None, locate="js=((")
    assert "SyntaxError" in broken.error
    assert broken.invalid == f"expected JavaScript, found '((': {broken.error}"
    forged = page_session.read_page(
        open=None, locate="js=JSON.parse(document.title)"
    )  # the page's fault, not the locator's
    assert (forged.error[:11], forged.invalid) == ("SyntaxError", "")
    prepared = page_session.read_page(open="http://a.test/", locate="css=p", prepare=["return 1"])
    assert prepared.invalid.startswith("expected JavaScript, found 'return 1': SyntaxError")


def test_unserialisable_script_result_is_an_error(page_session: Session) -> None:
    for source in ("window", "(a => a.a = a)({})", "Symbol('x')", "({get a() { throw new Error('g') }})"):
        reading = page_session.read_page(open=None, locate=f"js={source}")
        assert (reading.texts, reading.invalid) == ((), ""), source
        assert reading.error, source
    prepared = page_session.read_page(open="http://a.test/", locate="css=p", prepare=["window"])
    assert prepared.error.startswith("preparation 'window': the browser can't return its result")


def test_text_above_the_size_limit_is_a_task_error(calm: Session, web: Web) -> None:
    calm.open_tabs([web.put("/", PAGE)])
    with pytest.raises(TaskError, match=r"at most 10,000,000 characters to judge on http://a\.test/, found 10,000,001"):
        calm.read_page(open=None, locate="js='x'.repeat(10_000_001)")


def test_prepare_scripts_run_before_locator(show: Show) -> None:
    session = show("<details><summary>S</summary><p>inside</p></details>")
    opened = session.read_page(
        open="http://a.test/",
        locate="js=document.querySelector('details').open",
        prepare=["document.querySelector('summary').click()"],
    )
    assert opened.texts == ("true",)
    sources = ["nonsense()", "document.body.remove()"]
    failed = session.read_page(open="http://a.test/", locate="css=summary", prepare=sources)
    assert failed.texts == ("S",)  # the second one did not run any more
    assert failed.error == "preparation 'nonsense()': ReferenceError: nonsense is not defined"


def test_checks_read_page_with_strict_content_security_policy(session: Session, web: Web) -> None:
    policy = "default-src 'self'; require-trusted-types-for 'script'"
    session.open_tabs([web.file("/", "<title>T</title>", "text/html", Content_Security_Policy=policy)])
    assert session.read_page(open=None, locate="js=document.title").texts == ("T",)


def test_reading_does_not_change_the_agents_tabs(session: Session, web: Web) -> None:
    web.put("/", "<title>Agent</title><p>x<div style='height:3000px'>")
    web.put("/other", "<title>Other</title><p>o<script>open('/pop'); alert('hi')</script>")
    session.open_tabs(["http://a.test/"])
    session.execute(Scroll("down"))
    before = session.observe()
    assert session.read_page(open="/other", locate="css=p").texts == ("o",)
    after = session.observe()
    assert (after.text, after.tabs, after.scroll) == (before.text, before.tabs, before.scroll)
    assert [state.url for state in session.tabs()] == ["http://a.test/"]


def test_new_page_has_the_agents_cookies(session: Session, web: Web) -> None:
    web.put("/in", "<script>document.cookie = 'who=ada'</script>")
    web.put("/who", lambda request: f"<p>{request.headers.get('Cookie', 'nobody')}</p>")
    session.open_tabs(["http://a.test/in"])
    assert session.read_page(open="/who", locate="css=p").texts == ("who=ada",)


def test_reading_reports_redirects_status_and_load_errors(session: Session, web: Web) -> None:
    web.redirect("/from", "/to")
    web.put("/to", "<p>to")
    reading = session.read_page(open="http://a.test/from", locate="css=p")
    assert (reading.url, reading.status, reading.texts) == ("http://a.test/to", 200, ("to",))
    assert session.read_page(open="http://a.test/gone", locate=None).status == 404
    with pytest.raises(SiteError, match=r"expected a page within 2\.5 s, found: .*ERR_TUNNEL"):
        session.read_page(open="https://a.test/", locate=None)


def test_status_of_current_page_is_that_of_its_document(session: Session, web: Web) -> None:
    down = web.reply("<title>Down</title><a href=/ok>ok</a><iframe src=/part></iframe>", status=503)
    web.put("/down", down)
    web.put("/part", web.reply("<p>part", status=500))
    web.put("/none", web.reply(status=204))
    web.redirect("/from", "/down")
    web.put("/ok", "<a href=/none>none</a><a id=new target=_blank href=/from>new</a><iframe src=/part></iframe>")

    def seen() -> list[int | None]:
        return [session.read_page(open=None, locate=None).status, *(tab.status for tab in session.tabs())]

    session.open_tabs(["http://a.test/ok"])
    assert seen() == [200, 200]
    session.execute(Click(Selector("text=none")))  # the page stays
    session.read_page(open=None, locate="js=void history.pushState({}, '', '/down')")
    assert seen() == [200, 200]
    session.execute(Click(Selector("text=new")))
    assert session.tabs()[1].url == "http://a.test/down"
    assert seen() == [503, 200, 503]
    session.execute(Click(Selector("text=ok")))
    assert seen() == [200, 200, 200]
    session.execute(Back())
    assert seen() == [503, 200, 503]
    session.execute(Goto("about:blank"))
    assert seen() == [None, 200, None]


def test_download_or_empty_response_is_reported(session: Session, web: Web) -> None:
    """The agent may have put a file there, or removed a page, so its trial stays in the success rate."""
    web.file("/dl", "hello", "application/octet-stream", Content_Disposition="attachment; filename=x.bin")
    web.put("/204", web.reply(status=204))
    for path in ("/dl", "/204"):
        reading = session.read_page(open=f"http://a.test{path}", locate=None)
        assert reading.texts == ()
        assert reading.error.startswith("it is a download or an answer without content"), path


def test_late_content_is_found(calm: Session, web: Web) -> None:
    web.put("/", "<script>setTimeout(() => document.body.innerHTML = '<p>late</p>', 400)</script>")
    assert calm.read_page(open="http://a.test/", locate="css=p").texts == ("late",)


@each_case(
    ("page", "locate", "message"),
    [
        (None, "css=:::", "expected a Playwright selector, found 'css=:::'"),
        ("file:///etc/passwd", None, "only http and https"),
        ("/relative", None, "no full address"),
    ],
)
def test_invalid_locator_or_address_is_a_task_error(
    session: Session, page: str | None, locate: str | None, message: str
) -> None:
    with pytest.raises(TaskError, match=message):
        session.read_page(open=page, locate=locate)


def test_hanging_page_is_reported_and_closed(open_session: Callable[..., Session], web: Web) -> None:
    session = open_session(deadlines=replace(QUICK, hang=1.0))
    web.put("/", "<p>x<script>setTimeout(() => { while (true) {} }, 0)</script>")
    session.open_tabs(["about:blank"])
    reading = session.read_page(open="http://a.test/", locate="css=p")
    assert (reading.texts, "no answer from the page" in reading.hidden) == ((), True)
    assert session.execute(NewTab()).error == ""
    assert len(session.observe().tabs) == 2


def test_final_state_lists_all_tabs(session: Session, web: Web) -> None:
    web.put("/a", "<title>A</title><p id=p>-<script>p.textContent = 'made by script'</script>")
    web.put("/b", "<title>B</title>")
    session.open_tabs(["http://a.test/a", "http://a.test/b"])
    session.execute(Goto("http://a.test/a#here"))
    states = session.tabs()
    assert [(state.url, state.title, state.active) for state in states] == [
        ("http://a.test/a#here", "A", True),
        ("http://a.test/b", "B", False),
    ]
    assert '<p id="p">made by script' in states[0].html


LEAVING = {
    "dialogs": "while (true) alert('no')",
    "dialogs again and again": "setInterval(() => { while (true) alert('no') }, 0)",
    "a dialog per moment": "setInterval(() => alert('no'), 0)",
    "questions": "while (!confirm('yes?')) {}",
    "a script": "for (;;) {}",
    "a script again and again": "setInterval(() => { for (;;) {} }, 0)",
}


@pytest.mark.matrix(1)
@pytest.mark.parametrize("policy", ["hold", "accept"])
@pytest.mark.parametrize("leaving", LEAVING)
def test_endless_activity_of_page_is_not_a_check_error(
    open_session: Callable[..., Session], web: Web, leaving: str, policy: str
) -> None:
    """The page is stopped and read, or reported as unreadable. Neither helps an agent."""
    # Dialogs are stopped at once, on a busy machine later; a script first gets all the time that a busy page has.
    busy = "again" in leaving or "script" in leaving
    session = open_session(dialogs=policy, deadlines=replace(QUICK, hang=0.7) if busy else CALM)
    session.open_tabs([web.put("/", PAGE)])
    start = f"js=setTimeout(() => {{ {LEAVING[leaving]} }}, 0), 1"
    assert session.read_page(open=None, locate=start).texts == ("1",)
    [state] = session.tabs()
    assert state.url == "http://a.test/"
    for _ in range(2):
        reading = session.read_page(open=None, locate="css=h1")
        assert (reading.texts, reading.hidden == "") in ((("Head & line",), True), ((), False))
        assert reading.error == ""
    if "again" not in leaving:  # may be late on a busy machine
        wait_until(lambda: session.read_page(open=None, locate="css=h1").texts == ("Head & line",))


def test_new_page_is_read_after_its_requests_are_answered(open_session: Callable[..., Session], web: Web) -> None:
    """However long that takes, because the page is incomplete until then."""
    session = open_session(deadlines=replace(QUICK, settle=0.2, answers=20.0, step=30.0))
    answered = threading.Event()

    def late(request: Request) -> object:
        assert answered.wait(20)
        return "milk"

    web.put("/late", late)  # type: ignore[arg-type]
    web.put("/list", "<ul><li>bread</ul><script>fetch('/late').then(answer => answer.text()).then(text => {"
            "document.querySelector('ul').append(Object.assign(document.createElement('li'), {textContent: text}))"
            "})</script>")  # fmt: skip
    session.open_tabs([web.put("/", PAGE)])
    timer = threading.Timer(2.0, answered.set)
    timer.start()
    assert session.read_page(open="/list", locate="css=li").texts == ("bread", "milk")
    timer.join()


def test_new_page_with_endless_requests_is_read(open_session: Callable[..., Session], web: Web) -> None:
    session = open_session(deadlines=replace(QUICK, settle=0.2, answers=0.5))
    over = threading.Event()
    web.put("/poll", lambda request: str(over.wait(20)))
    web.put("/list", "<ul><li>bread</ul><script>fetch('/poll')</script>")
    session.open_tabs([web.put("/", PAGE)])
    assert session.read_page(open="/list", locate="css=li").texts == ("bread",)
    over.set()


NESTED = """<style>p {color: red}</style><p>light</p><div id=host><b slot=x>slotted</b></div>
<iframe srcdoc="<p>framed</p><div id=inner></div><script>
  inner.attachShadow({mode: 'open'}).innerHTML = '<p>framed shadow</p>'</script>"></iframe>
<iframe hidden srcdoc="<p>hidden frame</p>"></iframe><div id=away hidden></div><script>
const fill = (host, html) => { const root = host.attachShadow({mode: 'open'}); root.innerHTML = html; return root }
const root = fill(host, '<style>p {color: blue}</style><p>shadow</p><p hidden>hidden shadow</p><slot name=x></slot>' +
  '<div id=deep></div> bare')
fill(root.getElementById('deep'), '<p>deep shadow</p>')
fill(away, '<p>away</p> away')
</script>"""


@each_case("fresh", [True, False])
def test_whole_page_text_is_what_is_rendered(show: Show, fresh: bool) -> None:
    reading = show(NESTED).read_page(open="http://a.test/" if fresh else None, locate=None)
    lines = [line.strip() for line in reading.texts[0].splitlines() if line.strip()]
    shown = {"light", "slotted", "shadow", "bare", "deep shadow", "framed", "framed shadow"}
    assert (lines[0], set(lines)) == ("light", shown)


INSERTED = """<!doctype html><meta charset=utf-8><style>
.new::before { content: "New " } .euro::after { content: " EUR" } .above::before { content: "Above"; display: block }
ol { counter-reset: n; list-style: none } li::before { counter-increment: n; content: counter(n) ") " }
.gone::before { content: "Gone "; display: none } .icon::before { content: "\\f002" }
</style><p class=new>Tea for <b class=euro>12</b> only</p><p class=above>Below</p><ol><li>One<li>Two</ol>
<p class=gone>Kept</p><p class=icon>Search</p><p hidden class=new>Unseen</p><div id=host></div>
<script>host.attachShadow({mode: 'open'}).innerHTML =
  '<style>p::after { content: " inside" }</style><p>Deep</p>'</script>"""


def test_whole_page_text_has_what_css_inserts(show: Show) -> None:
    text = show(INSERTED).read_page(open=None, locate=None).texts[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    own = ["Tea for 12 only", "Below", "One", "Two", "Kept", "Search", "Deep"]
    assert lines == [*own, "New Tea for 12 EUR only", "Above", "1) One", "2) Two", "Deep inside"]


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("pause", "navigating"),
    [(150, "location.reload()"), (200, "location.href = '/other?' + Math.random()")],
)
def test_navigating_page_is_read_as_one_complete_document(
    session: Session, web: Web, pause: int, navigating: str
) -> None:
    """However short it is shown: an empty page would satisfy negative conditions."""
    script = f"<script>setTimeout(() => {{ {navigating} }}, {pause})</script>"
    page = f"<title>T</title>{script}{'<p>tea</p>' * 50}<h1>kettle</h1>"
    web.put("/other", page)
    session.open_tabs([web.put("/", page)])
    (state,) = session.tabs()
    assert "kettle" in state.html
    for late in (True, False):
        assert session.read_page(open=None, locate="css=h1", late=late).texts == ("kettle",)
        reading = session.read_page(open=None, locate=None, late=late)
        assert [("kettle" in text, reading.hidden) for text in reading.texts] == [(True, "")]


@pytest.mark.exhaustive
@pytest.mark.parametrize("pause", [0, 10])
def test_constantly_reloading_page_is_read_completely_or_not_at_all(session: Session, web: Web, pause: int) -> None:
    page = f"<script>setTimeout(() => location.reload(), {pause})</script>{'<p>tea</p>' * 50}<h1>kettle</h1>"
    session.open_tabs([web.put("/", page)])
    session.tabs()
    for locate in ("css=h1", None):
        for late in (True, False):
            reading = session.read_page(open=None, locate=locate, late=late)
            assert reading.hidden or reading.waiting or "kettle" in "".join(reading.texts)


def test_partially_loaded_page_is_reported_as_waiting(session: Session, web: Web) -> None:
    def half() -> Iterator[bytes]:
        yield b"<p>tea</p>"
        web.released.wait(60)

    web.put("/half", web.reply(half(), Content_Type="text/html"))
    session.open_tabs([web.put("/", "<script>setTimeout(() => location.href = '/half', 0)</script>")])
    session.tabs()
    for late in (True, False):
        assert "had not loaded completely" in session.read_page(open=None, locate="css=h1", late=late).waiting


REPLACED = """<p id=f>Bread</p><form>In a form<input name=innerText></form><script>
function Map(el) { this.el = el }
window.Set = window.Promise = window.Node = window.Element = window.getComputedStyle = null;
document.querySelectorAll = document.querySelector = Array.prototype.slice = Array.prototype.flatMap = null;
String.prototype.trim = JSON.stringify = null;
Object.defineProperty(HTMLElement.prototype, 'innerText', { get() { return {} } });
performance.getEntriesByType = null;
</script>"""


def test_page_with_replaced_globals_is_read_correctly(show: Show) -> None:
    session = show(REPLACED)
    texts: dict[str | None, tuple[str, ...]] = {
        None: ("Bread\n\nIn a form",),
        "css=#f": ("Bread",),
        "css=form": ("In a form",),
        "css=.none": (),
        "js=document.URL": ("http://a.test/",),
    }
    found = {locate: session.read_page(open=None, locate=locate) for locate in texts}
    assert {locate: reading.texts for locate, reading in found.items()} == texts
    late = session.read_page(open="http://a.test/", locate="css=#f", late=True)
    assert late.texts == ("Bread",)
    assert {(each.error, each.hidden) for each in (*found.values(), late)} == {("", "")}


def test_unreadable_document_is_a_site_error(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    session = show("<p>Bread</p>")
    monkeypatch.setattr(page_reading, "_PAGE_TEXT", "() => { throw RangeError('too deep') }")
    reading = session.read_page(open=None, locate=None)
    assert (reading.error, reading.hidden) == ("", "its document can't be read: RangeError: too deep")
    with pytest.raises(SiteError, match="its document can't be read: RangeError: too deep"):
        session.read_page(open="http://a.test/", locate=None)


def test_selectors_with_capture_or_open_quote_work(show: Show) -> None:
    session = show("""<div><p>One</p></div><div><p>Two</p></div><div>None</div><b>"open</b>""")
    found = {
        locate: session.read_page(open=None, locate=locate).texts for locate in ("*css=div >> css=p", 'text="open')
    }
    assert found == {"*css=div >> css=p": ("One", "Two"), 'text="open': ('"open',)}


@pytest.mark.matrix(1)
@pytest.mark.parametrize("element", ["<object type=text/html data=/in></object>", "<embed type=text/html src=/in>"])
def test_pages_in_object_elements_are_read_like_frames(show: Show, web: Web, element: str) -> None:
    web.put("/in", "<p>Kettle")
    session = show(f"<p>Bread</p>{element.replace('>', ' width=300 height=200>', 1)}")
    for open in (None, "http://a.test/"):
        assert session.read_page(open=open, locate=None, late=True).texts[0].split() == ["Bread", "Kettle"]
    hidden = show(f"<p>Bread</p><div hidden>{element}</div>").read_page(open=None, locate=None)
    assert hidden.texts[0].split() == ["Bread"]
