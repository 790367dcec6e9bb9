"""Key nodes as values: a target, its match and its weight; and the list of nodes of a check."""

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
"""Used instead of a site's name: any site."""

Order = Literal["any", "partial", "strict"]
"""Order of key nodes. ``any``: independent of each other. ``partial``: after the nodes that it names. ``strict``: after
all previous nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A condition on a text."""

    how: Literal["exact", "includes", "semantic"]
    text: str
    """The text itself; for ``semantic``, a rule in words that a judge applies."""
    case: bool = False
    """Whether upper and lower case differ."""

    def __str__(self) -> str:
        told = {"exact": "is", "includes": "includes", "semantic": "fits the rule"}[self.how]
        return f'{told} "{self.text}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTarget:
    """An address that a tab shows, or one parameter of its query."""

    match: Match | None = None
    """Condition on the address or the parameter. None: the address must be at ``at``, or the parameter must exist."""
    param: str = ""
    """Name of the query parameter; empty: the address itself."""
    exact: Address | None = None
    """An address that must match in host, path and query, without further parameters."""
    at: Address | None = None
    """Restricts the match to addresses with this host, path and these parameters."""
    site: str = ANY_SITE
    """Restricts the match to addresses of this site."""

    @property
    def sites(self) -> tuple[str, ...]:
        """Sites whose addresses count: those of ``exact`` and ``at`` (full addresses name none), else ``site``."""
        places = [address for address in (self.exact, self.at) if address is not None]
        return tuple(sorted({place.site for place in places if place.site})) if places else (self.site,)

    @property
    def function(self) -> str:
        """Target and match, as tables name them."""
        how = self.match.how if self.match else "exact"
        return f"url {'param ' if self.param else ''}{how}"

    def __str__(self) -> str:
        subject = f"url parameter {self.param}" if self.param else "url"
        where = f" of {self.site}" if self.site != ANY_SITE and not (self.exact or self.at) else ""
        wanted = f" {self.match}" if self.match else f" is {self.exact}" if self.exact else ""
        return f"{subject}{where}{f' at {self.at}' if self.at else ''}{wanted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementTarget:
    """An element that is acted on: it or a descendant is an event's target."""

    locate: str
    event: tuple[str, ...] = ()
    """Names of DOM events; empty: any event that is an action on an element."""
    site: str = ANY_SITE
    """Restricts the match to documents of this site."""
    label: str = ""
    """Restricts the match to hosts with this label, as Mind2Web-Live names sites (`site_label`)."""

    @property
    def function(self) -> str:
        """Target and match, as tables name them."""
        return "element path"

    def __str__(self) -> str:
        return f"{' or '.join(self.event) or 'action'} on {self.locate}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTarget:
    """The value of a form field after a change, or the text of what is clicked."""

    match: Match
    of: Literal["field", "clicked", "any"] = "field"
    locate: str = ""
    """Selector of the field or an ancestor; empty: any field."""
    site: str = ANY_SITE
    label: str = ""

    @property
    def function(self) -> str:
        """Target and match, as tables name them."""
        return f"element value {self.match.how}"

    def __str__(self) -> str:
        if self.of == "clicked":
            return f"click on {self.locate or 'what'} that {self.match}"
        subject = "a field" if self.of == "field" else "a field or a click"
        return f"value of {self.locate or subject} {self.match}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTarget:
    """The agent's answer at the end, or its notes."""

    match: Match
    of: Literal["answer", "noted"] = "answer"

    @property
    def function(self) -> str:
        """Target and match, as tables name them."""
        return f"{'answer' if self.of == 'answer' else 'noted text'} {self.match.how}"

    def __str__(self) -> str:
        return f"{'answer' if self.of == 'answer' else 'noted text'} {self.match}"


Target = UrlTarget | ElementTarget | ValueTarget | TextTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNode:
    """A state or an action that every correct way passes; or a forbidden one."""

    target: Target
    name: str = ""
    """Name in reports and in ``after``; empty: the target's description."""
    weight: float = 1.0
    """Share of the score; ignored if the node is forbidden."""
    forbidden: bool = False
    hold: Literal["", "end"] = ""
    """``end``: the node must hold when the agent stops; earlier states don't count."""
    after: tuple[str, ...] = ()
    """Names of nodes that must have been reached before; used if the order is partial."""

    def __str__(self) -> str:
        return self.name or str(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNodes:
    """The key nodes of a task, and their order."""

    nodes: tuple[KeyNode, ...]
    order: Order = "any"

    @property
    def wanted(self) -> tuple[KeyNode, ...]:
        """Nodes that must be reached."""
        return tuple(node for node in self.nodes if not node.forbidden)

    @property
    def weight(self) -> float:
        """Sum of the weights of all nodes that must be reached."""
        return math.fsum(node.weight for node in self.wanted)

    def __str__(self) -> str:
        count = len(self.wanted)
        order = "" if self.order == "any" or count < 2 else f" in {self.order} order"
        avoided = len(self.nodes) - count
        none = f" and none of {avoided} forbidden" if avoided else ""
        return f"all {count} key nodes{order}{none}" if count != 1 else f"the key node{none}"


def site_label(host: str) -> str:
    """Returns the label by which Mind2Web-Live names a site: the host's first label, or its second one after ``www``.

    >>> site_label("www.ikea.com"), site_label("careers.carmax.com"), site_label("localhost")
    ('ikea', 'careers', '')
    """
    labels = host.split(".")
    if len(labels) < 2 or (labels[0].startswith("www") and len(labels) < 3):
        return ""
    return labels[1] if labels[0].startswith("www") else labels[0]
