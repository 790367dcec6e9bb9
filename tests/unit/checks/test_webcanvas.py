"""WebCanvas' evaluators, reproduced bug for bug."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.webcanvas.addresses import site_label
from pytest_webarena.checks.webcanvas.elements import same_element
from pytest_webarena.checks.webcanvas.nodes import Moment, Node, evaluate
from pytest_webarena.checks.webcanvas.numbers import judged, number_in
from scripts.agree_webcanvas import ours
from tests.cases import each_case

GOLDEN = Path(__file__).parent / "golden/webcanvas.jsonl"
HTML = '<body><div id="box"><button id="buy"><b><span class="t">Buy</span></b></button></div><p>Lamps</p></body>'
URL = "https://www.lamps.test/"


def silent(subject: str, rule: str) -> str:
    raise AssertionError("nobody is to be asked")


def scored(node: Node, **moment: Any) -> float:
    at = Moment(**{"url": URL, "html": HTML, **moment})
    return evaluate([node], [0.0], at, silent)[0]


@pytest.mark.filterwarnings("ignore:The pseudo class:FutureWarning")
def test_evaluators_equal_upstream_on_golden_cases() -> None:
    pairs = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").strip("\n").split("\n")]
    assert len(pairs) > 300
    assert [pair["case"] for pair in pairs if ours(pair["case"]) != pair["said"]] == []


@each_case(
    ("function", "key", "reference", "url", "score"),
    [
        ("url_included_match", "", "lamps.", "https://www.lamps.test/", 1),
        ("url_included_match", "", "lamps.test/a?b", "https://www.lamps.test/a?b=c", 0),  # never the query
        ("url_included_match", "", "/a#top", "https://www.lamps.test/a?b=c#top", 1),
        ("url_included_match", "", "Lamps", "https://www.lamps.test/", 0),
        ("url_included_match", "", "/a b", "https://lamps.test/a%20b", 1),
        ("url_included_match", "", "/a;v", "https://lamps.test/a;v=1", 0),
        ("url_included_match", "", "/a;v", "https://lamps.test/a;v/b", 1),  # only of the last part of the path
        ("url_included_match", "", "?x", "https://[bad/?x", 1),  # an unparsable address is taken whole
        ("url_included_match", "q", "lamp", "https://lamps.test/?q=red+lamps", 1),
        ("url_exactly_match", "", "https://lamps.test/a", "https://lamps.test/a/", 0),
        ("url_exactly_match", "", "https://lamps.test/?q=50%", "https://lamps.test/?q=50%25", 1),
        ("url_exactly_match", "q", "x", "https://lamps.test/?q=&q=x&q=y", 1),  # the first that is not blank
        ("url_exactly_match", "q", "y", "https://lamps.test/?q=x&q=y", 0),
        ("url_exactly_match", "q", "50%", "https://lamps.test/?q=50%2525", 1),  # decoded twice
        ("url_exactly_match", "q", "", "https://lamps.test/?q=", 0),
        ("url_exact_match", "q", "x", "https://lamps.test/?q=x", 0),  # a misspelt function never matches
    ],
)
def test_url_functions_score_addresses(function: str, key: str, reference: str, url: str, score: int) -> None:
    assert scored(Node(function=function, key=key, reference=reference), url=url) == score


@each_case(
    ("host", "label"),
    [
        ("www.ikea.com", "ikea"),
        ("careers.carmax.com", "careers"),
        ("www.test", ""),
        ("localhost", ""),
        ("WWW.Ikea.com", "WWW"),
        ("www2.ikea.com", "ikea"),
        ("me:pw@ikea.com", "me:pw@ikea"),
    ],
)
def test_site_label_of_a_host(host: str, label: str) -> None:
    assert site_label(f"https://{host}/x") == label


@each_case(
    ("acted", "reference", "same"),
    [
        ("#buy", "#buy", True),
        ("#buy", "span.t", True),  # two levels up from a span
        ("#box", "span.t", True),  # three
        ("body", "span.t", False),  # four
        ("span.t", "#buy", False),  # not the reverse
        ("#buy", "b", False),  # the lookup does not start at b
        ("#none", "#none", False),
        ("div >", "#buy", False),
        (None, "#buy", False),
    ],
)
def test_same_element_looks_up_ancestors(acted: str | None, reference: str, same: bool) -> None:
    assert same_element(HTML, acted, reference) is same


def test_element_node_counts_only_on_its_site() -> None:
    node = Node(function="element_path_exactly_match", reference="#buy", label="lamps")
    assert scored(node, selector="#buy") == 1
    assert scored(node, selector="#buy", url="https://jobs.lamps.test/") == 0


def test_value_node_requires_path_and_element() -> None:
    node = Node(function="element_value_exactly_match", reference="2", label="lamps", path="#buy")
    assert scored(node, selector="#buy", value="2") == 1
    assert scored(node, selector="p", value="2") == 0
    assert scored(node, selector=None, value="2") == 0
    assert scored(node, selector="#buy", value="02") == 0


def test_texts_are_compared_in_lower_case() -> None:
    node = Node(function="final_answer_included_match", reference="RED Lamp")
    assert scored(node, text="It is the red lamp.") == 1
    assert scored(node, text="") == 0
    assert scored(node, text=None) == 0


def test_failing_evaluator_skips_the_rest_of_the_step() -> None:
    nodes = [
        Node(function="url_included_match", reference="lamps"),
        Node(function="cache_data_semantic_match", reference="Decide whether it is a lamp"),
        Node(function="url_included_match", reference="test"),
    ]
    at = Moment(url=URL, html=HTML, text="a lamp")
    assert evaluate(nodes, [0, 0, 0], at, silent) == (1, 0, 0)
    assert evaluate(nodes, [0, 0, 0], Moment(url=URL, html=HTML, text=""), silent) == (1, 0, 1)
    xpath = Node(function="element_path_exactly_match", reference="//p", label="lamps", method="xpath")
    broken = Moment(url=URL, html=HTML, selector="#buy")  # a selector is no expression
    assert evaluate([xpath, nodes[0]], [0, 0], broken, silent) == (0, 0)
    unreadable = Moment(url="https://[bad", html=HTML, selector="#buy")
    assert evaluate(
        [Node(function="element_path_exactly_match", reference="p"), nodes[0]], [0, 0], unreadable, silent
    ) == (
        0,
        0,
    )


def test_node_scores_never_decrease() -> None:
    node = Node(function="url_semantic_match", reference="Decide whether it is about lamps")
    said = iter(["```0.7```", "```0.4```", "```1```"])
    asked = []

    def reply(subject: str, rule: str) -> str:
        asked.append((subject, rule))
        return next(said)

    scores: tuple[float, ...] = (0.0,)
    for expected in (0.7, 0.7, 1.0, 1.0):
        scores = evaluate([node], scores, Moment(url=URL, html=""), reply)
        assert scores == (expected,)
    assert asked == [(URL, node.reference)] * 3  # a node with score 1 is not judged again


@each_case(
    ("reply", "score"),
    [
        ("It fits. ```0.85```", 0.85),
        ("```85```", 1),
        ("```True```", 1),
        ("```float('nan')```", 1),
        ("```-3```", 0),
        ("```0.999```", 1),
        ("```0.994```", 0.99),
        ("```4/5```", 0.8),
        ("```\n0.5\n```", 0.5),
    ],
)
def test_judge_replies_become_scores(reply: str, score: float) -> None:
    assert judged("x", "rule", lambda subject, rule: reply) == score


@pytest.mark.parametrize(
    "reply",
    [
        "0.9",
        "```0.9",
        "```json\n0.9```",
        "```score: 0.9```",
        "```None```",
        "```[1]```",
        "```9**9**9```",
        "```__import__('os').getpid()```",
        "```(lambda: 1)()```",
        "```print(1)```",
        "```''.join(open('x'))```",
        "```" + "1+" * 300 + "1```",
        "```float('1' * 9)```",
        "```int('1')```",
        "```True.__class__```",
        "```1 .real```",
    ],
)
def test_code_in_a_judge_reply_is_not_evaluated(reply: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.eval", None)
    monkeypatch.setattr("builtins.exec", None)
    assert number_in(reply) is None


def test_judge_is_asked_at_most_three_times() -> None:
    said = iter(["no number", "```x```", "```0.5```", "```1```"])
    assert judged("x", "rule", lambda subject, rule: next(said)) == 0.5
    assert next(said) == "```1```"
    assert judged("x", "rule", lambda subject, rule: next(iter(()))) == 0
