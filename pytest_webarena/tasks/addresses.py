"""Addresses in task files: ``/path`` on the first site, ``site:/path`` on another, or a full address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pytest_webarena.tasks.file_reading import INVALID, Invalid, Reading
from pytest_webarena.tasks.nodes import MapNode, Node, near
from pytest_webarena.tasks.shapes import Fault, Schema, Schemas, Shape, Text
from pytest_webarena.text import clip

__all__ = ["SITE_NAME", "Address", "AddressShape", "SiteShape", "known_site_fault", "parse_address", "resolve"]

SITE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_ON_SITE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]*):(/.*)", re.DOTALL)
_START = re.compile(r"(?!about:)([A-Za-z0-9][A-Za-z0-9_-]*):")


@dataclass(frozen=True, slots=True)
class Address:
    """A path on a site, or a full address when ``site`` is empty."""

    site: str
    path: str

    def __str__(self) -> str:
        return f"{self.site}:{self.path}" if self.site else self.path

    def resolve(self, sites: Mapping[str, str]) -> str | None:
        """Returns the full address, given the sites' base addresses; None when the site is not among them."""
        if not self.site:
            return self.path
        base = sites.get(self.site)
        return None if base is None else base.rstrip("/") + self.path


def parse_address(text: str) -> Address | None:
    """Parse ``text`` in the notation of task files. For ``/path`` the site is empty; None when ``text`` is no address.

    >>> parse_address("reddit:/f/books")
    Address(site='reddit', path='/f/books')
    """
    if text == "about:blank" or text.startswith("/"):
        return Address("", text)
    if re.match(r"https?://", text, re.IGNORECASE):
        try:
            parts = urlsplit(text)
            _ = parts.port  # raises for a port that is no number
        except ValueError:
            return None
        return Address("", text) if parts.hostname and not re.search(r"\s", text) else None
    match = _ON_SITE.fullmatch(text)
    return Address(match.group(1), match.group(2)) if match else None


def resolve(text: str, sites: Mapping[str, str]) -> str | None:
    """Returns the full address of ``text``, given base addresses; a bare path is on the first site.

    >>> resolve("reddit:/f/books", {"reddit": "http://reddit.test"})
    'http://reddit.test/f/books'
    """
    address = parse_address(text)
    if address is None:
        return None
    if text.startswith("/"):
        address = Address(next(iter(sites), "?"), text)
    return address.resolve(sites)


def known_site_fault(name: str, reading: Reading) -> Fault | None:
    """Returns why the task being read may not name the site ``name``; None when it may."""
    if reading.may_name(name):
        return None
    hint = near(name, reading.catalogue or ())
    if hint.startswith("known:"):
        hint += "; --sites names another catalogue"
    return Fault("a known site", f"'{clip(name)}'", hint)


def _site_fault(name: str, reading: Reading) -> Fault | None:
    """Returns why ``name`` is not a site of the task being read; None when it is."""
    if reading.sites is None or name in reading.sites:
        return None
    if not reading.sites:
        return Fault("no site, as this task's 'sites' is empty", f"'{clip(name)}'")
    hint = near(name, reading.sites)
    hint = hint if hint.startswith("did") else f"add it to 'sites' or use {', '.join(reading.sites)}"
    return Fault("a site of this task", f"'{clip(name)}'", hint)


class SiteShape(Text):
    """The name of one of the task's own sites."""

    def __init__(self) -> None:
        super().__init__("a site of this task", check=_site_fault, pattern=f"^{SITE_NAME.pattern}$|\\{{\\{{")


class AddressShape(Shape[Address]):
    """An address in any notation, with the site filled in; ``{site: /path}`` is accepted, too."""

    label = "an address: /path, site:/path or http://…"

    def __init__(self, *, blank: bool = False, visited: Literal["always", "perhaps", ""] = "") -> None:
        """``visited``: whether the address is of use only on a host that a site has. ``perhaps`` only warns."""
        self.text = Text(self.label)
        self.site = SiteShape()
        self.visited = visited
        self.blank = blank
        """Whether ``about:blank`` is allowed, and ``site:`` alone for the site's start page."""

    def read(self, node: Node, reading: Reading) -> Address | Invalid:
        if isinstance(node, MapNode):
            return self._pair(node, reading)
        text = self.text.read(node, reading)
        if isinstance(text, Invalid):
            return INVALID
        text = text.strip()
        address = parse_address(text)
        if self.blank and (match := _START.fullmatch(text)):
            address = Address(match.group(1), "")
        if address is None or (text == "about:blank" and not self.blank):
            hint = "paths begin with '/'" if re.match(r"[\w.-]+(/|$)", text) else ""
            return reading.problem(node, self.label, f"'{clip(text)}'", hint)
        if text.startswith("/"):
            if reading.sites is None:
                return INVALID  # the fault in 'sites' is already reported
            if not reading.sites:
                return reading.problem(
                    node, "a full address", f"'{clip(text)}'", "this task's 'sites' is empty, so a path leads nowhere"
                )
            return Address(reading.sites[0], text)
        if address.site and (fault := _site_fault(address.site, reading)):
            return reading.problem(node, fault.expected, fault.found, fault.hint)
        if self.visited and not address.site and (foreign := reading.foreign_host(address.path)):
            host, hint = foreign
            if self.visited == "always":
                return reading.problem(node, "a host of a site", f"'{clip(host)}'", hint)
            reading.warning(node, "a host of a site", f"'{clip(host)}'", hint)
        return address

    def _pair(self, node: MapNode, reading: Reading) -> Address | Invalid:
        entries = reading.entries(node)
        if len(entries) != 1:
            return self.mismatch(node, reading)
        ((name, (key, value)),) = entries.items()
        if fault := _site_fault(name, reading):
            return reading.problem(key, fault.expected, fault.found, fault.hint)
        path = self.text.read(value, reading)
        if isinstance(path, Invalid):
            return INVALID
        if not path.startswith("/"):
            return reading.problem(value, "a path that begins with '/'", f"'{clip(path)}'")
        return Address(name, path)

    def json_schema(self, schemas: Schemas) -> Schema:
        def make() -> Schema:
            patterns = [r"^/", r"^https?://", r"^[A-Za-z0-9][A-Za-z0-9_-]*:(/|$)", r"\{[{%]"]
            pair = {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": {"type": "string", "pattern": r"^/|\{[{%]"},
            }
            text = {"type": "string", "pattern": "|".join([*patterns, "^about:blank$"])}
            return {"anyOf": [text, pair], "description": "A /path on the first site, site:/path, or a full address."}

        return schemas.named("address", make)
