"""Pages that WebArena's tasks open first, added to the stand-ins from the installed data of the suite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .images import IMAGES
from .pages import Page


@cache
def pages_of_tasks() -> dict[str, tuple[Page, ...]]:
    """Return the start pages that the tables lack, by site. They need the suite's data, the stand-ins do not."""
    from pytest_webarena.suites.loading import load_suite
    from pytest_webarena.trials.site_assumptions import start_paths

    return {site: tuple(_missing(site, paths)) for site, paths in start_paths(load_suite("webarena")).items()}


def _missing(site: str, paths: Sequence[str]) -> list[Page]:
    image = IMAGES[site]
    known = {page.path for page in image.pages}
    found = []
    for path in (f"{image.private}{path}".rstrip("/") for path in paths):
        if path and path not in known and not any(ending in path for ending in image.children):
            title = path.strip("/").removesuffix(".html").replace("-", " ").title()
            found.append(Page(path, title, "Add to Cart", bool(image.private), "product"))
    return found
