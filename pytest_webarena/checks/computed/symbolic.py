"""The kind ``symbolic``: a formula that is equal to the reference, however it is written.

Answers are hostile text. They are read by a parser of our own (`grammar`), never run, and compared in a process of
their own with little time and memory (`confined_process`). An answer with mathematics that is not read, or that can't
be compared, is undecided.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from typing import Any

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.checks.computed.asking import REFUSED, asked_form, no_answer, no_final_answer
from pytest_webarena.checks.computed.confined_process import Ended, run_confined
from pytest_webarena.checks.computed.extraction import final_answers
from pytest_webarena.checks.computed.symbolic_form import FORM, SymbolicSpec
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.values import may_be_number
from pytest_webarena.checks.judge_protocol import QuestionKind
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.undecided_answers import judge_or_undecided
from pytest_webarena.text import clip

__all__ = ["SYMBOLIC", "SymbolicSpec", "decide", "decide_alone", "judge", "missing_libraries"]

_ORDER = ("equal", "undecided", "unreadable", "unequal", "reference")
"""What decides among several references, the first first; a bad one only if no other is met."""
MOST_ANSWERS = 4
"""Final answers that one answer may give; each is judged."""


def missing_libraries() -> tuple[str, ...]:
    """Which of the libraries of the extra ``math`` that formulas need are not installed, as pip calls them."""
    return tuple(name for name in ("sympy",) if importlib.util.find_spec(name) is None)


def judge(spec: SymbolicSpec, view: View) -> Judgement:
    """Judge the formula in the agent's last word."""
    answer, expected = view.evidence.text_answer, str(spec)
    if answer is None:
        return no_answer(view, expected)
    if missing := missing_libraries():
        why = (
            f"judging formulas needs {', '.join(missing)}: `pip install 'pytest-webarena[math]'`, then judge the run "
            "again with --rescore"
        )
        return Judgement.unknown(expected=expected, why=why, cause="judge")
    said = final_answers(answer, marker=spec.marker)
    actual = f'"{clip(" | ".join(said.texts) or answer, 500)}"'
    if said.missing:
        return no_final_answer(said, answer, view, expected, marker=spec.marker)
    if says_unachievable(answer) or any(map(says_unachievable, said.texts)):
        return Judgement.of(False, expected=expected, actual=actual, why=REFUSED)
    if len(said.texts) > MOST_ANSWERS:
        return _undecided(spec, answer, view, f"it gives {len(said.texts)} final answers")
    found = [decide(spec, text, view.intent) for text in said.texts]
    verdicts = {verdict for verdict, *_ in found}
    why = next((why for verdict, why, _ in found if verdict != "equal"), "")
    if "reference" in verdicts:
        why = next(why for verdict, why, _ in found if verdict == "reference")
        return Judgement.unknown(expected=expected, actual=actual, why=f"the reference is no formula: {why}")
    if verdicts == {"equal"}:
        if not any(partly for *_, partly in found):
            return Judgement.of(True, expected=expected, actual=actual)
        return Judgement(score=spec.up_to_score, expected=expected, actual=actual, why=f"right up to a {spec.up_to}")
    if verdicts == {"unequal"} or (verdicts == {"unreadable"} and not any(map(may_be_formula, said.texts))):
        return Judgement.of(False, expected=expected, actual=actual, why=why)
    if "unreadable" in verdicts:
        why = f"the answer is not read as a formula: {why}"
    return _undecided(spec, answer, view, why or "neither equal nor different, as far as could be found")


def _undecided(spec: SymbolicSpec, answer: str, view: View, why: str) -> Judgement:
    """What the judge model says if there is one."""
    kind: QuestionKind = "formula" if spec.ask else "equivalent"
    return judge_or_undecided(kind, " or ".join(spec.equals), answer, view, why)


def may_be_formula(text: str) -> bool:
    """Whether a text that is not read as a formula has any mathematics in it.

    >>> [may_be_formula(text) for text in ("x + 1 if so", "twice pi", "I give up.")]
    [True, True, False]
    """
    if may_be_number(text) or re.search(r"[\\^_=+*/<>]|[^\x00-\x7f\u2010-\u2027]", text):
        return True
    return any(word not in ("a", "A", "I") and len(word) == 1 for word in re.findall(r"(?<!['\w])[A-Za-z]+", text))


def decide(spec: SymbolicSpec, text: str, intent: str = "") -> tuple[str, str, bool]:
    """The verdict, why, and whether it holds only in part. The answer is read there, too, where little can be spent.

    ``intent``: what the task asks. It decides whether a derivative was asked for, where the answer has one on its left.
    """

    def confined() -> tuple[str, str, bool]:
        _without_reader()
        return decide_alone(spec, text, intent)

    try:
        return run_confined(confined)
    except Ended as ended:
        return "undecided", f"comparing it was given up, because {ended}", False


def decide_alone(spec: SymbolicSpec, text: str, intent: str = "") -> tuple[str, str, bool]:
    """The best that comes of any of the references, here, without limits."""
    from pytest_webarena.checks.computed.comparing import BadReference, compare

    found: list[tuple[str, str, bool]] = []
    terms = replace(spec.terms(), intent=intent)
    for reference in spec.equals:
        try:
            finding = compare(reference, text, terms)
        except BadReference as error:
            found.append(("reference", f"'{clip(reference, 60)}': {error}", False))
        except Unreadable as error:
            found.append(("unreadable", str(error), False))
        else:
            found.append((finding.verdict, finding.why, finding.partly))
            if finding.verdict == "equal" and not finding.partly:
                break
    if all(verdict != "equal" for verdict, _, _ in found) and (
        bad := [each for each in found if each[0] == "reference"]
    ):
        return bad[0]
    return min(found, key=lambda each: (_ORDER.index(each[0]), each[2]))


def _without_reader() -> None:
    """Take SymPy's reader of text away, which runs what it reads: in this process nothing has any use for it.

    Its ``equals`` and some of its integrals write down a number and have it read again.
    """
    from sympy.parsing import sympy_parser

    sympy_parser.parse_expr = _refuse


def _refuse(text: str, *_: object, **__: object) -> Any:
    raise SyntaxError("text is not read here")


def _make_ready(spec: SymbolicSpec) -> None:
    """Load SymPy and what it loads on first use."""
    from pytest_webarena.checks.computed.comparing import compare

    _load_late()
    terms = spec.terms()
    for reference, answer in _WARMING:
        compare(reference, answer)
    for reference in spec.equals:
        run_confined(lambda reference=reference: compare(reference, reference, terms).verdict)  # type: ignore[misc]


def _load_late() -> None:
    """Load what SymPy otherwise loads while it compares, and what reads constants of its own as code when it is loaded.

    After it no text is run any more: the fuzz ends a process that does.
    """
    import sympy
    import sympy.physics.units
    from sympy.integrals.meijerint import meijerint_indefinite

    from pytest_webarena.checks.computed.units import warm

    name = sympy.Symbol("x")
    meijerint_indefinite(sympy.exp(-(name**2)), name)
    warm()


_WARMING = (
    ("(x-1)(x+1)/(x-1)", "x + 1"),
    ("\\sin^2 x + \\ln y", "1 - \\cos^2 x + \\ln y"),
    ("y = \\sqrt{x^2}", "y = |x|"),
    ("e^{i t} n!", "(\\cos t + i \\sin t) n!"),
    ("\\int_0^1 x dx", "1/2"),
    ("2x > 6", "x > 3"),
    ("[[1,2],[3,x]]", "[[1,2],[3,x]]"),
)

SYMBOLIC: Kind[SymbolicSpec] = Kind(
    name="symbolic",
    doc=(
        "Checks that the answer is a formula equal to the reference, however it is written. A text alone is "
        'short for `equals`. Needs `pip install "pytest-webarena[math]"`. See [computed '
        "answers](computed.md) for notation and undecided answers."
    ),
    form=FORM,
    judge=judge,
    category=lambda spec: "information",
    looks_at=lambda spec: {"answer"},
    asks=lambda spec: asked_form("one formula, in LaTeX or plain text", marker=spec.marker),
    make_ready=_make_ready,
    examples=('- symbolic: "x^2/2 + C"', "- symbolic: {equals: 'm g h', rename: true}"),
)
