"""What a key node is: a target, how it has to match, what it is worth; and the list of them that a check has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.tasks.addresses import Address

__all__ = [
    "ANY_SITE",
    "ElementTarget",
    "KeyNode",
    "KeyNodes",
    "Match",
    "Order",
    "Target",
    "TextTarget",
    "UrlTarget",
    "ValueTarget",
    "site_label",
]

ANY_SITE = "*"
"""In place of a site's name: wherever it is."""

Order = Literal["any", "partial", "strict"]
"""``any``: each node by itself. ``partial``: after those that it names. ``strict``: after all before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How a text has to be."""

    how: Literal["exact", "includes", "semantic"]
    text: str
    """The text itself, or of ``semantic`` a rule in words that a judge applies."""
    case: bool = False
    """Whether upper and lower case differ."""

    def __str__(self) -> str:
        told = {"exact": "is", "includes": "includes", "semantic": "fits the rule"}[self.how]
        return f'{told} "{self.text}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTarget:
    """An address that a tab shows, or one parameter of its query."""

    match: Match | None = None
    """None: that the address is the one of ``at``, or that there is such a parameter."""
    param: str = ""
    """Which parameter of the query; empty: the address itself."""
    exact: Address | None = None
    """The address has this host and path, this query and no more."""
    at: Address | None = None
    """Only of addresses with this host and path, and these parameters."""
    site: str = ANY_SITE
    """Only of addresses of this site."""

    @property
    def sites(self) -> tuple[str, ...]:
        """Whose addresses count: the sites that ``exact`` and ``at`` name (full ones name none), else ``site``."""
        places = [address for address in (self.exact, self.at) if address is not None]
        return tuple(sorted({place.site for place in places if place.site})) if places else (self.site,)

    @property
    def function(self) -> str:
        """Target and match, as the tables name it."""
        how = self.match.how if self.match else "exact"
        return f"url {'param ' if self.param else ''}{how}"

    def __str__(self) -> str:
        subject = f"url parameter {self.param}" if self.param else "url"
        where = f" of {self.site}" if self.site != ANY_SITE and not (self.exact or self.at) else ""
        wanted = f" {self.match}" if self.match else f" is {self.exact}" if self.exact else ""
        return f"{subject}{where}{f' at {self.at}' if self.at else ''}{wanted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementTarget:
    """An element that is acted on: it or one within it is an event's target."""

    locate: str
    event: tuple[str, ...] = ()
    """Names of DOM events; none: any by which somebody acts on an element."""
    site: str = ANY_SITE
    """Only in documents of this site."""
    label: str = ""
    """Only on hosts with this label, as Mind2Web-Live names sites (`site_label`)."""

    @property
    def function(self) -> str:
        """Target and match, as the tables name it."""
        return "element path"

    def __str__(self) -> str:
        return f"{' or '.join(self.event) or 'action'} on {self.locate}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTarget:
    """What a form field holds after it was changed, or what is written on what is clicked."""

    match: Match
    of: Literal["field", "clicked", "any"] = "field"
    locate: str = ""
    """The field, or what it is in; empty: any field."""
    site: str = ANY_SITE
    label: str = ""

    @property
    def function(self) -> str:
        """Target and match, as the tables name it."""
        return f"element value {self.match.how}"

    def __str__(self) -> str:
        if self.of == "clicked":
            return f"click on {self.locate or 'what'} that {self.match}"
        subject = "a field" if self.of == "field" else "a field or a click"
        return f"value of {self.locate or subject} {self.match}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTarget:
    """What the agent says at the end, or notes on its way."""

    match: Match
    of: Literal["answer", "noted"] = "answer"

    @property
    def function(self) -> str:
        """Target and match, as the tables name it."""
        return f"{'answer' if self.of == 'answer' else 'noted text'} {self.match.how}"

    def __str__(self) -> str:
        return f"{'answer' if self.of == 'answer' else 'noted text'} {self.match}"


Target = UrlTarget | ElementTarget | ValueTarget | TextTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNode:
    """A state or an act that every right way passes; or, forbidden, that none may."""

    target: Target
    name: str = ""
    """As reports and ``after`` name it; empty: by what it is."""
    weight: float = 1.0
    """Its share of the score; of no account where it is forbidden."""
    forbidden: bool = False
    hold: Literal["", "end"] = ""
    """``end``: it has to hold when the agent stops; what was before does not count."""
    after: tuple[str, ...] = ()
    """Names of nodes that must have been reached before; looked at where the order is partial."""

    def __str__(self) -> str:
        return self.name or str(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNodes:
    """The key nodes of a task, and in which order they count."""

    nodes: tuple[KeyNode, ...]
    order: Order = "any"

    @property
    def wanted(self) -> tuple[KeyNode, ...]:
        """Those to be reached."""
        return tuple(node for node in self.nodes if not node.forbidden)

    @property
    def weight(self) -> float:
        """Of all that are to be reached."""
        return math.fsum(node.weight for node in self.wanted)

    def __str__(self) -> str:
        count = len(self.wanted)
        order = "" if self.order == "any" or count < 2 else f" in {self.order} order"
        avoided = len(self.nodes) - count
        none = f" and none of {avoided} forbidden" if avoided else ""
        return f"all {count} key nodes{order}{none}" if count != 1 else f"the key node{none}"


def site_label(host: str) -> str:
    """The part of a host's name that Mind2Web-Live knows a site by: the first one, but the second one after a ``www``.

    >>> site_label("www.ikea.com"), site_label("careers.carmax.com"), site_label("localhost")
    ('ikea', 'careers', '')
    """
    labels = host.split(".")
    if len(labels) < 2 or (labels[0].startswith("www") and len(labels) < 3):
        return ""
    return labels[1] if labels[0].startswith("www") else labels[0]
