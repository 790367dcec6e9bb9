"""Visits a limited number of pages of a task's sites by their addresses alone: nothing is clicked or submitted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_webarena.actions import Goto
from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.html_pages.links import Frontier, links_of
from pytest_webarena.secrets import scrub
from pytest_webarena.text import clip
from pytest_webarena.trials.trial_environment import Resources, set_up_environment

if TYPE_CHECKING:
    from pytest_webarena.browser.config import SessionConfig
    from pytest_webarena.browser.session import Session
    from pytest_webarena.tasks.model import Task

__all__ = ["CrawledPage", "crawl"]

_LONGEST = 4_000
"""Maximum number of characters of a page's text that are kept."""
_TRIES = 3
"""Number of addresses that are tried per wanted page, because some are invalid or lead to known pages."""
_MARK = re.compile(r"^(\s*)\[\d+\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawledPage:
    """The content of a page."""

    site: str
    path: str
    """Its address on the site, including the query."""
    title: str
    text: str
    """Its accessibility tree, without element ids, shortened."""


def crawl(task: Task, resources: Resources, *, most: int, report: Callable[[str], None]) -> tuple[CrawledPage, ...]:
    """Visit at most ``most`` pages of the task's sites as its visitors see them, beginning at its start pages.

    Pages that can't be loaded are reported and left out. Raises the errors of leasing and logging in.
    """
    pages: dict[tuple[str, str], CrawledPage] = {}
    with set_up_environment(task, resources, holder="looking for ideas", tailor=_whole_pages) as environment:
        session: Session = environment.session  # type: ignore[assignment]  # the task has sites
        environment.open_first_pages()
        sites = dict(environment.live.sites)
        frontier = Frontier(sites.values())
        frontier.add([*environment.start, *(f"{url}/" for url in sites.values())])
        for tried, address in enumerate(frontier):
            if len(pages) >= most or tried >= _TRIES * most:
                break
            outcome = session.execute(Goto(address))
            if outcome.error:
                report(f"  ✗ {address}: {clip(outcome.error, 100)}")
                continue
            place = _place(outcome.url_after, sites)
            if place is None or place in pages:  # redirected elsewhere, or to a known page
                continue
            frontier.add(links_of(session.html(), outcome.url_after))
            observation = session.observe()
            pages[place] = CrawledPage(
                site=place[0],
                path=place[1],
                title=scrub(clip(observation.title, 120)),
                text=scrub(_MARK.sub(r"\1", observation.text[observation.text.find("\n\n") + 1 :].lstrip())[:_LONGEST]),
            )
            report(f"  · {place[0]}:{clip(place[1], 100)}")
    return tuple(pages.values())


def _whole_pages(config: SessionConfig) -> SessionConfig:
    observation = ObservationConfig(kinds=("accessibility_tree",), current_viewport_only=False, max_chars=2 * _LONGEST)
    return replace(config, observation=observation)


def _place(url: str, sites: Mapping[str, str]) -> tuple[str, str] | None:
    """Returns the site of a page, and its path there; None for a page elsewhere."""
    parts = urlsplit(url)
    for name, home in sites.items():
        own = urlsplit(home)
        if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
            return name, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return None
