"""Tokens of answers."""

from __future__ import annotations

from pytest_webarena.checks.answer_types.tokens import fold, tokens
from tests.cases import each_case


@each_case(
    ("text", "wanted"),
    [
        ("yjlou-2 main-old B42a v2.1 6*6 6-6 1/2", "yjlou-2 main-old B42a v2.1 6*6 6-6 1/2"),
        ("2026-03-04, 14:30; €1,234.50!", "2026-03-04 14:30 €1,234.50"),
        ("(Ann Lee) \"Bo\" 'Cy'.", "Ann Lee Bo Cy"),
        ("http://shop.test/a?b=1,2#c (see x:y)", "http://shop.test/a?b=1,2#c see x y"),
        ("a,b;c 1,5", "a b c 1,5"),
        ("1 - 2 and a - b", "1 - 2 and a b"),
        ("**Acme** _Bolt_ `coil` ***Dry***", "Acme Bolt coil Dry"),
        ("snake_case 2*3*4 *", "snake_case 2*3*4"),
        ("# Title\n- one\n* two\n> three", "Title one two > three"),
        ("1. Ann\n2. Bo", "Ann Bo"),
        ("7. Ann", "7 Ann"),
        ("| Name | Count |\n|---|--:|\n| Ann | 7 |", "Name Count Ann 7"),
        ("[Kettle](http://shop.test/k)", "Kettle http://shop.test/k"),
        ("[http://shop.test](http://shop.test)", "http://shop.test"),
        ("```json\n{\"count\": 36, \"items\": [\"a\", null, true]}\n```", "count 36 items a items none items yes"),
        ("{\"answer\": 1.50}", "1.50"),
        ("Caf\u00e9 Noir\u00e9 \u201cA\u201d \u2018b\u2019 3", "Cafe Noire A b 3"),
        ("A &amp; B & C", "A and B and C"),
        ("ten\u00a0km\u200b 5\u202f000", "ten km 5 000"),
        ("I think 5.\nFinal answer: 6", "6"),
        ("so \\boxed{42}", "so 42"),
        ("<5 .5 -5", "<5 .5 -5"),
        ("", ""),
    ],
)  # fmt: skip
def test_texts_are_split(text: str, wanted: str) -> None:
    assert [token.text for token in tokens(text)] == wanted.split()


def test_tokens_know_where_a_clause_starts() -> None:
    assert [token.text for token in tokens("a b, c (d) e\nf: g") if token.new_clause] == ["a", "c", "d", "e", "f", "g"]


def test_invalid_json_is_text() -> None:
    assert fold("{a: 1}") == "{a: 1}"
    assert fold("[" * 5000 + "]" * 5000).startswith("[")
