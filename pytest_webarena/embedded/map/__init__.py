"""The map of the invented world: roads, two thousand places, search, what is near, ways by car, bicycle and on foot."""

from __future__ import annotations

from pytest_webarena.embedded.map.app import create_app
from pytest_webarena.embedded.map.seed import seed
from pytest_webarena.embedded.web import rebind as on_fork

__all__ = ["create_app", "on_fork", "seed"]
