"""Our pages: the front page and every list of products."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlencode

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.views.generic import TemplateView
from oscar.core.loading import get_model

from pytest_webarena.embedded.shop import menu, search

__all__ = ["CatalogueView", "FacetedSearchView", "HomeView", "ProductCategoryView"]

_PER_PAGE = 24


class HomeView(TemplateView):
    """The front page: departments, what is new, what people like."""

    template_name = "oscar/home.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Departments and three shelves of products."""
        context = super().get_context_data(**kwargs)
        context["shelves"] = [
            ("New arrivals", "/catalogue/?sort_by=newest", search.cards(_ids("order by date_created desc, id"))),
            ("Customers' favourites", "/catalogue/?sort_by=rating", search.cards(_ids(_LIKED))),
        ]
        return context


_LIKED = (
    "and (select count(*) from reviews_productreview r where r.product_id = p.id and r.status = 1) > 4"
    " order by rating desc, id"
)


def _ids(clause: str) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"select id from catalogue_product p where parent_id is null and is_public {clause} limit 6")
        return [row[0] for row in cursor.fetchall()]


class _ListView(TemplateView):
    """A list with words, facets, order and pages in the query string."""

    heading = ""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The list, or its first page where the page asked for does not exist."""
        try:
            context = self._context(request)
        except Http404:
            messages.error(request, "The given page number was invalid.")
            return HttpResponseRedirect(request.path)
        return self.render_to_response(self.get_context_data(**context, **kwargs))

    def categories(self) -> list[int] | None:
        """Ids to stay within; None for the whole shop."""
        return None

    def _context(self, request: HttpRequest) -> dict[str, Any]:
        query = request.GET
        words = query.get("q", "").strip()
        sort = query.get("sort_by", "relevancy")
        selected = []
        for text in query.getlist("selected_facets"):
            code, colon, value = text.partition(":")
            if colon:
                selected.append((code, value))
        parameters = {key: value for key, value in (("q", words), ("sort_by", sort)) if value and value != "relevancy"}
        found = search.find(
            words=words, categories=self.categories(), selected=selected, sort=sort, parameters=parameters
        )
        paginator: Paginator[int] = Paginator(found.ids, _PER_PAGE)
        number = query.get("page", "1")
        if not number.isdigit() or not 1 <= int(number) <= paginator.num_pages:
            raise Http404
        page: Page[int] = paginator.page(int(number))
        facets = [("selected_facets", f"{code}:{value}") for code, value in selected]
        return {
            "query": words,
            "products": search.cards(list(page.object_list)),
            "page_obj": page,
            "paginator": paginator,
            "is_paginated": paginator.num_pages > 1,
            "page_query": urlencode([*parameters.items(), *facets]),
            "facets": found.facets,
            "selected_facets": facets,
            "sorts": search.SORTS,
            "sort": sort,
            "heading": self.heading,
            "clear_url": "?" + urlencode(parameters) if parameters else "./",
        }


class CatalogueView(_ListView):
    """Everything."""

    template_name = "oscar/catalogue/browse.html"
    heading = "All products"


class FacetedSearchView(_ListView):
    """What was searched for."""

    template_name = "oscar/search/results.html"


class ProductCategoryView(_ListView):
    """One category, with all below it."""

    template_name = "oscar/catalogue/category.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The category, under its present name."""
        self.category = get_object_or_404(get_model("catalogue", "Category"), pk=self.kwargs["pk"])
        if not self.category.is_public and not request.user.is_staff:
            raise Http404
        node = menu.node(self.category.pk)
        if node is not None and unquote(request.path) != node.url:
            return HttpResponsePermanentRedirect(node.url)
        self.heading = self.category.name
        return super().get(request, *args, category=self.category, node=node)

    def categories(self) -> list[int]:
        """This one and its descendants."""
        model = get_model("catalogue", "Category")
        return list(model.objects.filter(path__startswith=self.category.path).values_list("id", flat=True))
