"""Texts, controls, tables and forms of pages."""

from __future__ import annotations

import pytest

from pytest_webarena.html_pages.page_text import PageText, read_html
from tests.cases import each_case


def page(html: str) -> PageText:
    return read_html(html, "http://a.test/list")


@each_case(
    ("html", "passages"),
    [
        ("<p>A <b>red</b>\n kettle</p><p>Tea", ("A red kettle", "Tea")),
        ("<p>x<script>let y = '<p>y'</script><style>z</style><noscript>n</noscript>", ("x",)),
        (
            "<table><tr><td>Weight<td><div>300 g</div></tr><tr><td>Colour<td>red</table>",
            ("Weight\n300 g", "Colour\nred"),
        ),
        ("<ul><li><h3>Cup</h3><p>9.90</p><li><h3>Pot</h3></ul><p>x", ("Cup\n9.90", "Pot", "x")),
        ("<dl><dt>Weight<dd>300 g<dt>Colour<dd>red</dl>", ("Weight", "300 g", "Colour", "red")),
        ("<p>wei&shy;ght &#8203;300&nbsp;g", ("weight 300 g",)),
        (
            '<p><img alt="A kettle"><input value="tea" placeholder="Search" title="t"><input type=hidden value=h>',
            ("A kettle\nSearch\nt\ntea",),
        ),
        ("<p>Tanaka&#39;s &amp; sons", ("Tanaka's & sons",)),
        ("<pre>a\nb</pre>", ("a\nb",)),
        ("<textarea>one\ntwo</textarea>", ("one\ntwo",)),
    ],
)
def test_passages(html: str, passages: tuple[str, ...]) -> None:
    assert page(html).passages == passages


@each_case(
    ("html", "labels"),
    [
        ('<button>Buy <i>now</i></button><input type=submit value="Send">', ("Buy now", "Send")),
        ("<a href=/x>More</a><a name=y>no link</a>", ("More",)),
        ('<div role=button aria-label="Close">×</div>', ("Close ×",)),
        (
            '<label for=q>Title</label><input id=q placeholder="e.g. tea"><textarea aria-label=Body></textarea>',
            ("Title", "e.g. tea", "Body"),
        ),
        ("<select><option>Red<option>Blue</select>", ("Red", "Blue")),
        ("<p>Cancel order", ()),
    ],
)
def test_controls(html: str, labels: tuple[str, ...]) -> None:
    assert tuple(control.label for control in page(html).controls) == labels


def test_a_control_knows_its_passage() -> None:
    found = page("<h1>Projects</h1><ul><li>Quern <button>Archive</button></li><li>Inkwash</li></ul>")
    assert [found.passages[control.passage] for control in found.controls] == ["Quern Archive"]


def test_columns() -> None:
    found = page("<table><tr><th>Item<th>Price<tr><td>Cup<td>9.90<tr><td>Pot<td>20<tr><td colspan=2>Total</table>")
    assert found.columns == (("Item", "Cup", "Pot", ""), ("Price", "9.90", "20", "Total"))


def test_nested_tables_are_read_apart() -> None:
    found = page("<table><tr><td>a<table><tr><td>1<tr><td>2</table><td>b</table>")
    assert ("1", "2") in found.columns
    assert found.columns[-1] == ("b",)


def test_headings_are_the_title_and_the_main_heading() -> None:
    assert page("<title>Shop</title><h1>The <i>Cup</i></h1><h2>Related").headings == ("Shop", "The Cup")


@pytest.mark.parametrize("method", ["", "method=get", "method=GET"])
def test_forms_that_read(method: str) -> None:
    html = f"""<form action=/search {method}><input name=q><input type=hidden name=scope value=all>
    <select name=sort><option value="">Any<option value=new selected>New</select>
    <input type=checkbox name=all><input type=submit name=go value=Go></form>"""
    (form,) = page(html).forms
    assert form.action == "/search"
    assert [(each.name, each.value, each.typed, each.options) for each in form.fields] == [
        ("q", "", True, []),
        ("scope", "all", False, []),
        ("sort", "new", False, [""]),
        ("all", "on", False, ["on"]),
        ("go", "", False, ["Go"]),
    ]


def test_forms_that_may_write_are_left_out() -> None:
    assert page("<form method=post><input name=q></form>").forms == ()


@each_case(
    ("html", "link"),
    [
        ("<a href=/a#b>a</a>", "/a"),
        ("<a href=/list.csv download>a</a>", "/list.csv"),
        ("<iframe src=/frame></iframe>", "/frame"),
        ("<iframe srcdoc='<a href=/inner>a</a>'></iframe>", "/inner"),
        ("<object data=/file.pdf></object>", "/file.pdf"),
        ("<meta http-equiv=Refresh content='3; URL=/next'>", "/next"),
        ("<base href=/x/><a href=y>a</a>", "/x/y"),
        ("<a href=/notes/3 data-method=delete>a</a>", None),
        ("<a href='http://[broken'>a</a>", None),
    ],
)
def test_links_are_what_leads_to_pages_and_files(html: str, link: str | None) -> None:
    assert page(html).links == ((f"http://a.test{link}",) if link else ())


def test_text_of_a_frame_within_the_page_is_read() -> None:
    assert page("<iframe srcdoc='<p>300 grams'></iframe>").passages == ("300 grams",)


def test_what_is_no_text_is_unread() -> None:
    assert page("<p>Sales <canvas></canvas><video src=/a></video>").unread == ("a drawing", "a film")


@pytest.mark.parametrize(
    ("script", "has"), [("<script src=/a.js></script>", True), ("<script type=application/json>{}</script>", False)]
)
def test_scripts_are_noted(script: str, *, has: bool) -> None:
    assert bool(page(f"<p>x{script}").scripts) is has
