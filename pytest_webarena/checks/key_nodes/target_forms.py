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
            doc=of_exact or f"{what} is this text, as an [`answer`](#answer) is.",
            example=example.replace("HOW", "exact"),
        ),
        Field(
            key="includes",
            shape=Text(),
            default=None,
            default_text="none",
            doc=f"{what} has this text in it, in whole words.",
            example=example.replace("HOW", "includes"),
        ),
        Field(
            key="semantic",
            shape=_RULE,
            default=None,
            default_text="none",
            doc=f"A rule in words that {what.lower()} must fit, as a [judge model](judge.md) sees it.",
            example=example.replace("HOW: kettle", "semantic: Searches for a kettle"),
        ),
    ]


_CASE = Field(
    key="case",
    shape=Bool(),
    default=False,
    doc="Whether upper and lower case differ.",
    example="- key_nodes: [{url: {param: ref, exact: AbC, case: true}}]",
)
_SITE = Field(
    key="site",
    shape=_Site(),
    default=None,
    default_text="the task's first site; `*` for a task without sites",
    doc="Only where the address (of the document, for elements) is this site's. `*` stands for anywhere.",
    example="- key_nodes: [{url: {site: homepage, includes: /notes}}]",
)
_LABEL = Field(
    key="label",
    shape=Text("a site's label", strip=True),
    default="",
    default_text="none",
    doc=(
        "In place of `site`: only on hosts with this label, which is how Mind2Web-Live names sites (the first part of "
        "the host's name, the second one after a `www`)."
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
                "A tab shows this address: host, path and all of the query. A last slash doesn't matter, nor does the "
                "order of the query, nor a fragment that isn't asked for."
            ),
            example="- key_nodes: [{url: {exact: '/search/?q=kettle'}}]",
        ),
        Field(
            key="includes",
            shape=Text(),
            default=None,
            default_text="none",
            doc=(
                "A tab shows an address of the site whose path has this in it, upper and lower case apart. The query "
                "never counts, and the fragment only for a text with a `#`. Without a site (`*`), the host's name "
                "counts, too."
            ),
            example="- key_nodes: [{url: {includes: /search}}]",
        ),
        Field(
            key="semantic",
            shape=_RULE,
            default=None,
            default_text="none",
            doc="A rule in words that an address of the site must fit, as a [judge model](judge.md) sees it.",
            example="- key_nodes: [{url: {semantic: Lists kettles from the cheapest on}}]",
        ),
        _SITE,
    ],
    rule=_address_fault,
    doc="An address that a tab shows. One of `exact`, `includes` and `semantic`.",
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
                "A parameter of the query. Where it repeats, one of its values is enough. Without `exact`, `includes` "
                "or `semantic`, any value that is not blank."
            ),
            example="- key_nodes: [{url: {param: q, exact: kettle}}]",
        ),
        *_fields("Its value, decoded,", "- key_nodes: [{url: {param: q, HOW: kettle}}]"),
        Field(
            key="at",
            shape=AddressShape(),
            default=None,
            default_text="any page of the site",
            doc="Only at this address: host and path are these, and these parameters are there.",
            example="- key_nodes: [{url: {at: /search/, param: q, exact: kettle}}]",
        ),
        _SITE,
        _CASE,
    ],
    rule=_parameter_fault,
    doc="A parameter in the query of an address that a tab shows.",
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
                    "CSS, or Playwright's `role=`, `text=`, `id=`, `data-testid=`, several of them joined by `>>`. "
                    "The element acted on is meant by it or lies within one that is."
                ),
                example="- key_nodes: [{element: {locate: '#buy button'}}]",
            ),
            Field(
                key="event",
                shape=ListOf(Choice(*EVENTS), or_one=True, low=1),
                default=(),
                default_text="any by which somebody acts: clicks, input, change, submit",
                doc="Which DOM event it must be, of those that are recorded; of `keydown` that is Enter alone, of "
                "`auxclick` the middle button.",
                example="- key_nodes: [{element: {locate: '#buy', event: click}}]",
            ),
            _SITE,
            _LABEL,
        ],
        rule=_site_fault,
        doc="An element that is acted on. A selector alone is short for `locate`.",
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
            doc="The field or what is clicked, or an element that it lies in; as for `element`.",
            example="- key_nodes: [{value: {locate: '#qty', exact: 2}}]",
        ),
        *_fields("What the field holds after it was changed", "- key_nodes: [{value: {locate: '#q', HOW: kettle}}]"),
        Field(
            key="of",
            shape=Choice("field", "clicked", "any"),
            default="field",
            doc=(
                "Whose value it is: that of a `field` after somebody changed it, or the text or name of what is "
                "`clicked` (of a piece of a link or button, also that of the whole); `any`: either."
            ),
            example="- key_nodes: [{value: {locate: '.sort a', exact: Cheapest first, of: clicked}}]",
        ),
        _SITE,
        _LABEL,
        _CASE,
    ],
    rule=_value_fault,
    doc=(
        "What a form field holds after somebody changed it: its text, `on` or `off` for boxes to tick, the labels of "
        "what is chosen in a list. Of text that is typed in one go, the whole counts and not its beginnings. Or, with "
        "`of: clicked`, what is written on what somebody clicked."
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
            doc="Whose text it is: the answer, or any that the agent noted on its way (the action `note`).",
            example="- key_nodes: [{text: {includes: 84.97, of: noted}}]",
        ),
        _CASE,
    ],
    rule=_text_fault,
    doc="What the agent says when it stops, or notes before.",
    owner="a key node's text",
)
