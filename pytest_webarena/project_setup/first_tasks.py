"""Writes two tasks for pages that were found: one opens a page, one reads from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_webarena.project_setup.exploring import Page
from pytest_webarena.suites.writing import yaml_lines

__all__ = ["first_tasks"]

_HEAD = "# First tasks, for pages that `webarena init` found. Replace them with what your users do.\n"


def first_tasks(site: str, pages: Sequence[Page], start: str) -> str:
    """Returns a task file for pages of a site, of which ``start`` is the first; empty if there are no pages.

    An agent that does nothing is on the start page and gives no answer, so it passes neither task.
    """
    others = list({page.heading: page for page in pages if page.path not in (start, "/")}.values())
    tasks = [_open(page) for page in others[:1]]
    tasks += [_read(page) for page in (others[1:2] or others[:1] or list(pages[:1]))]
    if not tasks:
        return ""
    return _HEAD + "\n".join(yaml_lines({"defaults": {"sites": [site]}, "tasks": tasks})) + "\n"


def _open(page: Page) -> dict[str, Any]:
    checks: list[Any] = [{"url": page.path}]
    if not page.is_title:
        checks.append({"page": {"locate": "css=h1 >> nth=0", "includes": page.heading}})
    return {
        "id": f"open-{_slug(page)}",
        "intent": f'Open the page "{page.heading}".',
        "mutates": False,
        "checks": checks,
        "solution": [{"goto": page.path}, "stop"],
    }


def _read(page: Page) -> dict[str, Any]:
    what = "title" if page.is_title else "main heading"
    return {
        "id": f"read-{_slug(page)}",
        "intent": f"What is the {what} of the page {page.path}?",
        "mutates": False,
        "checks": [{"answer": {"exact": page.heading}}],
        "solution": [{"goto": page.path}, {"stop": page.heading}],
    }


def _slug(page: Page) -> str:
    return re.sub(r"[^a-z0-9]+", "-", page.path.lower()).strip("-")[:40].strip("-") or "start"
