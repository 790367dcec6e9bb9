"""What every page knows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from pytest_webarena.embedded.shop import menu
from pytest_webarena.embedded.shop.hosts import BACK_OFFICE, STOREFRONT, sibling
from pytest_webarena.embedded.shop.identity import BUSINESS, PREFILLED_SEARCH, SHOP_MAIL, TOWN

__all__ = ["shop"]


def shop(request: HttpRequest) -> dict[str, Any]:
    """The menu (read only when shown), the search box and the two halves' addresses."""
    return {
        "menu": menu.tree,
        "search_text": request.GET.get("q", PREFILLED_SEARCH) if request.path == "/search/" else PREFILLED_SEARCH,
        "storefront_url": sibling(request, STOREFRONT),
        "back_office_url": sibling(request, BACK_OFFICE),
        "business": BUSINESS,
        "shop_town": TOWN,
        "shop_mail": SHOP_MAIL,
    }
