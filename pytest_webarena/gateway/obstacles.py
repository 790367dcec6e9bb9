"""What keeps a site of the world from answering as it does to people: the one word for it that records have."""

from __future__ import annotations

from typing import Literal

__all__ = ["Obstacle"]

Obstacle = Literal["", "blocked", "site"]
"""``blocked``: the site turned the visitor away, for what it is or where it comes from; ``site``: it could not be had.
Empty: nothing did."""
