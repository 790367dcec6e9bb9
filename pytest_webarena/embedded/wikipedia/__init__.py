"""The encyclopedia of the invented world: articles with tables and links, categories, full-text search."""

from __future__ import annotations

from pytest_webarena.embedded.web import rebind as on_fork
from pytest_webarena.embedded.wikipedia.app import create_app
from pytest_webarena.embedded.wikipedia.seed import seed

__all__ = ["create_app", "on_fork", "seed"]
