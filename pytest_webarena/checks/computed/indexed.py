r"""Names that are counted by an index, in sums and products over it: ``\sum_i p_i \ln p_i``.

SymPy takes ``p_i`` for one name that does not depend on ``i``, so that its sum over i = 1 to n were ``n p_i``. Here
each term has names of its own.
"""

from __future__ import annotations

import re
from typing import Any

import sympy as sp

from pytest_webarena.checks.computed.tokens import Unreadable

__all__ = ["at_index", "is_counted", "over_all"]

_NUMBERS = (5, 8, 13)
"""Of the terms that stand for all where their number is not known: what holds for any n terms holds for three."""


def is_counted(value: Any, index: str) -> bool:
    """Whether names in an expression are counted by an index.

    >>> p, x = sp.symbols("p_i x_max")
    >>> is_counted(p * x, "i"), is_counted(x, "x")
    (True, False)
    """
    return any(_at(symbol.name, index, "") is not None for symbol in value.free_symbols)


def at_index(value: Any, index: str, number: int, ends: str = "") -> Any:
    """One term; ``ends`` marks names of which it is not known how many there are.

    >>> at_index(sp.Symbol("i") * sp.Symbol("x_i"), "i", 2)
    2*x_2
    """
    mark = f"[{number} {ends}]" if ends else str(number)
    renamed = {symbol: _at(symbol.name, index, mark) for symbol in value.free_symbols}
    found = value.subs(sp.Symbol(index), number)
    return found.subs({symbol: sp.Symbol(name) for symbol, name in renamed.items() if name is not None})


def over_all(kind: str, value: Any, index: str, ends: tuple[Any, ...]) -> Any:
    """The ``sum`` or ``prod`` of all that is counted, from one end to the other if these are said.

    Raises `Unreadable` where it has to be known how many terms there are.
    """
    join, split = (sp.Add, sp.Add.make_args) if kind == "sum" else (sp.Mul, sp.Mul.make_args)
    parts = split(sp.expand(value) if kind == "sum" else sp.powsimp(value))
    counted = join(*(part for part in parts if is_counted(part, index)))
    rest = join(*(part for part in parts if not is_counted(part, index)))
    where = " ".join(map(str, ends)) or "all"
    terms = [at_index(counted, index, number, where) for number in _NUMBERS]
    if rest == join():
        return join(*terms)
    if not ends:
        raise Unreadable("a sum or product does not say from where to where")
    low, high = ends
    if rest.has(sp.Symbol(index)):
        repeated = (sp.Sum if kind == "sum" else sp.Product)(rest, (sp.Symbol(index), low, high))
    else:
        repeated = rest * (high - low + 1) if kind == "sum" else rest ** (high - low + 1)
    return join(*terms, repeated)


def _at(name: str, index: str, mark: str) -> str | None:
    """A name with ``mark`` for its index; None where it has no such index."""
    base, _, below = name.partition("_")
    if re.search("[A-Za-z]{3}", re.sub(r"\[[^\]]*\]", "", below)):
        return None  # a word
    letters = rf"(?<!\[){re.escape(index)}(?![^\[]*\])"
    return f"{base}_{re.sub(letters, mark, below)}" if re.search(letters, below) else None
