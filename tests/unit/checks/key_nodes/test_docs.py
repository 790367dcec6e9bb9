"""Examples of the docs page about key nodes: its tasks are valid, and its headline equals a verdict's."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.checks import judge
from pytest_webarena.tasks import parse_tasks

from .trials import at, event, trial, typed

PAGE = (Path(__file__).parents[4] / "docs" / "key-nodes.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TENTS = parse_tasks(EXAMPLES[0])[0]

SEARCH = [at("/search/?q=lee+tent")]
TENT = [at("/catalogue/lee-tent-2-person_17/")]
FIELD = "html > body > form#add_to_basket_form > input#id_quantity"
BUTTON = "html > body > form#add_to_basket_form > div > button"


@pytest.mark.parametrize("example", EXAMPLES)
def test_docs_examples_are_valid_tasks(example: str) -> None:
    assert parse_tasks(example)


def test_first_docs_example_passes_with_its_solution() -> None:
    done = trial(SEARCH, TENT, [typed(FIELD, "2")], [event(BUTTON)])
    key_nodes, _ = judge(TENTS, done).results
    assert key_nodes.passed
    bought = trial(SEARCH, TENT, [typed(FIELD, "2")], [event(BUTTON)], [at("/checkout/")])
    assert judge(TENTS, bought).results[0].score == 0


def test_docs_headline_equals_the_verdicts() -> None:
    shown = re.search(r"^key_nodes: .*$", PAGE, re.MULTILINE)
    assert shown is not None
    alone = replace(TENTS, checks=TENTS.checks[:1])
    missed = judge(alone, trial(SEARCH, TENT, [event(BUTTON)]))
    assert missed.render(100).splitlines()[0] == shown[0]


def test_docs_statement_about_addresses_is_true() -> None:
    [made] = parse_tasks(EXAMPLES[0].replace("/lee-tent-2-person", "/search"))
    nodes = judge(made, trial([at("/redirect?next=/search")])).results[0].parts
    assert nodes[1].by == ""
