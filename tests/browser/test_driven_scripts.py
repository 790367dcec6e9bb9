"""Script actions of agents that drive the browser themselves: recorded, and repeated by a replay."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page

from pytest_webarena.actions import AcceptDialog, ByScript, DismissDialog, Element, Goto, Selector
from pytest_webarena.browser.session import Session
from pytest_webarena.signals import DomEvent
from tests.browser.conftest import OpenSession, Web
from tests.browser.watched import Watched, client, page, playwright, watched, web
from tests.cases import each_case
from tests.processes import wait_until

__all__ = ["client", "page", "playwright", "watched", "web"]

Told = Callable[[], list[tuple[str, str, str | None, bool]]]


def events_since(watched: Watched) -> Told:
    """Return events from now on: event, selector, value, and whether a command of the agent caused it."""
    before = len(watched.session.signals.since())

    def told() -> list[tuple[str, str, str | None, bool]]:
        watched.session.sweep_fields()
        found = [each for each in watched.session.signals.since(before) if isinstance(each, DomEvent)]
        return [(each.event, each.target.selector, each.value, each.commanded) for each in found if each.by_script]

    return told


def test_fields_set_by_client_scripts_are_recorded_as_script_actions(page: Page, watched: Watched, web: Web) -> None:
    """Playwright, Puppeteer and others set lists, dates and files in this way. The values are the fields' own."""
    web.put(
        "/order",
        """<select id=corn><option>Oats<option>Rye</select><input id=day type=date><input id=file type=file>
        <input id=price oninput="this.value = this.value.replace(/[^0-9]/g, ''); tell()"><input type=checkbox id=box>
        <input type=password id=secret><p id=lie>x</p><button onclick=tell()>Tell</button>
        <script>const tell = () => price.dispatchEvent(new Event('change', {bubbles: true}));
        Object.defineProperty(price, 'value', {get: () => 'a lie', set(text) { text; }});</script>""",
    )
    page.goto("http://a.test/order")
    before = len(watched.session.signals.since())
    page.locator("#corn").select_option("Rye")
    page.locator("#day").fill("2026-01-31")
    page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"})
    page.locator("#price").press_sequentially("12")
    page.evaluate(
        """() => { box.click(); secret.value = 'hush'; lie.value = 'x';
        for (const el of [secret, lie, box]) for (const type of ['input', 'change'])
          el.dispatchEvent(new Event(type, {bubbles: true})) }"""
    )
    page.locator("button").click()
    page.locator("button").click()

    def told() -> list[tuple[str, str, str | None, bool]]:
        found = watched.session.signals.since(before)
        return [(e.event, e.target.selector, e.value, e.by_script) for e in found if isinstance(e, DomEvent)]

    wait_until(lambda: [(each[0], each[3]) for each in told()].count(("click", False)) == 2)
    assert [each[:3] for each in told() if each[3]] == [
        ("change", "#corn", "Rye"),
        ("change", "#day", "2026-01-31"),
        ("change", "#file", "a.txt"),
        ("click", "#box", None),
        ("change", "#price", "12"),
    ], "of what is written by keys, what is announced afterwards, and that once"
    assert [each[:3] for each in told() if not each[3] and each[0] == "input"] == [("input", "#price", "12")]


def test_constantly_changing_field_does_not_hide_other_fields(page: Page, watched: Watched, web: Web) -> None:
    """Its final value is recorded, too."""
    web.put(
        "/restless",
        """<input id=clock><select id=size><option>Small<option>Large</select><button onclick="go = false">Stop</button>
        <script>let go = true, n = 0;
        const tell = value => { clock.value = value; clock.dispatchEvent(new Event('change', {bubbles: true})); };
        while (n < 3000) tell(n++);
        setInterval(() => go ? tell(n++) : tell('over'), 20);</script>""",
    )
    before = len(watched.session.signals.since())
    page.goto("http://a.test/restless")
    page.locator("#size").select_option("Large")
    page.locator("button").click()

    def told(selector: str) -> list[str | None]:
        found = watched.session.signals.since(before)
        return [each.value for each in found if isinstance(each, DomEvent) and each.target.selector == selector]

    wait_until(lambda: told("#clock")[-1:] == ["over"])
    assert told("#size") == ["Large"]
    assert len(told("#clock")) < 60
    assert watched.session.signals.lost == 0


FORM = """<form id=form action=/sent><label id=label for=box>Gift</label>
  <label>In <input type=checkbox id=inner></label><input type=checkbox id=box>
  <input id=note name=note><input type=radio name=r id=first checked><input type=radio name=r id=second>
  <button id=go>Go</button></form>
  <button id=plain>Plain</button><p id=text>Text</p>"""

Case = tuple[str, str, list[tuple[str, str, str | None, bool]]]
CASES: dict[str, Case] = {
    "a click": ("", "plain.click()", [("click", "#plain", None, True)]),
    "a dispatched click": (
        "", "text.dispatchEvent(new MouseEvent('click', {bubbles: true}))", [("click", "#text", None, True)]
    ),
    "a press": ("", "text.dispatchEvent(new MouseEvent('mousedown', {bubbles: true}))",
                [("mousedown", "#text", None, True)]),
    "a key": ("", "note.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))",
              [("keydown", "#note", "Enter", True)]),
    "a label": ("", "label.click()", [("click", "#label", None, True)]),
    "a label, and its box": (
        "", "label.click(); box.click()", [("click", "#label", None, True), ("click", "#box", None, True)]
    ),
    "a box in its label, twice": ("", "inner.click(); inner.click()", [("click", "#inner", None, True)] * 2),
    "a box that is clicked": ("", "box.click()", [("click", "#box", None, True)]),
    "a box that is set": ("", "box.checked = true", [("set", "#box", "on", True)]),
    "a box that is set and announced": (
        "", "box.checked = true; box.dispatchEvent(new Event('change', {bubbles: true}))", [("put", "#box", "on", True)]
    ),
    "a radio button": ("", "second.checked = true", [("set", "#second", "on", True)]),
    "a text without a word": ("", "note.value = 'x'", [("set", "#note", "x", True)]),
    "a text of which one knew": (
        "note.value = 'there'", "note.value = 'x'; note.dispatchEvent(new Event('change', {bubbles: true}))",
        [("change", "#note", "x", True)],
    ),
    "several, in order": (
        "", "note.value = 'x'; plain.click(); note.value = 'y'; text.dispatchEvent(new MouseEvent('click'))",
        [("set", "#note", "x", True), ("click", "#plain", None, True), ("set", "#note", "y", True),
         ("click", "#text", None, True)],
    ),
    "what a page does of a click": (
        "plain.onclick = () => { text.click(); note.value = 'own';"
        " note.dispatchEvent(new Event('change', {bubbles: true})); }",
        "plain.click()", [("click", "#plain", None, True), ("change", "#note", "own", False)],
    ),
}  # fmt: skip


@each_case("case", CASES)
def test_agent_script_actions_are_recorded(page: Page, watched: Watched, web: Web, case: str) -> None:
    before, script, expected = CASES[case]
    web.put("/form", f"{FORM}<script>{before}</script>")
    page.goto("http://a.test/form")
    watched.session.sweep_fields()  # as before each step
    recorded = events_since(watched)
    page.evaluate(f"() => {{ {script} }}")
    wait_until(lambda: len(recorded()) >= len(expected))
    # For values found by polling, it does not matter whether an agent's command was running.
    assert [(*each[:3], each[0] in ("set", "put") or each[3]) for each in recorded()] == expected


@each_case(
    ("script", "expected"),
    [
        ("note.value = 'x'; document.forms[0].submit()", [("set", "#note", "x"), ("sent", "#form", None)]),
        ("document.forms[0].requestSubmit()", [("submit", "#form", None)]),
        ("document.forms[0].requestSubmit(go)", [("submit", "#go", None)]),
        ("go.click()", [("click", "#go", None)]),
        ("plain.onclick = () => document.forms[0].submit(); plain.click()", [("click", "#plain", None)]),
    ],
)
def test_script_submit_is_recorded_before_navigation(
    page: Page, watched: Watched, web: Web, script: str, expected: list[tuple[str, str, str | None]]
) -> None:
    web.put("/form", FORM)
    web.put("/sent", "<title>sent</title>")
    page.goto("http://a.test/form")
    recorded = events_since(watched)
    page.evaluate(f"() => {{ {script} }}")
    page.wait_for_url("**/sent?**")
    wait_until(lambda: [each[:3] for each in recorded()] == expected)


def test_reading_form_data_is_not_recorded_as_submit(page: Page, watched: Watched, web: Web) -> None:
    web.put("/form", FORM)
    page.goto("http://a.test/form")
    recorded = events_since(watched)
    page.evaluate("() => { new FormData(document.forms[0]); plain.click(); }")
    wait_until(lambda: [each[0] for each in recorded()] == ["click"])


@each_case(
    ("page_does", "agent_does", "method"),
    [
        ("plain.onclick = () => setTimeout(() => text.click(), 150)", "page.locator('#plain').click()", "get"),
        ("plain.onclick = () => setTimeout(() => text.click(), 150)", "page.evaluate('() => plain.click()')", "get"),
        ("box.onchange = () => form.submit()", "page.evaluate('() => box.click()')", "get"),
        ("box.onchange = () => form.submit()", "page.evaluate('() => box.click()')", "post"),
        ("note.onchange = () => form.submit()", "page.evaluate(ANNOUNCED)", "get"),
        ("note.onchange = () => form.submit()", "page.evaluate(ANNOUNCED)", "post"),
    ],
)
def test_later_actions_of_page_are_not_attributed_to_agent(
    page: Page, watched: Watched, web: Web, page_does: str, agent_does: str, method: str
) -> None:
    web.put("/form", f"{FORM.replace('<form', f'<form method={method}')}<script>{page_does};\n"
            "text.onclick = () => { document.title = 'done' }</script>")  # fmt: skip
    web.put("/sent", "<title>done</title>")
    page.goto("http://a.test/form")
    recorded = events_since(watched)
    eval(agent_does, {"page": page, "ANNOUNCED": "() => note.dispatchEvent(new Event('change', {bubbles: true}))"})
    wait_until(lambda: watched.session.observe().title == "done")
    recorded()
    assert [each[:2] for each in recorded() if each[0] in ("sent", "submit") or each[1] == "#text"] == []


def test_clicks_of_page_scripts_are_not_recorded(page: Page, watched: Watched, web: Web) -> None:
    """Values that it sets are recorded, since the agent may have caused them."""
    script = "setTimeout(() => { plain.click(); note.value = 'own'; document.title = 'done' }, 300)"
    web.put("/form", f"{FORM}<script>{script}</script>")
    recorded = events_since(watched)
    page.goto("http://a.test/form")
    wait_until(lambda: watched.session.observe().title == "done")
    wait_until(lambda: [each[:3] for each in recorded()] == [("set", "#note", "own")])


def test_value_after_input_mask_is_recorded(page: Page, watched: Watched, web: Web) -> None:
    """The whole text is set at once, and the mask changes it after the first event."""
    mask = "note.oninput = () => { note.value = note.value.replace(/(...)(.*)/, '$1-$2'); }"
    web.put("/form", f"{FORM}<script>{mask}</script>")
    page.goto("http://a.test/form")
    before = len(watched.session.signals.since())
    page.locator("#note").fill("5551234")

    def told() -> list[tuple[str, str | None]]:
        watched.session.sweep_fields()
        found = watched.session.signals.since(before)
        return [(each.event, each.value) for each in found if isinstance(each, DomEvent)]

    wait_until(lambda: told() == [("input", "5551234"), ("change", "555-1234")])


@each_case(
    ("event", "selector", "value", "expected"),
    [
        ("change", "#size", "Large", "size: Large input change"),
        ("set", "#size", "Large", "size: Large"),
        ("change", "#several", "Red\nBlue", "several: Red,Blue input change"),
        ("change", "#note", "x", "note: x input change"),
        ("set", "#note", "x", "note: x"),
        ("put", "#box", "on", "box: true input change"),
        ("click", "#plain", None, "plain: click"),
        ("mousedown", "#plain", None, "plain: mousedown"),
        ("keydown", "#plain", "Control+Enter", "plain: keydown Enter true keyup Enter true"),
    ],
)
def test_replay_repeats_script_actions(
    session: Session, web: Web, event: str, selector: str, value: str | None, expected: str
) -> None:
    """Also on invisible elements."""
    web.put(
        "/fields",
        """<div style="display: none"><select id=size><option>Small<option>Large</select>
        <select multiple id=several><option>Red<option>Green<option>Blue</select>
        <input id=note><input type=checkbox id=box><button id=plain>Plain</button><b id=report></b></div><script>
        let log = '', el = document.querySelector(location.hash);
        const holds = {size: () => el.value, note: () => el.value, box: () => `${el.checked}`, plain: () => '',
          several: () => [...el.selectedOptions].map(each => each.label).join()};
        for (const type of ['input', 'change', 'click', 'mousedown', 'keydown', 'keyup'])
          document.addEventListener(type, event => {
            if (event.target === report) document.title = `${el.id}: ${holds[el.id]()}${log}`.replace(':  ', ': ');
            else log += ` ${type}${event.key ? ` ${event.key} ${event.ctrlKey}` : ''}`;
          });</script>""",
    )
    assert session.execute(Goto(f"http://a.test/fields?{event}-{selector[1:]}{selector}")).error == ""
    assert session.execute(ByScript(Selector(f"css={selector}"), event, value)).error == ""
    assert session.execute(ByScript(Selector("css=#report"), "click")).error == ""
    assert session.observe().title == expected


def test_replay_skips_field_that_already_has_the_value(session: Session, web: Web) -> None:
    web.put("/held", "<title>-</title><input id=note value=x onchange=\"document.title = 'changed'\">")
    session.open_tabs(["http://a.test/held"])
    assert session.execute(ByScript(Selector("css=#note"), "change", "x", unless_held=True)).error == ""
    assert session.observe().title == "-"
    assert session.execute(ByScript(Selector("css=#note"), "change", "x")).error == ""
    assert session.observe().title == "changed"


def test_replay_answers_dialogs_opened_by_its_scripts(open_session: OpenSession, web: Web) -> None:
    """One after the other; none is answered automatically."""
    web.put(
        "/sure",
        "<title>-</title><button id=del onclick=\"document.title = [confirm('Sure?'), prompt('Why?', 'x'), "
        "confirm('Really?')]\">Delete</button>",
    )
    session = open_session(dialogs="hold")
    session.open_tabs(["http://a.test/sure"])
    button = re.search(r"\[(\d+)\] button 'Delete'", session.observe().text)
    assert button is not None
    for target in (Selector("css=#del"), Element(button[1])):
        assert session.execute(ByScript(target, "click")).error == ""
        for asked, answer in (
            ("confirm 'Sure?'", DismissDialog()),
            ("prompt 'Why?' (proposed answer: 'x')", AcceptDialog("done")),
            ("confirm 'Really?'", AcceptDialog()),
        ):
            assert session.observe().dialog == asked
            assert session.execute(answer).error == ""
        assert session.observe().title == "false,done,true"


def test_replay_error_says_why_script_action_failed(session: Session, web: Web) -> None:
    web.put("/few", "<select id=size><option>Small</select><input type=file id=file><p id=text>x</p><input id=note>")
    session.open_tabs(["http://a.test/few"])

    def error(selector: str, event: str, value: str | None = None) -> str:
        return session.execute(ByScript(Selector(f"css={selector}"), event, value)).error

    assert error("#size", "change", "Large") == "The list has no option 'Large'. It has: 'Small'."
    assert "what is in them was not recorded" in error("#file", "change", "a.txt")
    assert error("#text", "change", "x") == "There is nothing here to which a script could do that (change)."
    assert error("#note", "sent") == "There is nothing here to which a script could do that (sent)."


def test_replay_records_script_actions_like_the_original_session(open_session: OpenSession, web: Web) -> None:
    """Key nodes depend on these events; sessions of other agents record only real input."""
    web.put("/held", "<input id=note>")
    for hears in (True, False):
        session = open_session(observes_scripts=hears)
        session.open_tabs(["http://a.test/held"])
        assert session.execute(ByScript(Selector("css=#note"), "change", "x")).error == ""
        session.observe()
        found = [each for each in session.signals.since() if isinstance(each, DomEvent)]
        expected = [("change", "x", True, False)] if hears else []
        assert [(each.event, each.value, each.by_script, each.commanded) for each in found] == expected
