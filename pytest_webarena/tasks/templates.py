"""Fills ``{{ name }}`` in a task's strings: plain names directly, everything else with a restricted Jinja2.

Expressions, filters and ``{% if %}`` work. Loops, calls and imports don't, because reading a task file must take
neither long nor much memory. Jinja2 is imported by the first string that needs it.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_webarena.tasks.nodes import Node, ScalarNode, near
from pytest_webarena.tasks.scalars import BOOLS
from pytest_webarena.text import clip

__all__ = ["FILTERS", "NAME", "TemplateProblem", "Variable", "fill_text", "whole_name"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_RESERVED = {"true", "false", "none", "True", "False", "None"}

FILTERS = (
    "abs", "capitalize", "default", "first", "float", "int", "join", "last", "length", "lower", "max", "min",
    "replace", "round", "sort", "sql", "string", "sum", "title", "tojson", "trim", "truncate", "upper", "urlencode",
)  # fmt: skip
"""Filters that templates may use: Jinja2's own, and ``sql``, which returns a quoted SQL literal."""

_LONGEST = 1_000_000


class TemplateProblem(Exception):
    """A template that can't be filled: what was expected, what was found and a hint."""

    def __init__(self, expected: str, found: str, hint: str = "") -> None:
        super().__init__(expected, found, hint)
        self.expected, self.found, self.hint = expected, found, hint


@dataclass(frozen=True, slots=True)
class Variable:
    """A value that a filling gives to a name: as written, and as plain data."""

    node: Node
    value: Any

    @property
    def text(self) -> str:
        """Text of the value inside a longer string: scalars as they were written."""
        if isinstance(self.node, ScalarNode):
            bare = self.node.value
            return bare.lower() if self.node.style and bare in BOOLS else bare
        return str(self.value)


def whole_name(text: str) -> str | None:
    """Returns the name when ``text`` is ``{{ name }}`` alone, else None."""
    match = _PLAIN.fullmatch(text.strip())
    return match.group(1) if match and match.group(1) not in _RESERVED else None


def fill_text(text: str, variables: Mapping[str, Variable]) -> str:
    """Replace the template expressions in ``text``. Raises `TemplateProblem`."""
    rest = _PLAIN.sub("", text)
    if "{{" not in rest and "{%" not in rest:
        return _PLAIN.sub(lambda match: _lookup(match.group(1), variables).text, text)
    return _render(text, variables)


def undefined(name: str, variables: Mapping[str, Variable]) -> TemplateProblem:
    """Returns the problem of a template that uses an undefined name."""
    hint = near(name, variables) if variables else "values come from the task's 'each'"
    return TemplateProblem(f"a value for the template variable '{clip(name)}'", "none", hint)


def _lookup(name: str, variables: Mapping[str, Variable]) -> Variable:
    found = variables.get(name)
    if found is None:
        raise undefined(name, variables)
    return found


def _render(text: str, variables: Mapping[str, Variable]) -> str:
    import jinja2

    render = _compiled(text)
    try:
        rendered = render({name: _Value.of(variable) for name, variable in variables.items()})
    except jinja2.UndefinedError as error:
        unknown = sorted(_names(text) - set(variables))
        if unknown:
            raise undefined(unknown[0], variables) from None
        raise TemplateProblem("a template that can be filled", clip(str(error))) from None
    except Exception as error:  # operators and filters raise errors of any type
        raise TemplateProblem("a template that can be filled", clip(f"{type(error).__name__}: {error}", 90)) from None
    if len(rendered) > _LONGEST:
        raise TemplateProblem(f"at most {_LONGEST:,} characters after filling", f"{len(rendered):,}")
    return rendered


class _Value:
    """Numbers whose text is what the author wrote (``4.50`` stays ``4.50``), other values unchanged."""

    @staticmethod
    def of(variable: Variable) -> Any:
        value = variable.value
        if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
            return _verbatim(float if isinstance(value, float) else int)(value, variable.text)
        return value


@functools.cache
def _verbatim(base: type[Any]) -> Callable[[Any, str], Any]:
    class Verbatim(base):  # type: ignore[misc]
        def __new__(cls, value: Any, text: str) -> Any:
            made = super().__new__(cls, value)
            made.text = text
            return made

        def __str__(self) -> str:
            return str(self.text)

    return Verbatim


@functools.cache
def _environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.exceptions import SecurityError
    from jinja2.sandbox import SandboxedEnvironment

    class Fenced(SandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**", "%"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if not all(isinstance(side, int | float) and abs(side) < 1e9 for side in (left, right)) or (
                operator == "**" and abs(right) > 64
            ):
                raise SecurityError(f"'{operator}' works on numbers of moderate size")
            return super().call_binop(context, operator, left, right)

    def finalize(value: Any) -> Any:
        if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"{value} is no number that can be written down")
        return str(value).lower() if isinstance(value, bool) else "" if value is None else value

    environment = Fenced(
        undefined=StrictUndefined, finalize=finalize, keep_trailing_newline=True, comment_start_string="{##never##"
    )
    environment.globals.clear()
    environment.filters["sql"] = _sql_literal
    environment.filters = {name: environment.filters[name] for name in FILTERS}
    for name in ("join", "replace"):  # only these can return far more than their input
        environment.filters[name] = _bounded(environment.filters[name])
    return environment


def _sql_literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def _bounded(filter_function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(filter_function)  # keeps Jinja2's own marks on the function
    def bounded(context: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        longest = max((len(str(each)) for each in (*args, *kwargs.values())), default=0)
        if len(str(value)) * (longest + 1) > _LONGEST:
            raise ValueError(f"the result may exceed {_LONGEST:,} characters")
        return filter_function(context, value, *args, **kwargs)

    return bounded


@functools.lru_cache(maxsize=4096)
def _compiled(text: str) -> Callable[[Mapping[str, Any]], str]:
    import jinja2
    from jinja2 import nodes

    environment = _environment()
    try:
        tree = environment.parse(text)
        allowed = (nodes.Expr, nodes.Helper, nodes.Template, nodes.Output, nodes.If)
        for node in tree.find_all(nodes.Node):
            if not isinstance(node, allowed) or isinstance(node, nodes.Call):
                what = "a call" if isinstance(node, nodes.Call) else f"{{% {type(node).__name__.lower()} %}}"
                raise TemplateProblem("{{ an expression }} with filters, or {% if %}", what, "use a filter instead")
            if isinstance(node, nodes.Pow) and isinstance(node.left, nodes.Pow | nodes.Neg | nodes.Pos):
                # Jinja2 reads 81**9 as 9**2**9 and -9**2 as 81, unlike other languages.
                what = "one of another power" if isinstance(node.left, nodes.Pow) else "one of a signed number"
                raise TemplateProblem("a power of a plain number, such as {{ 2**10 }}", what, "write the number itself")
        template = environment.from_string(tree)
    except jinja2.TemplateSyntaxError as error:
        hint = near(match.group(1), FILTERS) if (match := re.match(r"No filter named '(\w+)'", str(error))) else ""
        raise TemplateProblem("a valid template", clip(str(error), 90), hint) from None
    except RecursionError:
        raise TemplateProblem("a valid template", "one nested too deeply") from None
    except (SyntaxError, ValueError, OverflowError, MemoryError, AssertionError) as error:
        # Jinja2 passes unusual constants and names to Python's compiler.
        raise TemplateProblem("a valid template", clip(f"{type(error).__name__}: {error}", 90)) from None
    return lambda variables: str(template.render(variables))


def _names(text: str) -> set[str]:
    from jinja2 import meta

    return set(meta.find_undeclared_variables(_environment().parse(text)))
