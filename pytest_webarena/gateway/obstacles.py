"""Kinds of obstacles that keep a live site from answering as it does to people, as records name them."""

from __future__ import annotations

from typing import Literal

__all__ = ["Obstacle"]

Obstacle = Literal["", "blocked", "site"]
"""``blocked``: the site rejected the visitor for what it is or where it comes from; ``site``: the site was not
available. Empty: no obstacle."""
