"""The kind ``network``: the requests that the browser made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_webarena.checks.bodies import read_body
from pytest_webarena.checks.counts import AT_LEAST_ONE, COUNT, Count
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.text import ANY_TEXT, TEXT_FIELDS, TextMatch, judge_text, take_text, text_fault
from pytest_webarena.checks.urls import parse_url, same_path
from pytest_webarena.evidence import Evidence, RequestRecord, Unrecorded
from pytest_webarena.tasks.addresses import Address, AddressShape
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, ListOf, Record
from pytest_webarena.tasks.setup_form import METHODS
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Int, Text
from pytest_webarena.tasks.syntax import REGEX
from pytest_webarena.text import clip

__all__ = ["NETWORK", "NetworkSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec:
    """Which requests, and how many of them there must be."""

    method: tuple[str, ...] = ()
    url: Address | None = None
    regex: str | None = None
    status: tuple[int, ...] = ()
    body: TextMatch = ANY_TEXT
    count: Count = AT_LEAST_ONE
    attempted: bool = False

    def __str__(self) -> str:
        parts = [" or ".join(self.method) or "any request"]
        if self.url:
            parts.append(str(self.url))
        if self.regex is not None:
            parts.append(f"/{self.regex}/")
        if self.status:
            parts.append("answered " + " or ".join(map(str, self.status)))
        if self.body:
            parts.append(f"with a body: {self.body}")
        if self.attempted:
            parts.append("sent or attempted")
        return f"{self.count} × {' '.join(parts)}"


def _build(*, none: bool, count: Count | None, **values: Any) -> NetworkSpec:
    return NetworkSpec(count=Count(low=0, high=0) if none else count or AT_LEAST_ONE, **values)


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if values["none"] and values["count"]:
        return Fault("'none' or 'count'", "both")
    if values["url"] is None and values["regex"] is None and not values["method"]:
        return Fault("'method', 'url' or 'regex'", "none of them", "say which requests are meant")
    return None


_BODY: Any = Either(
    "a text that the body includes, or a mapping of conditions on it",
    scalar=Convert(Text(), lambda text, _: TextMatch(includes=(text,))),
    mapping=Record(
        "request body",
        lambda **values: take_text(values),
        TEXT_FIELDS,
        rule=lambda values, node, reading: text_fault(values, node, reading),
        doc="Conditions on a request's body.",
    ),
)

FORM: Record[NetworkSpec] = Record(
    "network check",
    _build,
    [
        Field(
            key="method",
            shape=ListOf(Choice(*METHODS), or_one=True),
            default=(),
            default_text="any",
            doc="The request's method, or one of several.",
            example="- network: {method: POST, url: /basket/add/*}",
        ),
        Field(
            key="url",
            shape=AddressShape(),
            default=None,
            default_text="any",
            doc=(
                "Its address: host and path are these, and these query parameters are there. In the path, `*` stands "
                "for anything but `/`, and `**` for anything; a slash written `%2F` is part of a name for `*`, and "
                "equal to `/` elsewhere, and `%2A` is the character `*`. A last slash counts, unless the path ends "
                "with `*`. Of a parameter that is named twice there must be two."
            ),
            example="- network: {url: '/search/?q=kettle'}",
        ),
        Field(
            key="regex",
            shape=REGEX,
            default=None,
            default_text="any",
            doc="The regular expression is found in its full address.",
            example="- network: {regex: '/orders/\\d+/cancel$'}",
        ),
        Field(
            key="status",
            shape=ListOf(Int("an HTTP status", low=100, high=599), or_one=True),
            default=(),
            default_text="any",
            doc="The response's status, or one of several.",
            example="- network: {method: POST, url: /checkout/, status: [200, 302]}",
        ),
        Field(
            key="body",
            shape=_BODY,
            default=ANY_TEXT,
            default_text="any",
            doc=(
                "A text that the request's body includes, or [conditions on the text](#conditions-on-text) of it. "
                "Form fields are decoded first, one `name=value` per line (of a file in a form, a line with its name "
                "and one with what is in it); line ends within values are written `\\n`. Compressed bodies (gzip, "
                "deflate) are decompressed; text is read in the encoding that is declared, and one that is no UTF-8 "
                "without saying so can't be decoded. Other fields' values may include such a text, too: `regex: "
                "'(?m)^stars=4$'` means the field alone."
            ),
            example="- network: {method: POST, url: /reviews/, body: stars=4}",
        ),
        Field(
            key="count",
            shape=COUNT,
            default=None,
            default_text="at least 1",
            doc="How many such requests there must be: a number, or `{min: …, max: …}`.",
            example="- network: {method: POST, url: /basket/add/*, count: 1}",
        ),
        Field(
            key="attempted",
            shape=Bool(),
            default=False,
            doc=(
                "On [live sites](live.md), what may write is intercepted unless the task allows it: such requests "
                "count, too, as they would have been sent. Their status is 403, and nobody has answered."
            ),
            example="- network: {method: POST, url: 'https://www.example.com/basket/add', attempted: true}",
        ),
        Field(
            key="none",
            shape=Bool(),
            default=False,
            doc="There must be no such request.",
            example="- network: {method: DELETE, url: '/notes/**', none: true}",
        ),
    ],
    rule=_fault,
    doc=(
        "Which requests of the browser's count, and how many there must be. What the gateway refused doesn't count "
        "(but for what `attempted` says). "
        "The gateway records up to 20,000 requests and 64 MiB of a trial, a quarter of that for those that may change "
        "something (POST, PUT, …). Of more, it counts methods and paths; where these leave open whether the check "
        "holds, it is inconclusive. Where what was cut off a long body (64 KiB are kept), or one that can't be "
        "decoded, would decide, neither the check is met nor its contrary; `--agent=oracle` shows whether right work "
        "leads there."
    ),
)


def judge(spec: NetworkSpec, view: View) -> Judgement:
    """Count the requests that match."""
    evidence = view.evidence
    expected = str(spec)
    if not evidence.requests and _visited(evidence):
        return Judgement.unknown(expected=expected, why="the requests were not recorded")
    if spec.url is not None and spec.url.resolve(evidence.sites) is None:
        return Judgement.unknown(expected=expected, why=f"the address of {spec.url.site} was not recorded")
    found: list[RequestRecord] = []
    doubtful: list[str] = []
    for request in evidence.requests:
        kept = request.refused and not (spec.attempted and request.intercepted)
        if kept or not _matches(spec, request, evidence):
            continue
        body, doubt = read_body(request) if spec.body else ("", "")
        holds = not spec.body or judge_text(spec.body, body).holds
        if doubt and not (holds and spec.body == TextMatch(includes=spec.body.includes)):
            doubtful.append(f"the body of {request.method} {clip(request.url, 80)} {doubt}")  # and that may decide
        elif holds:
            found.append(request)
    missing = sum(each.count for each in evidence.unrecorded if _may_match(spec, each, evidence))
    low, high = len(found), len(found) + len(doubtful) + missing
    actual = _shown(found, evidence.requests)
    if not spec.count.decides(low, high):
        if doubtful:  # whoever sends it may have chosen so
            return Judgement.unknown(expected=expected, actual=actual, why=doubtful[0], cause="agent")
        why = f"{_some(missing)} that may be such could not be recorded, for there were too many"
        # That there are more than can be recorded is the doing of whoever visits the site, or of its pages.
        return Judgement.unknown(expected=expected, actual=actual, why=why, cause="site")
    holds = spec.count.holds(low)
    why = "" if holds else ("there was no such request" if not found else f"there were {len(found)}")
    return Judgement.of(holds, expected=expected, actual=actual, why=why)


def _some(count: int) -> str:
    return f"{count} request{'s' * (count != 1)}"


def _may_match(spec: NetworkSpec, missing: Unrecorded, evidence: Evidence) -> bool:
    if spec.method and missing.method and missing.method not in spec.method:
        return False
    if spec.url is None or not missing.url:
        return True
    address = (spec.url.resolve(evidence.sites) or "").partition("?")[0]
    return _at(address, missing.url)


def _visited(evidence: Evidence) -> bool:
    """Whether the browser has been on a site, so that there must have been requests."""
    urls = [*(tab.url for tab in evidence.tabs), *(step.url_after for step in evidence.steps)]
    return any(url.startswith(("http://", "https://")) for url in urls)


def _matches(spec: NetworkSpec, request: RequestRecord, evidence: Evidence) -> bool:
    """Whether all but the body is as specified."""
    if spec.method and request.method.upper() not in spec.method:
        return False
    if spec.status and request.status not in spec.status:
        return False
    if spec.url is not None and not _at(spec.url.resolve(evidence.sites) or "", request.url):
        return False
    return spec.regex is None or judge_text(TextMatch(regex=spec.regex), request.url).holds


def _at(pattern: str, url: str) -> bool:
    wanted, actual = parse_url(pattern), parse_url(url)
    if wanted is None or actual is None or wanted.origin != actual.origin:
        return False
    return same_path(actual, wanted) and not Counter(wanted.query) - Counter(actual.query)


def _shown(found: Sequence[RequestRecord], requests: Sequence[RequestRecord]) -> str:
    if not found:
        return f"none of {len(requests)} requests"
    first = f"{found[0].method} {clip(found[0].url, 60)} ({found[0].status})"
    return first if len(found) == 1 else f"{len(found)}, the first {first}"


def _category(spec: NetworkSpec) -> str:
    return "content" if set(spec.method) & {"POST", "PUT", "PATCH", "DELETE"} else "navigation"


NETWORK: Kind[NetworkSpec] = Kind(
    name="network",
    doc="The requests that the browser made, as the gateway saw them.",
    form=FORM,
    judge=judge,
    category=_category,
    reads_requests=True,
    looks_at=lambda spec: {"requests"},
    examples=("- network: {method: POST, url: /basket/add/*, status: [200, 302]}",),
)
