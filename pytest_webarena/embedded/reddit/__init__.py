"""The forum of the invented world: boards, posts, comments, votes, messages, moderation, feeds."""

from __future__ import annotations

from pytest_webarena.embedded.reddit.app import create_app
from pytest_webarena.embedded.reddit.seed import seed
from pytest_webarena.embedded.web import rebind as on_fork

__all__ = ["create_app", "on_fork", "seed"]
