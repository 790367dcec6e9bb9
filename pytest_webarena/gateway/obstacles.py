"""Kinds of obstacles on live sites, by their names in records."""

from __future__ import annotations

from typing import Literal

__all__ = ["Obstacle"]

Obstacle = Literal["", "blocked", "site"]
"""``blocked``: the site rejected the visitor as a program or because of its network address; ``site``: the site was
unavailable. Empty: no obstacle."""
