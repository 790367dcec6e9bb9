"""Text for messages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest_webarena
from pytest_webarena.text import clip, plain_id, printable, shorten, within
from tests.cases import each_case

PACKAGE = Path(pytest_webarena.__file__).parent


@each_case(
    ("text", "length", "shown"),
    [("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "ab…"), (" a\n\t b ", 9, "a b"), ("a\u00a0b", 9, "a b")],
)
def test_a_text_is_shown_on_one_line_of_its_length(text: str, length: int, shown: str) -> None:
    assert shorten(text, length) == clip(text, length) == shown


@each_case(
    ("text", "id"),
    [
        ("List all open issues of the project Harbour Renewal.", "list-all-open-issues"),
        ("Where to?", "where-to"),
        ("Buy “Ann’s café”.", "buy-anns-cafe"),  # noqa: RUF001
        ("Reassign every unassigned issue of harbourside maintenance", "reassign-every-unassigned-issue"),
        ("of the in a to at once", "of"),
        ("x" * 50, "x" * 40),
        ("Привет", ""),
    ],
)
def test_an_id_is_made_of_whole_words(text: str, id: str) -> None:
    assert plain_id(text) == id


def test_a_text_within_a_length_keeps_its_lines() -> None:
    assert (within("a\n b", 4), within("a\n bc", 4)) == ("a\n b", "a\n …")


def test_what_cannot_be_printed_is_marked_where_it_may_be_anything() -> None:
    assert clip("a\x1b[2Jb\u200b") == "a\N{REPLACEMENT CHARACTER}[2Jb\N{REPLACEMENT CHARACTER}"


def test_texts_are_shortened_in_one_place() -> None:
    cutting = re.compile(r"""\[:[^]\n]*\]\}?(" ?\+ ?"|…| \+ "…)""")
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "_shipped" not in path.parts and cutting.search(path.read_text("utf-8"))
    }
    assert found == {"text.py"}


@each_case(
    ("text", "shown"),
    [
        ("one\ttwo\nthree", "one\ttwo\nthree"),
        ("a\r\nb\rc", "a\nb\ufffdc"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;t\x07\x9b2J", "red \ufffd]0;t\ufffd\ufffd2J"),
        ("a\u202eb\u2066c\u2028::d", "a\ufffdb\ufffdc\ufffd::d"),
        ("\ud800\x7f\x00", "\ufffd\ufffd\ufffd"),
        ("::set-env::x\n \t::y", r"\::set-env::x" + "\n \t" + r"\::y"),
        ("see ::x", r"see \::x"),  # wrapped, it could begin a line
        ("tests/a.yaml::sum a[::2] C++::x", "tests/a.yaml::sum a[::2] C++::x"),
        ("a ##[group]b ##vso[x] ## Title", r"a #\#[group]b #\#vso[x] ## Title"),
        ("see [[ATTACHMENT|/etc/passwd]] [[x]]", r"see [\[ATTACHMENT|/etc/passwd]] [[x]]"),
        (r"\::x #\#[y]", r"\::x #\#[y]"),  # once is enough
    ],
)
def test_what_anybody_wrote_acts_nowhere(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown
