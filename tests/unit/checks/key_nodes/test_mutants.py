"""Mutants of key nodes: removing a step must lose exactly its nodes."""

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


def test_removed_step_loses_exactly_its_node() -> None:
    recorded = trial([at("/a")], [typed(FIELD, "2")], [event("html > a#buy")], "y", answer="x")
    each, told = found(NODES, recorded)
    assert each == [(0, (0,), (0,)), (1, (1,), (1,)), (2, (2,), (2,)), (3, (4,), (4,)), (4, (3,), (3,))]
    assert told == []


def test_removed_navigation_is_not_the_final_address() -> None:
    each, _ = found("[{url: {includes: /a}}, {url: {includes: /b}}]", trial([at("/a")], [at("/b")]))
    assert each == [(0, (0,), (0,)), (1, (1,), (1,))]


def test_node_reached_by_two_steps_is_noted() -> None:
    each, told = found("[{element: '#buy'}]", trial([event("html > a#buy")], [event("html > a#buy")]))
    assert each == [(0, (0,), ())]
    assert told == ["key node 'action on #buy' is reached without step 0 of the solution, too"]
    each, told = found("[{url: {includes: /a}}]", trial([at("/a")], [at("/a/b")]))
    assert each == [(0, (0,), ())]
    assert told == []  # the second address contains the first


def test_change_event_after_typing_belongs_to_the_typing_step() -> None:
    left = event(FIELD, "change", value="2")
    recorded = trial([typed(FIELD, "2")], [left, event("html > a#buy")], answer="x")
    nodes = "[{value: {locate: '#qty', exact: 2}}, {element: '#buy'}]"
    assert found(nodes, recorded)[0] == [(0, (0,), (0,)), (1, (1,), (1,))]
    again = trial([typed(FIELD, "2")], [typed(FIELD, "2"), left], answer="x")
    assert found(nodes, again)[0] == [(0, (0,), ())]


def test_nodes_reached_by_one_step_are_noted() -> None:
    _, told = found("[{url: {includes: /a}, name: one}, {url: {param: q}, name: two}]", trial([at("/a?q=1")]))
    assert told == ["one step reaches several key nodes: 'one', 'two'"]


def test_removed_step_in_strict_order_loses_later_nodes_too() -> None:
    ordered = "{order: strict, nodes: [{url: {includes: /a}}, {url: {includes: /b}}]}"
    each, told = found(ordered, trial([at("/a")], [at("/b")]))
    assert each == [(0, (0,), (0, 1)), (1, (1,), (1,))]
    assert told == []


def test_record_without_signal_counts_has_no_mutants() -> None:
    assert found(NODES, trial([at("/a")], counted=False)) == ([], [])


def test_signal_counts_after_the_removed_step_are_shifted() -> None:
    left = without_step(trial([at("/a")], [at("/b"), at("/c")], [at("/d")]), 1)
    assert [signal.url[-1] for signal in left.signals or ()] == ["a", "d"]
    assert left.signals_after == (1, 1, 2)
