"""The kind ``key_nodes``: what reaches a node, when, and what that makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_webarena.checks import judge
from pytest_webarena.checks.asking import Decision, Grade, JudgeOff, JudgeUnreadable, Question
from pytest_webarena.checks.key_nodes.matching import MOST_ASKED
from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.errors import TaskFileError
from pytest_webarena.evidence import Evidence, RequestRecord, TabState
from pytest_webarena.signals import ControlRecord, DomEvent

from ..helpers import result, task
from .trials import SHOP, at, event, judged, reached, trial, typed


@pytest.mark.parametrize(
    ("node", "url", "met"),
    [
        ("{includes: /search}", "/search", True),
        ("{includes: /search}", "/a/search/b?x=1", True),
        ("{includes: /search/}", "/search", True),
        ("{includes: /Search}", "/search", False),
        # what is asked for stands only in the query or in the fragment
        ("{includes: /search}", "/redirect?next=/search", False),
        ("{includes: /search}", "/login#/search", False),
        ("{includes: '#/search'}", "/login#/search", True),
        ("{includes: '/#/search'}", "/?next=/#/search", True),  # it is in the fragment, whatever the query says
        ("{includes: /search}", "/login%2Fsearch", False),
        ("{includes: /search}", "/x?/search", False),
        ("{includes: /café}", "/caf%C3%A9", True),
        ("{includes: '/caf%C3%A9'}", "/café", True),
        ("{includes: /a b}", "/a%20b", True),
        ("{includes: /a}", "/%2561", False),
        # another host, however it looks
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
        # addresses that no server answers
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
def test_addresses(node: str, url: str, met: bool) -> None:
    got = judged(f"[{{url: {node}}}]", trial([at(url)], start="about:blank"))
    assert (got.score, reached(got)) == (float(met), "+" if met else "-")


FORM = "html > body > form#buy > div > button.go > span"


@pytest.mark.parametrize(
    ("node", "made", "met"),
    [
        ("'#buy button'", event(FORM), True),
        ("{locate: 'css=#buy button', event: click}", event(FORM), True),
        ("{locate: '#buy button', event: [dblclick, submit]}", event(FORM), False),
        ("'#buy button'", event(FORM, "keydown"), False),
        ("{locate: '#buy button', event: keydown}", event(FORM, "keydown"), True),
        ("'#buy button'", event("html > body > form#buy"), False),  # around it, not in it
        ("'#buy button'", event("html > body > form#sell > button"), False),
        ("'#buy button'", event(FORM, on="http://reddit.test/"), False),
        ("{locate: '#buy button', site: reddit}", event(FORM, on="http://reddit.test/"), True),
        ("'#buy button'", event(FORM, frame="http://ads.test/"), False),
        # what a page has put into a frame itself is of that page
        ("'#buy button'", event(f"html | {FORM}", frame="about:srcdoc"), True),
        ("'#buy button'", event(f"html | {FORM}", frame="about:blank"), True),
        ("'#buy button'", event(f"html | {FORM}", frame="about:blank", on="http://ads.test/"), False),
        ("'#buy button'", event(f"html | {FORM}", frame="data:text/html,x"), False),
        ("'#buy button'", event(FORM, on="http://ads.test/", frame=f"{SHOP}/x"), True),
        ("'#buy button'", event(FORM, on="data:text/html,x"), False),
        ("{locate: '#buy button', label: shopping}", event(FORM), True),
        ("{locate: '#buy button', label: test}", event(FORM), False),
        ("{locate: '#buy button', label: ikea}", event(FORM, on="https://www.ikea.com/x"), True),
    ],
)
def test_elements(node: str, made: object, met: bool) -> None:
    got = judged(f"[{{element: {node}}}]", trial([made]))  # type: ignore[list-item]
    assert (got.score, reached(got)) == (float(met), "+" if met else "-")


QTY = "html > form > input#qty"


@pytest.mark.parametrize(
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
def test_values(node: str, signals: Sequence[object], met: bool) -> None:
    got = judged(f"[{{value: {node}}}]", trial(signals))  # type: ignore[arg-type]
    assert (got.score, reached(got)) == (float(met), "+" if met else "-")


WORD = "html > form > a#sort[href=/] > b"
SORT = event(
    WORD,
    target={"text": "Cheapest", "name": "Cheapest"},
    control=ControlRecord(place=1, name="Order", text="Cheapest first"),
)


@pytest.mark.parametrize(
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
        # older records do not tell what is around the piece that was hit
        ("{exact: Cheapest first, of: clicked}", replace(SORT, control=None), None),
        ("{exact: Cheapest, of: clicked}", replace(SORT, control=None), True),
        ("{exact: First, of: clicked}", event("html > button", target={"text": "Buy"}), False),
        ("{exact: First, of: clicked}", event("html > p > b", target={"text": "Buy"}), False),
        ("{includes: z, of: clicked}", event("html > button", target={"text": "x" * 200}), None),
        # fields hold what they hold, whoever clicks them
        ("{exact: 2, of: clicked}", event(QTY, "click", value="2", target={"name": "2"}), False),
        ("{exact: 2, of: clicked}", event(QTY, "change", value="2"), False),
        ("{exact: 2, of: any}", event(QTY, "change", value="2"), True),
    ],
)
def test_what_is_written_on_what_is_clicked(node: str, signal: DomEvent, met: bool | None) -> None:
    got = judged(f"[{{value: {node}}}]", trial([signal]))
    assert got.score == {True: 1, False: 0, None: None}[met], got.why


def test_a_judge_reads_what_is_clicked_once_and_whole() -> None:
    asker = Asker("Cheapest")
    assert judged("[{value: {semantic: Cheap ones, of: clicked}}]", trial([SORT]), asker=asker).passed
    assert [question.answer for question in asker.asked] == ["Cheapest first"]


def test_a_value_that_stands_when_a_step_ends_was_entered() -> None:
    nodes = "[{value: {locate: '#qty', exact: 2}}]"
    steps = [[typed(QTY, "2")], [typed(QTY, "20")]]
    assert judged(nodes, trial(*steps)).passed
    assert judged(nodes, trial([*steps[0], *steps[1]])).passed is False


@pytest.mark.parametrize(
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
def test_texts(node: str, notes: Sequence[str], answer: str | None, met: bool) -> None:
    got = judged(f"[{{text: {node}}}]", trial(*notes, answer=answer))
    assert (got.score, reached(got)) == (float(met), "+" if met else "-")


# --- what it comes to


NODES = """[
  {url: {includes: /search}, name: searched},
  {element: '#buy', name: bought, weight: 3},
  {url: {includes: /delete}, name: deleted, forbidden: true}]"""


def test_the_score_is_the_share_of_the_weights() -> None:
    searched, bought = [at("/search")], [event("html > a#buy")]
    assert judged(NODES, trial()).score == 0
    assert judged(NODES, trial(searched)).score == 0.25
    assert judged(NODES, trial(bought)).score == 0.75
    assert judged(NODES, trial(bought, [at("/home")], searched)).score == 1
    got = judged(NODES, trial(searched, bought, [at("/delete/1")]))
    assert (got.score, got.passed, reached(got)) == (0, False, "+++")
    assert got.actual == f"forbidden: deleted, by {SHOP}/delete/1"


def test_each_node_says_when_it_was_reached_and_by_what() -> None:
    got = judged(NODES, trial([at("/a")], [event("html > a#buy", target={"role": "link", "name": "Buy"})]))
    searched, bought, deleted = got.parts
    assert (searched.points, searched.of, searched.step, searched.by) == (0, 1, None, "")
    assert (bought.points, bought.of, bought.step, bought.by) == (3, 3, 1, 'click on link "Buy"')
    assert (bought.what, bought.function) == ("bought", "element path")
    assert (deleted.of, deleted.forbidden, deleted.by) == (0, True, "")
    assert got.actual == "1, missed searched"
    assert got.why == "✗ 1 searched; ✓ 2 bought at step 1"


def test_the_headline_names_the_first_node_that_was_missed() -> None:
    verdict = judge(task(f"- key_nodes: {' '.join(NODES.split())}"), trial([at("/a")]))
    first = verdict.render().splitlines()[0]
    assert first == "key_nodes: missed searched (node 1 of 2, 0 reached)"
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_what_was_reached_stays_reached_and_the_last_landing_counts() -> None:
    nodes = "[{url: {includes: /a}}, {url: {includes: /b}}]"
    assert judged(nodes, trial([at("/a"), at("/c"), at("/b"), at("/d")])).passed
    assert judged(nodes, trial([at("/a")], [at("/b")])).passed
    assert judged(nodes, trial([at("/a")], end="/b")).passed  # nobody signalled it, but there it is
    assert judged(nodes, trial([at("/b")], start="/a")).passed


def test_where_it_began_is_told_apart() -> None:
    start, later = judged("[{url: {includes: /a}}, {url: {includes: /b}}]", trial([at("/b")], start="/a")).parts
    assert (start.step, start.by) == (-1, f"the agent began at {SHOP}/a")
    assert later.step == 0


def test_where_it_began_is_never_forbidden() -> None:
    nodes = "[{url: {includes: /b}}, {url: {includes: /a}, forbidden: true}]"
    assert judged(nodes, trial([at("/b")], start="/a")).passed
    assert judged(nodes, trial([at("/b")], [at("/a")], start="/a")).score == 0


def test_what_has_to_hold_at_the_end() -> None:
    nodes = "[{url: {includes: /a}, hold: end}]"
    assert judged(nodes, trial([at("/a")])).passed
    got = judged(nodes, trial([at("/a")], [at("/b")]))
    assert (got.score, got.parts[0].why) == (0, "it was so, but not at the end")
    assert judged(nodes, trial([at("/b")])).parts[0].why == "it was not so at the end"
    tabs = tuple(TabState(url=SHOP + path, title="", html="", active=path == "/b") for path in ("/a", "/b"))
    assert judged(nodes, trial([at("/a")], tabs=tabs)).score == 0  # open, but not current
    assert judged("[{url: {includes: /a}}]", trial([], tabs=tabs)).passed
    assert judged(nodes, trial([at("/a")], tabs=())).score is None

    value = "[{value: {locate: '#qty', exact: 2}, hold: end}]"
    assert judged(value, trial([typed(QTY, "3")], [typed(QTY, "2")], [typed("html > input#x", "3")])).passed
    assert judged(value, trial([typed(QTY, "2")], [typed(QTY, "3")])).score == 0
    assert judged(value, trial()).score == 0

    assert judged(nodes, trial([at("/b")], [at("/a")], [], answer="x")).parts[0].step == 1
    assert judged(value, trial([typed(QTY, "2")], [at("/b")], answer="x")).parts[0].step == 0

    never = "[{url: {includes: /b}}, {url: {includes: /a}, hold: end, forbidden: true}]"
    assert judged(never, trial([at("/a")], [at("/b")])).passed
    assert judged(never, trial([at("/b")], [at("/a")])).score == 0


A, B, C = [at("/a")], [at("/b")], [at("/c")]
THREE = "[{url: {includes: /a}, name: a}, {url: {includes: /b}, name: b}, {url: {includes: /c}, name: c}]"


@pytest.mark.parametrize(
    ("steps", "strict"),
    [
        ([A, B, C], "+++"),
        ([C, B, A], "+--"),
        ([B, A, C], "+--"),
        ([A, C, B], "++-"),
        ([A, C, B, C], "+++"),
        ([B, C], "---"),
        ([[*A, *B, *C]], "+++"),
        ([[*C, *B, *A]], "+--"),
    ],
)
def test_strict_order(steps: Sequence[list[object]], strict: str) -> None:
    recorded = trial(*steps)  # type: ignore[arg-type]
    assert reached(judged(f"{{order: strict, nodes: {THREE}}}", recorded)) == strict
    visited = {signal.url[-1] for signal in recorded.signals or ()}
    assert reached(judged(THREE, recorded)) == "".join("+" if each in visited else "-" for each in "abc")


def test_why_the_order_was_not_kept() -> None:
    strict = f"{{order: strict, nodes: {THREE}}}"
    assert [part.why for part in judged(strict, trial(B, C)).parts] == [
        "", "reached, but 'a' was not", "reached, but 'b' was not",
    ]  # fmt: skip
    assert judged(strict, trial(B, A)).parts[1].why == "reached, but too early"


def test_partial_order() -> None:
    nodes = """{order: partial, nodes: [{url: {includes: /a}, name: a}, {url: {includes: /b}, name: b},
                                       {url: {includes: /c}, after: [a, b]}]}"""
    assert reached(judged(nodes, trial(B, A, C))) == "+++"
    assert reached(judged(nodes, trial(B, C, A))) == "++-"
    assert reached(judged(nodes, trial(B, C))) == "-+-"


def test_forbidden_nodes_and_those_of_the_end_have_no_place_in_an_order() -> None:
    nodes = """{order: strict, nodes: [{url: {includes: /a}}, {url: {includes: /x}, forbidden: true},
                                      {url: {includes: /c}, hold: end}, {url: {includes: /b}}]}"""
    assert judged(nodes, trial(A, B, C)).passed
    assert judged(nodes, trial(A, B)).score == pytest.approx(2 / 3)


def test_notes_stand_between_the_signals_of_their_steps() -> None:
    nodes = "{order: strict, nodes: [{text: {includes: kettle, of: noted}}, {url: {includes: /b}}]}"
    assert judged(nodes, trial(A, "kettle", B)).passed
    assert judged(nodes, trial(B, "kettle", A)).score == 0.5


# --- what is not known


def test_without_signals_addresses_of_steps_can_reach_nodes_and_nothing_can_miss_them() -> None:
    nodes = "[{url: {includes: /a}}, {url: {includes: /b}}, {element: '#buy'}, {text: {exact: x}}]"
    got = judged(nodes, trial(A, answer="y", signals=None, signals_after=()))
    assert (got.score, got.cause, reached(got)) == (None, None, "+??-")
    assert "was not recorded" in got.why
    assert judged("[{url: {includes: /a}}]", trial(A, signals=None)).passed
    assert judged("[{text: {exact: x}}]", trial(A, answer="y", signals=None)).score == 0


def test_signals_that_there_was_no_room_for_are_the_agents_doing() -> None:
    nodes = "[{url: {includes: /a}}, {element: '#buy'}]"
    got = judged(nodes, trial(A, lost_signals=3))
    assert (got.score, reached(got)) == (0, "+?")  # whoever shows too much hides it
    assert "3 later signals" in got.why
    assert judged(nodes, trial([*A, event("html > a#buy")], lost_signals=3)).passed
    forbidden = "[{url: {includes: /a}}, {element: '#no', forbidden: true}]"
    assert judged(forbidden, trial(A, lost_signals=1)).score == 0


def test_in_documents_that_nobody_listened_to_nothing_is_missed() -> None:
    nodes = "[{url: {includes: /b}}, {element: '#buy'}]"
    got = judged(nodes, trial(A, unheard_documents=2))
    assert (got.score, got.cause, reached(got)) == (None, None, "-?")  # addresses are known all the same
    assert "in 2 documents nobody is known to have listened" in got.why
    assert judged("[{element: '#buy'}]", trial([*A, event("html > a#buy")], unheard_documents=2)).passed
    forbidden = "[{url: {includes: /a}}, {element: '#no', forbidden: true}]"
    assert judged(forbidden, trial(A, unheard_documents=1)).score is None


def test_acts_without_any_event_were_not_listened_to() -> None:
    quiet = trial([*A, event("html > a")])
    quiet = replace(quiet, signals=tuple(quiet.signals or ())[:1], signals_after=(1,))
    got = judged("[{url: {includes: /b}}, {element: '#buy'}]", quiet)
    assert (got.score, reached(got)) == (None, "-?")
    assert "no events of pages were recorded" in got.why
    assert judged("[{element: '#buy'}]", replace(quiet, dom_events=True)).score == 0
    walked = trial(A)  # nothing was done that makes events
    assert judged("[{element: '#buy'}]", walked).score == 0
    assert judged("[{element: '#buy'}]", replace(walked, dom_events=False)).score is None
    assert judged("[{url: {includes: /a}}]", replace(walked, dom_events=False)).passed


def test_elements_that_a_record_can_not_tell() -> None:
    made = trial([event("html > ul > li")])
    for selector in ("li:has(b)", "//li", "li:hover", "li >> nth=0"):
        got = judged(f"[{{element: '{selector}'}}, {{url: {{includes: /x}}}}]", made)
        assert (got.score, reached(got)) == (None, "?-")
        assert "can't be told" in got.why
    cut = trial([event("div > b", within="element")])
    assert reached(judged("[{element: 'main b'}]", cut)) == "?"


def test_what_is_entered_in_a_password_field_is_not_recorded() -> None:
    field = event("html > input#p[type=password]", "input")
    got = judged("[{value: {locate: '#p', exact: x}}]", trial([field]))
    assert (got.score, got.cause) == (None, "task")


def test_bounds_that_meet_decide() -> None:
    unknown = "{element: '//b'}"
    seen = trial([*A, event("html > b")])
    assert judged(f"[{unknown}]", seen).score is None
    assert judged(f"[{unknown}, {{url: {{includes: /a}}, forbidden: true}}]", seen).score == 0
    assert judged("[{url: {includes: /x}}, {element: '//b', forbidden: true}]", seen).score == 0
    assert judged("[{url: {includes: /a}}, {element: '//b', forbidden: true}]", seen).score is None
    strict = f"{{order: strict, nodes: [{{url: {{includes: /x}}}}, {unknown}]}}"
    assert reached(judged(strict, seen)) == "--"
    after = f"{{order: strict, nodes: [{unknown}, {{url: {{includes: /a}}}}]}}"
    assert reached(judged(after, trial([event("html > b")], A))) == "??"
    assert reached(judged(after, trial(A, [event("html > b")]))) == "?-"


def test_a_site_whose_address_is_not_known() -> None:
    got = judged("[{url: {includes: /a, site: reddit}}]", trial(A, sites={"shopping": SHOP}))
    assert (got.score, got.parts[0].why) == (None, "the address of reddit was not recorded")


def test_what_an_agent_says_of_its_own_acts_is_not_looked_at() -> None:
    claims = trial(A)
    steps = tuple(
        replace(step, action={"kind": "click", "target": {"selector": "#buy"}}, raw="click #buy")
        for step in claims.steps
    )
    got = judged("[{element: '#buy'}]", replace(claims, steps=steps))
    assert got.score is None  # no event was recorded at all
    other = trial([event("html > a#other")])
    steps = tuple(replace(step, action={"kind": "click", "target": {"selector": "#buy"}}) for step in other.steps)
    assert judged("[{element: '#buy'}]", replace(other, steps=steps)).score == 0


# --- rules for a judge


class Asker:
    """Says yes to what has a word in it."""

    def __init__(self, word: str = "kettle", error: Exception | None = None) -> None:
        self.word = word
        self.error = error
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        if self.error is not None:
            raise self.error
        decision: Decision = "correct" if self.word in question.answer else "incorrect"
        return Grade(decision=decision, replies=("",), model="m", prompt="p", temperature=0)


RULED = "[{url: {param: q, semantic: Searches for a thing that boils water}}]"


def test_rules_are_a_judges() -> None:
    asker = Asker()
    recorded = trial([at("/s?q=pot")], [at("/s?q=pot&p=2")], [at("/s?q=kettle")], [at("/s?q=cup")])
    got = judged(RULED, recorded, asker=asker)
    assert (got.score, got.parts[0].step) == (1, 2)
    assert [each.answer for each in asker.asked] == ["pot", "kettle"]  # each text once, and none after it was met
    assert asker.asked[0].reference == "Searches for a thing that boils water"
    assert asker.asked[0].kind == "rule"


def test_without_a_judge_there_is_no_telling() -> None:
    got = judged(RULED, trial([at("/s?q=pot")]))
    assert (got.score, got.cause) == (None, "judge")
    assert "--judge" in got.why
    assert judged(RULED, trial([at("/s")])).score == 0  # nothing to ask about
    assert judged(RULED, trial([at("/s?q=pot")]), asker=Asker(error=JudgeOff("off"))).cause == "judge"
    unreadable = JudgeUnreadable("m: none", replies=("x",), blame="agent")
    assert judged(RULED, trial([at("/s?q=pot")]), asker=Asker(error=unreadable)).score == 0


def test_a_judge_is_not_asked_without_end() -> None:
    asker = Asker(word="never")
    many = trial([at(f"/s?q={number}") for number in range(MOST_ASKED + 50)])
    got = judged(RULED, many, asker=asker)
    assert (len(asker.asked), got.score) == (MOST_ASKED, 0)
    assert "different texts" in got.why


def test_rules_on_values_and_texts() -> None:
    asker = Asker()
    assert judged("[{value: {semantic: A vessel}}]", trial([typed(QTY, "a kettle")]), asker=asker).passed
    assert judged("[{text: {semantic: A vessel}}]", trial(answer="a kettle"), asker=asker).passed
    assert judged("[{url: {semantic: A vessel}}]", trial([at("/kettle")]), asker=asker).passed
    assert judged("[{url: {semantic: A vessel}}]", trial([at("http://evil.test/kettle")]), asker=asker).score == 0


# --- how it is written


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("[]", "a list of key nodes, at least one"),
        ("{nodes: []}", "a list of key nodes, at least one"),
        ("'#buy'", "a list of key nodes, or a mapping"),
        ("[{}]", "one of 'url', 'element', 'value' and 'text'"),
        ("[{url: {includes: /a}, element: '#a'}]", "one of 'url', 'element', 'value' and 'text'"),
        ("[{url: /a}]", "a mapping with 'exact'"),
        ("[{url: {}}]", "one of 'exact', 'includes' and 'semantic'"),
        ("[{url: {includes: /a, semantic: b}}]", "one of 'exact', 'includes' and 'semantic'"),
        ("[{url: {includes: '/a?b=c'}}]", "a part of host or path"),
        ("[{url: {includes: /a, site: nowhere}}]", "a site of this task"),
        ("[{url: {exact: 'nowhere:/a'}}]", "a site of this task"),
        ("[{url: {param: q, regex: x}}]", "regex"),
        ("[{element: 'a[' }]", "a selector"),
        ("[{element: {locate: '#a', site: shopping, label: x}}]", "'site' or 'label'"),
        ("[{value: {locate: '#a'}}]", "one of 'exact', 'includes' and 'semantic'"),
        ("[{text: {exact: a, of: thought}}]", "answer, noted"),
        ("[{element: '#a', weight: 0}]", "a number above 0"),
        ("[{element: '#a', weight: -1}]", "a number above 0"),
        ("[{element: '#a', weight: nan}]", "a number above 0"),
        ("[{element: '#a', hold: end}]", "'hold' on a url or a value"),
        ("[{text: {exact: a}, hold: end}]", "'hold' on a url or a value"),
        ("[{value: {exact: a, of: clicked}, hold: end}]", "'hold' on a value of a field"),
        ("[{url: {includes: /a}, hold: start}]", "'end'"),
        ("[{element: '#a', forbidden: true}]", "at least one node to be reached"),
        ("[{element: '#b'}, {element: '#a', forbidden: true, weight: 2}]", "a weight for a node to be reached"),
        ("[{element: '#a', name: a}, {element: '#b', name: a}]", "names that differ"),
        ("[{element: '#a', name: a}, {element: '#b', after: a}]", "'order: partial' with 'after'"),
        ("{order: partial, nodes: [{element: '#a'}]}", "'after' on some nodes"),
        ("{order: partial, nodes: [{element: '#a', after: b}]}", "the name of a node"),
        ("{order: partial, nodes: [{element: '#a', name: a, after: a}]}", "one after the other"),
        (
            "{order: partial, nodes: [{element: '#a', name: a, after: b}, {element: '#b', name: b, after: a}]}",
            "one after the other",
        ),
        ("{order: sometimes, nodes: [{element: '#a'}]}", "any, partial, strict"),
    ],
)
def test_what_is_written_wrongly(nodes: str, expected: str) -> None:
    with pytest.raises(TaskFileError) as problem:
        task(f"- key_nodes: {nodes}")
    assert expected in str(problem.value)


def test_points_that_are_missing_show_nothing() -> None:
    with pytest.raises(TaskFileError, match="'not' around checks that hold or don't"):
        task("- not: {key_nodes: [{element: '#a'}]}")
    with pytest.raises(TaskFileError, match="'when' on url, page or state"):
        task("- key_nodes: [{element: '#a'}]\n  when: any_step")


def test_beside_other_checks() -> None:
    both = task("- key_nodes: [{url: {includes: /a}}, {url: {includes: /b}}]\n- answer: x")
    assert judge(both, trial(A, B, answer="x")).passed
    assert judge(both, trial(A, answer="x")).score == 0.5
    assert judge(both, trial(A, B, answer="y")).score == 0


def test_evidence_without_a_browser_is_nothing_reached() -> None:
    bare = Evidence(answer=None, stop_reason="agent_crash", signals=())
    assert result("key_nodes: [{url: {includes: /a}}]", bare).score == 0


def test_of_frames_in_frames_without_addresses_there_is_no_telling() -> None:
    inner = event(f"html | html | {FORM}", frame="about:srcdoc")
    got = judged("[{element: '#buy button'}]", trial([inner]))
    assert (got.score, reached(got)) == (None, "?")


@pytest.mark.parametrize("forbidden", [False, True])
@pytest.mark.parametrize("value", [False, True])
@pytest.mark.parametrize(
    ("document", "any_site", "first_site"),
    [
        ({"on": "about:blank"}, True, None),  # a pop-up that is written by the page that opened it
        ({"on": "about:blank", "frame": "about:srcdoc"}, True, None),
        ({"frame": "about:srcdoc", "whole": False}, True, None),  # in a frame of another site, or in a sandbox
        ({"frame": "about:blank", "whole": False}, True, None),
        ({"frame": "data:text/html,x"}, True, False),
        ({"frame": "blob:http://ads.test/1"}, True, False),
        ({"on": "http://ads.test/"}, True, False),
        ({"on": "chrome-error://chromewebdata/"}, False, False),
    ],
)
def test_documents_that_pages_make_themselves(
    document: dict[str, object], any_site: bool, first_site: bool | None, value: bool, forbidden: bool
) -> None:
    more = dict(document)
    whole = bool(more.pop("whole", True))
    around = "html | " if "frame" in more else ""
    made = typed(around + QTY, "2", **more) if value else event(around + FORM, **more)  # type: ignore[arg-type]
    kind, what = ("value", "locate: '#qty', exact: 2") if value else ("element", "locate: '#buy'")
    more_nodes = ", forbidden: true}, {url: {includes: /a}}" if forbidden else "}"
    for site, known in (("'*'", any_site), ("shopping", first_site)):
        nodes = f"[{{{kind}: {{{what}, site: {site}}}{more_nodes}]"
        got = judged(nodes, trial([at("/a"), replace(made, whole=whole)]))
        assert got.score == (None if known is None else float(known != forbidden)), (site, got)


def test_elsewhere_in_a_window_that_a_page_has_made_nothing_is_open() -> None:
    assert judged("[{element: '#other'}]", trial([event(FORM, on="about:blank")])).score == 0


def test_a_field_in_a_window_that_a_page_has_made_may_be_the_one_that_is_meant_at_the_end() -> None:
    node = "[{value: {locate: '#qty', exact: 2}, hold: end}]"
    right, popup = typed(QTY, "2"), typed(QTY, "3", on="about:blank", tab=1)
    assert judged(node, trial([right, popup])).score is None
    assert judged(node, trial([popup, right])).score == 1
    assert judged(node, trial([typed(QTY, "1"), popup])).score == 0


def test_the_pages_that_the_agent_found_are_no_forbidden_ones() -> None:
    nodes = "[{url: {includes: /b}}, {url: {includes: /a}, forbidden: true}]"
    recorded = trial([at("/a"), at("/b")], start="/a")
    assert reached(judged(nodes, recorded)) == "++"
    assert reached(judged(nodes, trial([at("/a"), at("/b")], start="/a", signals_before=1))) == "+-"
    again = trial([at("/a"), at("/b"), at("/a")], start="/a", signals_before=1)
    assert reached(judged(nodes, again)) == "++"
    assert judged("[{url: {includes: /a}}]", trial([at("/a")], start="/a", signals_before=1)).parts[0].free


@pytest.mark.parametrize("node", ["{exact: '/x?q=1', site: reddit}", "{at: /x, param: q, exact: '1', site: reddit}"])
def test_a_path_is_on_the_site_beside_it(node: str) -> None:
    there, here = "http://reddit.test/x?q=1", "/x?q=1"
    assert reached(judged(f"[{{url: {node}}}]", trial([at(there)]))) == "+"
    assert reached(judged(f"[{{url: {node}}}]", trial([at(here)]))) == "-"


@pytest.mark.parametrize(
    "node",
    [
        "{url: {exact: 'shopping:/x', site: reddit}}",
        "{url: {exact: 'http://shopping.test/x', site: reddit}}",
        "{url: {includes: 'http://shopping.test/x'}}",
        "{element: {locate: '#a', event: mousedown}}",
    ],
)
def test_what_nobody_can_reach_is_refused(node: str) -> None:
    with pytest.raises(TaskFileError, match="expected"):
        judged(f"[{node}]", trial([at("/x")]))


def test_a_host_that_was_refused_is_no_page() -> None:
    refused = RequestRecord(time=0, method="GET", url="http://evil.test/x", status=None, refused="no site of the task")
    recorded = trial([at("http://evil.test/x#y")], requests=(refused,))
    assert reached(judged("[{url: {includes: /x, site: '*'}}]", recorded)) == "-"


def test_another_radio_button_and_a_reset_end_what_was_held() -> None:
    nodes = "[{value: {locate: '#r1', exact: 'on'}, hold: end}]"
    one, two = (event(f"html > form > input#{name}[type=radio][name=r]", "change", value="on") for name in ("r1", "r2"))
    other = event("html > form > input#r3[type=radio][name=s]", "change", value="on")
    reset = event("html > form > button#x[type=reset]")
    assert reached(judged(nodes, trial([one, other]))) == "+"
    assert reached(judged(nodes, trial([one, two]))) == "-"
    assert reached(judged(nodes, trial([two, one]))) == "+"
    assert reached(judged(nodes, trial([one, reset]))) == "?"
    assert reached(judged(nodes, trial([one, reset, one]))) == "+"


def test_a_node_of_hardly_any_weight_is_missed_all_the_same() -> None:
    nodes = "[{url: {includes: /a}}, {url: {includes: /b}, weight: 1.0e-13}]"
    got = judged(nodes, trial([at("/a")]))
    assert got.score is not None
    assert 0.99 < got.score < 1
