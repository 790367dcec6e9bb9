"""Reports of our own, beside Oscar's: best-selling products, sales by month, search terms."""

from __future__ import annotations

import csv
from typing import Any

from django.db.models import Count, Max, Sum
from django.db.models.functions import Coalesce, TruncMonth
from django.http import HttpResponse
from django.template.defaultfilters import date
from oscar.apps.basket.reports import OpenBasketReportGenerator, SubmittedBasketReportGenerator
from oscar.apps.dashboard.reports.reports import ReportGenerator, ReportHTMLFormatter
from oscar.apps.dashboard.reports.utils import GeneratorRepository as OscarRepository
from oscar.core.loading import get_model

__all__ = ["GeneratorRepository", "best_sellers"]


def best_sellers(orders: Any) -> Any:
    """Products (variants together) by copies sold in ``orders``, cancelled ones left out."""
    return (
        get_model("order", "Line")
        .objects.filter(order__in=orders.exclude(status="Cancelled"), product__isnull=False)
        .annotate(
            page=Coalesce("product__parent_id", "product_id"), name=Coalesce("product__parent__title", "product__title")
        )
        .order_by()
        .values("page", "name")
        .annotate(copies=Sum("quantity"), orders=Count("order", distinct=True), revenue=Sum("line_price_incl_tax"))
        .order_by("-copies", "-revenue", "page")
    )


class _Html(ReportHTMLFormatter):
    filename_template = "oscar/dashboard/reports/partials/figures.html"


class _Csv:
    """Any of our reports as CSV."""

    def generate_response(self, rows: Any, **_: Any) -> HttpResponse:
        response = HttpResponse(content_type="text/csv")
        response["Content-Disposition"] = "attachment; filename=report.csv"
        writer = csv.writer(response)
        for row in rows:
            writer.writerow(row.values())
        return response

    def filename(self) -> str:
        return "report.csv"


class _Figures(ReportGenerator):
    date_range_field_name = "date_placed"
    formatters = {"HTML_formatter": _Html, "CSV_formatter": _Csv}  # noqa: RUF012
    columns: tuple[tuple[str, str], ...] = ()
    """Heading and key of each column."""

    def report_description(self) -> str:
        """What and when; an open end is left out."""
        since = f" from {date(self.start_date)}" if self.start_date else ""
        until = f" to {date(self.end_date)}" if self.end_date else ""
        return f"{self.description}{since}{until}"

    def get_queryset(self) -> Any:
        return get_model("order", "Order").objects.all()

    def filter_with_date_range(self, queryset: Any) -> Any:
        rows = self.rows(super().filter_with_date_range(queryset))
        return [{heading: row[key] for heading, key in self.columns} for row in rows]

    def rows(self, queryset: Any) -> Any:
        """The report's rows for what was found in the range."""
        raise NotImplementedError


class BestSellers(_Figures):
    """What sold most often."""

    code = "best_sellers"
    description = "Best-selling products"
    columns = (("Product", "name"), ("Copies sold", "copies"), ("Orders", "orders"), ("Revenue", "revenue"))

    def rows(self, queryset: Any) -> Any:
        return best_sellers(queryset)[:50]


class SalesByMonth(_Figures):
    """Orders and revenue, month by month."""

    code = "sales_by_month"
    description = "Sales by month"
    columns = (("Month", "label"), ("Orders", "orders"), ("Revenue", "revenue"))

    def rows(self, queryset: Any) -> Any:
        months = (
            queryset.exclude(status="Cancelled").order_by().annotate(month=TruncMonth("date_placed")).values("month")
            .annotate(orders=Count("id"), revenue=Sum("total_incl_tax")).order_by("month")
        )  # fmt: skip
        return [{**row, "label": row["month"].strftime("%B %Y")} for row in months]


class SearchTerms(_Figures):
    """What signed-in customers looked for."""

    code = "search_terms"
    description = "Search terms"
    date_range_field_name = "date_created"
    columns = (("Search term", "query"), ("Searches", "count"), ("Last searched", "last"))

    def get_queryset(self) -> Any:
        return get_model("analytics", "UserSearch").objects.all()

    def rows(self, queryset: Any) -> Any:
        return (
            queryset.order_by().values("query").annotate(count=Count("id"), last=Max("date_created"))
            .order_by("-count", "query")
        )  # fmt: skip


class _BasketsHtml(ReportHTMLFormatter):
    filename_template = "oscar/dashboard/reports/partials/baskets.html"


def _counted(baskets: Any) -> Any:
    """With owner and numbers, for which Oscar would ask basket by basket."""
    counted = baskets.select_related("owner").annotate(count=Count("lines"), items=Sum("lines__quantity"))
    return counted.order_by("id")


class OpenBaskets(OpenBasketReportGenerator):
    """Oscar's, counted by the database."""

    queryset = _counted(OpenBasketReportGenerator.queryset)
    formatters = {**OpenBasketReportGenerator.formatters, "HTML_formatter": _BasketsHtml}  # noqa: RUF012


class SubmittedBaskets(SubmittedBasketReportGenerator):
    """Oscar's, counted by the database."""

    queryset = _counted(SubmittedBasketReportGenerator.queryset)
    formatters = {**SubmittedBasketReportGenerator.formatters, "HTML_formatter": _BasketsHtml}  # noqa: RUF012


_QUICKER = {generator.code: generator for generator in (OpenBaskets, SubmittedBaskets)}


class GeneratorRepository(OscarRepository):
    """Oscar's reports and ours."""

    generators = (
        *(_QUICKER.get(generator.code, generator) for generator in OscarRepository.generators),
        BestSellers,
        SalesByMonth,
        SearchTerms,
    )
