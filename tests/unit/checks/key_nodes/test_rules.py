"""Semantic key nodes, which a judge model decides."""

from __future__ import annotations

from pytest_webarena.checks.judge_protocol import JudgeOff, JudgeUnreadable
from pytest_webarena.checks.key_nodes.matching import MOST_ASKED

from .trials import QTY, Asker, at, judged, trial, typed

RULED = "[{url: {param: q, semantic: Searches for a thing that boils water}}]"


def test_semantic_node_is_decided_by_the_judge() -> None:
    asker = Asker()
    recorded = trial([at("/s?q=pot")], [at("/s?q=pot&p=2")], [at("/s?q=kettle")], [at("/s?q=cup")])
    got = judged(RULED, recorded, asker=asker)
    assert (got.score, got.parts[0].step) == (1, 2)
    assert [each.answer for each in asker.asked] == [
        "pot",
        "kettle",
    ]  # each text once, and none after the node was reached
    assert asker.asked[0].reference == "Searches for a thing that boils water"
    assert asker.asked[0].kind == "rule"


def test_semantic_node_without_judge_is_undecided() -> None:
    got = judged(RULED, trial([at("/s?q=pot")]))
    assert (got.score, got.cause) == (None, "judge")
    assert "--judge" in got.why
    assert judged(RULED, trial([at("/s")])).score == 0  # no text to judge
    assert judged(RULED, trial([at("/s?q=pot")]), asker=Asker(error=JudgeOff("off"))).cause == "judge"
    unreadable = JudgeUnreadable("m: none", replies=("x",), cause="agent")
    assert judged(RULED, trial([at("/s?q=pot")]), asker=Asker(error=unreadable)).score == 0


def test_number_of_judge_questions_is_limited() -> None:
    asker = Asker(word="never")
    many = trial([at(f"/s?q={number}") for number in range(MOST_ASKED + 50)])
    got = judged(RULED, many, asker=asker)
    assert (len(asker.asked), got.score) == (MOST_ASKED, 0)
    assert "different texts" in got.why


def test_semantic_nodes_on_values_texts_and_addresses() -> None:
    asker = Asker()
    assert judged("[{value: {semantic: A vessel}}]", trial([typed(QTY, "a kettle")]), asker=asker).passed
    assert judged("[{text: {semantic: A vessel}}]", trial(answer="a kettle"), asker=asker).passed
    assert judged("[{url: {semantic: A vessel}}]", trial([at("/kettle")]), asker=asker).passed
    assert judged("[{url: {semantic: A vessel}}]", trial([at("http://evil.test/kettle")]), asker=asker).score == 0
