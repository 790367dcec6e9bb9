"""Key names as agents write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.browser.acting.keys import UnknownKey, playwright_keys
from tests.cases import each_case


@each_case(
    ("written", "key"),
    [
        ("Enter", "Enter"),
        ("enter", "Enter"),
        ("RETURN", "Enter"),
        ("esc", "Escape"),
        ("arrowleft", "ArrowLeft"),
        ("Arrow Down", "ArrowDown"),
        ("page_down", "PageDown"),
        ("up", "ArrowUp"),
        ("space", "Space"),
        (" ", "Space"),
        ("ctrl+v", "Control+v"),
        ("Ctrl + V", "Control+v"),  # the shortcut, not a capital letter
        ("ctrl+shift+T", "Control+Shift+T"),
        ("cmd+c", "ControlOrMeta+c"),
        ("Meta+a", "Meta+a"),
        ("A", "A"),
        ("é", "é"),
        ("+", "+"),
        ("Control++", "Control++"),
        ("f5", "F5"),
        ("numpadadd", "NumpadAdd"),
        ("KeyA", "KeyA"),
        ("ControlLeft+a", "ControlLeft+a"),
        ("slash", "Slash"),
        ("dot", "."),
    ],
)
def test_key_names_are_recognised(written: str, key: str) -> None:
    assert playwright_keys(written) == key


@each_case(
    ("written", "message"),
    [
        ("Entr", "did you mean Enter"),
        ("hello", "no key 'hello'"),
        ("a+b", "can't be held down"),
        ("", "expected a key, found none"),
        ("Control+", "expected a key, found none"),
    ],
)
def test_unknown_key_error_suggests_a_name(written: str, message: str) -> None:
    with pytest.raises(UnknownKey, match=message):
        playwright_keys(written)


@given(st.text(max_size=12))
def test_any_text_is_a_key_or_raises_unknown_key(text: str) -> None:
    try:
        names = playwright_keys(text)
    except UnknownKey:
        return
    assert names
