"""Names in formulas: Greek letters, functions, constants, and what LaTeX calls operators and brackets."""

from __future__ import annotations

__all__ = [
    "CALLS", "COMMANDS", "CONSTANTS", "FUNCTIONS", "GREEK", "GREEK_QUANTITIES", "IGNORED", "LETTERS", "RELATIONS",
    "SHORT", "words",
]  # fmt: skip


def words(text: str) -> list[str]:
    """The words of a text, which is how long lists of names are read best."""
    return text.split()


GREEK = frozenset(
    words(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi "
        "chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
    )
)
GREEK_QUANTITIES = "|".join(sorted(name for name in GREEK - {*words("iota mu omicron pi")} if name.islower()))
"""Of which quantities are called, spelled in a sentence; as a pattern. μ there is a millionth, π a number."""
LETTERS = {
    **{f"var{name}": name for name in ("epsilon", "theta", "phi", "rho", "sigma", "pi", "kappa")},
    "hbar": "hbar",
    "hslash": "hbar",
    "ell": "ell",
    "nabla": "nabla",
    "partial": "partial",
    "aleph": "aleph",
    "top": "T",
    "intercal": "T",
}
"""Further letters that LaTeX has commands for."""

FUNCTIONS = {
    **{
        name: name
        for name in words(
            "sin cos tan cot sec csc sinh cosh tanh coth sech csch "
            "asin acos atan acot asec acsc asinh acosh atanh acoth asech acsch "
            "exp ln log sqrt cbrt abs sgn sign min max floor ceil erf erfc re im arg conj gcd lcm fact"
        )
    },
    **{
        f"{arc}{name}": f"a{name}"
        for arc in ("arc", "ar")
        for name in words("sin cos tan cot sec csc sinh cosh tanh coth sech csch")
    },
    "tg": "tan",
    "ctg": "cot",
    "cosec": "csc",
    "lg": "log10",
    "lb": "log2",
    "ceiling": "ceil",
    "Abs": "abs",
    "Re": "re",
    "Im": "im",
    "Max": "max",
    "Min": "min",
    "factorial": "fact",
    "binomial": "binomial",
    "LambertW": "lambertw",
    "Heaviside": "heaviside",
}
"""How a function may be called, and the one name that it has here."""
CALLS = {
    **{
        name: name
        for name in words(
            "Rational Pow root Eq Ne Lt Le Gt Ge Interval Intervalopen IntervalLopen IntervalRopen Union FiniteSet "
            "Piecewise Matrix diag Or And Integral Sum Product Derivative Limit Divide Plus Times LogBase Complex"
        )
    },
    **dict.fromkeys(words("set Set"), "FiniteSet"),
    **dict.fromkeys(words("ImmutableMatrix array vector Vector"), "Matrix"),
    **dict.fromkeys(words("S Integer Float sympify Sympify simplify"), "same"),
    **dict.fromkeys(words("comb nCr Binomial binom C"), "binomial"),
    **dict.fromkeys(words("pow power Power"), "Pow"),
    **dict.fromkeys(words("Integrate integrate"), "Integral"),
    **dict.fromkeys(words("diff Diff"), "Derivative"),
    "Fraction": "Rational",
    "Surd": "root",
    "summation": "Sum",
    "limit": "Limit",
    "complex": "Complex",
}
"""What programs call, before a bracket."""
SHORT = frozenset({"re", "im", "lg", "lb"})
"""Functions that in plain text are ones before a bracket alone, and two names otherwise."""

CONSTANTS = {"pi": "pi", "e": "e", "i": "i", "infty": "oo", "oo": "oo", "inf": "oo", "infinity": "oo", "Infinity": "oo"}
"""Names that are numbers unless something else is declared or found to be meant."""

RELATIONS = {
    "=": "=", "==": "=", ":=": "=", "\u2254": "=", "coloneqq": "=",
    "le": "<=", "leq": "<=", "leqslant": "<=", "ge": ">=", "geq": ">=", "geqslant": ">=",
    "lt": "<", "gt": ">", "ne": "!=", "neq": "!=", "approx": "~", "equiv": "=", "simeq": "~", "<": "<", ">": ">",
    "<=": "<=", ">=": ">=", "!=": "!=", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "≡": "=", "in": "in", "∈": "in",
    "implies": "=>", "Rightarrow": "=>", "iff": "=>", "Leftrightarrow": "=>", "⇒": "=>",
}  # fmt: skip

COMMANDS = {
    **{name: name for name in ("frac", "sqrt", "binom", "int", "sum", "prod", "lim", "choose", "over", "begin", "end")},
    "dfrac": "frac",
    "tfrac": "frac",
    "cfrac": "frac",
    "dbinom": "binom",
    "tbinom": "binom",
    "cdot": "*", "ast": "*", "div": "/", "pm": "pm", "mp": "mp", "to": "to", "rightarrow": "to",
    "cup": "cup", "cap": "cap", "vert": "|", "mid": "|", "lvert": "|(", "rvert": "|)",
    "lfloor": "floor(", "rfloor": "floor)",
    "lceil": "ceil(", "rceil": "ceil)", "langle": "<(", "rangle": ">)", "lbrace": "\\{", "rbrace": "\\}",
    "lbrack": "[", "rbrack": "]", "circ": "deg", "degree": "deg", "prime": "'", "ldots": "...", "dots": "...",
    "cdots": "...", "land": "and", "lor": "or", "setminus": "setminus", "smallsetminus": "setminus",
    "backslash": "setminus",
    "lVert": "|(", "rVert": "|)", "nicefrac": "frac",
    "sfrac": "frac", "emptyset": "empty", "varnothing": "empty", "bmod": "mod",
    "mod": "mod", "pmod": "pmod", "cross": "cross", "dotted": "dotted", "star": "*",
    "colon": ":", "where": "where",
}  # fmt: skip
"""Commands of LaTeX that stand for something else than a letter or a function."""

IGNORED = frozenset(
    words(
        "displaystyle textstyle scriptstyle limits nolimits quad qquad thinspace enspace big Big bigg Bigg bigl bigr "
        "Bigl Bigr biggl biggr Biggl Biggr middle mathstrut nonumber , ; : !"
    )
)
"""Commands of LaTeX that only set type."""
