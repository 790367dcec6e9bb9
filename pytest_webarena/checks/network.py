"""The kind ``network``: requests that the browser made, or must not even attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urljoin

from pytest_webarena.checks.bodies import read_body
from pytest_webarena.checks.counts import AT_LEAST_ONE, COUNT, Count
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.partial_regex import names_host
from pytest_webarena.checks.text import ANY_TEXT, TEXT_FIELDS, TextMatch, judge_text, take_text, text_fault
from pytest_webarena.checks.urls import equivalent_path, equivalent_urls, parse_url, prohibited_origin, same_path
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

_REFUSED = 403
"""Status of requests that the gateway refuses."""
_REMEDY = "name the hosts that count by 'url', or leave refused requests out by 'attempted: false'"
_CHROMIUM = "use Chromium, whose https requests it reads"
_SENT_ON = (301, 307, 308)
"""Statuses by which sites redirect a request to the correct spelling of its address; 302 and 303 also follow an
action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec:
    """Conditions on requests, and how many must match."""

    method: tuple[str, ...] = ()
    url: Address | None = None
    regex: str | None = None
    status: tuple[int, ...] = ()
    body: TextMatch = ANY_TEXT
    count: Count = AT_LEAST_ONE
    attempted: bool | None = None
    """Whether requests that the gateway refused count. None: only against upper bounds."""

    @property
    def limits_attempts(self) -> bool:
        """Whether the check is a prohibition that refused requests violate."""
        return self.attempted is not False and self.count.low == 0 and self.count.high is not None

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
        if self.attempted or self.limits_attempts:
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
            doc="The request's method.",
            example="- network: {method: POST, url: /basket/add/*}",
        ),
        Field(
            key="url",
            shape=AddressShape(),
            default=None,
            default_text="any",
            doc=(
                "Host and path of the request, and query parameters that it must have. In the path, `*` "
                "matches anything but `/`, and `**` anything. `%2F` is part of a name for `*` and equals `/` "
                "elsewhere; `%2A` is a literal `*`. A trailing slash counts, unless the path ends with `*`. "
                "A parameter named twice must be sent twice."
            ),
            example="- network: {url: '/search/?q=kettle'}",
        ),
        Field(
            key="regex",
            shape=REGEX,
            default=None,
            default_text="any",
            doc=(
                "A pattern that matches somewhere in the full address. A prohibition also matches addresses "
                "without their query."
            ),
            example="- network: {regex: '/orders/\\d+/cancel$'}",
        ),
        Field(
            key="status",
            shape=ListOf(Int("an HTTP status", low=100, high=599), or_one=True),
            default=(),
            default_text="any",
            doc="The response's status.",
            example="- network: {method: POST, url: /checkout/, status: [200, 302]}",
        ),
        Field(
            key="body",
            shape=_BODY,
            default=ANY_TEXT,
            default_text="any",
            doc=(
                "A text that the body includes, or [conditions on its text](#conditions-on-text). Form "
                "fields are decoded, one `name=value` per line; an uploaded file is a line with its name and "
                "one with its content. Line breaks within values become `\\n`. gzip and deflate are "
                "decompressed. Text uses its declared encoding; undeclared text that is not UTF-8 can't be "
                "decoded. To match one field only, use `regex: '(?m)^stars=4$'`."
            ),
            example="- network: {method: POST, url: /reviews/, body: stars=4}",
        ),
        Field(
            key="count",
            shape=COUNT,
            default=None,
            default_text="at least 1",
            doc="How many such requests there are.",
            example="- network: {method: POST, url: /basket/add/*, count: 1}",
        ),
        Field(
            key="attempted",
            shape=Bool(),
            default=None,
            default_text="only against upper bounds",
            doc=(
                "Whether requests that the gateway refused count: to a host outside the task's sites, or on "
                "[live sites](live.md) those that may write. Their status is 403. By default they break a "
                "prohibition (`none`, `count` with a `max`, `not`) but never meet a requirement. `true`: "
                "they always count. `false`: never."
            ),
            example="- network: {method: POST, url: 'https://www.example.com/basket/add', attempted: true}",
        ),
        Field(
            key="none",
            shape=Bool(),
            default=False,
            doc=(
                "Forbids such requests, and attempts at them "
                "([prohibitions](writing-tasks.md#what-must-not-be-requested)). Same as `not: {network: …}`."
            ),
            example="- network: {method: DELETE, url: '/notes/**', none: true}",
        ),
    ],
    rule=_fault,
    doc=(
        "The keys select requests; `count` or `none` says how many there must be. The gateway records up to "
        "20,000 requests and 64 MiB per trial. A quarter is reserved for requests that may change something "
        "(POST, PUT, …). Beyond that, it counts only methods and paths; if these leave the result open, the "
        "check is undecided. If the part of a body beyond 64 KiB, or a body that can't be decoded, would "
        "decide, the check fails, also under `not`. Test this with `--agent=oracle`."
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tally:
    """The matching requests, counted strictly for a requirement or loosely for a prohibition."""

    found: Sequence[RequestRecord]
    doubtful: Sequence[str] = ()
    """Why a match is uncertain, for requests whose sender may have caused the uncertainty."""
    unread: Sequence[str] = ()
    """Why a match is uncertain, for requests where that is nobody's fault."""
    missing: int = 0
    """Number of unrecorded requests that may match."""

    @property
    def least(self) -> int:
        """Number of certain matches."""
        return len(self.found)

    @property
    def most(self) -> int:
        """Number of matches if all uncertain ones match."""
        return self.least + len(self.doubtful) + len(self.unread) + self.missing


def judge(spec: NetworkSpec, view: View) -> Judgement:
    """Count the matching requests.

    An upper bound is a prohibition and counts loosely (`_tally`); a lower bound is a requirement and counts strictly.
    Under a ``not`` the two bounds exchange their roles.
    """
    evidence = view.evidence
    expected = str(spec)
    if not evidence.requests and _visited(evidence):
        return Judgement.unknown(expected=expected, why="the requests were not recorded")
    if spec.url is not None and spec.url.resolve(evidence.sites) is None:
        return Judgement.unknown(expected=expected, why=f"the address of {spec.url.site} was not recorded")
    strict, loose = (_tally(spec, evidence, prohibited=prohibited) for prohibited in (False, True))
    lower, upper = (loose, strict) if view.negated else (strict, loose)
    low, high = spec.count.low, spec.count.high
    too_few, too_many = lower.most < low, high is not None and upper.least > high
    holds = lower.least >= low and (high is None or upper.most <= high)
    decisive = upper if too_many or lower.least >= low else lower
    actual = _shown((lower if holds else decisive).found, evidence.requests)
    if holds or too_few or too_many:
        why = "" if holds else _number(decisive.found)
        return Judgement.of(holds, expected=expected, actual=actual, why=why)
    if decisive.doubtful:
        return Judgement.unknown(expected=expected, actual=actual, why=decisive.doubtful[0], cause="agent")
    if decisive.unread:
        return Judgement.unknown(expected=expected, actual=actual, why=decisive.unread[0])
    why = f"{_some(decisive.missing)} that may be such could not be recorded, for there were too many"
    # The visitor or the site's pages cause more requests than can be recorded.
    return Judgement.unknown(expected=expected, actual=actual, why=why, cause="site")


def _tally(spec: NetworkSpec, evidence: Evidence, *, prohibited: bool) -> _Tally:
    """Returns the requests that count towards a requirement; or, if ``prohibited``, against a prohibition, which
    includes requests that the gateway refused and addresses that servers may treat as the same."""
    attempts = prohibited if spec.attempted is None else spec.attempted
    found: list[RequestRecord] = []
    doubtful: list[str] = []
    unread: list[str] = []
    refused = {(each.method, each.url) for each in evidence.requests if each.refused}
    for request in evidence.requests:
        if (request.refused and not attempts) or _only_asks(spec, request, refused):
            continue
        if request.method == "CONNECT" and (tunnel := _unread_tunnel(request)):
            meant = _leads_to(spec, request.url, refused=bool(request.refused), evidence=evidence)
            if meant == "no":
                continue
            if request.refused and meant == "yes":
                doubtful.append(tunnel)
            elif prohibited:
                unread.append(f"{tunnel}; {_REMEDY if request.refused else _CHROMIUM}")
            continue
        if not _matches(spec, request, evidence, loosely=prohibited):
            continue
        body, doubt = read_body(request) if spec.body else ("", "")
        holds = not spec.body or judge_text(spec.body, body).holds
        if doubt and not (holds and spec.body == TextMatch(includes=spec.body.includes)):
            doubtful.append(f"the body of {request.method} {clip(request.url, 80)} {doubt}")  # and that may decide
        elif holds:
            found.append(request)
    missing = sum(
        each.count
        for each in evidence.unrecorded
        if (attempts or not each.refused) and _may_match(spec, each, evidence, loosely=prohibited)
    )
    return _Tally(found=found, doubtful=doubtful, unread=unread, missing=missing)


def _only_asks(spec: NetworkSpec, request: RequestRecord, refused: Container[tuple[str, str]]) -> bool:
    """Whether a request is only the browser's preflight for a request that was ``refused`` (method and address) as
    well; the two are one attempt."""
    if request.method != "OPTIONS" or not request.refused or "OPTIONS" in spec.method:
        return False
    method = next((v for name, v in request.request_headers if name.lower() == "access-control-request-method"), "")
    return (method, request.url) in refused


def _unread_tunnel(request: RequestRecord) -> str:
    """Returns why the requests of a tunnel are unknown; empty if they are recorded separately, or there were none."""
    if request.refused:
        # An accepted tunnel is refused later if browser and gateway don't agree on TLS; then nothing was requested.
        attempt = f"a connection to {clip(request.url, 80)} was refused before it was known what it was for"
        return attempt if request.status != 200 else ""
    return f"the gateway can't read what was sent to {clip(request.url, 80)}" if request.request_bytes else ""


def _leads_to(spec: NetworkSpec, target: str, *, refused: bool, evidence: Evidence) -> Literal["yes", "maybe", "no"]:
    """Whether a tunnel to ``target`` (host and port) leads to a host that the check names; ``maybe`` if it names none,
    or that can't be determined."""
    if refused and spec.status and _REFUSED not in spec.status:
        return "no"
    if spec.url is not None:
        tunnel, wanted = parse_url(f"https://{target}"), parse_url(spec.url.resolve(evidence.sites) or "")
        named = tunnel is not None and wanted is not None and prohibited_origin(tunnel, wanted, evidence.served)
        return "yes" if named else "no"
    if spec.regex is None:
        return "maybe"
    # A pattern without a host may be meant for another host: pages load from many.
    whole = _found(spec.regex, f"https://{target.removesuffix(':443')}/", loosely=True)
    return "yes" if whole else names_host(spec.regex, target)


def _some(count: int) -> str:
    return f"{count} request{'s' * (count != 1)}"


def _number(found: Sequence[RequestRecord]) -> str:
    if not found:
        return "there was no such request"
    refused = sum(bool(request.refused) for request in found)
    attempts = f", {refused} of them attempts that the gateway refused" if refused else ""
    return f"there were {len(found)}{attempts}"


def _may_match(spec: NetworkSpec, missing: Unrecorded, evidence: Evidence, *, loosely: bool) -> bool:
    if missing.refused and missing.method == "CONNECT":
        if not missing.url:
            return loosely or spec.url is not None or spec.regex is not None
        meant = _leads_to(spec, missing.url, refused=True, evidence=evidence)
        return meant == "yes" or (meant == "maybe" and loosely)
    if spec.method and missing.method and missing.method not in spec.method:
        return False
    if spec.url is None or not missing.url:
        return True
    address = (spec.url.resolve(evidence.sites) or "").partition("?")[0]
    return _at(address, missing.url, evidence, loosely=loosely)


def _visited(evidence: Evidence) -> bool:
    """Whether the browser has been on a site, so that there must have been requests."""
    urls = [*(tab.url for tab in evidence.tabs), *(step.url_after for step in evidence.steps)]
    return any(url.startswith(("http://", "https://")) for url in urls)


def _matches(spec: NetworkSpec, request: RequestRecord, evidence: Evidence, *, loosely: bool) -> bool:
    """Whether everything except the body matches."""
    if spec.method and request.method.upper() not in spec.method:
        return False
    if spec.status and request.status not in spec.status:
        return False
    strictly = _is_meant(spec, request.url, evidence, loosely=False)
    if strictly or not loosely:
        return strictly
    return _is_meant(spec, request.url, evidence, loosely=True) and not _sent_on(spec, request, evidence)


def _is_meant(spec: NetworkSpec, url: str, evidence: Evidence, *, loosely: bool) -> bool:
    """Whether an address matches."""
    if spec.url is not None and not _at(spec.url.resolve(evidence.sites) or "", url, evidence, loosely=loosely):
        return False
    return spec.regex is None or _found(spec.regex, url, loosely=loosely)


def _sent_on(spec: NetworkSpec, request: RequestRecord, evidence: Evidence) -> bool:
    """Whether the site only redirected the request to another spelling of its address, which alone counts."""
    if request.status not in _SENT_ON:
        return False
    to = next((value for name, value in request.response_headers if name.lower() == "location"), "")
    return bool(to) and _is_meant(spec, urljoin(request.url, to), evidence, loosely=True)


def _found(regex: str, url: str, *, loosely: bool) -> bool:
    urls = equivalent_urls(url) if loosely else (url,)
    return any(judge_text(TextMatch(regex=regex), each).holds for each in urls)


def _at(pattern: str, url: str, evidence: Evidence, *, loosely: bool) -> bool:
    wanted, actual = parse_url(pattern), parse_url(url)
    if wanted is None or actual is None:
        return False
    if not (wanted.origin == actual.origin or (loosely and prohibited_origin(actual, wanted, evidence.served))):
        return False
    same = equivalent_path if loosely else same_path
    return same(actual, wanted) and not Counter(wanted.query) - Counter(actual.query)


def _shown(found: Sequence[RequestRecord], requests: Sequence[RequestRecord]) -> str:
    if not found:
        return f"none of {len(requests)} requests"
    first = f"{found[0].method} {clip(found[0].url, 60)} ({found[0].status})"
    return first if len(found) == 1 else f"{len(found)}, the first {first}"


def _category(spec: NetworkSpec) -> str:
    return "content" if set(spec.method) & {"POST", "PUT", "PATCH", "DELETE"} else "navigation"


NETWORK: Kind[NetworkSpec] = Kind(
    name="network",
    doc="Checks the requests that the browser sent, as recorded by the gateway.",
    form=FORM,
    judge=judge,
    category=_category,
    reads_requests=True,
    absence=lambda spec: spec.count.holds(0),
    looks_at=lambda spec: {"requests"},
    examples=("- network: {method: POST, url: /basket/add/*, status: [200, 302]}",),
)
