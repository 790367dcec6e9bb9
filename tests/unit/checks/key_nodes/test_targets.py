"""Targets of key nodes: addresses, elements, values and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_webarena.signals import ControlRecord, DomEvent
from tests.cases import each_case

from .trials import FORM, QTY, SHOP, Asker, at, event, judged, reached, trial, typed


@each_case(
    ("node", "url", "met"),
    [
        ("{includes: /search}", "/search", True),
        ("{includes: /search}", "/a/search/b?x=1", True),
        ("{includes: /search/}", "/search", True),
        ("{includes: /Search}", "/search", False),
        # the wanted text is only in the query or in the fragment
        ("{includes: /search}", "/redirect?next=/search", False),
        ("{includes: /search}", "/login#/search", False),
        ("{includes: '#/search'}", "/login#/search", True),
        ("{includes: '/#/search'}", "/?next=/#/search", True),  # it is in the fragment
        ("{includes: /search}", "/login%2Fsearch", False),
        ("{includes: /search}", "/x?/search", False),
        ("{includes: /café}", "/caf%C3%A9", True),
        ("{includes: '/caf%C3%A9'}", "/café", True),
        ("{includes: /a b}", "/a%20b", True),
        ("{includes: /a}", "/%2561", False),
        # another host that looks similar
        ("{includes: /search}", "http://reddit.test/search", False),
        ("{includes: /search, site: reddit}", "http://reddit.test/search", True),
        ("{includes: /search}", "http://shopping.test.evil.test/search", False),
        ("{includes: /search}", "http://evil.test/shopping.test/search", False),
        ("{includes: /search}", "http://shopping.test@evil.test/search", False),
        ("{includes: /search}", "http://shopping.test:81/search", False),
        ("{includes: /search}", "HTTP://SHOPPING.TEST:80/search", True),
        ("{includes: /search, site: '*'}", "http://evil.test/search", True),
        ("{includes: shopping., site: '*'}", "/", True),
        ("{includes: shopping., site: '*'}", "http://evil.test/?x=shopping.", False),
        # addresses without a server
        ("{includes: search, site: '*'}", "data:text/html,search", False),
        ("{includes: /search, site: '*'}", "blob:http://shopping.test/search", False),
        ("{includes: blank, site: '*'}", "about:blank", False),
        ("{includes: /search, site: '*'}", "chrome-error://chromewebdata/search", False),
        ("{includes: /search, site: '*'}", "javascript:alert('/search')", False),
        ("{includes: /search}", "http://[", False),
        ("{exact: '/search/?q=a'}", "/search?q=a", True),
        ("{exact: '/search/?q=a'}", "/search?q=a&page=2", False),
        ("{exact: '/search/?q=a&p=2'}", "/search?p=2&q=a#top", True),
        ("{exact: 'reddit:/f'}", "http://reddit.test/f", True),
        ("{exact: 'reddit:/f'}", "/f", False),
        ("{exact: 'http://other.test/f'}", "http://other.test/f", True),
        ("{param: q, exact: kettle}", "/search?q=kettle", True),
        ("{param: q, exact: Kettle}", "/search?q=kettle", True),
        ("{param: q, exact: Kettle, case: true}", "/search?q=kettle", False),
        ("{param: q, exact: red kettle}", "/search?q=red+kettle", True),
        ("{param: q, exact: red kettle}", "/search?q=red%20kettle", True),
        ("{param: q, exact: red kettle}", "/search?q=red%2520kettle", False),
        ("{param: q, includes: kettle}", "/search?q=a+red+kettle", True),
        ("{param: q, includes: kettle}", "/search?q=kettles", False),
        ("{param: q, exact: kettle}", "/search?Q=kettle", False),
        ("{param: q, exact: kettle}", "/search?x=q=kettle", False),
        ("{param: q, exact: kettle}", "/search#?q=kettle", False),
        ("{param: c, exact: red}", "/search?c=blue&c=red", True),
        ("{param: q, exact: ''}", "/search?q=", True),
        ("{param: q, exact: ''}", "/search", False),
        ("{param: q}", "/search?q=&q=x", True),
        ("{param: q}", "/search?q=%20", False),
        ("{at: /search/, param: q, exact: a}", "/search?q=a", True),
        ("{at: /search/, param: q, exact: a}", "/about?q=a", False),
        ("{param: q, exact: a}", "http://reddit.test/?q=a", False),
        ("{param: q, exact: a}", "/search?q=a%00", False),
    ],
)
def test_url_nodes_match_addresses(node: str, url: str, met: bool) -> None:
    got = judged(f"[{{url: {node}}}]", trial([at(url)], start="about:blank"))
    assert (got.score, reached(got)) == (float(met), "+" if met else "-")


@each_case(
    ("node", "made", "met"),
    [
        ("'#buy button'", event(FORM), True),
        ("{locate: 'css=#buy button', event: click}", event(FORM), True),
        ("{locate: '#buy button', event: [dblclick, submit]}", event(FORM), False),
        ("'#buy button'", event(FORM, "keydown"), False),
        ("{locate: '#buy button', event: keydown}", event(FORM, "keydown"), True),
        ("'#buy button'", event("html > body > form#buy"), False),  # a parent, not a child
        ("'#buy button'", event("html > body > form#sell > button"), False),
        ("'#buy button'", event(FORM, on="http://reddit.test/"), False),
        ("{locate: '#buy button', site: reddit}", event(FORM, on="http://reddit.test/"), True),
        ("'#buy button'", event(FORM, frame="http://ads.test/"), False),
        # a frame without an own address belongs to its page
        ("'#buy button'", event(f"html | {FORM}", frame="about:srcdoc"), True),
        ("'#buy button'", event(f"html | {FORM}", frame="about:blank"), True),
        ("'#buy button'", event(f"html | {FORM}", frame="about:blank", on="http://ads.test/"), False),
        ("'#buy button'", event(f"html | {FORM}", frame="data:text/html,x"), False),
        ("'#buy button'", event(FORM, on="http://ads.test/", frame=f"{SHOP}/x"), True),
        ("'#buy button'", event(FORM, on="data:text/html,x"), False),
        ("{locate: '#buy button', label: shopping}", event(FORM), True),
        ("{locate: '#buy button', label: test}", event(FORM), False),
        ("{locate: '#buy button', label: ikea}", event(FORM, on="https://www.ikea.com/x"), True),
        ("{locate: '#buy button', label: Bücher}", event(FORM, on="https://www.xn--bcher-kva.com/x"), True),
    ],
)
def test_element_nodes_match_events(node: str, made: object, met: bool) -> None:
    got = judged(f"[{{element: {node}}}]", trial([made]))  # type: ignore[list-item]
    assert (got.score, reached(got)) == (float(met), "+" if met else "-")


@each_case(
    ("node", "signals", "met"),
    [
        ("{locate: '#qty', exact: 2}", [typed(QTY, "2")], True),
        ("{locate: '#qty', exact: 2}", [event(QTY, "change", value="2")], True),
        ("{locate: '#qty', exact: 2}", [event(QTY, "click", value="2")], False),
        ("{locate: '#qty', exact: 2}", [event(QTY, "focus", value="2")], False),
        ("{locate: form, exact: 2}", [typed(QTY, "2")], True),
        ("{exact: 2}", [typed("html > textarea", "2")], True),
        ("{locate: '#qty', exact: 2}", [typed("html > input#other", "2")], False),
        ("{locate: '#qty', exact: 20}", [typed(QTY, "2"), typed(QTY, "20"), typed(QTY, "200")], False),
        ("{locate: '#qty', exact: 200}", [typed(QTY, "2"), typed(QTY, "20"), typed(QTY, "200")], True),
        ("{locate: '#qty', exact: 200}", [typed(QTY, "200"), event(QTY, "keyup"), typed(QTY, "2000")], False),
        ("{locate: '#qty', exact: 20}", [typed(QTY, "20"), at("/live?q=20"), typed(QTY, "200")], True),
        ("{locate: '#qty', exact: 20}", [typed(QTY, "20"), event("html > a"), typed(QTY, "200")], True),
        ("{locate: '#qty', exact: 20}", [typed(QTY, "20"), typed(QTY, "9", tab=1), typed(QTY, "200")], True),
        ("{locate: '#qty', exact: 'Red Kettle'}", [typed(QTY, "red  kettle")], True),
        ("{locate: '#qty', exact: 'Red Kettle', case: true}", [typed(QTY, "red kettle")], False),
        ("{locate: '#qty', includes: kettle}", [typed(QTY, "a red kettle")], True),
        ("{locate: '#qty', includes: kettle}", [typed(QTY, "kettles")], False),
        ("{locate: '#qty', exact: ''}", [typed(QTY, "")], True),
        ("{locate: '#qty', exact: 2}", [typed(QTY, "2\x00")], False),
        ("{locate: '#qty', exact: 2}", [typed(QTY, "2\x1b")], False),
        ("{locate: '#qty', exact: 2}", [typed(QTY, " 2\u200b\n")], True),
        ("{locate: '#qty', exact: 2}", [typed(QTY, "2", on="http://reddit.test/")], False),
        ("{locate: '#qty', exact: 2}", [typed(QTY, "2", frame="http://ads.test/")], False),
    ],
)
def test_value_nodes_match_entered_values(node: str, signals: Sequence[object], met: bool) -> None:
    got = judged(f"[{{value: {node}}}]", trial(signals))  # type: ignore[arg-type]
    assert (got.score, reached(got)) == (float(met), "+" if met else "-")


WORD = "html > form > a#sort[href=/] > b"


SORT = event(
    WORD,
    target={"text": "Cheapest", "name": "Cheapest"},
    control=ControlRecord(place=1, name="Order", text="Cheapest first"),
)


@each_case(
    ("node", "signal", "met"),
    [
        ("{exact: Cheapest first, of: clicked}", SORT, True),
        ("{exact: cheapest, of: clicked}", SORT, True),
        ("{includes: first, of: any}", SORT, True),
        ("{exact: Order, of: any}", SORT, True),
        ("{exact: Order, of: any, case: true}", SORT, True),
        ("{exact: order, of: any, case: true}", SORT, False),
        ("{exact: first, of: clicked}", SORT, False),
        ("{exact: Cheapest first}", SORT, False),  # nothing was entered
        ("{exact: Cheapest first, of: clicked, locate: '#sort'}", SORT, True),
        ("{exact: Cheapest first, of: clicked, locate: form}", SORT, True),
        ("{exact: Cheapest first, of: clicked, locate: '#other'}", SORT, False),
        ("{exact: Cheapest first, of: clicked, locate: 'a:has(b)'}", SORT, None),
        ("{exact: Dearest, of: clicked, locate: 'a:has(b)'}", SORT, False),
        ("{exact: Cheapest first, of: clicked}", replace(SORT, event="dblclick"), True),
        ("{exact: Cheapest first, of: clicked}", replace(SORT, event="contextmenu"), False),
        # older records have no parents of the clicked element
        ("{exact: Cheapest first, of: clicked}", replace(SORT, control=None), None),
        ("{exact: Cheapest, of: clicked}", replace(SORT, control=None), True),
        ("{exact: First, of: clicked}", event("html > button", target={"text": "Buy"}), False),
        ("{exact: First, of: clicked}", event("html > p > b", target={"text": "Buy"}), False),
        ("{includes: z, of: clicked}", event("html > button", target={"text": "x" * 200}), None),
        # a click does not enter a field's value
        ("{exact: 2, of: clicked}", event(QTY, "click", value="2", target={"name": "2"}), False),
        ("{exact: 2, of: clicked}", event(QTY, "change", value="2"), False),
        ("{exact: 2, of: any}", event(QTY, "change", value="2"), True),
    ],
)
def test_clicked_value_nodes_match_the_controls_text(node: str, signal: DomEvent, met: bool | None) -> None:
    got = judged(f"[{{value: {node}}}]", trial([signal]))
    assert got.score == {True: 1, False: 0, None: None}[met], got.why


def test_judge_is_asked_once_about_the_whole_clicked_text() -> None:
    asker = Asker("Cheapest")
    assert judged("[{value: {semantic: Cheap ones, of: clicked}}]", trial([SORT]), asker=asker).passed
    assert [question.answer for question in asker.asked] == ["Cheapest first"]


def test_value_at_the_end_of_a_step_counts_as_entered() -> None:
    nodes = "[{value: {locate: '#qty', exact: 2}}]"
    steps = [[typed(QTY, "2")], [typed(QTY, "20")]]
    assert judged(nodes, trial(*steps)).passed
    assert judged(nodes, trial([*steps[0], *steps[1]])).passed is False


@each_case(
    ("node", "notes", "answer", "met"),
    [
        ("{exact: 84.97}", (), "84.97", True),
        ("{includes: 84.97}", (), "It is 84.97.", True),
        ("{includes: 84.97}", (), "184.97", False),
        ("{includes: 84.97}", ("84.97",), "no idea", False),
        ("{includes: 84.97}", (), None, False),
        ("{includes: 84.97, of: noted}", ("first", "84.97!"), None, True),
        ("{includes: 84.97, of: noted}", ("first",), "84.97", False),
        ("{exact: Kettle, case: true}", (), "kettle", False),
    ],
)
def test_text_nodes_match_notes_and_answers(node: str, notes: Sequence[str], answer: str | None, met: bool) -> None:
    got = judged(f"[{{text: {node}}}]", trial(*notes, answer=answer))
    assert (got.score, reached(got)) == (float(met), "+" if met else "-")
