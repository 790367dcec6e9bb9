"""The start page of the invented world: links, calculator, scratchpad, manuals, converter, calendar."""

from __future__ import annotations

from pytest_webarena.embedded.homepage.accounts import ACCOUNTS, DEFAULT_USER
from pytest_webarena.embedded.homepage.app import create_app
from pytest_webarena.embedded.homepage.seed import seed
from pytest_webarena.embedded.web import rebind as on_fork

__all__ = ["ACCOUNTS", "DEFAULT_USER", "create_app", "on_fork", "seed"]
