"""Conversion of members' texts to safe HTML."""

from __future__ import annotations

from pytest_webarena.embedded.reddit.prose import is_web_address, prose, slug
from tests.cases import each_case
from tests.unit.embedded.crawling import StrictPage


@each_case(
    ("text", "html"),
    [
        ("One\nline", "<p>One<br>line</p>"),
        ("One\n\nTwo", "<p>One</p>\n<p>Two</p>"),
        ("**so** and *so*", "<p><strong>so</strong> and <em>so</em></p>"),
        ("3 * 4 * 5 and snake_case", "<p>3 * 4 * 5 and snake_case</p>"),
        ("> said\n> she", "<blockquote><p>said<br>she</p></blockquote>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("**Mind**\n- a\n- b\nso", "<p><strong>Mind</strong></p>\n<ul><li>a</li><li>b</li></ul>\n<p>so</p>"),
        ("> said\nno", "<blockquote><p>said</p></blockquote>\n<p>no</p>"),
        ("`<b>` and `", "<p><code>&lt;b&gt;</code> and `</p>"),
        ("<script>", "<p>&lt;script&gt;</p>"),
        ("see /f/books.", '<p>see <a href="/f/books" rel="nofollow">/f/books</a>.</p>'),
        (
            "by /user/mara.linden, yes",
            '<p>by <a href="/user/mara.linden" rel="nofollow">/user/mara.linden</a>, yes</p>',
        ),
        (
            "http://a.test/x?y=1&z.",
            '<p><a href="http://a.test/x?y=1&amp;z" rel="nofollow">http://a.test/x?y=1&amp;z</a>.</p>',
        ),
        ("[here](http://a.test/)", '<p><a href="http://a.test/" rel="nofollow">here</a></p>'),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[x](//evil.test)", "<p>[x](//evil.test)</p>"),
        ("", ""),
    ],
)
def test_prose_markup_becomes_html(text: str, html: str) -> None:
    assert str(prose(text)) == html


@each_case(
    "text",
    [
        '[a](http://x.test/"onclick=alert)', "**a *b** c*", "*a `b* c`", "[*a](http://x.test/)*", "> a\nb", "- a\nb",
        "[[a](b)](c)", "http://[x", "`a`b`c", "** **", "[a](/f/x)<b>", "http://a.test/*b*/c*d*",
    ],
)  # fmt: skip
def test_unusual_texts_give_sound_html(text: str) -> None:
    page = StrictPage("x", str(prose(text)))

    assert not page.problems
    assert not {"script", "b"} & set(page.tags)
    assert set(page.attributes.get("a", {})) <= {"href", "rel"}


def test_addresses_and_slugs() -> None:
    assert is_web_address("https://a.test/b c") is False
    assert is_web_address("http://[") is False
    assert slug("Grandmother's café: worth it?") == "grandmothers-caf-worth-it"
    assert slug("???") == "-"
    assert len(slug("word " * 60)) <= 60
