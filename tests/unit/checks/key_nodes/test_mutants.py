"""Mutants of key nodes: without a step exactly its nodes are lost."""

from __future__ import annotations

from pytest_webarena.checks.key_nodes.mutants import doubts, mutants, without_step
from pytest_webarena.evidence import Evidence

from ..helpers import task
from .trials import at, event, trial, typed

FIELD = "html > form > input#qty"


def found(nodes: str, recorded: Evidence) -> tuple[list[tuple[int, tuple[int, ...], tuple[int, ...]]], list[str]]:
    spec = task(f"- key_nodes: {nodes}").checks[0].spec
    return [(each.step, each.meant, each.lost) for each in mutants(spec, recorded)], list(doubts(spec, recorded))


NODES = """[{url: {includes: /a}}, {value: {locate: '#qty', exact: 2}}, {element: '#buy'},
            {text: {exact: x}}, {text: {exact: y, of: noted}}, {url: {includes: /z}, forbidden: true}]"""


def test_a_step_that_is_left_out_loses_exactly_its_node() -> None:
    recorded = trial([at("/a")], [typed(FIELD, "2")], [event("html > a#buy")], "y", answer="x")
    each, told = found(NODES, recorded)
    assert each == [(0, (0,), (0,)), (1, (1,), (1,)), (2, (2,), (2,)), (3, (4,), (4,)), (4, (3,), (3,))]
    assert told == []


def test_the_landing_that_is_left_out_is_not_open_at_the_end_either() -> None:
    each, _ = found("[{url: {includes: /a}}, {url: {includes: /b}}]", trial([at("/a")], [at("/b")]))
    assert each == [(0, (0,), (0,)), (1, (1,), (1,))]


def test_what_is_reached_twice_is_told() -> None:
    each, told = found("[{element: '#buy'}]", trial([event("html > a#buy")], [event("html > a#buy")]))
    assert each == [(0, (0,), ())]
    assert told == ["key node 'action on #buy' is reached without step 0 of the solution, too"]
    each, told = found("[{url: {includes: /a}}]", trial([at("/a")], [at("/a/b")]))
    assert each == [(0, (0,), ())]
    assert told == []  # addresses hold what those before them did


def test_leaving_a_field_is_part_of_filling_it_in() -> None:
    left = event(FIELD, "change", value="2")
    recorded = trial([typed(FIELD, "2")], [left, event("html > a#buy")], answer="x")
    nodes = "[{value: {locate: '#qty', exact: 2}}, {element: '#buy'}]"
    assert found(nodes, recorded)[0] == [(0, (0,), (0,)), (1, (1,), (1,))]
    again = trial([typed(FIELD, "2")], [typed(FIELD, "2"), left], answer="x")
    assert found(nodes, again)[0] == [(0, (0,), ())]


def test_what_falls_together_is_told() -> None:
    _, told = found("[{url: {includes: /a}, name: one}, {url: {param: q}, name: two}]", trial([at("/a?q=1")]))
    assert told == ["one step reaches several key nodes: 'one', 'two'"]


def test_in_an_order_what_comes_after_is_lost_too() -> None:
    ordered = "{order: strict, nodes: [{url: {includes: /a}}, {url: {includes: /b}}]}"
    each, told = found(ordered, trial([at("/a")], [at("/b")]))
    assert each == [(0, (0,), (0, 1)), (1, (1,), (1,))]
    assert told == []


def test_a_record_that_does_not_tell_its_steps_has_no_mutants() -> None:
    assert found(NODES, trial([at("/a")], counted=False)) == ([], [])


def test_counts_after_the_step_are_moved() -> None:
    left = without_step(trial([at("/a")], [at("/b"), at("/c")], [at("/d")]), 1)
    assert [signal.url[-1] for signal in left.signals or ()] == ["a", "d"]
    assert left.signals_after == (1, 1, 2)
