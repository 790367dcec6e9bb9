"""Builds images: of embedded apps, and of real applications from Debian packages."""

from __future__ import annotations

from pytest_webarena.sites.container_images.build import RECIPES, ensure_image, find_built
from pytest_webarena.sites.container_images.debian_images import DEBIAN_RECIPES

__all__ = ["DEBIAN_RECIPES", "RECIPES", "ensure_image", "find_built"]
