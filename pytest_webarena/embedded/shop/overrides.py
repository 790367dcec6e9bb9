"""Our replacements for classes of Oscar, handed out by its class loader (no forked apps)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from oscar.core.loading import default_class_loader

__all__ = ["load_classes"]

_OURS = "pytest_webarena.embedded.shop"
_REPLACED = {
    ("customer.forms", "EmailAuthenticationForm"): f"{_OURS}.forms",
    ("address.forms", "UserAddressForm"): f"{_OURS}.forms",
    ("checkout.forms", "ShippingAddressForm"): f"{_OURS}.forms",
    ("dashboard.reports.utils", "GeneratorRepository"): f"{_OURS}.reports",
    ("dashboard.catalogue.forms", "ProductCategoryForm"): f"{_OURS}.forms",
    ("dashboard.catalogue.tables", "CategoryTable"): f"{_OURS}.tables",
    ("dashboard.catalogue.tables", "ProductTable"): f"{_OURS}.tables",
    ("dashboard.catalogue.views", "CategoryCreateView"): f"{_OURS}.backoffice",
    ("dashboard.catalogue.views", "ProductListView"): f"{_OURS}.backoffice",
    ("dashboard.users.tables", "UserTable"): f"{_OURS}.tables",
    ("dashboard.views", "IndexView"): f"{_OURS}.backoffice",
    ("shipping.repository", "Repository"): f"{_OURS}.shipping",
    ("search.views.catalogue", "CatalogueView"): f"{_OURS}.views",
    ("search.views.catalogue", "ProductCategoryView"): f"{_OURS}.views",
    ("search.views", "CatalogueView"): f"{_OURS}.views",
    ("search.views", "ProductCategoryView"): f"{_OURS}.views",
    ("search.views", "FacetedSearchView"): f"{_OURS}.views",
    ("catalogue.views", "CatalogueView"): f"{_OURS}.views",
    ("catalogue.views", "ProductCategoryView"): f"{_OURS}.views",
}


def load_classes(module_label: str, names: Sequence[str], module_prefix: str) -> list[Any]:
    """Oscar's ``OSCAR_DYNAMIC_CLASS_LOADER``: ours where there is one, Oscar's own otherwise."""
    classes = []
    for name in names:
        module = _REPLACED.get((module_label, name))
        if module is not None:
            classes.append(getattr(import_module(module), name))
        else:
            classes.extend(default_class_loader(module_label, [name], module_prefix))
    return classes
