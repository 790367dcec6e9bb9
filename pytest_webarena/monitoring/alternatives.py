"""Alternative ways to find what a task refers to when it is not found as written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_webarena.actions import Action, Selector
from pytest_webarena.checks.key_nodes.model import (
    ANY_SITE,
    ElementTarget,
    KeyNode,
    Match,
    UrlTarget,
    ValueTarget,
)
from pytest_webarena.checks.key_nodes.selector_reading import parse_selector
from pytest_webarena.signals import TargetRecord

__all__ = ["KnownElements", "StepVariant", "alternative_nodes", "locator_variants", "step_variants"]

KNOWN_VERSION = 1
_TELLING = re.compile(r"(role=\w+\[\s*name|text=|id=|data-testid=)")
"""Beginnings of a selector's last part that identify an element without the parts before it."""
_NAMED = re.compile(r'role=(\w+)\[\s*name\s*=\s*"((?:[^"\\]|\\.)*)"\s*[is]?\s*\]')


@dataclass(frozen=True, slots=True, kw_only=True)
class StepVariant:
    """One way to do a step."""

    action: Action
    how: str = ""
    """How the target is found; empty: as the task says."""
    role: str = ""
    name: str = ""
    """Accessible name of the target. If several elements on the page have it, the target is ambiguous."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownElements:
    """The elements that a task's steps and key nodes matched when it was last valid; used to find them again."""

    task: str
    digest: str
    at: float
    """Unix time in seconds."""
    steps: tuple[TargetRecord | None, ...] = ()
    """The element that each step of the solution acted on."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """For each key node, such as ``checks[0]#1``, the index of the solution's step that reached it; -1: reached at the
    start."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"schema_version": KNOWN_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KnownElements:
        """Read the output of `to_json`. `ValueError` for other data."""
        try:
            if data["schema_version"] > KNOWN_VERSION:
                raise ValueError(f"expected schema version {KNOWN_VERSION} or older, found {data['schema_version']}")
            steps = tuple(TargetRecord(**each) if each else None for each in data["steps"])
            return cls(task=data["task"], digest=data["digest"], at=data["at"], steps=steps, nodes=dict(data["nodes"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"expected what a check found, found something else: {error}") from None


def step_variants(step: Action, known: TargetRecord | None) -> tuple[StepVariant, ...]:
    """Ways to do a step of a solution: as written, then with other selectors of its target, the most certain first."""
    target = getattr(step, "target", None)
    if not isinstance(target, Selector):
        return (StepVariant(action=step),)
    aimed: Any = step
    found = [StepVariant(action=step)]
    seen = {target.selector}
    for how, selector, role, name in (*_recorded_selectors(target), *_other_selectors(target.selector, known)):
        if selector not in seen:
            seen.add(selector)
            found.append(StepVariant(action=replace(aimed, target=Selector(selector)), how=how, role=role, name=name))
    return tuple(found)


def _recorded_selectors(target: Selector) -> Iterator[tuple[str, str, str, str]]:
    """The further selectors of a recording, each of which matched only this element when it was recorded."""
    for selector in target.repair_selectors:
        named = _NAMED.fullmatch(selector)
        yield f"its repair selector {selector}", selector, *((named[1], _unquoted(named[2])) if named else ("", ""))


def locator_variants(locate: str, known: TargetRecord | None = None) -> tuple[StepVariant, ...]:
    """Ways to find an element without using it: the mouse is moved over it, which the page may notice."""
    from pytest_webarena.actions import Hover

    return step_variants(Hover(Selector(locate)), known)


def _other_selectors(selector: str, known: TargetRecord | None) -> Iterator[tuple[str, str, str, str]]:
    """Other selectors without duplicates: how each finds the element, the selector, and the role and name that it asks
    for."""
    seen = {selector}
    for how, other, role, name in _candidates(selector, known):
        if other not in seen:
            seen.add(other)
            yield how, other, role, name


def _candidates(selector: str, known: TargetRecord | None) -> Iterator[tuple[str, str, str, str]]:
    if known is not None and known.role and known.name:
        yield "role and name", f"role={known.role}[name={_quoted(known.name)}s]", known.role, known.name
    last = selector.rpartition(">>")[2].strip()
    if _TELLING.match(last):
        yield f"{_kind(last)}, elsewhere on the page", last, "", ""
        if named := _NAMED.fullmatch(last):
            yield "text", f"text={_quoted(_unquoted(named[2]))}", "", ""
    if known is not None:
        text = " ".join(known.text.split())
        if 1 < len(text) < 80 and not text.endswith("…"):
            yield "text", f"text={_quoted(text)}", "", text
        if known.selector:
            yield "its place in the document", f"css={known.selector}", "", ""


def _kind(selector: str) -> str:
    return {"role": "role and name", "text": "text", "id": "id", "data-testid": "test id"}[selector.partition("=")[0]]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def alternative_nodes(node: KeyNode, known: TargetRecord | None) -> Iterator[tuple[str, KeyNode]]:
    """Other meanings of a key node, the closest first; ``known`` is what reached it when the task was last valid."""
    target = node.target
    bare = replace(node, after=())
    match target:
        case UrlTarget():
            for how, other in _addresses(target):
                yield how, replace(bare, target=other)
        case ElementTarget():
            for how, selector in _elements(target.locate, known):
                yield how, replace(bare, target=replace(target, locate=selector))
        case ValueTarget():
            for how, selector in _elements(target.locate, known) if target.locate else ():
                moved = replace(target, locate=selector)
                yield f"the same value in a field found by {how}", replace(bare, target=moved)
            if target.locate and target.match.how != "semantic" and target.match.text.strip():
                yield "the same value in another field", replace(bare, target=replace(target, locate=""))
        case _:
            return


def _elements(locate: str, known: TargetRecord | None) -> Iterator[tuple[str, str]]:
    for how, selector, _, _ in _other_selectors(locate, known):
        if not parse_selector(selector).undecidable:
            yield how, selector


def _addresses(target: UrlTarget) -> Iterator[tuple[str, UrlTarget]]:
    if target.param:
        if target.at is not None:
            site = target.at.site or ANY_SITE
            yield "the same parameter at another address", replace(target, at=None, site=site)
        return
    if target.exact is not None:
        yield "its address with other parameters", replace(target, exact=None, at=target.exact)
        if tail := _tail(target.exact.path):
            match = Match(how="includes", text=f"/{tail}")
            site = target.exact.site or ANY_SITE
            yield "an address that ends alike", replace(target, exact=None, match=match, site=site)
    elif target.match is not None and target.match.how == "includes":
        tail = _tail(target.match.text)
        if tail and tail != target.match.text.strip("/"):
            yield "an address that ends alike", replace(target, match=replace(target.match, text=f"/{tail}"), at=None)


def _tail(path: str) -> str:
    """The last part of a path if it is longer than two characters; otherwise empty."""
    last = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    return last if len(last) > 2 else ""
