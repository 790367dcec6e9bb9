"""The calculator: a form, a keypad, and a history kept per person."""

from __future__ import annotations

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.homepage.accounts import owner
from pytest_webarena.embedded.homepage.arithmetic import LONGEST, CalculationError, calculate
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["SHOWN", "pages"]

SHOWN = 25
"""How many calculations the history shows, newest first."""

_KEYS = (
    ("7", "8", "9", "(", ")"),
    ("4", "5", "6", "×", "÷"),
    ("1", "2", "3", "+", "−"),
    ("0", ".", "%", "^", "sqrt("),
)

pages = Blueprint("calculator", __name__)


@pages.get("/calculator")
def show() -> ResponseReturnValue:
    """The calculator; ``?expression=`` is worked out and shown, without entering the history."""
    expression = request.args.get("expression", "").strip()
    return _page(expression)


@pages.post("/calculator")
def work_out() -> ResponseReturnValue:
    expression = request.form.get("expression", "").strip()
    try:
        result = calculate(expression)
    except CalculationError:
        return _page(expression or " ")
    with database() as connection:
        connection.execute(
            "INSERT INTO calculations (owner, expression, result, created) VALUES (?, ?, ?, ?)",
            (owner(), expression, result, timestamp()),
        )
    return redirect(url_for("calculator.show", expression=expression), 303)


@pages.post("/calculator/clear")
def clear() -> ResponseReturnValue:
    with database() as connection:
        connection.execute("DELETE FROM calculations WHERE owner = ?", (owner(),))
    flash("The history is empty now.")
    return redirect(url_for("calculator.show"), 303)


def _page(expression: str) -> ResponseReturnValue:
    result = error = ""
    if expression:
        try:
            result = calculate(expression)
        except CalculationError as problem:
            error = str(problem)
    history = database().execute(
        "SELECT id, expression, result FROM calculations WHERE owner = ? ORDER BY id DESC LIMIT ?", (owner(), SHOWN)
    )
    page = render_template(
        "calculator.html", expression=expression.strip(), result=result, error=error, history=history.fetchall(),
        keys=_KEYS, longest=LONGEST,
    )  # fmt: skip
    return page, 422 if error and request.method == "POST" else 200
