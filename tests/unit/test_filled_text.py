"""What a field shows, compared with the text that it was filled with, however the page splits and numbers it."""

from __future__ import annotations

from pytest_webarena.browser.acting.filled_text import is_shown, keeps_old
from tests.cases import each_case


@each_case(
    ("old", "text", "shown"),
    [
        ("old text", "new", "old textnew"),
        ("old text", "new", "newold text"),
        ("old text", "new", "old new text"),
        ("o\nl\nd", "new", "n\newold"),
        ("1\nold text\n2\nmore", "new\nline", "1\nnew\n2\nlineold text\n3\nmore"),
        ("old one\nold two", "new", "new\nold two"),
        ("old one\nold two", "", "old two"),
        ("old", "", "old"),
        ("1\nold", "", "1\nold"),
    ],
)
def test_old_content_that_is_still_shown_is_found(old: str, text: str, shown: str) -> None:
    assert not is_shown(text, shown, numbered=True)
    assert keeps_old(old, text, shown, numbered=True)


@each_case(
    ("text", "shown"),
    [
        ("new text", "\nnew\u00a0\ntext\u200b"),
        ("new\nlines", "1\nnew\n2\nlines"),
        ("new\nlines", "7 new\n8 lines"),
        ("new", "1\nnew"),
        ("", "1\n"),
        ("x" * 2000, "x" * 50),
    ],
)
def test_a_right_text_agrees(text: str, shown: str) -> None:
    assert is_shown(text, shown, numbered=True)


@each_case(
    ("old", "text", "shown"),
    [
        ("", "new", "new."),
        ("f() {}", "g(", "g()"),
        ("EUR 3", "5", "EUR 5"),
        ("old", "new text", "new"),
        ("1\n", "new", "1\nnewer"),
    ],
)
def test_what_a_page_made_of_the_text_is_no_old_content(old: str, text: str, shown: str) -> None:
    assert not is_shown(text, shown, numbered=True)
    assert not keeps_old(old, text, shown, numbered=True)


def test_numbers_are_content_where_a_field_shows_nothing_else() -> None:
    assert not is_shown("new", "1new", numbered=False)
    assert keeps_old("1", "new", "1new", numbered=False)
