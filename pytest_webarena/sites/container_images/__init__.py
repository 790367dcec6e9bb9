"""Images that this package builds, of embedded apps, on a base from a registry or on this machine's Python."""

from __future__ import annotations

from pytest_webarena.sites.container_images.build import RECIPES, ensure_image

__all__ = ["RECIPES", "ensure_image"]
