"""The forms of key nodes' targets in task files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_webarena.checks.key_nodes.model import (
    ANY_SITE,
    ElementTarget,
    Match,
    TextTarget,
    UrlTarget,
    ValueTarget,
)
from pytest_webarena.checks.key_nodes.selector_reading import SelectorFault, parse_selector
from pytest_webarena.tasks.addresses import Address, AddressShape, SiteShape
from pytest_webarena.tasks.file_reading import Invalid, Reading
from pytest_webarena.tasks.nodes import MapNode, Node, ScalarNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, ListOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Schema, Schemas, Shape, Text
from pytest_webarena.text import clip

__all__ = ["ELEMENT", "TEXT", "URL", "VALUE"]

EVENTS = ("click", "dblclick", "auxclick", "contextmenu", "input", "change", "submit", "keydown", "dragstart", "drop")
"""Page events that sessions record."""
_HOWS = ("exact", "includes", "semantic")


class _Site(SiteShape):
    """A site of the task, or ``*``."""

    def __init__(self) -> None:
        super().__init__()
        known = self.check
        assert known is not None
        self.label = "a site of this task, or *"
        self.check = lambda name, reading: None if name == ANY_SITE else known(name, reading)
        self.pattern = rf"{self.pattern}|^\*$"


def _selector_fault(text: str, _: Reading) -> Fault | None:
    try:
        parse_selector(text)
    except SelectorFault as fault:
        return Fault('a selector, e.g. css=#buy or role=button[name="Buy"]', f"'{clip(text)}'", str(fault))
    return None


_SELECTOR = Text("a selector", strip=True, check=_selector_fault)
_RULE = Text("a rule in words", strip=True)


def _fields(what: str, example: str, *, exact: Shape[Any] | None = None, of_exact: str = "") -> list[Field]:
    """Returns the fields ``exact``, ``includes`` and ``semantic`` of one kind of node."""
    return [
        Field(
            key="exact",
            shape=exact or Text(blank=True),
            default=None,
            default_text="none",
            doc=of_exact or f"{what} equals this text, compared as an [`answer`](#answer).",
            example=example.replace("HOW", "exact"),
        ),
        Field(
            key="includes",
            shape=Text(),
            default=None,
            default_text="none",
            doc=f"{what} includes this text, in whole words.",
            example=example.replace("HOW", "includes"),
        ),
        Field(
            key="semantic",
            shape=_RULE,
            default=None,
            default_text="none",
            doc=f"A rule in words that {what[0].lower()}{what[1:]} must meet, judged by a [judge model](judge.md).",
            example=example.replace("HOW: kettle", "semantic: Searches for a kettle"),
        ),
    ]


_CASE = Field(
    key="case",
    shape=Bool(),
    default=False,
    doc="Whether case matters.",
    example="- key_nodes: [{url: {param: ref, exact: AbC, case: true}}]",
)
_SITE = Field(
    key="site",
    shape=_Site(),
    default=None,
    default_text="the task's first site; `*` for a task without sites",
    doc="Limits the node to this site's addresses (for elements, of their document). `*` means any site.",
    example="- key_nodes: [{url: {site: homepage, includes: /notes}}]",
)
_LABEL = Field(
    key="label",
    shape=Text("a site's label", strip=True),
    default="",
    default_text="none",
    doc=(
        "Limits the node to hosts with this label, instead of `site`. Mind2Web-Live names sites by the first "
        "part of the host name, or the second after `www`."
    ),
    example="- key_nodes: [{element: {locate: '#buy', label: ikea}}]",
)


def _one_match(values: Mapping[str, Any], *, needed: bool = True) -> Fault | None:
    given = [how for how in _HOWS if values[how] is not None]
    if len(given) > 1:
        return Fault("one of 'exact', 'includes' and 'semantic'", " and ".join(f"'{how}'" for how in given))
    if needed and not given:
        return Fault("one of 'exact', 'includes' and 'semantic'", "none of them")
    return None


def _match(values: dict[str, Any]) -> Match | None:
    """Remove the match from the values, and return it."""
    texts = {how: values.pop(how) for how in _HOWS}
    case = values.pop("case", False)
    how = next((how for how in _HOWS if texts[how] is not None), None)
    return Match(how=how, text=texts[how], case=case) if how else None  # type: ignore[arg-type]


def _fill_in_site(values: dict[str, Any], reading: Reading) -> Fault | None:
    if values.get("label"):
        if values["site"] is not None:
            return Fault("'site' or 'label'", "both")
        values["site"] = ANY_SITE
    if values["site"] is None:
        values["site"] = reading.sites[0] if reading.sites else ANY_SITE
    return None


# --- addresses


def _move(values: dict[str, Any], node: MapNode, reading: Reading, key: str) -> Fault | None:
    """Put a bare path on the ``site`` that is named; return a fault if the address names another one."""
    address, site = values[key], values["site"]
    if address is None or site in (None, ANY_SITE):
        return None
    written = reading.entries(node)[key][1]
    if isinstance(written, ScalarNode) and written.value.strip().startswith("/"):
        values[key] = Address(site, address.path)
    elif address.site != site:
        return Fault(f"a path, or no 'site' with '{key}'", f"'{clip(str(address))}' and the site '{clip(site)}'")
    return None


def _address_fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if fault := _one_match(values):
        return fault
    if "://" in (values["includes"] or "") and values["site"] != ANY_SITE:  # imported nodes can't be changed
        hint = "a whole address is {exact: …}"
        return Fault("a part of a path", f"'{clip(values['includes'])}'", hint)
    if "?" in (values["includes"] or ""):
        hint = "for the query: {param: NAME, exact: VALUE}"
        return Fault("a part of host or path", f"'{clip(values['includes'])}'", hint)
    return _move(values, node, reading, "exact") or _fill_in_site(values, reading)


def _build_address(*, exact: Any, site: str, includes: str | None, semantic: str | None) -> UrlTarget:
    match = _match({"exact": None, "includes": includes, "semantic": semantic, "case": True})
    return UrlTarget(exact=exact, site=site, match=match)


_ADDRESS: Record[UrlTarget] = Record(
    "key node of an address",
    _build_address,
    [
        Field(
            key="exact",
            shape=AddressShape(),
            default=None,
            default_text="none",
            doc=(
                "A tab shows this address: host, path and the whole query. The order of the query, a "
                "trailing slash and an extra fragment are ignored."
            ),
            example="- key_nodes: [{url: {exact: '/search/?q=kettle'}}]",
        ),
        Field(
            key="includes",
            shape=Text(),
            default=None,
            default_text="none",
            doc=(
                "A tab shows an address of the site whose path includes this text; case is ignored. The "
                "query is not searched, and the fragment only for a text with `#`. With `site: '*'`, the "
                "host name is searched too."
            ),
            example="- key_nodes: [{url: {includes: /search}}]",
        ),
        Field(
            key="semantic",
            shape=_RULE,
            default=None,
            default_text="none",
            doc="A rule in words that the address must meet, judged by a [judge model](judge.md).",
            example="- key_nodes: [{url: {semantic: Lists kettles from the cheapest on}}]",
        ),
        _SITE,
    ],
    rule=_address_fault,
    doc="An address that a tab shows. Give one of `exact`, `includes` and `semantic`.",
    owner="a key node's url",
)


def _parameter_fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    return _one_match(values, needed=False) or _move(values, node, reading, "at") or _fill_in_site(values, reading)


def _build_parameter(*, param: str, at: Any, site: str, **values: Any) -> UrlTarget:
    return UrlTarget(param=param, at=at, site=site, match=_match(values))


_PARAMETER: Record[UrlTarget] = Record(
    "key node of a query parameter",
    _build_parameter,
    [
        Field(
            key="param",
            shape=Text("a parameter's name"),
            doc=(
                "The name of the parameter. If it repeats, one of its values is enough. Without `exact`, "
                "`includes` or `semantic`, any value but a blank one matches."
            ),
            example="- key_nodes: [{url: {param: q, exact: kettle}}]",
        ),
        *_fields("The value", "- key_nodes: [{url: {param: q, HOW: kettle}}]"),
        Field(
            key="at",
            shape=AddressShape(),
            default=None,
            default_text="any page of the site",
            doc="Limits the node to this address: same host and path, and these parameters present.",
            example="- key_nodes: [{url: {at: /search/, param: q, exact: kettle}}]",
        ),
        _SITE,
        _CASE,
    ],
    rule=_parameter_fault,
    doc="A query parameter of an address that a tab shows; its value is decoded.",
    owner="a key node's url",
)


class _UrlShape(Shape[UrlTarget]):
    """An address, or a query parameter."""

    label = "a mapping with 'exact', 'includes' or 'semantic', and 'param' for a parameter of the query"

    def read(self, node: Node, reading: Reading) -> UrlTarget | Invalid:
        if not isinstance(node, MapNode):
            return self.mismatch(node, reading, "e.g. {includes: /search} or {param: q, exact: kettle}")
        keys = reading.entries(node)
        return (_PARAMETER if {"param", "at", "case"} & set(keys) else _ADDRESS).read(node, reading)

    def parts(self) -> tuple[Shape[Any], ...]:
        return (_ADDRESS, _PARAMETER)

    def json_schema(self, schemas: Schemas) -> Schema:
        return {"anyOf": [_ADDRESS.json_schema(schemas), _PARAMETER.json_schema(schemas)]}


URL = _UrlShape()


# --- elements, values, texts


def _site_fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    return _fill_in_site(values, reading)


ELEMENT: Any = Either(
    "a selector, or a mapping with 'locate'",
    scalar=Convert(
        _SELECTOR,
        lambda text, reading: ElementTarget(locate=text, site=reading.sites[0] if reading.sites else ANY_SITE),
    ),
    mapping=Record(
        "key node of an element",
        ElementTarget,
        [
            Field(
                key="locate",
                shape=_SELECTOR,
                doc=(
                    "CSS, or Playwright's `role=`, `text=`, `id=`, `data-testid=`, joined by `>>`. It must "
                    "match the element acted on or one that contains it."
                ),
                example="- key_nodes: [{element: {locate: '#buy button'}}]",
            ),
            Field(
                key="event",
                shape=ListOf(Choice(*EVENTS), or_one=True, low=1),
                default=(),
                default_text="any action: clicks, input, change, submit",
                doc="The DOM event. `keydown` records only Enter, `auxclick` only the middle button.",
                example="- key_nodes: [{element: {locate: '#buy', event: click}}]",
            ),
            _SITE,
            _LABEL,
        ],
        rule=_site_fault,
        doc="An element that the agent acts on. A selector alone is short for `locate`.",
        owner="a key node's element",
    ),
)


def _value_fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    return _one_match(values) or _fill_in_site(values, reading)


def _build_value(*, locate: str, of: Any, site: str, label: str, **values: Any) -> ValueTarget:
    match = _match(values)
    assert match is not None
    return ValueTarget(locate=locate, of=of, site=site, label=label, match=match)


VALUE: Record[ValueTarget] = Record(
    "key node of a value",
    _build_value,
    [
        Field(
            key="locate",
            shape=_SELECTOR,
            default="",
            default_text="any field",
            doc="Selector of the field or clicked element, or of one that contains it, as for `element`.",
            example="- key_nodes: [{value: {locate: '#qty', exact: 2}}]",
        ),
        *_fields("The value", "- key_nodes: [{value: {locate: '#q', HOW: kettle}}]"),
        Field(
            key="of",
            shape=Choice("field", "clicked", "any"),
            default="field",
            doc=(
                "`field`: the value of a field after a change. `clicked`: the text or name of the clicked "
                "element; for a part of a link or button, also that of the whole. `any`: either."
            ),
            example="- key_nodes: [{value: {locate: '.sort a', exact: Cheapest first, of: clicked}}]",
        ),
        _SITE,
        _LABEL,
        _CASE,
    ],
    rule=_value_fault,
    doc=(
        "The value of a form field after a change: its text, `on` or `off` for checkboxes, the labels of "
        "chosen options. Text typed in one go counts as a whole. With `of: clicked`, the text of a clicked "
        "element."
    ),
    owner="a key node's value",
)


def _text_fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    return _one_match(values)


def _build_text(*, of: Any, **values: Any) -> TextTarget:
    match = _match(values)
    assert match is not None
    return TextTarget(of=of, match=match)


TEXT: Record[TextTarget] = Record(
    "key node of a text",
    _build_text,
    [
        *_fields("The text", "- key_nodes: [{text: {HOW: kettle}}]"),
        Field(
            key="of",
            shape=Choice("answer", "noted"),
            default="answer",
            doc="The `answer`, or any text `noted` with the action `note`.",
            example="- key_nodes: [{text: {includes: 84.97, of: noted}}]",
        ),
        _CASE,
    ],
    rule=_text_fault,
    doc="The agent's answer, or its notes.",
    owner="a key node's text",
)
