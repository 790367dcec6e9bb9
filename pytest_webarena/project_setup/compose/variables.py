"""Variables of Compose files: interpolation (``${NAME:-default}``) and files of variables (``.env``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_webarena.errors import UsageError

__all__ = ["Variables", "read_env_file"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS = (":-", ":?", ":+", "-", "?", "+")
_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][\w.-]*)\s*=\s*(?P<rest>.*)\Z", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


@dataclass(slots=True)
class Variables:
    """Values for interpolation: those of the environment come before those of ``.env``."""

    environment: Mapping[str, str]
    file: Mapping[str, str]
    unset: dict[str, None] = field(default_factory=dict)
    """Names without a value and a default, which became empty texts."""
    from_environment: dict[str, None] = field(default_factory=dict)
    """Names with values of the environment."""

    def get(self, name: str) -> str | None:
        """Returns the value of a variable."""
        if name in self.environment:
            self.from_environment[name] = None
            return self.environment[name]
        return self.file.get(name)

    def fill(self, text: str) -> str:
        """Returns a text with its variables replaced, and ``$$`` by ``$``.

        Raises `UsageError` for a variable that is malformed or required.

        >>> Variables({"A": "1", "E": ""}, {}).fill("$A ${B:-two} ${E:-x}${E-y} ${A:+set} $$A ${B:-${A}}")
        '1 two x set $A 1'
        """
        filled, end = self._until(text, 0, "")
        assert end == len(text)
        return filled

    def _until(self, text: str, at: int, closing: str) -> tuple[str, int]:
        """Returns the text up to ``closing`` with variables replaced, and where it ends."""
        parts: list[str] = []
        while at < len(text):
            if closing and text[at] == closing:
                return "".join(parts), at
            if text[at] != "$":
                parts.append(text[at])
                at += 1
            elif text.startswith("$$", at):
                parts.append("$")
                at += 2
            elif text.startswith("${", at):
                value, at = self._braced(text, at)
                parts.append(value)
            elif found := _NAME.match(text, at + 1):
                parts.append(self._plain(found[0]))
                at = found.end()
            else:
                raise UsageError(f"expected a variable's name after '$' ('$$' for the sign), found {text!r}")
        if closing:
            raise UsageError(f"expected '}}' at the end of a variable, found none in {text!r}")
        return "".join(parts), at

    def _braced(self, text: str, at: int) -> tuple[str, int]:
        found = _NAME.match(text, at + 2)
        if found is None:
            raise UsageError(f"expected a variable's name after '${{', found {text!r}")
        name, at = found[0], found.end()
        operator = next((each for each in _OPERATORS if text.startswith(each, at)), "")
        other, end = self._until(text, at + len(operator), "}")
        if not operator and other:
            raise UsageError(
                f"expected '}}' or one of {' '.join(_OPERATORS)} after the variable {name}, found {text!r}"
            )
        value = self.get(name) if operator else self._plain(name)
        is_set = bool(value) if operator.startswith(":") else value is not None
        if operator.endswith("?") and not is_set:
            raise UsageError(f"expected a value of the variable {name}, found none: {other or 'it is required'}")
        if operator.endswith("+"):
            value = other if is_set else ""
        elif operator and not is_set:
            value = other
        return value or "", end + 1

    def _plain(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            self.unset[name] = None
        return value or ""


def read_env_file(path: Path, lookup: Callable[[str], str | None]) -> dict[str, str]:
    """Returns the variables of a file of ``NAME=value`` lines. Values without single quotes may use others, which come
    from the file itself or ``lookup``. Raises `UsageError` for a file that can't be read."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror or "none").lower() if isinstance(error, OSError) else "other bytes"
        raise UsageError(f"{path}: expected a readable file of variables, found {why}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            name = line.strip().removeprefix("export ").strip()
            if _NAME.fullmatch(name):  # passed on from the environment
                if (value := lookup(name)) is not None:
                    found[name] = value
                continue
            raise UsageError(f"{path}:{number}: expected NAME=value, found {line.strip()[:60]!r}")
        try:
            found[match["name"]] = _value(match["rest"], {**found}, lookup)
        except UsageError as error:
            raise UsageError(f"{path}:{number}: {error}") from None
    return found


def _value(text: str, own: Mapping[str, str], lookup: Callable[[str], str | None]) -> str:
    """Returns the value of a line of such a file.

    >>> _value("'a $b' # c", {}, lambda name: None), _value("a # c", {}, lambda name: None)
    ('a $b', 'a')
    """
    if text[:1] in ("'", '"'):
        end = re.search(rf"(?<!\\){text[0]}", text[1:])
        if end is None:
            raise UsageError(f"expected a closing {text[0]}, found none (a value is on one line)")
        inner = text[1 : end.start() + 1]
        if text[0] == "'":
            return inner
        inner = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[0]).replace("$", "$$"), inner)
    else:
        inner = re.split(r"\s#", text, maxsplit=1)[0].strip()
        inner = "" if inner.startswith("#") else inner
    looked = {name: value for name in set(_NAME.findall(inner)) if (value := own.get(name, lookup(name))) is not None}
    return Variables(looked, {}).fill(inner)
