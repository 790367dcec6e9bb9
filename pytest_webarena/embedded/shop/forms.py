"""Forms: addresses in one country and without a telephone number, signing in by name or address."""

from __future__ import annotations

from typing import Any

from django import forms
from oscar.apps.address.forms import UserAddressForm as OscarUserAddressForm
from oscar.apps.checkout.forms import ShippingAddressForm as OscarShippingAddressForm
from oscar.apps.customer.forms import EmailAuthenticationForm as OscarAuthenticationForm
from oscar.apps.dashboard.catalogue.forms import ProductCategoryForm as OscarProductCategoryForm

__all__ = ["EmailAuthenticationForm", "ProductCategoryForm", "ShippingAddressForm", "UserAddressForm"]


class _OneCountry:
    fields: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Oscar checks numbers against real numbering plans; the world's follow none.
        self.fields.pop("phone_number", None)
        if "country" in self.fields:
            self.fields["country"].empty_label = None


class UserAddressForm(_OneCountry, OscarUserAddressForm):
    """An entry of the address book."""


class ShippingAddressForm(_OneCountry, OscarShippingAddressForm):
    """Where an order goes."""


class EmailAuthenticationForm(OscarAuthenticationForm):
    """Signing in to the storefront: people are the same on all sites, so their user names work here too."""

    username = forms.CharField(label="Email address or user name")


class ProductCategoryForm(OscarProductCategoryForm):
    """Where a product belongs; the choices' names are read at once, not with a query each."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        categories = list(self.fields["category"].queryset.order_by("path"))
        names: dict[str, str] = {}
        for category in categories:
            above = names.get(category.path[: -category.steplen], "")
            names[category.path] = f"{above} > {category.name}" if above else category.name
        labels = {category.pk: names[category.path] for category in categories}
        self.fields["category"].label_from_instance = lambda category: labels[category.pk]
