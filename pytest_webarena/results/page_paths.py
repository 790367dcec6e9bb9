"""Paths from page to page: those of agents' trials and the reference's.

The reference is a solution that was replayed in the same run, or what a data set recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from urllib.parse import urlsplit

from pytest_webarena.checks.key_nodes.model import site_label
from pytest_webarena.results.path_drawing import Flow, Map
from pytest_webarena.results.records import TrialRecord

__all__ = ["REFERENCES", "page_maps", "page_of"]

REFERENCES = ("oracle",)
"""Agents that replay solutions."""
_MOST_ASIDE = 12
"""Maximum number of a task's pages that are not the reference's and are drawn one by one, the most visited first."""
_OTHERS = "other pages"


def page_of(url: str, *, labelled: bool = False) -> str:
    """Return the page of an address: host and path, without the query. A fragment counts if it is a route.

    ``labelled``: whether to reduce the host to the part that identifies it in a data set, because the host has changed
    since the data set was recorded.

    >>> page_of("http://shop.test/search/?q=kettle#top"), page_of("http://app.test/#/cart/7?x=1")
    ('shop.test/search', 'app.test/#/cart/7')
    >>> page_of("https://www.ikea.com/sofas/", labelled=True), page_of("http://ikea.test/sofas", labelled=True)
    ('ikea/sofas', 'ikea/sofas')
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return url
    if not host:
        return url.partition("?")[0]
    route = f"/#{parts.fragment.partition('?')[0]}" if parts.fragment.startswith(("/", "!/")) else ""
    host = site_label(host) or host if labelled else host
    return f"{host}{parts.path.rstrip('/')}{route.rstrip('/')}" or url


def page_maps(
    agents: Mapping[str, Sequence[TrialRecord]], pages: Callable[[TrialRecord], Sequence[str]]
) -> dict[str, Map]:
    """Return the maps of all tasks.

    Args:
        agents: Each agent's trials, including those of solutions.
        pages: Returns the addresses that a trial visited, in order.
    """
    trials: dict[str, dict[str, list[tuple[TrialRecord, list[str]]]]] = {}
    references: dict[str, list[str]] = {}
    for name, records in agents.items():
        for record in records:
            task = record.key.task
            visited_pages = _way(pages(record), record)
            if record.key.agent in REFERENCES:
                if record.outcome == "passed" and visited_pages:
                    references.setdefault(task, visited_pages)
            elif record.outcome != "error":
                trials.setdefault(task, {}).setdefault(name, []).append((record, visited_pages))
    return {task: _map(references.get(task) or _recorded(found), found) for task, found in trials.items()}


def _way(urls: Sequence[str], record: TrialRecord) -> list[str]:
    """The sequence of pages, without immediate repetitions."""
    labelled = isinstance(record.source.get("hosts"), Mapping)
    return [page for page, _ in groupby(page_of(url, labelled=labelled) for url in urls if url)]


def _recorded(found: Mapping[str, Sequence[tuple[TrialRecord, list[str]]]]) -> list[str]:
    """The pages that the task's data set recorded for its reference, on the sites that replace its hosts."""
    record = next(record for trials in found.values() for record, _ in trials)
    recorded = record.source.get("recorded")
    if not isinstance(recorded, Sequence) or isinstance(recorded, str):
        return []
    return _way([url for url in recorded if isinstance(url, str)], record)


def _map(reference: Sequence[str], found: Mapping[str, Sequence[tuple[TrialRecord, list[str]]]]) -> Map:
    spine = list(dict.fromkeys(reference))
    counts = Counter(
        page for trials in found.values() for _, visited_pages in trials for page in visited_pages if page not in spine
    )
    detours = [page for page, _ in counts.most_common(_MOST_ASIDE)]
    first = [page for trials in found.values() for _, visited_pages in trials for page in visited_pages]
    detours.sort(key=first.index)
    stops = [*spine, *detours, *([_OTHERS] if len(counts) > len(detours) else [])]
    numbers = {page: number for number, page in enumerate(stops, start=1)}
    flows = tuple(_flow(agent, trials, numbers) for agent, trials in found.items())
    return Map(stops=tuple(stops), spine=len(spine), flows=flows, lost="failed")


def _flow(agent: str, trials: Sequence[tuple[TrialRecord, list[str]]], numbers: Mapping[str, int]) -> Flow:
    moves: Counter[tuple[int, int]] = Counter()
    ends: Counter[int] = Counter()
    for record, visited_pages in trials:
        stops = [0, *_numbered(visited_pages, numbers)]
        moves.update(pairwise(stops))
        if record.outcome != "passed":
            ends[stops[-1]] += 1
    return Flow(agent=agent, moves=moves, ends=ends, trials=len(trials))


def _numbered(visited_pages: Sequence[str], numbers: Mapping[str, int]) -> Iterator[int]:
    """The numbers of pages; several pages in a row without a number of their own are one stop."""
    return (number for number, _ in groupby(numbers.get(page, numbers.get(_OTHERS, 0)) for page in visited_pages))
