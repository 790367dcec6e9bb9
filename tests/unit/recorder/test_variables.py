"""Templates from a recording: values become variables, with values for each instance."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.actions import Action, Click, Goto, Select, Selector, Stop, Type
from pytest_webarena.errors import UsageError
from pytest_webarena.recorder.variables import each_of, fillings_of, in_action, in_data, in_text, shown
from pytest_webarena.recorder.writing import task_lines
from pytest_webarena.tasks import parse_tasks
from tests.cases import each_case

VALUES = {"title": "Rye", "stars": "4"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('Add a 4-star note titled "Rye".', 'Add a {{ stars }}-star note titled "{{ title }}".'),
        ("Ryebread, 14 and 4.", "Ryebread, 14 and {{ stars }}."),
        ("{{ title }}", "{{ title }}"),
    ],
)
def test_intent_values_become_variables_as_whole_words(text: str, found: str) -> None:
    assert shown(in_text(text, VALUES)) == found


def test_inserted_variable_is_not_replaced_again() -> None:
    assert shown(in_text("Rye for title", {"a": "Rye", "title": "a", "b": "title"})) == "{{ a }} for {{ b }}"


@each_case(
    ("action", "own", "found"),
    [
        (Type(Selector("css=#x"), "Rye"), "title", Type(Selector("css=#x"), "{{ title }}")),
        (Type(Selector("css=#x"), "With Rye"), "", Type(Selector("css=#x"), "With {{ title }}")),
        (Type(Selector("css=#x"), "4"), "", Type(Selector("css=#x"), "{{ stars }}")),
        (Type(Selector("css=#x"), "4 of them"), "", Type(Selector("css=#x"), "4 of them")),  # a coincidence
        (Select(Selector("css=#x"), ("Rye", "4")), "", Select(Selector("css=#x"), ("{{ title }}", "{{ stars }}"))),
        (
            Click(Selector('role=link[name="Rye"s]')),
            "title",
            Click(Selector('role=link[name="{{ title }}"s]')),
        ),
        (Goto("/search?q=Rye&n=4"), "", Goto("/search?q={{ title | urlencode }}&n=4")),
        (Stop("4"), "", Stop("{{ stars }}")),
    ],
)
def test_step_values_become_variables(action: Action, own: str, found: Action) -> None:
    made: Any = in_action(action, VALUES, own=own)
    fields = {name: getattr(made, name) for name in made.__slots__}
    plain = {
        name: Selector(shown(value.selector))
        if isinstance(value, Selector)
        else tuple(map(shown, value))
        if isinstance(value, tuple)
        else shown(value)
        if isinstance(value, str)
        else value
        for name, value in fields.items()
    }
    assert type(made)(**plain) == found


@each_case(
    ("data", "found"),
    [
        (
            {"state": {"sql": "select 1 from notes where title = 'Rye' and stars = 4 and n = 'Ryes'", "equals": 1}},
            "select 1 from notes where title = {{ title | sql }} and stars = {{ stars }} and n = 'Ryes'",
        ),
        ({"answer": {"number": 4}}, "{{ stars }}"),
        ({"answer": {"name": "Rye"}}, "{{ title }}"),
        ({"url": "/notes?q=Rye"}, "/notes?q={{ title | urlencode }}"),
    ],
)
def test_check_values_become_variables(data: Any, found: str) -> None:
    assert found in shown(json.dumps(in_data(data, VALUES), ensure_ascii=False))


def test_unrelated_numbers_of_a_check_are_kept() -> None:
    data = {"state": {"sql": "select 1", "equals": 4}, "changes": {"notes": {"added": 4}}}
    assert in_data(data, VALUES) == data


def test_quotes_in_values_are_escaped_by_the_sql_filter() -> None:
    data = {"sql": "select 1 where a = 'It''s'"}
    assert shown(in_data(data, {"a": "It's"})["sql"]) == "select 1 where a = {{ a | sql }}"


def test_written_template_is_read_back_for_each_instance() -> None:
    values = {"title": "Rye: bread", "stars": "4"}
    keys: dict[str, Any] = {
        "id": "note",
        "intent": in_text("Rye: bread, 4 times {{ x }}", values),
        "sites": ["homepage"],
    }
    keys["each"] = each_of(values, fillings_of('"Oats, rolled", 2', ["title", "stars"]))
    step = in_action(Type(Selector("css=#title"), "Rye: bread", clear=True), values, own="title")
    lines = task_lines(keys, [["- answer: done"]], [(step, ""), (Stop("done"), "")])
    first, second = parse_tasks(shown("\n".join(["tasks:", *lines])))
    assert (first.intent, second.intent) == ("Rye: bread, 4 times {{ x }}", "Oats, rolled, 2 times {{ x }}")
    assert [getattr((task.solution or ())[0], "text", "") for task in (first, second)] == ["Rye: bread", "Oats, rolled"]


def test_instance_values_are_read_one_per_line() -> None:
    assert fillings_of("Oats, 2\n\n 'Spelt' ,3", ["title", "stars"]) == [
        {"title": "Oats", "stars": "2"},
        {"title": "'Spelt'", "stars": "3"},
    ]
    assert fillings_of("stars,title\n2,Oats", ["title", "stars"]) == [{"stars": "2", "title": "Oats"}]
    assert fillings_of("", ["title"]) == []
    with pytest.raises(UsageError, match=r"line 1 of the fillings: expected 2 values .title, stars., found 1"):
        fillings_of("Oats", ["title", "stars"])


def test_plain_numbers_become_numbers() -> None:
    assert each_of({"a": "4", "b": "007", "c": "1.50", "d": "-2"}, []) == [{"a": 4, "b": "007", "c": "1.50", "d": -2}]
