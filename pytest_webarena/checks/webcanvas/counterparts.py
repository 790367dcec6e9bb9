"""Converts the key nodes of a task file to WebCanvas' own form, where it has such nodes."""

from __future__ import annotations

from urllib.parse import unquote

from pytest_webarena.checks.key_nodes.model import (
    ANY_SITE,
    ElementTarget,
    KeyNode,
    TextTarget,
    UrlTarget,
    ValueTarget,
)
from pytest_webarena.checks.webcanvas.addresses import site_label
from pytest_webarena.checks.webcanvas.nodes import FUNCTIONS, Node

__all__ = ["NoCounterpart", "counterpart"]

_NAMES = {pair: name for name, pair in FUNCTIONS.items()}


class NoCounterpart(ValueError):
    """Why WebCanvas has no such node, as the end of a sentence."""


def counterpart(node: KeyNode, bases: dict[str, str] | None = None) -> Node:
    """Returns a node in WebCanvas' form. ``bases`` are the sites' addresses, from which sites get their labels.

    Raises `NoCounterpart` for nodes that WebCanvas does not have: forbidden ones, those that must hold at the end or
    come after others, parameters at a certain address or with any value.
    """
    if node.forbidden or node.hold or node.after:
        word = "forbidden" if node.forbidden else "to hold at the end" if node.hold else "to come after others"
        raise NoCounterpart(f"WebCanvas has no nodes that are {word}")
    match node.target:
        case UrlTarget() as target:
            return _address(target, bases)
        case ElementTarget() as target:
            path, method = _selector(target.locate)
            return Node(
                function=_NAMES["element", "exact"],
                reference=path,
                method=method,
                label=target.label or _label(target.site, bases),
            )
        case ValueTarget() as target:
            return Node(
                function=_NAMES["value", target.match.how],
                reference=target.match.text,
                path=_selector(target.locate)[0] if target.locate else None,
                label=target.label or _label(target.site, bases),
            )
        case TextTarget() as target:
            return Node(function=_NAMES[target.of, target.match.how], reference=target.match.text)


def _address(target: UrlTarget, bases: dict[str, str] | None) -> Node:
    if target.at is not None or (target.match is None and target.exact is None):
        raise NoCounterpart("WebCanvas asks for a parameter's value wherever it is, and always for a value")
    if target.match is None:
        # WebCanvas compares the whole text of an address, so it must be a full one.
        full = target.exact.resolve(bases) if target.exact is not None and bases else None
        return Node(function=_NAMES["url", "exact"], reference=unquote(full or str(target.exact)))
    return Node(function=_NAMES["url", target.match.how], reference=target.match.text, key=target.param)


def _selector(locate: str) -> tuple[str, str]:
    for engine, method in (("css=", "selector"), ("xpath=", "xpath")):
        if locate.startswith(engine):
            return locate.removeprefix(engine), method
    return locate, "xpath" if locate.startswith(("//", "(//")) else "selector"


def _label(site: str, bases: dict[str, str] | None) -> str:
    """Returns a site's label by its address; empty for any site."""
    if site == ANY_SITE or not bases or site not in bases:
        return ""
    try:
        return site_label(bases[site])
    except ValueError:
        return ""
