"""Formulas read: how texts are cut, what they mean, what is refused, and that nothing is left to chance."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import pkgutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pytest_webarena.checks.computed as room
from pytest_webarena.checks.computed.building import build
from pytest_webarena.checks.computed.grammar import parse
from pytest_webarena.checks.computed.names import words
from pytest_webarena.checks.computed.tokens import LONGEST, Unreadable, tokenise, unwrap
from pytest_webarena.checks.computed.tree import Node
from tests.cases import each_case


def shown(tree: Node) -> str:
    """A tree on one line."""
    if tree.op in ("num", "name", "const"):
        return tree.text
    name = tree.text if tree.op == "call" else f"{tree.op}:{tree.text}" if tree.text not in ("", "()") else tree.op
    return f"{name}({', '.join(map(shown, tree.parts))})"


@each_case(
    ("text", "meaning"),
    [
        (r"\frac{1}{2} m v_{\text{max}}^2", "mul(mul(div(1, 2), m), pow(v_max, 2))"),
        ("1/2 m v_max**2", "mul(mul(div(1, 2), m), pow(v_max, 2))"),
        ("2πr²", "mul(mul(2, pi), pow(r, 2))"),
        (r"\sin^2 x \cos y", "mul(pow(sin(x), 2), cos(y))"),
        (r"\sin^{-1} x", "asin(x)"),
        ("sin 2πft", "sin(mul(mul(mul(2, pi), f), t))"),
        ("sin(x)y", "mul(sin(x), y)"),
        (r"\log_2 x + \log_{10}(y)", "add(log(x, 2), log(y, 10))"),
        (r"e^{-i\omega t}", "pow(e, neg(mul(mul(i, omega), t)))"),
        ("-x^2", "neg(pow(x, 2))"),
        ("2^-x", "pow(2, neg(x))"),
        ("2^3^x", "pow(2, pow(3, x))"),
        ("mgh", "mul(mul(m, g), h)"),
        ("x1 + x_2", "add(x_1, x_2)"),
        (r"v_{\mathrm{out}}", "v_out"),
        (r"\vec{F} + \hat{n} + \dot x", "add(add(F, hat n), dot x)"),
        (r"f'(x)", "mul(f', x)"),
        (r"\frac{dy}{dx}", "dy/dx"),
        (r"\frac{d}{dx} x^2", "diff:x(pow(x, 2))"),
        (r"\int_1^2 \frac{dx}{x}", "int:x(div(1, x), 1, 2)"),
        (r"\sum_{i=1}^n i", "sum:i(i, 1, n)"),
        (r"\lim_{x\to 0} \frac{\sin x}{x}", "lim:x(div(sin(x), x), 0)"),
        (r"\frac12 + \sqrt2 + \sqrt[3]{x}", "add(add(div(1, 2), root(2)), root(x, 3))"),
        (r"2\frac{1}{3}", "add(2, div(1, 3))"),
        (r"2\frac{x}{3}", "mul(2, div(x, 3))"),
        (r"\left|x+1\right| |y|", "mul(abs(add(x, 1)), abs(y))"),
        ("n! + n!!", "add(fact(n), fact2(n))"),
        (r"\binom{n}{k} {n \choose k}", "mul(binomial(n, k), binomial(n, k))"),
        ("30°", "mul(30, degree())"),
        ("1,000", "1000"),
        ("(1,000)", "tuple(1, 000)"),
        (r"1{,}000.5", "1000.5"),
        ("1.5e-3", "1.5e-3"),
        ("x = 1 ± 2", "relation:=(x, pm(1, 2))"),
        ("1 < x ≤ 2", "relation:< <=(1, x, 2)"),
        (r"x+1=3 \implies x = 2", "relation:=(x, 2)"),
        (r"x=1 \text{ or } x=2", "list(relation:=(x, 1), relation:=(x, 2))"),
        (r"\{1, 2\}", "set(1, 2)"),
        (r"(-\infty, 3] \cup (5, 6)", "set(tuple:(](neg(oo), 3), tuple(5, 6))"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "matrix(row(1, 2), row(3, 4))"),
        ("[[1,2],[3,4]]", "matrix(row(1, 2), row(3, 4))"),
        ("Matrix([[1,2],[3,4]])", "matrix(row(1, 2), row(3, 4))"),
        ("alpha * beta", "mul(alpha, beta)"),
        ("hc/λ", "div(mul(h, c), lambda)"),
    ],
)
def test_what_a_text_means(text: str, meaning: str) -> None:
    assert shown(parse(text).tree) == meaning


def test_the_case_of_names_matters() -> None:
    assert shown(parse("C c").tree) == "mul(C, c)"


def test_longer_names_are_known_or_products() -> None:
    assert shown(parse("rate*t").tree) == "mul(mul(mul(mul(r, a), t), e), t)"
    assert shown(parse("rate*t", {"rate"}).tree) == "mul(rate, t)"
    assert shown(parse("2ratet", {"rate"}).tree) == "mul(mul(2, rate), t)"
    assert shown(parse(r"\text{rate} t").tree) == "mul(rate, t)"


def test_constants_are_names_where_they_are_declared() -> None:
    assert parse("e", {"e"}).tree == Node("name", "e")
    assert parse("e").tree == Node("const", "e")


def test_subscripts_end_where_names_do() -> None:
    assert shown(parse(r"v_0t").tree) == "mul(v_0, t)"
    assert shown(parse(r"\alpha v_it").tree) == "mul(mul(alpha, v_i), t)"
    assert shown(parse("v_it", {"v_i"}).tree) == "mul(v_i, t)"
    assert shown(parse("v_max").tree) == "v_max"


def test_a_product_behind_a_division_line_is_ambiguous() -> None:
    assert parse("a/bc").ambiguous
    assert not parse("1/2 x").ambiguous
    assert shown(parse("a/bc").tree) == "mul(div(a, b), c)"
    assert shown(parse("a/bc", tight=True).tree) == "div(a, mul(b, c))"


@each_case(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("x +", "it breaks off"),
        ("1 2", "two numbers stand side by side"),
        ("(1", "a bracket '\\(' is not closed"),
        ("x)", "expected an end or an operator, found '\\)'"),
        (r"\input{a}", r"the command \\input is not understood"),
        ("import os; x@y", "which no formula has"),
        (r"\text{who knows } x", 'it has words: "who knows"'),
        ("(" * 60 + "x" + ")" * 60, "nested more than 40 deep"),
        ("x" * (LONGEST + 1), "2,001 characters"),
        ("+x" * 400, "more than 600 parts"),
        (r"\int x dx", "an integral without limits"),
        (r"\sin", "'sin' has no argument"),
        (r"\begin{pmatrix}1&2\\3\end{pmatrix}", "rows of different lengths"),
        ("\\", "ends with a backslash"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        parse(text)


@each_case(
    "text",
    [
        "10**10**10",
        "9^{9999}",
        r"\sqrt{2}^{100000}",
        "(10^9)!",
        "2000!",
        r"\binom{10^7}{5}",
        "x^(10^9)",
        "((2x)^{9999})^{9999}",
        "1e5000",
        "1/0",
        "0^{-1}",
        r"\begin{pmatrix}1&2\\3&4\end{pmatrix}^{1000}",
        r"\gcd(x, 2)",
        "x = 1",
    ],
)
def test_what_is_too_large_or_no_value_is_not_built(text: str) -> None:
    with pytest.raises(Unreadable):
        build(parse(text).tree)


@each_case(("text", "bare"), [("$x$.", "x"), (r"\[ x \]", "x"), ("$$x$$", "x"), ("$x$ + $y$", "$x$ + $y$")])
def test_marks_around_the_whole_are_taken_off(text: str, bare: str) -> None:
    assert unwrap(text) == bare


PIECES = st.sampled_from(
    words(r"x y 2 10 .5 ( ) [ ] { } | ! ^ _ + - * / = < , ; \frac \sqrt \sin \int_0^1 dx \sum_{k=1}^n \{ \} & \\ e i")
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.lists(PIECES, max_size=30).map("".join), st.text(max_size=60)))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (tokenise, parse):
        with contextlib.suppress(Unreadable):
            read(text)


@each_case("name", [each.name for each in pkgutil.iter_modules(room.__path__)])
def test_examples_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"{room.__name__}.{name}")).failed == 0
