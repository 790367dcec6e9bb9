"""The kind ``page``: what a page shows, either the current one or one that is opened for the check."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from pytest_webarena.checks.counts import COUNT, Count
from pytest_webarena.checks.kind import END, Judgement, Kind, Live, View, late_reader, no_answer
from pytest_webarena.checks.text import ANY_TEXT, TEXT_FIELDS, TextMatch, judge_texts, take_text, text_fault
from pytest_webarena.checks.url import document_status
from pytest_webarena.errors import Cause, TaskError
from pytest_webarena.evidence import JsonValue
from pytest_webarena.tasks.addresses import Address, AddressShape
from pytest_webarena.tasks.file_reading import Invalid, Reading
from pytest_webarena.tasks.nodes import MapNode, Node, ScalarNode
from pytest_webarena.tasks.record_shapes import Field, ListOf, Record
from pytest_webarena.tasks.shapes import Choice, Fault, Int, Schema, Schemas, Shape, Text
from pytest_webarena.tasks.syntax import LOCATE
from pytest_webarena.text import clip

__all__ = ["PAGE", "PageSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSpec:
    """A page, a part of it, and conditions on it; all given conditions must hold."""

    open: Address | None = None
    """Address to open; None: the current page, as the agent left it."""
    locate: str | None = None
    prepare: tuple[str, ...] = ()
    match: Literal["any", "all", "together"] = "any"
    text: TextMatch = ANY_TEXT
    count: Count | None = None
    status: int | None = None

    @property
    def only_requires_presence(self) -> bool:
        """Whether the check stays met whatever is added to the page."""
        limited = self.status or self.match == "all" or (self.count and self.count.high is not None)
        return self.text.lasts and not limited

    def __str__(self) -> str:
        parts = [str(self.text)] if self.text else []
        if self.count:
            parts.append(f"{self.count} found")
        if self.status:
            parts.append(f"status {self.status}")
        part = f" at {self.locate}" if self.locate else ""
        return f"{'; '.join(parts)}{part} on {self.open or 'the current page'}"


class _Open(Shape[Address | None]):
    """An address, or the word ``current``."""

    label = "an address, or 'current'"

    def __init__(self) -> None:
        self.address = AddressShape(visited="always")

    def read(self, node: Node, reading: Reading) -> Address | Invalid | None:
        if isinstance(node, ScalarNode) and node.value == "current":
            return None
        return self.address.read(node, reading)

    def json_schema(self, schemas: Schemas) -> Schema:
        return {"anyOf": [self.address.json_schema(schemas), {"const": "current"}]}


def _build(**values: Any) -> PageSpec:
    return PageSpec(text=take_text(values), **values)


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if fault := text_fault(values, node, reading):
        return fault
    text = TextMatch(**{field.key: values[field.key] for field in TEXT_FIELDS})
    if not (text or values["count"] or values["status"]):
        hint = "e.g. includes: …, or count: {min: 1} to require that it is there"
        return Fault("a condition on the page", "none", hint)
    if values["count"] and not values["locate"]:
        return Fault("'locate' with 'count'", "'count' alone", "say what is counted")
    if values["status"] and values["open"] is None:
        return Fault("'open' with 'status'", "'status' alone", "a current page is judged by what it shows")
    if values["prepare"] and values["open"] is None:
        return Fault("'open' with 'prepare'", "'prepare' alone", "the current page is read as the agent left it")
    if not reading.sites and reading.sites is not None and values["open"] is None:
        return Fault("a site in 'sites'", "none", "without a site there is no current page")
    return None


FORM: Record[PageSpec] = Record(
    "page check",
    _build,
    [
        Field(
            key="open",
            shape=_Open(),
            default=None,
            default_text="`current`",
            doc=(
                "The page to check: `current`, as the agent left it, or an address to open with a copy of "
                "the agent's cookies and storage. Status 408, 425, 429, or 500 and above is undecided, "
                "unless `status` expects it. Other statuses from 400 fail an opened page; under `not`, only "
                "404 and 410 prove absence. The current page is judged by its content. A sign-in page or "
                "status 401 or 403 proves no absence, also under `not`, unless the task has `ends_session: "
                "true`. See [what checks look at](judging.md#status-codes)."
            ),
            example="- page: {open: /accounts/orders/, includes: Coffee Grinder}",
        ),
        Field(
            key="locate",
            shape=LOCATE,
            default=None,
            default_text="the whole page",
            doc=(
                "The part to check: a Playwright selector, or `js=` and a JavaScript expression that returns "
                "a text, a list of texts or null. Inputs give their value, other elements their visible "
                "text. The whole page includes open shadow roots, same-origin frames and text that CSS "
                "inserts, after the other text. Only `js=` runs among the page's own scripts."
            ),
            example="- page: {locate: 'css=input#title', exact: Quiet enough}",
        ),
        Field(
            key="prepare",
            shape=ListOf(Text("a JavaScript expression"), or_one=True),
            default=(),
            default_text="nothing",
            doc="JavaScript to run first, such as unfolding a section. Only with `open`.",
            example="- page: {open: /faq/, prepare: \"document.querySelector('#more').click()\", includes: returns}",
        ),
        Field(
            key="match",
            shape=Choice("any", "all", "together"),
            default="any",
            doc=(
                "Which of several elements must meet the conditions: `any` one, `all`, or their joined text "
                "(`together`). No element may contain a text in `excludes`."
            ),
            example="- page: {locate: css=.price, match: all, regex: '^£'}",
        ),
        *TEXT_FIELDS,
        Field(
            key="count",
            shape=COUNT,
            default=None,
            default_text="not counted",
            doc="How many elements are found.",
            example="- page: {open: /basket/, locate: css=.basket-item, count: 2}",
        ),
        Field(
            key="status",
            shape=Int("an HTTP status", low=100, high=599),
            default=None,
            default_text="below 400",
            doc="The HTTP status of the opened page.",
            example="- page: {open: /notes/3/, status: 404}",
        ),
    ],
    rule=_fault,
    doc=(
        "All given conditions must hold. Invalid JavaScript is an error of the task. A page that can't be "
        "read (endless dialogs or scripts, too large) fails, also under `not`. Absence means `excludes`, an "
        "upper bound in `count`, or `not`. If JavaScript in `locate` or `prepare` throws, or the address "
        "gives a download or no content, required content is not found and absence is undecided. While "
        "the page waits for a response, absence is undecided, unless the same check finds something "
        "there: `includes: Your cart, excludes: Kettle`."
    ),
)


_DOUBTS = {
    "error": "threw",
    "hidden": "hidden",
    "refused": "refused",
    "waiting": "waiting",
    "signed_out": "signed_out",
    "shut_out": "shut_out",
}
"""Attributes of a page that cast doubt on its content, and the keys under which the probe records them."""


def collect(spec: PageSpec, live: Live) -> JsonValue:
    """Read the page."""
    url = None
    if spec.open is not None:
        url = spec.open.resolve(live.sites)
        if url is None:
            raise TaskError(f"expected a site of this trial ({', '.join(live.sites)}), found {spec.open.site!r}")
    absent = spec.text.excludes or (spec.count and spec.count.high is not None)
    read = late_reader(live) if absent else live.read_page
    page = read(open=url, locate=spec.locate, prepare=spec.prepare)
    if invalid := getattr(page, "invalid", ""):
        raise TaskError(invalid)
    value: dict[str, JsonValue] = {"url": page.url, "status": page.status, "texts": list(page.texts)}
    return value | {key: said for name, key in _DOUBTS.items() if (said := getattr(page, name, ""))}


def judge(spec: PageSpec, view: View) -> Judgement:
    """Judge the page that was read."""
    expected = str(spec)
    if view.probe is None:
        return Judgement.unknown(expected=expected, why="the page was not read")
    if view.probe.error:
        return Judgement.unknown(expected=expected, why=view.probe.error)
    value: Any = view.probe.value
    if spec.open is None:
        value = {**value, "status": _failure(value, view)}
    threw = value.get("threw") or value.get("error")  # old records have syntax errors under 'error' as well
    if view.ends_session:  # nobody should be logged in, so a login page is a valid answer
        value = {**value, "signed_out": "", "shut_out": ""}
    if signed_out := value.get("signed_out"):
        judgement = _judge_shown(spec, value, expected, view)
        if threw:
            judgement = replace(judgement, score=0.0)
        return _judge_signed_out(spec, judgement, f"{value['url']} is not the page asked for: {signed_out}")
    failed = spec.status is None and (value["status"] or 0) >= 400  # even if a script changes what the page shows
    if spec.open is None and failed:
        return _judge_shown(spec, value, expected, view)
    if threw and not failed:
        return _judge_thrown(spec, value, expected, view, f"{value['url']} could not be read: {threw}")
    if hidden := value.get("hidden"):
        why = f"{value['url']} can't be looked at as it was left: {hidden}"
        return Judgement.unknown(expected=expected, actual="a page that can't be read", why=why, cause="agent")
    if refused := value.get("refused"):
        why = f"at {value['url']}: {refused}"
        return Judgement.unknown(expected=expected, actual="no page of a site", why=why, cause="agent")
    judgement = _judge_shown(spec, value, expected, view)
    if waiting := value.get("waiting"):
        return _judge_unfinished(spec, judgement, f"{value['url']} {waiting}")
    if shut_out := value.get("shut_out"):
        why = f"{value['url']} {shut_out}, so what it lacks says nothing"
        return _judge_signed_out(spec, judgement, why, actual=judgement.actual)
    return judgement


def _failure(value: Any, view: View) -> int | None:
    """Returns the current page's status if it means that the site can't answer now; for all others the content counts.

    If the tab's status is unknown, it is taken from the requests; these only show the status at the end.
    """
    status = value["status"] or (document_status(view.evidence.requests, value["url"]) if view.state == END else 0)
    return status if no_answer(status) == "site" else None


def _judge_thrown(spec: PageSpec, value: Any, expected: str, view: View, why: str) -> Judgement:
    """Judge a page on which a script threw, or which is not a page: nothing wanted was shown, and the rest is
    unknown."""
    judgement = _judge_shown(spec, {**value, "texts": []}, expected, view)
    cause: Cause = "agent" if value.get("shut_out") else "task"
    if judgement.score != 0 or "SyntaxError" in value.get("error", ""):
        return Judgement.unknown(expected=expected, why=why, cause=cause)
    return replace(judgement, actual="nothing could be read", why=why, contrary=cause)


def _judge_shown(spec: PageSpec, value: Any, expected: str, view: View) -> Judgement:
    texts: list[str] = value["texts"]
    status: int | None = value["status"]
    actual = _shown(texts, spec) if not spec.status else f"status {status}"
    cause = no_answer(status or 200)
    if spec.status is None and cause == "site":  # what it would show can't be determined
        why = f"{value['url']} failed with status {status}"
        return Judgement.unknown(expected=expected, actual=f"status {status}", why=why, cause="site")
    if status is not None and (status != spec.status if spec.status else status >= 400):
        why = f"{value['url']} answered with status {status}"
        judgement = Judgement.of(False, expected=expected, actual=f"status {status}", why=why)
        return replace(judgement, contrary=view.contrary(status))
    if spec.count and not spec.count.holds(len(texts)):
        return Judgement.of(False, expected=expected, actual=f"{len(texts)} found", why=f"at {value['url']}")
    found = judge_texts(spec.text, texts, spec.match) if spec.text else None
    if found is not None and not found.holds:
        why = f"nothing matches {spec.locate}" if spec.locate and not texts else found.why
        return Judgement.of(False, expected=expected, actual=actual, why=f"{why} (at {value['url']})")
    return Judgement.of(True, expected=expected, actual=actual)


def _rests_on_absence(spec: PageSpec) -> bool:
    """Whether an empty page would pass: apart from content that must be absent, nothing is required."""
    demands = replace(spec.text, exact=spec.text.exact or None).positive
    return bool(spec.text.excludes or spec.count) and not demands and (not spec.count or spec.count.holds(0))


def _judge_signed_out(spec: PageSpec, judgement: Judgement, why: str, actual: str = "a sign-in page") -> Judgement:
    """Judge a login page: content on it does exist, but missing content proves nothing about the requested page."""
    if judgement.score and not _rests_on_absence(spec):
        return judgement
    return Judgement.unknown(expected=judgement.expected, actual=actual, why=why, cause="agent")


def _judge_unfinished(spec: PageSpec, judgement: Judgement, why: str) -> Judgement:
    if not judgement.score:
        told = f"{judgement.why}; {why}" if judgement.why else why
        return replace(judgement, why=told, contrary="site") if judgement.score == 0 else judgement
    if not _rests_on_absence(spec):
        return judgement
    why += (
        ", so what it will show is unknown. In addition to what must not be there, name something that the page shows "
        "when it is complete (includes: …): where that is found, the rest counts"
    )
    return Judgement.unknown(expected=judgement.expected, actual=judgement.actual, why=why, cause="site")


def _shown(texts: list[str], spec: PageSpec) -> str:
    if not texts:
        return "nothing found"
    if spec.locate is None:
        return f"a page of {sum(map(len, texts))} characters"
    return ", ".join(f'"{clip(text, 80)}"' for text in texts[:3]) + (f" and {len(texts) - 3} more" if texts[3:] else "")


def _category(spec: PageSpec) -> str:
    return "navigation" if spec.open is None else "content"


PAGE: Kind[PageSpec] = Kind(
    name="page",
    doc="Checks what a page shows: the current page, or one that the check opens.",
    form=FORM,
    judge=judge,
    collect=collect,
    phase=lambda spec: 1 if spec.open is None else 2,
    stateful=True,
    sends_requests=lambda spec: spec.open is not None,
    presence=lambda spec: spec.only_requires_presence,
    absence=_rests_on_absence,
    category=_category,
    looks_at=lambda spec: {"place"} if spec.open is None else {"data"},
    examples=('- page: {open: /catalogue/kettle/reviews/, locate: css=.review-title, includes: "Drips"}',),
)
