"""Finding products: words, facets, order and pages, answered by one SQL statement and a few loops.

Oscar asks a search engine for all of this. A thousand products need none, and with none there is no
index that could be stale after an edit in the back office, nor one more thing to reset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.db import connection

__all__ = ["SORTS", "Card", "Choice", "Facet", "Found", "cards", "find"]

SORTS = (
    ("relevancy", "Relevance"),
    ("rating", "Customer rating"),
    ("newest", "Newest"),
    ("price-asc", "Price low to high"),
    ("price-desc", "Price high to low"),
    ("title-asc", "Title A to Z"),
    ("title-desc", "Title Z to A"),
)

_PRICES = ((0, 10), (10, 25), (25, 50), (50, 100), (100, 200), (200, None))
_ROWS = """
select p.id, p.title, p.rating, p.date_created, p.priority, k.name,
       coalesce((select min(s.price) from partner_stockrecord s where s.product_id = p.id),
                (select min(s.price) from catalogue_product c join partner_stockrecord s on s.product_id = c.id
                  where c.parent_id = p.id)) as price,
       (select v.value_text from catalogue_productattributevalue v join catalogue_productattribute a
          on a.id = v.attribute_id where v.product_id = p.id and a.code = 'brand') as brand,
       (select v.value_text from catalogue_productattributevalue v join catalogue_productattribute a
          on a.id = v.attribute_id where v.product_id = p.id and a.code = 'colour') as colour
  from catalogue_product p join catalogue_productclass k on k.id = p.product_class_id
 where p.parent_id is null and p.is_public
"""
_CARDS = """
select p.id, p.title, p.slug, p.structure, p.rating,
       coalesce((select min(s.price) from partner_stockrecord s where s.product_id = p.id),
                (select min(s.price) from catalogue_product c join partner_stockrecord s on s.product_id = c.id
                  where c.parent_id = p.id)),
       coalesce((select sum(s.num_in_stock - coalesce(s.num_allocated, 0)) from partner_stockrecord s
                  where s.product_id = p.id),
                (select sum(s.num_in_stock - coalesce(s.num_allocated, 0)) from catalogue_product c
                   join partner_stockrecord s on s.product_id = c.id where c.parent_id = p.id), 0),
       (select i.original from catalogue_productimage i where i.product_id = p.id order by i.display_order limit 1),
       (select v.value_text from catalogue_productattributevalue v join catalogue_productattribute a
          on a.id = v.attribute_id where v.product_id = p.id and a.code = 'brand'),
       exists (select 1 from catalogue_product_product_options o where o.product_id = p.id)
         or exists (select 1 from catalogue_productclass_options o where o.productclass_id = p.product_class_id),
       (select count(*) from reviews_productreview r where r.product_id = p.id and r.status = 1)
  from catalogue_product p where p.id in ({marks})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A product as lists show it."""

    id: int
    title: str
    slug: str
    brand: str
    price: Decimal | None
    """Crowns; the lowest of all variants."""
    from_price: bool
    in_stock: bool
    rating: float | None
    reviews: int
    image: str
    buyable: bool
    """Can go into the basket without a choice to make."""

    @property
    def url(self) -> str:
        """Path of the product page."""
        return f"/catalogue/{self.slug}_{self.id}/"

    @property
    def stars(self) -> int:
        """Full stars, 0 to 5."""
        return round(self.rating or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One value of a facet."""

    label: str
    count: int
    selected: bool
    url: str
    """Query string that toggles it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """One way to narrow a list down."""

    code: str
    label: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search yields; ``ids`` in order, all pages."""

    ids: tuple[int, ...]
    facets: tuple[Facet, ...]
    selected: tuple[tuple[str, str], ...] = field(default=())


@dataclass(slots=True, kw_only=True)
class _Row:
    id: int
    title: str
    rating: float | None
    created: str
    priority: int
    values: Mapping[str, str]
    price: float


def find(
    *,
    words: str = "",
    categories: Sequence[int] | None = None,
    selected: Sequence[tuple[str, str]] = (),
    sort: str = "relevancy",
    parameters: Mapping[str, str] | None = None,
) -> Found:
    """Products that hold every word and lie in one of ``categories``, narrowed by ``selected`` facets.

    Values of one facet widen, facets narrow. ``parameters`` are kept in the facets' query strings.
    """
    terms = words.lower().split()
    rows = _rows(terms, categories)
    chosen: dict[str, set[str]] = {}
    for code, value in selected:
        chosen.setdefault(code, set()).add(value)
    kept = [row for row in rows if _holds(row, chosen)]
    kept.sort(key=_order(sort, terms))
    return Found(
        ids=tuple(row.id for row in kept),
        facets=tuple(_facets(rows, chosen, dict(parameters or {}))),
        selected=tuple(selected),
    )


def cards(ids: Sequence[int]) -> list[Card]:
    """The products of these ids, in this order; unknown ones are left out."""
    if not ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_CARDS.format(marks=",".join(["%s"] * len(ids))), list(ids))
        found = {row[0]: _card(row) for row in cursor.fetchall()}
    return [found[number] for number in ids if number in found]


def _card(row: Sequence[Any]) -> Card:
    number, title, slug, structure, rating, price, stock, image, brand, options, reviews = row
    return Card(
        id=number,
        title=title,
        slug=slug,
        brand=brand or "",
        price=None if price is None else Decimal(str(price)).quantize(Decimal("0.01")),
        from_price=structure == "parent",
        in_stock=stock > 0,
        rating=rating,
        reviews=reviews,
        image=f"/media/{image or 'products/none.svg'}",
        buyable=structure == "standalone" and not options and stock > 0,
    )


def _rows(terms: Sequence[str], categories: Sequence[int] | None) -> list[_Row]:
    sql = _ROWS
    arguments: list[Any] = []
    if categories is not None:
        marks = ",".join(["%s"] * len(categories))
        sql += f" and p.id in (select product_id from catalogue_productcategory where category_id in ({marks}))"
        arguments.extend(categories)
    if terms:
        sql = f"select * from ({sql}) as q where 1"
        for term in terms:
            sql += (
                " and (instr(lower(title), %s) or instr(lower(coalesce(brand, '')), %s) or instr(lower(name), %s)"
                " or exists (select 1 from catalogue_productcategory pc join catalogue_category g"
                " on g.id = pc.category_id where pc.product_id = q.id and instr(lower(g.name), %s))"
                " or exists (select 1 from catalogue_productattributevalue v join catalogue_productattribute a"
                " on a.id = v.attribute_id where v.product_id = q.id and a.code in ('author', 'colour', 'material')"
                " and instr(lower(v.value_text), %s)) or exists (select 1 from catalogue_product u"
                " where (u.id = q.id or u.parent_id = q.id) and u.upc = %s))"
            )
            arguments.extend([term] * 5 + [term.upper()])
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        rows = []
        for number, title, rating, created, priority, kind, price, brand, colour in cursor.fetchall():
            amount = float(price) if price is not None else 0.0
            values = {
                "type": kind,
                "brand": brand or "",
                "colour": colour or "",
                "price": _band(amount),
                "rating": f"{int(rating)} stars" if rating else "",
            }
            rows.append(
                _Row(
                    id=number,
                    title=title,
                    rating=rating,
                    created=str(created),
                    priority=priority,
                    values=values,
                    price=amount,
                )
            )
    return rows


def _band(price: float) -> str:
    for low, high in _PRICES:
        if high is None:
            return f"{low} kr and more"
        if price < high:
            return f"{low} to {high} kr"
    return ""


_LABELS = {"type": "Type", "brand": "Brand", "price": "Price", "rating": "Rating", "colour": "Colour"}
_PRICE_ORDER = {_band(low): index for index, (low, _) in enumerate(_PRICES)}


def _holds(row: _Row, chosen: Mapping[str, set[str]], *, but: str = "") -> bool:
    return all(row.values.get(code) in values for code, values in chosen.items() if code != but and code in _LABELS)


def _facets(rows: Sequence[_Row], chosen: Mapping[str, set[str]], parameters: dict[str, str]) -> list[Facet]:
    facets = []
    for code, label in _LABELS.items():
        counts: dict[str, int] = {}
        for row in rows:
            value = row.values[code]
            if value and _holds(row, chosen, but=code):
                counts[value] = counts.get(value, 0) + 1
        if len(counts) < 2 and code not in chosen:
            continue
        choices = []
        for value in sorted(counts, key=_facet_order(code, counts)):
            picked = value in chosen.get(code, ())
            pairs = [(c, v) for c, values in chosen.items() for v in sorted(values) if (c, v) != (code, value)]
            if not picked:
                pairs.append((code, value))
            query = [*parameters.items(), *(("selected_facets", f"{c}:{v}") for c, v in pairs)]
            choices.append(
                Choice(label=value, count=counts[value], selected=picked, url="?" + urlencode(query) if query else "./")
            )
        facets.append(Facet(code=code, label=label, choices=tuple(choices[:14])))
    return facets


def _facet_order(code: str, counts: Mapping[str, int]) -> Callable[[str], Any]:
    if code == "price":
        return lambda value: _PRICE_ORDER[value]
    if code == "rating":
        return lambda value: -int(value.split()[0])
    return lambda value: (-counts[value], value)


def _order(sort: str, terms: Sequence[str]) -> Callable[[_Row], Any]:
    def relevance(row: _Row) -> Any:
        title = row.title.lower()
        return (-sum(term in title for term in terms), -row.priority, row.id)

    return {
        "rating": lambda row: (-(row.rating or 0), row.id),
        "newest": lambda row: (_Reversed(row.created), row.id),
        "price-asc": lambda row: (row.price, row.id),
        "price-desc": lambda row: (-row.price, row.id),
        "title-asc": lambda row: (row.title.lower(), row.id),
        "title-desc": lambda row: (_Reversed(row.title.lower()), row.id),
    }.get(sort, relevance)


class _Reversed:
    """A string that sorts the other way round."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __lt__(self, other: _Reversed) -> bool:
        return other.text < self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and other.text == self.text

    __hash__ = None  # type: ignore[assignment]
