"""URLs of the store: our home page and file pages, then Oscar's."""

from __future__ import annotations

from django.apps import apps
from django.urls import include, path

from pytest_webarena.embedded.shop.views import HomeView

__all__ = ["urlpatterns"]

urlpatterns = [
    path("", HomeView.as_view(), name="home"),
    path("", include(apps.get_app_config("oscar").urls[0])),
]
