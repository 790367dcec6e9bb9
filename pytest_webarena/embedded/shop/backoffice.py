"""The dashboard's first page, with what shopkeepers look at first; and what of Oscar's other pages needs mending."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, Sum
from oscar.apps.dashboard.catalogue.views import CategoryCreateView as OscarCategoryCreateView
from oscar.apps.dashboard.catalogue.views import ProductListView as OscarProductListView
from oscar.apps.dashboard.views import IndexView as OscarIndexView
from oscar.core.loading import get_model

from pytest_webarena.embedded import clock
from pytest_webarena.embedded.shop.reports import best_sellers

__all__ = ["CategoryCreateView", "IndexView", "ProductListView"]


class IndexView(OscarIndexView):
    """Figures of the day, latest orders, best-sellers of the last 30 days, search terms."""

    def get_template_names(self) -> list[str]:
        """Figures of the whole store are for those who may see reports."""
        if self.request.user.has_perm("analytics.view_userrecord"):
            return ["oscar/dashboard/index.html"]
        return ["oscar/dashboard/index_employee.html"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Oscar's figures and ours."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        orders = get_model("order", "Order").objects
        context["latest_orders"] = orders.select_related("user").order_by("-date_placed")[:6]
        if self.request.user.has_perm("analytics.view_userrecord"):
            month = clock.now() - timedelta(days=30)
            recent = orders.filter(date_placed__gte=month)
            context["month"] = recent.exclude(status="Cancelled").aggregate(
                orders=Count("id"), revenue=Sum("total_incl_tax")
            )
            context["best_sellers"] = best_sellers(recent)[:5]
            searches = get_model("analytics", "UserSearch").objects.order_by().values("query")
            context["search_terms"] = searches.annotate(count=Count("id")).order_by("-count", "query")[:5]
        context["reviews_waiting"] = get_model("reviews", "ProductReview").objects.filter(status=0).count()
        return context


class CategoryCreateView(OscarCategoryCreateView):
    """A new category, below the one that was asked for: treebeard has renamed the field that Oscar fills in."""

    def get_initial(self) -> dict[str, Any]:
        """Oscar's, under the field's present name."""
        initial: dict[str, Any] = super().get_initial()
        if "parent" in self.kwargs:
            initial["treebeard_ref_node"] = self.kwargs["parent"]
        return initial


class ProductListView(OscarProductListView):
    """All products, or those searched for."""

    def apply_search(self, queryset: Any) -> Any:
        """Oscar's; only a search for words joins variants and can find a product twice."""
        found = super().apply_search(queryset)
        if self.request.user.is_staff and not self.request.GET.get("title"):
            found.query.distinct = False  # comparing thousands of descriptions takes longer than the list
        return found
