"""WebArena's id grammar: parsing, error messages, and no exception on any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.actions import (
    Back,
    Click,
    CloseTab,
    Element,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Press,
    Scroll,
    Stop,
    Type,
)
from pytest_webarena.browser.grammars import grammar, grammars
from pytest_webarena.browser.grammars.webarena import describe, parse
from pytest_webarena.errors import UsageError
from tests.cases import each_case


@each_case(
    ("text", "action"),
    [
        ("click [42]", Click(Element("42"))),
        ("click[42]", Click(Element("42"))),
        ("click [42] and see", Click(Element("42"))),  # what follows is ignored
        ("hover [7]", Hover(Element("7"))),
        ("type [1] [x]", Type(Element("1"), "x", enter=True)),  # Enter unless told not to
        ("type [1] [x] [1]", Type(Element("1"), "x", enter=True)),
        ("type [1] [x] [0]", Type(Element("1"), "x", enter=False)),
        ("type[1][x][0]", Type(Element("1"), "x", enter=False)),
        ("type [1] [a] b] [0]", Type(Element("1"), "a] b", enter=False)),  # greedy
        ("type [1] [x] [2]", Type(Element("1"), "x] [2", enter=True)),  # upstream: no flag, so one is appended
        ("type [1] [naïve “quotes” 漢字 😀] [0]", Type(Element("1"), "naïve “quotes” 漢字 😀", enter=False)),
        ("type [1] [two\nlines] [0]", Type(Element("1"), "two\nlines", enter=False)),
        ("press [Enter]", Press("Enter")),
        ("press [ctrl+v]", Press("ctrl+v")),
        ("press [Meta+a]", Press("ControlOrMeta+a")),
        ("scroll [down]", Scroll("down")),
        ("scroll up", Scroll("up")),
        ("scroll [direction=down]", Scroll("down")),
        ("goto [http://a.test/x?q=[1]]", Goto("http://a.test/x?q=[1]")),  # greedy
        ("new_tab", NewTab()),
        ("close_tab", CloseTab()),
        ("tab_close", CloseTab()),  # as the paper's table of actions has it
        ("go_back", Back()),
        ("go_forward", Forward()),
        ("tab_focus [2]", FocusTab(2)),
        ("page_focus [0]", FocusTab(0)),
        ("noop", Noop()),
        ("stop [42 m]", Stop("42 m")),
        ("stop [[1, 2]]", Stop("[1, 2]")),
        ("stop", Stop("")),
        ("stop []", Stop("")),
        ("stop [two\nlines]", Stop("two\nlines")),
        ("stop [one] \n [two]", Stop("one")),  # upstream reads a line
        (
            "stop [let $x \\in [a, b]$.\nThen [1] holds:\nANSWER: (c)]",
            Stop("let $x \\in [a, b]$.\nThen [1] holds:\nANSWER: (c)"),
        ),
        ("stop [x in (0, 1]\nso it is]", Stop("x in (0, 1]\nso it is")),
        ("stop [x in [0, 1)\nso it is]", Stop("x in [0, 1)\nso it is")),
        (
            "stop [see [1]\n```python\nx = [1]\n```\nso x[0] is 1]",
            Stop("see [1]\n```python\nx = [1]\n```\nso x[0] is 1"),
        ),
        ("stop [the `a` is [b\nclick [3]", Stop("the `a` is [b\nclick [3")),
        ("stop [one]\nclick [3]", Stop("one")),  # a further action
        ("  click [1]  \n", Click(Element("1"))),
    ],
)
def test_actions_of_webarena_are_parsed(text: str, action: object) -> None:
    assert parse(f"Let me think. ```{text}``` Done. ```click [99]```") == action


@each_case(
    ("text", "reason"),
    [
        ("click [42]", "No action found"),
        ("```click [42]", "closing ``` is missing"),
        ("``````", "nothing between"),
        ("```   ```", "nothing between"),
        ("```clik [42]```", "did you mean 'click'"),
        ("```Click [42]```", "'Click' is no action"),  # verbs are case-sensitive
        ("```click [the button]```", "format is: click [id]"),
        ("```click 42```", "format is: click [id]"),
        ("```click [٤٢]```", "format is: click [id]"),  # digits, but not ASCII's
        ("```type [1]```", "format is: type [id] [text]"),
        ("```type [1] [] [1]```", "format is: type [id] [text]"),  # no empty text, as upstream
        ("```press []```", "format is: press [key]"),
        ("```scroll [left]```", "format is: scroll [down]"),
        ("```goto```", "format is: goto [address]"),
        ("```tab_focus [x]```", "format is: tab_focus"),
        ("```tab_focus [99999999999999]```", "format is: tab_focus"),
        ("```python\nclick [42]\n```", "is no action"),
        ("", "No action found"),
    ],
)
def test_malformed_action_is_invalid_with_a_reason(text: str, reason: str) -> None:
    action = parse(text)
    assert isinstance(action, Invalid)
    assert action.text == text
    assert reason in action.reason


pieces = st.sampled_from(
    [
        "```",
        "[",
        "]",
        "[1]",
        "[0]",
        "[42]",
        "click",
        "type",
        "press",
        "scroll",
        "goto",
        "stop",
        "tab_focus",
        "down",
        "up",
        "\n",
        "\\",
        "'",
        '"',
        "漢",
        "�",
        "+",
        "ctrl",
    ]
)


@given(st.lists(pieces | st.text(max_size=8), max_size=20).map("".join))
def test_parser_never_raises(text: str) -> None:
    for reply in (text, f"```{text}```"):
        action = parse(reply)
        if isinstance(action, Invalid):
            assert action.text == reply
            assert action.reason


@given(st.text(min_size=1).filter(lambda text: "`" not in text and text.strip()))
def test_typed_text_is_unchanged(text: str) -> None:
    action = parse(f"```type [3] [{text}] [0]```")
    assert action == Type(Element("3"), text, enter=False)


def test_the_description_mentions_every_action_it_reads() -> None:
    for verb in [
        "click",
        "hover",
        "type",
        "press",
        "scroll",
        "goto",
        "go_back",
        "go_forward",
        "new_tab",
        "close_tab",
        "tab_focus",
        "stop",
    ]:
        assert verb in describe()


def test_grammars_are_found_by_name() -> None:
    assert grammars() == ("webarena", "playwright", "set_of_marks", "coordinates", "tools", "webcanvas")
    assert grammar("webarena").parse("```noop```") == Noop()
    with pytest.raises(UsageError, match="did you mean 'webarena'"):
        grammar("webarna")
