"""Final answers: behind a marker, in boxes, in signs of formulas."""

from __future__ import annotations

from pytest_webarena.checks.computed.extraction import final_answers, unwrap
from tests.cases import each_case


@each_case(
    ("answer", "texts"),
    [
        ("so\nANSWER: 7", ("7",)),
        ("ANSWER: 6\nno\nANSWER: 7.", ("7",)),
        ("**ANSWER:** $7$", ("7",)),
        ("**ANSWER: 7**", ("7",)),
        ("> Final answer: \\(7\\).", ("7",)),
        ("ANSWER:\n\\[\n7\n\\]", ("7",)),
        ("ANSWER: \\[\n7\n\\]\nbye", ("7",)),
        ("ANSWER: the box is \\boxed{7}", ("7",)),
        ("The ANSWER: 7", ()),
        ("7", ()),
        ("\\boxed{7}", ()),
        ("ANSWER:", ()),
        # cited
        ("ANSWER: 7\nThe form was:\n> ANSWER: 5", ("7",)),
        ("ANSWER: 7\n```\nANSWER: 5\n```", ("7",)),
        ("ANSWER: 7\n~~~text\nANSWER: 5\n~~~\nbye", ("7",)),
        ("ANSWER: 7\n```\nANSWER: 5", ("7",)),
        ("```\nANSWER: 5\n```\nANSWER: 7", ("7",)),
        ("ANSWER: 7\n> ```\n> ANSWER: 5\n> ```", ("7",)),
        ("I see.\n> ANSWER: 7", ("7",)),
        ("so\n```\nANSWER: 7\n```\n", ("7",)),
        ("> ANSWER: 7\n\n> ANSWER: 7", ("7",)),
        ("> ANSWER: 5\n\n> ANSWER: 7", ()),
        ("so\n```\nANSWER: 5\n```\n```\nANSWER: 7\n```", ()),
        ("```\nANSWER: 5\nno\nANSWER: 7\n```", ("7",)),
        ("ANSWER:\n```\n7\n```", ("7",)),
        # struck out
        ("ANSWER: ~~5~~ 7", ("7",)),
        ("ANSWER: ~~7~~", ()),
        ("ANSWER: 7\n~~ANSWER: 5~~", ("7",)),
        ("ANSWER: <del>5</del> 7", ("7",)),
        ("~~\nANSWER: 5\n~~", ()),
        ("ANSWER: 7\n~~ANSWER: 6\nANSWER: 5~~", ("7",)),
        ("ANSWER: 7\n<del>\nANSWER: 5\n</del>", ("7",)),
        ('ANSWER: 7\n<s class="x">\n<b>no</b>\nANSWER: 5\n</s>', ("7",)),
        ("ANSWER: 7 <!--\nANSWER: 5\n-->", ("7",)),
        ("<!-- ANSWER: 5 -->", ()),
        ("ANSWER: about ~~ 7\nbye ~~", ("about ~~ 7",)),
        ("~~5 or so\n\nANSWER: 7\n\nnot ~~6~~", ("7",)),
        ("ANSWER: a < 7", ("a < 7",)),
        # indented as code
        ("ANSWER: 7\n    ANSWER: 5", ("7",)),
        ("ANSWER: 7\n\n\tFinal answer: 5", ("7",)),
        ("    so\n    ANSWER: 7", ("7",)),
        ("  ANSWER: 7", ("7",)),
        # the colon of Chinese texts
        ("ANSWER\uff1a7", ("7",)),
        ("**ANSWER\uff1a** 7", ("7",)),
    ],
)
def test_where_the_prompt_asked_for_a_marker(answer: str, texts: tuple[str, ...]) -> None:
    said = final_answers(answer, marker=True)
    assert said.texts == texts
    assert said.missing.startswith("no final answer") is not bool(texts)


@each_case(
    ("answer", "texts"),
    [
        ("7", ("7",)),
        ("It is 7.", ("It is 7",)),
        ("Answer: 7", ("7",)),
        ("Answer: 7\nAnswer: 8", ("7", "8")),
        ("\\boxed{7} and \\boxed{8}", ("7", "8")),
        ("\\boxed{7} and \\boxed{7}", ("7",)),
        ("\\boxed{\\frac{1}{x^{2}}}", ("\\frac{1}{x^{2}}",)),
        ("\\fbox{\\{1, 2\\}}", ("\\{1, 2\\}",)),
        ("\\boxed{7", ("\\boxed{7",)),
        ("", ()),
        (" \n", ()),
        ("Answer: 7\n> Answer: 8", ("7",)),
        ("\\boxed{7}\n```\n\\boxed{8}\n```", ("7",)),
        ("> Answer: 7\n\n> Answer: 8", ("7", "8")),
        ("```\n7\n```", ("7",)),
        ("~~7~~", ()),
        ("$5~~\\mathrm{m}~~$", ("5~~\\mathrm{m}~~",)),
    ],
)
def test_where_nobody_asked_for_one(answer: str, texts: tuple[str, ...]) -> None:
    assert final_answers(answer, marker=False).texts == texts


@each_case(
    ("text", "bare"),
    [
        ("$x^2$.", "x^2"),
        ("\\[ \\boxed{\\boxed{a}} \\]", "a"),
        ("`**7**`", "7"),
        ("$1$ or $2$", "$1$ or $2$"),
        ("wait...", "wait..."),
        ("7.", "7"),
    ],
)
def test_what_is_wrapped_around_goes(text: str, bare: str) -> None:
    assert unwrap(text) == bare


@each_case("filling", ["\t", "~~", "\n", "> ", "<!--", "wait "])
def test_long_texts_are_read_in_steps_that_grow_with_them(filling: str) -> None:
    """Without a bound on backtracking, one of these takes minutes."""
    said = final_answers("ANSWER: 5\n" + filling * (100_000 // len(filling)), marker=True)
    assert said.texts in ((), ("5",))
