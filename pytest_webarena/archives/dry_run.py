"""Says without a browser what tasks with key nodes would meet in an archive: walls, withheld writes, missing pages.

Only pages are looked at. What scripts load, and whether an element is in a page, a run finds out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urljoin, urlsplit

from pytest_webarena.archives.archive import Archive
from pytest_webarena.archives.bodies import codings_of, decoded
from pytest_webarena.archives.matching import canonical
from pytest_webarena.checks.key_nodes.model import KeyNode, KeyNodes, UrlTarget
from pytest_webarena.checks.webcanvas.counterparts import NoCounterpart, counterpart
from pytest_webarena.errors import UsageError
from pytest_webarena.live.bot_walls import refusal, wall_of_page
from pytest_webarena.suites.lint import holds
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import clip

__all__ = ["DryRun", "NodeFinding", "dry_run"]

_PASSWORD = re.compile(r"<input\b[^>]*\btype\s*=\s*[\"']?password", re.IGNORECASE)
_REDIRECTS = 20
_SHOWN = 20
"""Number of findings that the report lists."""

Obstacle = Literal["missing", "wall", "sign-in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFinding:
    """A key node that the archive keeps an agent from."""

    task: str
    node: int
    """Number of the node in its task, from 1."""
    obstacle: Obstacle
    text: str

    def __str__(self) -> str:
        return f"{self.task}, key node {self.node}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What tasks would meet in an archive."""

    tasks: int
    """Number of tasks with key nodes."""
    nodes: int
    unknown: int
    """Number of nodes without a recorded address, which were not examined."""
    findings: tuple[NodeFinding, ...]
    withheld: tuple[str, ...]
    """Requests that the guard of live sites did not send when the archive was recorded: method, host and path."""

    def render(self) -> str:
        """Return the counts, and the findings."""
        hit = len({each.task for each in self.findings})
        by = {kind: sum(each.obstacle == kind for each in self.findings) for kind in ("missing", "wall", "sign-in")}
        lines = [
            f"{self.tasks} tasks with {self.nodes} key nodes; {self.tasks - hit} tasks meet no obstacle",
            f"unreachable nodes: {len(self.findings)} in {hit} task{'s' * (hit != 1)} "
            f"({by['missing']} not archived, {by['wall']} behind a wall, {by['sign-in']} behind a sign-in)",
            f"withheld writes: {len(self.withheld)}",
        ]
        if self.unknown:
            lines.append(f"not examined: {self.unknown} nodes without a recorded address")
        for found in ([*map(str, self.findings)], [f"not sent when it was recorded: {each}" for each in self.withheld]):
            lines += [f"  {line}" for line in found[:_SHOWN]]
            lines += [f"  and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        return "\n".join(lines)


def dry_run(archive: Archive, tasks: Sequence[Task]) -> DryRun:
    """Return what ``tasks`` with key nodes would meet in ``archive``, by the addresses at which they were recorded.

    A node that is an address is reachable on any page of the archive that fulfils it. Raises `UsageError` if no task
    has key nodes.
    """
    reader = _Pages(archive)
    findings: list[NodeFinding] = []
    posed = nodes = unknown = 0
    for task in tasks:
        found = [node for check in task.checks if isinstance(check.spec, KeyNodes) for node in check.spec.nodes]
        given = task.source.get("recorded")
        recorded = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
        posed += bool(found)
        nodes += len(found)
        for number, node in enumerate(found, 1):
            url = str(recorded[number - 1]) if number <= len(recorded) else ""
            if not url:
                unknown += 1
            elif (obstacle := reader.obstacle(url)) and not reader.fulfils(node):
                findings.append(NodeFinding(task=task.id, node=number, obstacle=obstacle[0], text=obstacle[1]))
    if not posed:
        raise UsageError(f"--tasks: expected tasks with key nodes, found none among {len(tasks)}")
    return DryRun(tasks=posed, nodes=nodes, unknown=unknown, findings=tuple(findings), withheld=archive.withheld)


class _Pages:
    """The pages of an archive, each examined once."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._known: dict[str, tuple[Obstacle, str] | None] = {}
        self._good: list[str] | None = None

    def obstacle(self, url: str) -> tuple[Obstacle, str] | None:
        """Return what a visitor of ``url`` meets instead of the page; None for the page."""
        if url not in self._known:
            self._known[url] = self._examine(url)
        return self._known[url]

    def fulfils(self, node: KeyNode) -> bool:
        """Whether the node is an address that a page of the archive has."""
        if not isinstance(node.target, UrlTarget):
            return False
        try:
            plain = counterpart(node)
        except NoCounterpart:
            return False
        return any(holds(plain, url) for url in self._pages())

    def _pages(self) -> list[str]:
        if self._good is None:
            pages = (each.url for each in self._archive.captures() if each.method == "GET" and "html" in each.mime)
            self._good = [url for url in dict.fromkeys(pages) if self.obstacle(url) is None]
        return self._good

    def _examine(self, url: str) -> tuple[Obstacle, str] | None:
        asked = url
        for _ in range(_REDIRECTS):
            try:
                url = canonical(url)
                found = self._archive.find("GET", url, page=True)
                stored = self._archive.read(found.capture) if found is not None else None
            except (UsageError, ValueError) as error:
                return "missing", f"{clip(url, 160)} can't be read: {clip(str(error), 120)}"
            if stored is None:
                return "missing", f"{clip(url, 160)} is not archived"
            fields = {name.lower(): value for name, value in stored.headers}
            if 300 <= stored.status < 400 and "location" in fields:
                url = urljoin(url, fields["location"])
                continue
            if why := refusal(stored.status, fields, page=True):
                return "wall", f"{clip(url, 160)} has {why}"
            if stored.status >= 400:
                return "missing", f"{clip(url, 160)} has status {stored.status}"
            try:
                markup = decoded(stored.data, codings_of(stored.headers)).decode("utf-8", "replace")
            except (ValueError, EOFError) as error:
                return "missing", f"{clip(url, 160)} can't be read: {clip(str(error), 120)}"
            if why := wall_of_page(markup):
                return "wall", f"{clip(url, 160)} says {why!r}"
            if _place(url) != _place(asked) and _PASSWORD.search(markup):
                return "sign-in", f"{clip(asked, 160)} leads to a sign-in at {clip(url, 160)}"
            return None
        return "missing", f"{clip(asked, 160)} redirects without end"


def _place(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, parts.path.rstrip("/")
