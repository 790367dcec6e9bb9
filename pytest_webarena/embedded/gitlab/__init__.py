"""Code hosting for the invented world: projects on real git, issues, merge requests, members."""

from __future__ import annotations

from pytest_webarena.embedded.gitlab.app import create_app
from pytest_webarena.embedded.gitlab.seeding import seed
from pytest_webarena.embedded.web import rebind as on_fork

__all__ = ["create_app", "on_fork", "seed"]
