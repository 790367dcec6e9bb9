"""A strict crawler of an embedded site that finds faults in its HTML, links and labels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import SplitResult, urljoin, urlsplit

from werkzeug.test import Client

__all__ = ["StrictPage", "crawl", "faults"]

_ONCE = ("main", "header", "footer", "title")
_HEADINGS = {f"h{level}" for level in range(1, 7)}
_VOID = {"br", "hr", "img", "input", "link", "meta"}


class StrictPage(HTMLParser):
    """A strict HTML parser: every element must be closed, in order."""

    def __init__(self, url: str, html: str) -> None:
        super().__init__()
        self.url = url
        self.open: list[str] = []
        self.problems: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.tags: list[str] = []
        self.labelled: set[str] = set()
        self.fields: list[dict[str, str | None]] = []
        self.named: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.attributes: dict[str, dict[str, str | None]] = {}
        self.feed(html)
        self.close()
        if self.open:
            self.problems.append(f"never closed: {self.open}")

    def handle_decl(self, decl: str) -> None:
        if decl.lower() != "doctype html":
            self.problems.append(f"odd declaration {decl}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if len(values) != len(attrs):
            self.problems.append(f"an attribute twice in <{tag}>")
        self.tags.append(tag)
        self.attributes.setdefault(tag, values)
        if tag not in _VOID:
            self.open.append(tag)
        if "id" in values:
            self.ids.append(values["id"] or "")
        for name in ("href", "src", "action"):
            if name in values:
                self.links.append(values[name] or "")
        if tag in _HEADINGS:
            self.headings.append(int(tag[1]))
        if tag == "label":
            self.labelled.add(values.get("for") or "")
        if tag in ("input", "select", "textarea") and values.get("type") != "hidden":
            self.fields.append(values)
        if tag in ("a", "button"):
            self.named.append((tag, values.get("aria-label") or ""))
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes something else")

    def handle_data(self, data: str) -> None:
        if self.texts and any(tag in ("a", "button") for tag in self.open):
            self.texts[-1] += data

    @property
    def unlabelled(self) -> list[dict[str, str | None]]:
        """Return fields without a label."""
        return [field for field in self.fields if not (field.get("aria-label") or field.get("id") in self.labelled)]


def _resolved(page: str, link: str) -> SplitResult:
    """The address of a link on the page with this full address."""
    if link.startswith("/") and not link.startswith("//"):  # of the menus, and the same on each page
        page = "/".join(page.split("/", 3)[:3])
    return _joined(page, link)


@functools.lru_cache(maxsize=8192)
def _joined(page: str, link: str) -> SplitResult:
    return urlsplit(urljoin(page, link))


def crawl(
    client: Client, site: str, first: Collection[str], *, left_out: Callable[[str], bool] = lambda path: False
) -> Iterator[StrictPage]:
    """Return every page that ``first`` and links lead to, once each. A missing page fails an assertion."""
    waiting, seen = list(first), set(first)
    while waiting:
        path = waiting.pop()
        with client.get(path) as response:
            if response.status_code in (301, 302, 303):
                target = urlsplit(urljoin(site + path, response.location))
                local = f"{target.path}?{target.query}" if target.query else target.path
                if local not in seen:
                    seen.add(local)
                    waiting.append(local)
                continue
            assert response.status_code == 200, path
            if response.mimetype != "text/html":
                continue
            page = StrictPage(path, response.get_data(as_text=True))
        yield page
        for link in dict.fromkeys(page.links):
            url = _resolved(site + path, link)._replace(fragment="").geturl()
            if url.startswith(site) and (local := url.removeprefix(site)) not in seen:
                seen.add(local)
                if not left_out(local):
                    waiting.append(local)


def faults(pages: dict[str, StrictPage], site: str, siblings: Collection[str] = ()) -> list[str]:
    """Return the faults of these pages, each with its address."""
    found = []
    for url, page in pages.items():
        found += [f"{url}: {problem}" for problem in page.problems]
        levels = page.headings
        if levels.count(1) != 1 or levels[0] not in (1, 2):
            found.append(f"{url}: headings {levels}")
        if any(deeper - level > 1 for level, deeper in pairwise(levels)):
            found.append(f"{url}: a heading's level is left out in {levels}")
        found += [
            f"{url}: not one <{tag}>" for tag in ("main", "header", "footer", "title") if page.tags.count(tag) != 1
        ]
        if page.attributes["html"].get("lang") != "en":
            found.append(f"{url}: no language")
        if len(page.ids) != len(set(page.ids)):
            found.append(f"{url}: an id twice")
        found += [f"{url}: a field without a label: {field}" for field in page.unlabelled]
        named = zip(page.named, page.texts, strict=True)
        found += [f"{url}: a <{tag}> without a name" for (tag, label), text in named if not (label or text.strip())]
        for link in dict.fromkeys(page.links):
            target = _resolved(site + url, link)
            if urlsplit(link).netloc and link not in siblings:
                found.append(f"{url}: leads elsewhere, to {link}")
            if target.fragment and target.path in pages and target.fragment not in pages[target.path].ids:
                found.append(f"{url}: leads to {link}, which is not there")
    return found
