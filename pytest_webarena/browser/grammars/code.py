"""Parser of Playwright code as data: a chain of calls with literal arguments, whose locators become a selector."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_webarena.errors import closest

__all__ = ["Call", "Chain", "WrongCode", "chain_of", "selector_of"]

_ROOTS = ("page", "browser", "dialog")


class WrongCode(Exception):
    """The code is not in this grammar; the text says why."""


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression (``re.compile(…)``) as an argument."""

    pattern: str
    flags: str

    def __str__(self) -> str:
        return f"/{self.pattern.replace('/', chr(92) + '/')}/{self.flags}"


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain of locators as an argument, e.g. of ``drag_to``."""

    selector: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a chain."""

    name: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]

    def text(self, index: int | None = 0, *names: str, default: str | None = None) -> str:
        value = self._get(index, names)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise WrongCode(f"{self.name}() expects a text in quotes")
        return value

    def texts(self, index: int = 0, *names: str) -> tuple[str, ...]:
        value = self._get(index, names)
        values = value if isinstance(value, list | tuple) else [value]
        if not values or not all(isinstance(each, str) for each in values):
            raise WrongCode(f"{self.name}() expects a text in quotes or a list of them")
        return tuple(values)

    def number(self, index: int | None = 0, *names: str, default: float | None = None) -> float:
        value = self._get(index, names)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
            raise WrongCode(f"{self.name}() expects a number")
        return float(value)

    def matcher(self, index: int | None = 0, *names: str) -> str | Regex:
        value = self._get(index, names)
        if not isinstance(value, str | Regex):
            raise WrongCode(f"{self.name}() expects a text in quotes")
        return value

    def flag(self, name: str) -> bool | None:
        value = self.options.get(name)
        if value is not None and not isinstance(value, bool):
            raise WrongCode(f"{name} of {self.name}() is True or False")
        return value

    def _get(self, index: int | None, names: tuple[str, ...]) -> Any:
        """Return the argument with this position (None: keyword only) or one of these names; None if it is missing."""
        if index is not None and index < len(self.args):
            return self.args[index]
        return next((self.options[name] for name in names if name in self.options), None)


def chain_of(node: ast.expr) -> tuple[str, list[Call]]:
    """Return the first name of a chain, and its calls in order.

    Names without a call, such as ``mouse`` in ``page.mouse.move(…)``, become a prefix of the next call's name. A call
    without an object, such as ``click(…)``, is one of ``page``.
    """
    calls: list[Call] = []
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=args, keywords=keywords):
                calls.append(_call(name, args, keywords))
                node = inner
            case ast.Attribute(value=inner, attr=name) if calls:
                if name in ("first", "last"):  # properties of locators
                    calls.append(Call(name, (), {}))
                else:
                    last = calls[-1]
                    calls[-1] = Call(f"{name}.{last.name}", last.args, last.options)
                node = inner
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                root = "page"
                calls.append(_call(name, args, keywords))
                break
            case ast.Name(id=root):
                break
            case ast.Await(value=inner):
                node = inner
            case ast.Attribute(attr=name):
                raise WrongCode(f"parentheses are missing after {name[:40]!r}")
            case _:
                raise WrongCode("expected a chain of calls that begins with page")
    if not calls:
        raise WrongCode("expected a call: something with parentheses")
    if root not in _ROOTS:
        raise WrongCode(f"it begins with {root[:40]!r} instead of page")
    return root, calls[::-1]


def _call(name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Call:
    options = {keyword.arg: _literal(keyword.value) for keyword in keywords if keyword.arg is not None}
    if len(options) != len(keywords):
        raise WrongCode("** is not understood here")
    return Call(name, tuple(_literal(arg) for arg in args), options)


def _literal(node: ast.expr) -> Any:
    """Return an argument as a value; a locator as `Chain`, a pattern as `Regex`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile"), args=[pattern, *flags]):
            found = _literal(pattern)
            if not isinstance(found, str):
                raise WrongCode("re.compile() expects a pattern in quotes")
            ignore = any(isinstance(flag, ast.Attribute) and flag.attr in ("I", "IGNORECASE") for flag in flags)
            return Regex(found, "i" if ignore else "")
        case ast.Call():
            root, calls = chain_of(node)
            if root != "page":
                raise WrongCode("only locators can be arguments")
            return Chain(selector_of(calls))
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        raise WrongCode("arguments have to be texts in quotes, numbers, True, False or lists of them") from None


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _text_matcher(value: str | Regex, exact: bool | None) -> str:
    """Return a text or pattern as in Playwright's internal selectors."""
    return str(value) if isinstance(value, Regex) else _quoted(value) + ("s" if exact else "i")


def _attribute(name: str) -> Callable[[Call], str]:
    return lambda call: f"internal:attr=[{name}={_text_matcher(call.matcher(0, 'text'), call.flag('exact'))}]"


_ROLE_STATES = ("checked", "disabled", "expanded", "pressed", "selected")


def _role(call: Call) -> str:
    role = call.text(0, "role")
    if not re.fullmatch(r"[A-Za-z]+", role):
        raise WrongCode(f"{role[:40]!r} is not a role")
    parts = [f"internal:role={role.lower()}"]
    parts += [f"[{state}={str(call.flag(state)).lower()}]" for state in _ROLE_STATES if call.flag(state) is not None]
    if call.options.get("level") is not None:
        parts.append(f"[level={int(call.number(None, 'level'))}]")
    if call.options.get("name") is not None:
        parts.append(f"[name={_text_matcher(call.matcher(None, 'name'), call.flag('exact'))}]")
    return "".join(parts)


def _filter(call: Call) -> str:
    if call.args or not call.options:
        raise WrongCode("filter() expects has_text=, has_not_text=, has= or has_not=")
    parts = []
    for name, value in call.options.items():
        if name in ("has_text", "has_not_text") and isinstance(value, str | Regex):
            parts.append(f"internal:{name.replace('_', '-')}={_text_matcher(value, exact=False)}")
        elif name in ("has", "has_not") and isinstance(value, Chain):
            parts.append(f"internal:{name.replace('_', '-')}={_quoted(value.selector)}")
        else:
            raise WrongCode(f"filter() does not accept this {name[:40]}=")
    return " >> ".join(parts)


def _locator(call: Call) -> str:
    selector = call.text(0, "selector")
    more = {name: value for name, value in call.options.items() if name != "selector"}
    return f"{selector} >> {_filter(Call('filter', (), more))}" if more else selector


def _test_id(call: Call) -> str:
    return f"internal:testid=[data-testid={_text_matcher(call.matcher(0, 'test_id'), exact=True)}]"


_LOCATORS: Mapping[str, Callable[[Call], str]] = {
    "get_by_role": _role,
    "get_by_text": lambda call: f"internal:text={_text_matcher(call.matcher(0, 'text'), call.flag('exact'))}",
    "get_by_label": lambda call: f"internal:label={_text_matcher(call.matcher(0, 'text'), call.flag('exact'))}",
    "get_by_placeholder": _attribute("placeholder"),
    "get_by_alt_text": _attribute("alt"),
    "get_by_title": _attribute("title"),
    "get_by_test_id": _test_id,
    "locator": _locator,
    "frame_locator": lambda call: f"{call.text(0, 'selector')} >> internal:control=enter-frame",
    "filter": _filter,
    "nth": lambda call: f"nth={int(call.number(0, 'index'))}",
    "first": lambda call: "nth=0",
    "last": lambda call: "nth=-1",
}


def selector_of(calls: list[Call]) -> str:
    """Return the Playwright selector of a chain of locators."""
    for call in calls:
        if call.name not in _LOCATORS:
            raise WrongCode(f"there is no locator {call.name[:60]!r}; {closest(call.name[:40], _LOCATORS)}")
    return " >> ".join(_LOCATORS[call.name](call) for call in calls)
