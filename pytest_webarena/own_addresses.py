"""Own addresses of hosted sites: one table that gives every declared address the site's name, for both sides of each
comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

__all__ = ["OwnAddresses", "origin_of", "rest_of"]

T = TypeVar("T")

_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_IN_PAGES = frozenset({"locate", "locator", "prepare", "selector"})
"""Fields with selectors and scripts. They see pages as sites send them, so nothing in them is translated."""
_USER = r"(?:[^\s/?#@\"'<>\\%]*(?:@|%40))?"
_PATH = r"(?(slash)|(?(port)|(?=/|%2F|\\/)))"
"""Without a scheme, a host needs a port or a path."""
_END = (
    r"(?![\w@-]|\\?\.\w|(?::|%3A)\w|%(?:2[DE]|40|[89A-F])"  # the host or port goes on
    r"|[^\s/?#\"'<>\\%]*@)"  # what was found is a user name
)


@dataclass(frozen=True)
class OwnAddresses:
    """The table. Texts may spell an address as it is, percent-encoded, in JSON, or in a regular expression."""

    names: Mapping[str, str]
    """The base address that browsers see by each declared one, of all sites and all their instances."""

    @cached_property
    def _by_origin(self) -> dict[str, dict[str, str]]:
        """By own origin and path prefix: the origin of the name."""
        found: dict[str, dict[str, str]] = {}
        for own, name in self.names.items():
            found.setdefault(origin_of(own), {})[urlsplit(own).path.rstrip("/")] = origin_of(name)
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        hosts = dict.fromkeys(urlsplit(own).hostname or "" for own in self.names)
        host = "|".join(map(_spelled, sorted(hosts, key=len, reverse=True)))
        return re.compile(
            r"(?:(?:(?P<scheme>https?|wss?)(?P<colon>:|%3A)|(?<![\w:/.%\\-]))(?P<slash>/|%2F|\\/)(?P=slash)"
            rf"(?P<user>{_USER})|(?<![\w@:/.%\\-]))"
            rf"(?P<host>{host})(?:\.(?=[:/]))?(?:(?::|%3A)(?P<port>[0-9]+))?{_PATH}{_END}",
            re.IGNORECASE,
        )

    def named(self, text: str) -> str:
        """Returns a text in which each declared address has become the site's name; others are unchanged.

        Without a scheme, an address needs a port, or a path.

        >>> shop = OwnAddresses({"http://h:7770": "http://shop.test"})
        >>> shop.named("see http://h:7770/a."), shop.named("h:7770/a"), shop.named("http://h:77/a")
        ('see http://shop.test/a.', 'shop.test/a', 'http://h:77/a')
        """
        return self._pattern.sub(self._name, text) if self.names else text

    def _name(self, found: re.Match[str]) -> str:
        scheme, slash = (found["scheme"] or "http").lower(), found["slash"] or ""
        host = unquote(found["host"]).replace("\\", "")
        port = f":{found['port']}" if found["port"] else ""
        origin = origin_of(f"{_SCHEMES[scheme]}://{host}{port}")
        if not found["scheme"] and (port or not slash) and origin not in self._by_origin:
            origin = origin_of(f"https://{host}{port}")
        rest = found.string[found.end() :]
        spelled = slash or next((each for each in ("%2F", "\\/") if rest[: len(each)].upper() == each), "/")
        name = self._nearest(origin, rest, spelled=spelled)
        if not name:
            return found[0]
        parts = urlsplit(name)
        place = parts.netloc
        if "\\." in found["host"]:
            place = place.replace(".", "\\.")
        if spelled.upper() == "%2F":
            place = place.replace(":", "%3A")
        start = ""
        if found["scheme"]:
            start = (parts.scheme.replace("http", "ws") if scheme[0] == "w" else parts.scheme) + found["colon"]
        return f"{start}{slash}{slash}{found['user'] or ''}{place}"

    def _nearest(self, origin: str, rest: str, *, spelled: str = "/") -> str:
        """Returns the origin of the name whose own path ``rest`` is below, else the first at this origin; empty if
        there is none."""
        names = self._by_origin.get(origin, {})
        if len(names) < 2:
            return next(iter(names.values()), "")
        for path in sorted(names, key=len, reverse=True):
            if re.match(re.escape(path).replace("/", re.escape(spelled)) + r"(?![\w~-]|\\?\.\w|%[^2])", rest):
                return names[path]
        return next(iter(names.values()))

    def named_url(self, url: str) -> str:
        """Returns an absolute address with the site's name, and its query as it is; empty for one that is not
        declared."""
        name = self._nearest(origin_of(url), rest_of(url))
        return name + rest_of(url) if name else ""

    def in_value(self, value: T) -> T:
        """Returns a value, such as a task or evidence, in which all texts are translated."""
        return cast("T", self._in_value(value)) if self.names else value

    def _in_value(self, value: Any) -> Any:
        match value:
            case str():
                return self.named(value) if type(value) is str else value
            case OwnAddresses():
                return value
            case re.Pattern() if isinstance(value.pattern, str):
                return re.compile(self.named(value.pattern), value.flags)
            case Mapping():
                return {self._in_value(key): self._in_value(each) for key, each in value.items()}
            case list() | set() | frozenset():
                return type(value)(map(self._in_value, value))
            case tuple():
                parts = [self._in_value(each) for each in value]
                return value._make(parts) if hasattr(value, "_make") else tuple(parts)
            case _ if is_dataclass(value) and not isinstance(value, type):
                changed = {
                    each.name: new
                    for each in fields(value)
                    if each.init and each.name not in _IN_PAGES
                    and (new := self._in_value(old := getattr(value, each.name))) != old
                }  # fmt: skip
                made = replace(value, **changed) if changed else value
                return made.renamed(value) if changed and hasattr(made, "renamed") else made
        return value

    def untranslated(self, value: object) -> str:
        """Returns a declared host and port that a value contains in a form that `named` does not translate, such as a
        pattern of ports, or in a selector or script; empty when there is none."""
        if not self.names:
            return ""
        match value:
            case str():
                plain = unquote(unquote(self.named(value))).replace("\\", "").replace("[.]", ".")
                return found[0] if (found := self._loose.search(plain)) else ""
            case Mapping():
                parts: Any = (*value.keys(), *value.values())
            case list() | tuple() | set() | frozenset():
                parts = value
            case re.Pattern():
                parts = (value.pattern,)
            case _ if is_dataclass(value):
                if code := next(
                    (each for each in fields(value) if each.name in _IN_PAGES and self._in_code(value, each.name)), None
                ):
                    return self._in_code(value, code.name)
                parts = (getattr(value, each.name) for each in fields(value))
            case _:
                return ""
        return next(filter(None, map(self.untranslated, parts)), "")

    def _in_code(self, value: object, field: str) -> str:
        """Returns the first declared address in a selector or script."""
        texts = getattr(value, field)
        for text in [texts] if isinstance(texts, str) else texts if isinstance(texts, list | tuple) else []:
            if isinstance(text, str) and (found := self._pattern.search(text)) and self.named(text) != text:
                return found[0]
        return ""

    @cached_property
    def _loose(self) -> re.Pattern[str]:
        found = []
        for origin in self._by_origin:
            parts = urlsplit(origin)
            host = re.escape(parts.netloc.removesuffix(f":{parts.port}"))
            found.append(rf"(?<![\w.@-]){host}\.?:{parts.port}(?!\d)" if parts.port else rf"(?<![\w.@/-]){host}(?=/)")
            found.append(rf"(?<![\w.@-]){host}\.?:(?=[\w\[(])(?!\d+(?![\w\[({{|*+?]))[^/\s]*")  # a pattern of ports
        return re.compile("|".join(found), re.IGNORECASE)


def _spelled(host: str) -> str:
    """Returns a pattern for a host in any spelling."""
    host = f"[{host}]" if ":" in host else host
    spellings = {".": r"(?:\\?\.)", ":": "(?::|%3A)", "[": r"(?:\\?\[|%5B)", "]": r"(?:\\?\]|%5D)"}
    return "".join(spellings.get(letter, re.escape(letter)) for letter in host)


def origin_of(url: str) -> str:
    """Returns scheme, host and port, the latter only where it is not the scheme's own; empty for other texts.

    >>> origin_of("HTTP://Shop.example:80/a"), origin_of("https://h:8443"), origin_of("/a")
    ('http://shop.example', 'https://h:8443', '')
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    host = f"[{host}]" if ":" in host else host
    own = port in (None, 443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{host}" if own else f"{parts.scheme}://{host}:{port}"


def rest_of(url: str) -> str:
    """Returns what follows the origin of an absolute address."""
    found = re.match(r"[^:]*://[^/?#]*", url)
    return url[found.end() :] if found else ""
