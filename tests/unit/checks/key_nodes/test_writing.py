"""Notation of key nodes, and messages about mistakes."""

from __future__ import annotations

import pytest

from pytest_webarena.errors import TaskFileError
from tests.cases import each_case

from ..helpers import task
from .trials import at, judged, reached, trial


@each_case(
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
def test_invalid_key_nodes_are_refused(nodes: str, expected: str) -> None:
    with pytest.raises(TaskFileError) as problem:
        task(f"- key_nodes: {nodes}")
    assert expected in str(problem.value)


@pytest.mark.parametrize("node", ["{exact: '/x?q=1', site: reddit}", "{at: /x, param: q, exact: '1', site: reddit}"])
def test_path_belongs_to_the_nodes_site(node: str) -> None:
    there, here = "http://reddit.test/x?q=1", "/x?q=1"
    assert reached(judged(f"[{{url: {node}}}]", trial([at(there)]))) == "+"
    assert reached(judged(f"[{{url: {node}}}]", trial([at(here)]))) == "-"


@each_case(
    "node",
    [
        "{url: {exact: 'shopping:/x', site: reddit}}",
        "{url: {exact: 'http://shopping.test/x', site: reddit}}",
        "{url: {includes: 'http://shopping.test/x'}}",
        "{element: {locate: '#a', event: mousedown}}",
    ],
)
def test_unreachable_nodes_are_refused(node: str) -> None:
    with pytest.raises(TaskFileError, match="expected"):
        judged(f"[{node}]", trial([at("/x")]))
