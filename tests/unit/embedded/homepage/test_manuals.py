"""The manuals: text format, search, and facts about the site and its world."""

from __future__ import annotations

import re

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import world
from pytest_webarena.embedded.homepage.arithmetic import calculate
from pytest_webarena.embedded.homepage.manuals import GROUPS, articles, search
from pytest_webarena.embedded.markup import parse


def test_manual_format_is_parsed_to_html() -> None:
    source = """title: A & B
---
Intro with **strong**, *soft* and `a*b*c`.
Second line.

## One <two>

Table: Things
| Name | Price |
| [A](a#b) | 1 < 2 |

- first
  goes on
- second

1. then

> Careful.
"""
    head, (intro, section) = parse(source)

    assert head == {"title": "A & B"}
    assert intro.html == "<p>Intro with <strong>strong</strong>, <em>soft</em> and <code>a*b*c</code>. Second line.</p>"
    assert intro.text == "Intro with strong, soft and a*b*c. Second line."
    assert (section.heading, section.anchor) == ("One <two>", "one-two")
    assert "<caption>Things</caption>" in section.html
    assert '<tr><th scope="row"><a href="a#b">A</a></th><td>1 &lt; 2</td></tr>' in section.html
    assert "<ul><li>first goes on</li><li>second</li></ul>" in section.html
    assert "<ol><li>then</li></ol>" in section.html
    assert '<p class="remark">Careful.</p>' in section.html
    assert section.text == "Things Name, Price; A, 1 < 2; first goes on second then Careful."
    with pytest.raises(ValueError, match="'---'"):
        parse("no head")


def test_articles_are_complete() -> None:
    assert len(articles()) == 23
    for article in articles().values():
        assert article.group in GROUPS
        assert set(article.see) < set(articles())
        assert article.slug not in article.see
        assert len({section.anchor for section in article.sections}) == len(article.sections)
        assert sum(len(section.text.split()) for section in article.sections) > 180, article.slug
        assert article.updated < world.EPOCH.date()
        assert not re.search(r"\*\*|`|\{\{|\]\(", "".join(section.html for section in article.sections)), article.slug


def test_article_page_has_contents_and_relations(visitor: Client) -> None:
    html = visitor.get("/manuals/trains").get_data(as_text=True)

    assert '<li><a href="#fares">Fares</a></li>' in html
    assert '<h2 id="fares">Fares</h2>' in html
    assert '<a href="/manuals/cycling">Cycling</a>' in html
    assert "Last revised on 30 March 2025." in html


def test_search_finds_sections_with_every_word() -> None:
    found = [(hit.article.slug, hit.section.anchor) for hit in search("Late fee")]
    assert found[0] == ("library", "what-can-be-borrowed")

    [hit] = search("lost property charity")
    assert hit.section.anchor == "lost-property"
    assert "<mark>lost property</mark>" not in hit.snippet
    assert "<mark>charity</mark>" in hit.snippet
    assert search("ferry zebra") == []
    assert search("  ?! ") == []


def test_search_puts_titles_and_headings_first() -> None:
    hits = search("museums")

    assert hits[0].article.slug == "museums"
    assert all("museum" in hit.section.text.lower() or "museums" in hit.article.title.lower() for hit in hits)


def test_snippet_is_short_and_marks_the_words_as_written() -> None:
    [hit] = search("spring tides")

    assert "<mark>spring</mark> <mark>tides</mark>" in hit.snippet
    assert len(re.sub(r"<[^>]+>", "", hit.snippet)) < 260


def test_search_page_lists_sections(visitor: Client) -> None:
    html = visitor.get("/manuals/?q=causeway+seal").get_data(as_text=True)

    assert '<a href="/manuals/weather-and-tides#the-causeway-to-seal-rock">' in html
    assert "No section holds all these words." in visitor.get("/manuals/?q=xyzzy").get_data(as_text=True)


def test_examples_of_the_calculator_manual_are_right() -> None:
    operators = next(section for section in articles()["calculator"].sections if section.heading == "Operators")
    functions = next(section for section in articles()["calculator"].sections if section.heading == "Functions")
    examples = re.findall(r"<code>([^<]+)</code></td><td>(-?[\d.]+)</td>", operators.html + functions.html)

    assert len(examples) == 10
    for expression, result in examples:
        assert calculate(expression) == result


def test_manuals_contain_the_facts_of_the_world() -> None:
    def text(slug: str) -> str:
        return " ".join(section.text for section in articles()[slug].sections)

    for town in world.TOWNS:
        assert f"{town.name}, {town.postcode}, {town.population:,}, {town.founded}" in text("at-a-glance")
        assert f"{town.name}, {town.collection_day}" in text("waste")
    for business in world.BUSINESSES:
        assert business.phone in text("opening-hours")
    for event in world.EVENTS:
        assert f"{event.name}, " in text("festivals")
    for line in world.LINES:
        assert line.fare in text("trains") + text("ferry-and-buses")


def test_fare_of_the_wend_line_follows_the_stated_rule() -> None:
    line = next(line for line in world.LINES if line.key == "wend")
    exact = 1.60 + 0.13 * line.stops[-1][2]

    assert float(line.fare) - 0.20 < exact <= float(line.fare)
