"""The helpers shipped for users' own tests."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

import pytest_webarena.testing
from pytest_webarena.actions import Click, Element, Invalid, Stop
from pytest_webarena.errors import TaskFileError
from pytest_webarena.testing import ScriptedAgent, make_evidence, make_task, play, verdict


def test_the_examples_in_the_docstring_run() -> None:
    assert doctest.testmod(pytest_webarena.testing).failed == 0


def test_checks_can_be_tried_on_made_up_evidence() -> None:
    task = make_task(
        """
        intent: Find the shipping page.
        sites: []
        checks:
          - url: http://site.test/shipping
        """
    )
    assert verdict(task, make_evidence(url="http://site.test/shipping")).passed
    assert not verdict(task, make_evidence(url="http://site.test/returns")).passed


def test_a_mistake_is_located_in_the_text() -> None:
    with pytest.raises(TaskFileError, match="intnt"):
        make_task("intnt: typo\nsites: []\nchecks: [{answer: x}]")


def test_an_agent_can_be_played_page_by_page() -> None:
    class Agent:
        def __init__(self, task: Any) -> None:
            self.intent = task.intent

        def act(self, observation: Any) -> str:
            return "```stop [" + self.intent + "]```" if "end" in observation.text else "```click [7]```"

    assert play(Agent, ["start", "the end", "never seen"], intent="hi") == [Click(Element("7")), Stop("hi")]


def test_the_scripted_agent_stops_when_it_has_nothing_more_to_say() -> None:
    actions = play(lambda task: ScriptedAgent("nonsense", Click(Element("1"))), ["a", "b", "c", "d"])
    assert isinstance(actions[0], Invalid)
    assert actions[1:] == [Click(Element("1")), Stop()]
