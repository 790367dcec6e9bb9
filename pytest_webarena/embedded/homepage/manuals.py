"""The manuals: articles about the sites and the region, with an index and a search."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import date
from importlib.resources import files

from flask import Blueprint, abort, render_template, request
from flask.typing import ResponseReturnValue
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from pytest_webarena.embedded import world
from pytest_webarena.embedded.homepage import calculator, scratchpad
from pytest_webarena.embedded.homepage.converter import UNITS
from pytest_webarena.embedded.markup import Section, parse

__all__ = ["GROUPS", "Article", "Hit", "articles", "pages", "search"]

GROUPS = ("Using these pages", "The other sites", "Getting around", "Living here", "Days out")

pages = Blueprint("manuals", __name__, url_prefix="/manuals")


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """One manual."""

    slug: str
    title: str
    group: str
    summary: str
    updated: date
    see: tuple[str, ...]
    """Slugs of related articles."""
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A section that holds all the words searched for."""

    article: Article
    section: Section
    snippet: Markup


@functools.cache
def articles() -> dict[str, Article]:
    """Every article by slug, in the order of the index. Texts are filled in from the world's facts."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False, keep_trailing_newline=True
    )
    environment.globals.update(
        world.facts(), unit=UNITS, longest_title=scratchpad.LONGEST_TITLE, longest_body=scratchpad.LONGEST_BODY,
        longest_label=scratchpad.LONGEST_LABEL, most_notes=scratchpad.MOST_NOTES, shown=calculator.SHOWN,
    )  # fmt: skip
    found = []
    for file in files(__package__ or __name__).joinpath("manuals").iterdir():
        if file.name.endswith(".md"):
            source = environment.from_string(file.read_text(encoding="utf-8")).render()
            found.append(_article(file.name.removesuffix(".md"), source))
    found.sort(key=lambda article: (GROUPS.index(article.group), article.title))
    return {article.slug: article for article in found}


def _article(slug: str, source: str) -> Article:
    fields, sections = parse(source)
    return Article(
        slug=slug, title=fields["title"], group=fields["group"], summary=fields["summary"],
        updated=date.fromisoformat(fields["updated"]), see=tuple(fields["see"].split(", ")), sections=sections,
    )  # fmt: skip


def search(query: str) -> list[Hit]:
    """Sections that hold every word of ``query``; those first whose titles and headings do, or that hold the phrase."""
    words = re.findall(r"[\w'-]+", query.lower())
    if not words:
        return []
    ranked: list[tuple[int, int, Hit]] = []
    for article in articles().values():
        title = article.title.lower()
        for section in article.sections:
            text, heading = section.text.lower(), section.heading.lower()
            if not all(word in text or word in heading or word in title for word in words):
                continue
            inside = sum(word in text or word in heading for word in words)
            if not inside and section.heading:
                continue  # words of the title alone lead to the article, not to each of its sections
            score = 4 * sum(word in title for word in words) + 3 * sum(word in heading for word in words) + inside
            score += 5 * (len(words) > 1 and " ".join(words) in text)
            hit = Hit(article=article, section=section, snippet=_snippet(section, words))
            ranked.append((-score, len(ranked), hit))
    ranked.sort(key=lambda item: item[:2])
    return [hit for _, _, hit in ranked]


def _snippet(section: Section, words: list[str]) -> Markup:
    """About 180 characters around the first word found, with the words marked."""
    text = section.text
    first = min((at for word in words if (at := text.lower().find(word)) >= 0), default=0)
    start = text.rfind(" ", 0, max(first - 60, 0)) + 1 if first > 60 else 0
    end = text.find(" ", min(start + 180, len(text)))
    cut = text[start : end if end >= 0 else len(text)]
    pattern = re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    marked, last = Markup(""), 0
    for match in pattern.finditer(cut):
        marked += escape(cut[last : match.start()]) + Markup("<mark>{}</mark>").format(match.group())
        last = match.end()
    marked += escape(cut[last:])
    return Markup("{}{}{}").format("… " if start else "", marked, " …" if end >= 0 else "")


@pages.get("/")
def index() -> ResponseReturnValue:
    """All articles by group; with ``q`` the sections found."""
    query = request.args.get("q", "").strip()[:100]
    groups = [(name, [item for item in articles().values() if item.group == name]) for name in GROUPS]
    return render_template("manuals.html", groups=groups, query=query, hits=search(query))


@pages.get("/<slug>")
def article(slug: str) -> ResponseReturnValue:
    found = articles().get(slug)
    if found is None:
        abort(404)
    return render_template("article.html", article=found, related=[articles()[name] for name in found.see])
