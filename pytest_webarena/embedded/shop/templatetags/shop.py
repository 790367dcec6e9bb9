"""Cards, stars and variants for templates."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import template
from django.db import connection

from pytest_webarena.embedded.shop import menu, search

__all__ = ["register"]

register = template.Library()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One size of a product."""

    id: int
    label: str
    price: Decimal
    left: int


@register.simple_tag
def card_for(product: Any) -> search.Card | None:
    """A product as lists show it."""
    found = search.cards([product.pk])
    return found[0] if found else None


@register.simple_tag
def cards_of(products: Any, limit: int) -> list[search.Card]:
    """The first ``limit`` products of a query, all at once."""
    return search.cards([product.pk for product in products.only("pk")[:limit]])


@register.filter
def kr(value: Any) -> str:
    """A price in crowns, as everywhere in the store."""
    return "" if value is None else f"{Decimal(value):,.2f} kr"


@register.filter
def full_stars(value: Any) -> str:
    """``★★★★☆`` for a rating of about 4."""
    full = round(value or 0)
    return "★" * full + "☆" * (5 - full)


@register.simple_tag
def variants(product: Any) -> list[Variant]:
    """The sizes of a product, smallest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select c.id, coalesce((select v.value_text from catalogue_productattributevalue v"
            " join catalogue_productattribute a on a.id = v.attribute_id"
            " where v.product_id = c.id and a.code = 'size'), c.title), s.price,"
            " s.num_in_stock - coalesce(s.num_allocated, 0) from catalogue_product c"
            " join partner_stockrecord s on s.product_id = c.id where c.parent_id = %s and c.is_public order by c.id",
            [product.pk],
        )
        return [
            Variant(id=number, label=label, price=Decimal(str(price)), left=left)
            for number, label, price, left in cursor.fetchall()
        ]


@register.simple_tag
def place_of(product: Any) -> menu.Node | None:
    """The category of a product, with those above it."""
    page = product.parent_id or product.pk
    with connection.cursor() as cursor:
        cursor.execute(
            "select category_id from catalogue_productcategory where product_id = %s order by id limit 1", [page]
        )
        row = cursor.fetchone()
    return menu.node(row[0]) if row else None
