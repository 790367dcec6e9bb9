"""The kind ``url``: the address of the browser, at the end or earlier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pytest_webarena.checks.kind import END, Judgement, Kind, View, no_answer
from pytest_webarena.checks.text import TextMatch, judge_text
from pytest_webarena.checks.urls import ParsedUrl, equivalent_urls, parse_url, same_place
from pytest_webarena.evidence import Evidence, RequestRecord, TabState
from pytest_webarena.tasks.addresses import Address, AddressShape
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import Choice, Fault, Int, Text
from pytest_webarena.tasks.syntax import REGEX

__all__ = ["URL", "UrlSpec", "document_status", "tab_status"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlSpec:
    """Conditions on the browser's address; all given ones must hold for the same tab."""

    address: tuple[Address, ...] = ()
    exact: tuple[Address, ...] = ()
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    regex: str | None = None
    tabs: Literal["active", "any"] = "active"
    most: int = 5
    """Maximum number of open tabs if any of them may match."""

    def __str__(self) -> str:
        parts = [" or ".join(map(str, self.address))] if self.address else []
        if self.exact:
            parts.append("exactly " + " or ".join(map(str, self.exact)))
        if self.query:
            pairs = (f"{name}={value}" for name, values in self.query.items() for value in values)
            parts.append("query with " + "&".join(pairs))
        if self.regex is not None:
            parts.append(f"matches /{self.regex}/")
        return "; ".join(parts) + (f" (in any of at most {self.most} tabs)" if self.tabs == "any" else "")


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if not any((values["address"], values["exact"], values["query"], values["regex"] is not None)):
        return Fault("a condition on the address", "none", "e.g. address: /path")
    return None


_ADDRESS = AddressShape(visited="perhaps")
_ADDRESSES = ListOf(_ADDRESS, or_one=True, label="an address or a list of them", low=1)

FORM: Any = Either(
    "an address, a list of them, or a mapping of conditions",
    scalar=Convert(_ADDRESS, lambda address, _: UrlSpec(address=(address,))),
    sequence=Convert(_ADDRESSES, lambda addresses, _: UrlSpec(address=addresses)),
    mapping=Record(
        "url check",
        UrlSpec,
        [
            Field(
                key="address",
                shape=_ADDRESSES,
                default=(),
                default_text="none",
                doc=(
                    "Host and path equal those of this address, or of one in the list, and its query "
                    "parameters are present. Further parameters, a trailing slash and an extra fragment are "
                    "ignored."
                ),
                example="- url: {address: /catalogue/?sort=price}",
            ),
            Field(
                key="exact",
                shape=_ADDRESSES,
                default=(),
                default_text="none",
                doc="Like `address`, without further query parameters.",
                example="- url: {exact: /catalogue/?sort=price}",
            ),
            Field(
                key="query",
                shape=MapOf(
                    ListOf(Text(blank=True), or_one=True, label="a value or a list of values", low=1),
                    "a mapping from query parameters to values",
                    key=Text("a parameter's name"),
                    low=1,
                ),
                default={},
                default_text="none",
                doc=("The query has these parameters with these decoded values, equal character for character."),
                example="- url: {address: /search/, query: {q: kettle, colour: [red, blue]}}",
            ),
            Field(
                key="regex",
                shape=REGEX,
                default=None,
                default_text="none",
                doc="A pattern that matches somewhere in the full address.",
                example="- url: {regex: '/product/kettle-\\d+/$'}",
            ),
            Field(
                key="tabs",
                shape=Choice("active", "any"),
                default="active",
                doc="Which tabs to check: the current one, or `any` that is open at the end.",
                example="- url: {address: /accounts/orders/, tabs: any}",
            ),
            Field(
                key="most",
                shape=Int("a number of tabs", low=1),
                default=5,
                doc="Maximum number of tabs open at the end, with `tabs: any`; empty tabs don't count.",
                example="- url: {address: /accounts/orders/, tabs: any, most: 2}",
            ),
        ],
        rule=_fault,
        doc="All given conditions must hold.",
    ),
)


def judge(spec: UrlSpec, view: View) -> Judgement:
    """Judge the address in one state: of the tabs at the end, or after a step."""
    expected = str(spec)
    evidence = view.evidence
    if view.state == END:
        if not evidence.tabs:
            return Judgement.unknown(expected=expected, why="no tab was recorded at the end")
        tabs = [tab for tab in evidence.tabs if tab.active or spec.tabs == "any"]
        urls = [tab.url for tab in tabs]
        opened = [url for url in urls if not url.startswith(("about:", "chrome:"))]
        if len(opened) > spec.most and not view.negated:  # for a negated check, many tabs hide nothing
            why = f"{len(opened)} tabs are open, and at most {spec.most} may be"
            return Judgement.of(False, expected=expected, actual=f"{len(opened)} tabs", why=why)
    else:
        urls = [step.url_after for step in evidence.steps if step.index == view.state and step.url_after]
        if not urls:
            return Judgement.unknown(expected=expected, why=f"no address was recorded after step {view.state}")
    unknown = sorted({a.site for a in (*spec.address, *spec.exact) if a.resolve(evidence.sites) is None})
    if unknown:
        return Judgement.unknown(expected=expected, why=f"the address of {', '.join(unknown)} was not recorded")
    reasons = [_reason(spec, url, evidence, prohibited=view.negated) for url in urls]
    holds = "" in reasons
    actual = urls[reasons.index("")] if holds else ", ".join(urls)
    if holds and view.state == END:
        failed = [tab_status(tab, evidence) for tab, reason in zip(tabs, reasons, strict=True) if not reason]
        if all(status >= 400 for status in failed):
            why = f"the page there is none: the site answered with status {failed[0]}"
            cause = no_answer(failed[0])
            if cause == "site":
                return Judgement.unknown(expected=expected, actual=f"status {failed[0]}", why=why, cause="site")
            return replace(
                Judgement.of(False, expected=expected, actual=f"status {failed[0]}", why=why), contrary="agent"
            )
    why = "" if holds else (reasons[0] if len(reasons) == 1 else "no open tab is there")
    return Judgement.of(holds, expected=expected, actual=actual, why=why or ("" if holds else "no tab is active"))


def tab_status(tab: TabState, evidence: Evidence) -> int:
    """Returns the HTTP status of the document that a tab shows at the end; 0 if unknown."""
    return tab.status or document_status(evidence.requests, tab.url)


def document_status(requests: Sequence[RequestRecord], url: str) -> int:
    """Returns the status of the last document at an address; 0 if unknown, as for documents that scripts wrote.

    Browsers mark requests for documents by ``Sec-Fetch-Dest``; without this header, the last request counts.
    """
    bare = url.partition("#")[0]
    for request in reversed(requests):
        if request.url.partition("#")[0] == bare and request.status is not None:
            headers = {name.casefold(): value for name, value in request.request_headers}
            if headers.get("sec-fetch-dest", "document") == "document":
                return request.status
    return 0


def _reason(spec: UrlSpec, url: str, evidence: Evidence, *, prohibited: bool) -> str:
    """Returns why ``url`` does not match; empty when it does. If a match is ``prohibited``, addresses that servers may
    treat as the same match, too."""
    actual = parse_url(url)
    if actual is None:
        return "it is no address"
    for addresses, exact in ((spec.address, False), (spec.exact, True)):
        reasons = [_apart(actual, address, evidence, exact=exact, prohibited=prohibited) for address in addresses]
        if reasons and "" not in reasons:
            return reasons[0] if len(reasons) == 1 else "it is none of them"
    parameters = actual.parameters
    for name, values in spec.query.items():
        if absent := Counter(values) - Counter(parameters.get(name, ())):
            return f"the query lacks {name}={next(iter(absent))}"
    if spec.regex is not None:
        urls = equivalent_urls(url) if prohibited else (url,)
        reasons = [judge_text(TextMatch(regex=spec.regex), each).why for each in urls]
        return "" if "" in reasons else reasons[0]
    return ""


def _apart(actual: ParsedUrl, address: Address, evidence: Evidence, *, exact: bool, prohibited: bool) -> str:
    wanted = parse_url(address.resolve(evidence.sites) or "")
    if wanted is None:
        return "it can't be compared"
    return same_place(actual, wanted, exact=exact, equivalent=prohibited, served=evidence.served)


URL: Kind[UrlSpec] = Kind(
    name="url",
    doc=(
        "Checks the address of the current tab. An address, or a list of them, is short for `address`. At "
        "the end, a page with status 408, 425, 429, or 500 and above is undecided; other statuses from "
        "400 fail, also under `not`. Under `not`, addresses that servers may treat as equal match too "
        "([prohibitions](writing-tasks.md#what-must-not-be-requested)), and `most` has no effect."
    ),
    form=FORM,
    judge=judge,
    stateful=True,
    category=lambda spec: "navigation",
    looks_at=lambda spec: {"place"},
    examples=("- url: /accounts/orders/", "- url: [/basket/, /checkout/]"),
)
