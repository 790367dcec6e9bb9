"""The check kind ``key_nodes``: reached nodes, order, prohibitions and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_webarena.checks import judge
from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.errors import TaskFileError
from pytest_webarena.evidence import TabState
from pytest_webarena.signals import DomEvent
from tests.cases import each_case

from ..helpers import task
from .trials import QTY, SHOP, at, event, judged, reached, trial, typed

NODES = """[
  {url: {includes: /search}, name: searched},
  {element: '#buy', name: bought, weight: 3},
  {url: {includes: /delete}, name: deleted, forbidden: true}]"""


def test_score_is_the_share_of_reached_weights() -> None:
    searched, bought = [at("/search")], [event("html > a#buy")]
    assert judged(NODES, trial()).score == 0
    assert judged(NODES, trial(searched)).score == 0.25
    assert judged(NODES, trial(bought)).score == 0.75
    assert judged(NODES, trial(bought, [at("/home")], searched)).score == 1
    got = judged(NODES, trial(searched, bought, [at("/delete/1")]))
    assert (got.score, got.passed, reached(got)) == (0, False, "+++")
    assert got.actual == f"forbidden: deleted, by {SHOP}/delete/1"


def test_each_node_reports_step_and_cause() -> None:
    got = judged(NODES, trial([at("/a")], [event("html > a#buy", target={"role": "link", "name": "Buy"})]))
    searched, bought, deleted = got.parts
    assert (searched.points, searched.of, searched.step, searched.by) == (0, 1, None, "")
    assert (bought.points, bought.of, bought.step, bought.by) == (3, 3, 1, 'click on link "Buy"')
    assert (bought.what, bought.function) == ("bought", "element path")
    assert (deleted.of, deleted.forbidden, deleted.by) == (0, True, "")
    assert got.actual == "1, missed searched"
    assert got.why == "✗ 1 searched; ✓ 2 bought at step 2"


def test_headline_names_the_first_missed_node() -> None:
    verdict = judge(task(f"- key_nodes: {' '.join(NODES.split())}"), trial([at("/a")]))
    first = verdict.render().splitlines()[0]
    assert first == "key_nodes: missed searched (node 1 of 2, 0 reached)"
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_reached_nodes_stay_reached_and_final_address_counts() -> None:
    nodes = "[{url: {includes: /a}}, {url: {includes: /b}}]"
    assert judged(nodes, trial([at("/a"), at("/c"), at("/b"), at("/d")])).passed
    assert judged(nodes, trial([at("/a")], [at("/b")])).passed
    assert judged(nodes, trial([at("/a")], end="/b")).passed  # not signalled, but the final address
    assert judged(nodes, trial([at("/b")], start="/a")).passed


def test_start_page_reaches_nodes_at_step_minus_one() -> None:
    start, later = judged("[{url: {includes: /a}}, {url: {includes: /b}}]", trial([at("/b")], start="/a")).parts
    assert (start.step, start.by) == (-1, f"the agent began at {SHOP}/a")
    assert later.step == 0


def test_start_page_does_not_reach_forbidden_nodes() -> None:
    nodes = "[{url: {includes: /b}}, {url: {includes: /a}, forbidden: true}]"
    assert judged(nodes, trial([at("/b")], start="/a")).passed
    assert judged(nodes, trial([at("/b")], [at("/a")], start="/a")).score == 0


def test_hold_end_requires_the_node_in_the_final_state() -> None:
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


def by_script(path: str, value: str) -> DomEvent:
    """Return a change by a script, such as a choice from a list."""
    return replace(event(path, "change", value=value), by_script=True)


def test_script_changes_reach_only_value_nodes() -> None:
    value = "value: {locate: '#qty', exact: 2}"
    got = judged(f"[{{{value}}}]", trial([by_script(QTY, "2")]))
    assert (got.score, got.parts[0].by) == (1, "change by script on input: '2'")
    assert judged(f"[{{{value}}}]", trial([by_script(QTY, "20")])).score == 0
    assert judged("[{element: {locate: '#qty', event: change}}]", trial([by_script(QTY, "2")])).score == 0
    never = f"[{{url: {{includes: /a}}}}, {{{value}, forbidden: true}}]"
    assert judged(never, trial([by_script(QTY, "2")], [at("/a")])).passed, "maybe it was the page's own"


def test_script_change_ends_a_held_value_unless_only_reformatted() -> None:
    """Pages may reformat an entered value, and an agent may choose again."""
    held = "[{value: {locate: '#qty', exact: 1234}, hold: end}]"
    assert judged(held, trial([typed(QTY, "1234"), by_script(QTY, "1,234")])).passed
    assert judged(held, trial([typed(QTY, "1234")], [by_script(QTY, "1,234")])).passed
    assert judged(held, trial([typed(QTY, "5")], [by_script(QTY, "1234")])).passed
    assert judged(held, trial([by_script(QTY, "1234")], [typed(QTY, "5")])).score == 0
    assert judged(held, trial([by_script(QTY, "1234")], [by_script(QTY, "99")])).score == 0
    assert judged(held, trial([typed(QTY, "1234")], [by_script(QTY, "99")])).score == 0
    assert judged(held, trial([typed(QTY, "1234")], [by_script(QTY, "")])).score == 0


def test_script_change_while_typing_does_not_complete_a_partial_value() -> None:
    node = "[{value: {locate: '#qty', exact: 20}}]"
    assert judged(node, trial([typed(QTY, "20"), by_script(QTY, "x"), typed(QTY, "200")])).score == 0


A, B, C = [at("/a")], [at("/b")], [at("/c")]


THREE = "[{url: {includes: /a}, name: a}, {url: {includes: /b}, name: b}, {url: {includes: /c}, name: c}]"


@each_case(
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
def test_strict_order_counts_nodes_reached_in_order(steps: Sequence[list[object]], strict: str) -> None:
    recorded = trial(*steps)  # type: ignore[arg-type]
    assert reached(judged(f"{{order: strict, nodes: {THREE}}}", recorded)) == strict
    visited = {signal.url[-1] for signal in recorded.signals or ()}
    assert reached(judged(THREE, recorded)) == "".join("+" if each in visited else "-" for each in "abc")


def test_strict_order_violation_gives_its_reason() -> None:
    strict = f"{{order: strict, nodes: {THREE}}}"
    assert [part.why for part in judged(strict, trial(B, C)).parts] == [
        "", "reached, but 'a' was not", "reached, but 'b' was not",
    ]  # fmt: skip
    assert judged(strict, trial(B, A)).parts[1].why == "reached, but too early"


def test_partial_order_requires_the_after_nodes() -> None:
    nodes = """{order: partial, nodes: [{url: {includes: /a}, name: a}, {url: {includes: /b}, name: b},
                                       {url: {includes: /c}, after: [a, b]}]}"""
    assert reached(judged(nodes, trial(B, A, C))) == "+++"
    assert reached(judged(nodes, trial(B, C, A))) == "++-"
    assert reached(judged(nodes, trial(B, C))) == "-+-"


def test_forbidden_and_hold_end_nodes_are_excluded_from_order() -> None:
    nodes = """{order: strict, nodes: [{url: {includes: /a}}, {url: {includes: /x}, forbidden: true},
                                      {url: {includes: /c}, hold: end}, {url: {includes: /b}}]}"""
    assert judged(nodes, trial(A, B, C)).passed
    assert judged(nodes, trial(A, B)).score == pytest.approx(2 / 3)


def test_notes_are_ordered_between_signals_of_their_steps() -> None:
    nodes = "{order: strict, nodes: [{text: {includes: kettle, of: noted}}, {url: {includes: /b}}]}"
    assert judged(nodes, trial(A, "kettle", B)).passed
    assert judged(nodes, trial(B, "kettle", A)).score == 0.5


def test_key_nodes_are_refused_in_not_and_any_step() -> None:
    with pytest.raises(TaskFileError, match="'not' around checks that hold or don't"):
        task("- not: {key_nodes: [{element: '#a'}]}")
    with pytest.raises(TaskFileError, match="'when' on url, page or state"):
        task("- key_nodes: [{element: '#a'}]\n  when: any_step")


def test_key_nodes_combine_with_other_checks() -> None:
    both = task("- key_nodes: [{url: {includes: /a}}, {url: {includes: /b}}]\n- answer: x")
    assert judge(both, trial(A, B, answer="x")).passed
    assert judge(both, trial(A, answer="x")).score == 0.5
    assert judge(both, trial(A, B, answer="y")).score == 0


def test_checkbox_ticked_and_unticked_in_one_step_was_ticked() -> None:
    box = "html > input#x[type=checkbox]"
    both = [typed(box, "on"), event(box, "change", value="on"), event(box), typed(box, "off")]
    node = "[{value: {locate: '#x', exact: 'on'}}, {value: {locate: '#x', exact: 'on'}, hold: end}]"
    assert reached(judged(node, trial(both))) == "+-"


def test_field_is_recognised_while_its_frame_is_resolved() -> None:
    """Typing 200 does not enter 20, even if only the second event knows the frame's parents."""
    where = {"frame": "http://ads.test/"}
    first, second = typed("html | html > input#qty", "20", **where), typed("html | html > input#qty", "200", **where)
    first = replace(first, chain=first.chain[:2], whole=False)
    node = "[{value: {locate: '#qty', exact: 20, site: '*'}}]"
    assert reached(judged(node, trial([first, second]))) == "-"
    assert reached(judged(node, trial([first]))) == "+"
    beside = replace(second, chain=(replace(second.chain[0], nth=2), *second.chain[1:]))
    assert reached(judged(node, trial([first, beside]))) == "+"


def test_pages_open_at_the_start_reach_no_forbidden_nodes() -> None:
    nodes = "[{url: {includes: /b}}, {url: {includes: /a}, forbidden: true}]"
    recorded = trial([at("/a"), at("/b")], start="/a")
    assert reached(judged(nodes, recorded)) == "++"
    assert reached(judged(nodes, trial([at("/a"), at("/b")], start="/a", signals_before=1))) == "+-"
    again = trial([at("/a"), at("/b"), at("/a")], start="/a", signals_before=1)
    assert reached(judged(nodes, again)) == "++"
    assert judged("[{url: {includes: /a}}]", trial([at("/a")], start="/a", signals_before=1)).parts[0].free


def test_other_radio_button_and_reset_end_a_held_value() -> None:
    nodes = "[{value: {locate: '#r1', exact: 'on'}, hold: end}]"
    one, two = (event(f"html > form > input#{name}[type=radio][name=r]", "change", value="on") for name in ("r1", "r2"))
    other = event("html > form > input#r3[type=radio][name=s]", "change", value="on")
    reset = event("html > form > button#x[type=reset]")
    assert reached(judged(nodes, trial([one, other]))) == "+"
    assert reached(judged(nodes, trial([one, two]))) == "-"
    assert reached(judged(nodes, trial([two, one]))) == "+"
    assert reached(judged(nodes, trial([one, reset]))) == "?"
    assert reached(judged(nodes, trial([one, reset, one]))) == "+"


def test_missed_node_with_tiny_weight_prevents_full_score() -> None:
    nodes = "[{url: {includes: /a}}, {url: {includes: /b}, weight: 1.0e-13}]"
    got = judged(nodes, trial([at("/a")]))
    assert got.score is not None
    assert 0.99 < got.score < 1
