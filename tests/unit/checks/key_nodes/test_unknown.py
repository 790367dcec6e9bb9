"""Gaps in the record, and the key nodes that they leave undecided."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_webarena.evidence import Evidence, RequestRecord
from tests.cases import each_case

from ..helpers import result
from .trials import FORM, QTY, SHOP, at, event, judged, reached, trial, typed

A = [at("/a")]


def test_without_signals_unreached_nodes_are_undecided() -> None:
    nodes = "[{url: {includes: /a}}, {url: {includes: /b}}, {element: '#buy'}, {text: {exact: x}}]"
    got = judged(nodes, trial(A, answer="y", signals=None, signals_after=()))
    assert (got.score, got.cause, reached(got)) == (None, None, "+??-")
    assert "was not recorded" in got.why
    assert judged("[{url: {includes: /a}}]", trial(A, signals=None)).passed
    assert judged("[{text: {exact: x}}]", trial(A, answer="y", signals=None)).score == 0


def test_lost_signals_count_as_missed() -> None:
    nodes = "[{url: {includes: /a}}, {element: '#buy'}]"
    got = judged(nodes, trial(A, lost_signals=3))
    assert (got.score, reached(got)) == (0, "+?")  # overflow counts against the agent
    assert "3 later signals" in got.why
    assert judged(nodes, trial([*A, event("html > a#buy")], lost_signals=3)).passed
    forbidden = "[{url: {includes: /a}}, {element: '#no', forbidden: true}]"
    assert judged(forbidden, trial(A, lost_signals=1)).score == 0


def test_unrecorded_documents_leave_elements_undecided() -> None:
    nodes = "[{url: {includes: /b}}, {element: '#buy'}]"
    got = judged(nodes, trial(A, unheard_documents=2))
    assert (got.score, got.cause, reached(got)) == (None, None, "-?")  # addresses are recorded nevertheless
    assert "in 2 documents nobody is known to have listened" in got.why
    assert judged("[{element: '#buy'}]", trial([*A, event("html > a#buy")], unheard_documents=2)).passed
    forbidden = "[{url: {includes: /a}}, {element: '#no', forbidden: true}]"
    assert judged(forbidden, trial(A, unheard_documents=1)).score is None


def test_actions_without_events_leave_elements_undecided() -> None:
    quiet = trial([*A, event("html > a")])
    quiet = replace(quiet, signals=tuple(quiet.signals or ())[:1], signals_after=(1,))
    got = judged("[{url: {includes: /b}}, {element: '#buy'}]", quiet)
    assert (got.score, reached(got)) == (None, "-?")
    assert "no events of pages were recorded" in got.why
    assert judged("[{element: '#buy'}]", replace(quiet, dom_events=True)).score == 0
    walked = trial(A)  # no action causes events
    assert judged("[{element: '#buy'}]", walked).score == 0
    assert judged("[{element: '#buy'}]", replace(walked, dom_events=False)).score is None
    assert judged("[{url: {includes: /a}}]", replace(walked, dom_events=False)).passed


def test_undecidable_selectors_leave_elements_undecided() -> None:
    made = trial([event("html > ul > li")])
    for selector in ("li:has(b)", "//li", "li:hover", "li >> nth=0"):
        got = judged(f"[{{element: '{selector}'}}, {{url: {{includes: /x}}}}]", made)
        assert (got.score, reached(got)) == (None, "?-")
        assert "can't be determined" in got.why
    cut = trial([event("div > b", within="element")])
    assert reached(judged("[{element: 'main b'}]", cut)) == "?"


def test_password_field_values_are_undecided() -> None:
    field = event("html > input#p[type=password]", "input")
    got = judged("[{value: {locate: '#p', exact: x}}]", trial([field]))
    assert (got.score, got.cause) == (None, "task")


def test_score_is_decided_if_unknown_nodes_cannot_change_it() -> None:
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


def test_unknown_site_address_is_undecided() -> None:
    got = judged("[{url: {includes: /a, site: reddit}}]", trial(A, sites={"shopping": SHOP}))
    assert (got.score, got.parts[0].why) == (None, "the address of reddit was not recorded")


def test_actions_claimed_by_the_agent_do_not_reach_nodes() -> None:
    claims = trial(A)
    steps = tuple(
        replace(step, action={"kind": "click", "target": {"selector": "#buy"}}, raw="click #buy")
        for step in claims.steps
    )
    got = judged("[{element: '#buy'}]", replace(claims, steps=steps))
    assert got.score is None  # without any recorded event
    other = trial([event("html > a#other")])
    steps = tuple(replace(step, action={"kind": "click", "target": {"selector": "#buy"}}) for step in other.steps)
    assert judged("[{element: '#buy'}]", replace(other, steps=steps)).score == 0


def test_evidence_without_a_browser_reaches_nothing() -> None:
    bare = Evidence(answer=None, stop_reason="agent_crash", signals=())
    assert result("key_nodes: [{url: {includes: /a}}]", bare).score == 0


def test_nested_frames_without_addresses_are_undecided() -> None:
    inner = event(f"html | html | {FORM}", frame="about:srcdoc")
    got = judged("[{element: '#buy button'}]", trial([inner]))
    assert (got.score, reached(got)) == (None, "?")


@each_case("forbidden", [False, True])
@each_case("value", [False, True])
@each_case(
    ("document", "any_site", "first_site"),
    [
        ({"on": "about:blank"}, True, None),  # a pop-up written by its opener
        ({"on": "about:blank", "frame": "about:srcdoc"}, True, None),
        ({"frame": "about:srcdoc", "whole": False}, True, None),  # in a frame of another site, or in a sandbox
        ({"frame": "about:blank", "whole": False}, True, None),
        ({"on": "about:blank", "maker": SHOP + "/p"}, True, True),
        ({"on": "about:blank", "maker": SHOP}, True, True),  # no more than its origin is known
        ({"on": "about:blank", "maker": "http://ads.test/"}, True, False),
        ({"on": "about:blank", "maker": "http://ads.test"}, True, False),
        ({"on": "about:blank", "maker": "data:text/html,x"}, True, False),
        ({"on": "about:blank", "maker": ""}, True, None),
        (
            {"frame": "about:srcdoc", "maker": "http://ads.test/"},
            True,
            False,
        ),  # an emptied frame may belong to another page
        ({"frame": "about:blank", "maker": ""}, True, None),
        ({"frame": "about:srcdoc", "whole": False, "maker": SHOP + "/"}, True, True),
        ({"frame": "data:text/html,x"}, True, False),
        ({"frame": "blob:http://ads.test/1"}, True, False),
        ({"on": "http://ads.test/"}, True, False),
        ({"on": "chrome-error://chromewebdata/"}, False, False),
    ],
)
def test_documents_written_by_pages_belong_to_their_maker(
    document: dict[str, object], any_site: bool, first_site: bool | None, value: bool, forbidden: bool
) -> None:
    more = dict(document)
    whole, maker = bool(more.pop("whole", True)), more.pop("maker", None)
    around = "html | " if "frame" in more else ""
    made = typed(around + QTY, "2", **more) if value else event(around + FORM, **more)  # type: ignore[arg-type]
    kind, what = ("value", "locate: '#qty', exact: 2") if value else ("element", "locate: '#buy'")
    more_nodes = ", forbidden: true}, {url: {includes: /a}}" if forbidden else "}"
    for site, known in (("'*'", any_site), ("shopping", first_site)):
        nodes = f"[{{{kind}: {{{what}, site: {site}}}{more_nodes}]"
        got = judged(nodes, trial([at("/a"), replace(made, whole=whole, maker=maker)]))  # type: ignore[arg-type]
        assert got.score == (None if known is None else float(known != forbidden)), (site, got)


@each_case(
    ("maker", "known"),
    [
        ("http://host.test/shop/p", True),
        ("http://host.test/blog", False),
        ("http://host.test", None),
        ("http://x", False),
    ],
)
def test_site_below_a_path_needs_more_than_the_makers_origin(maker: str, known: float | None) -> None:
    made = replace(event(FORM, on="about:blank"), maker=maker)
    got = judged("[{element: '#buy'}]", trial([made], sites={"shopping": "http://host.test/shop"}))
    assert got.score == (None if known is None else float(known))


def test_unmatched_element_in_a_written_window_is_a_miss() -> None:
    assert judged("[{element: '#other'}]", trial([event(FORM, on="about:blank")])).score == 0


def test_field_in_a_written_window_can_leave_hold_end_undecided() -> None:
    node = "[{value: {locate: '#qty', exact: 2}, hold: end}]"
    right, popup = typed(QTY, "2"), typed(QTY, "3", on="about:blank", tab=1)
    assert judged(node, trial([right, popup])).score is None
    assert judged(node, trial([popup, right])).score == 1
    assert judged(node, trial([typed(QTY, "1"), popup])).score == 0


def test_refused_host_does_not_reach_nodes() -> None:
    refused = RequestRecord(time=0, method="GET", url="http://evil.test/x", status=None, refused="no site of the task")
    recorded = trial([at("http://evil.test/x#y")], requests=(refused,))
    assert reached(judged("[{url: {includes: /x, site: '*'}}]", recorded)) == "-"


@pytest.mark.parametrize("shown", ["http://evil.test/x#y", "http://evil.test//x", "http://Evil.test./a/%2e%2e/x/"])
def test_refused_address_reaches_forbidden_nodes(shown: str) -> None:
    refused = RequestRecord(
        time=0, method="GET", url=shown.partition("#")[0], status=403, refused="no site of the task"
    )
    recorded = trial([at("/"), at(shown)], requests=(refused,))
    for target in ("includes: evil.test/x, site: '*'", "exact: 'http://evil.test/x'"):
        nodes = f"[{{url: {{includes: /, site: shopping}}}}, {{url: {{{target}}}, forbidden: true}}]"
        got = judged(nodes, recorded)
        assert (got.score, got.actual[:10]) == (0, "forbidden:"), target
    elsewhere = judged("[{url: {includes: /}}, {url: {exact: 'http://evil.test/y'}, forbidden: true}]", recorded)
    assert elsewhere.score == 1
