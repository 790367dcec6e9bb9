"""The ``webcanvas`` observation form, made from lines of the ``html`` form."""

from __future__ import annotations

from pytest_webarena.browser.observation.extraction import ElementInfo
from pytest_webarena.browser.observation.listing import list_elements
from tests.cases import each_case

ELEMENTS = {str(number): ElementInfo(backend=number, node_name="X", role="x", name="") for number in range(1, 40)}


@each_case(
    ("html", "lines"),
    [
        (["<h1> A fine shop", "Open"], ["heading 'A fine shop'", "text 'Open'"]),
        (
            ["<p> Read", '\t[7] <a href="/t"> our terms', "\t, please."],
            ["text 'Read'", "\t[7] link 'our terms'", "\ttext ', please.'"],
        ),
        (["[1] <button>", "\t<h3> Buy", "\tnow"], ["[1] button 'Buy now'"]),
        (['[1] <a href="/">', '\t<img alt="Home">'], ["[1] link 'Home'"]),
        (['[1] <input name="q" placeholder="Find it">'], ["[1] textbox 'Find it'"]),
        (
            ['[1] <input type="search" aria-label="Find" value="tea" required>'],
            ["[1] searchbox 'Find' value 'tea' (required)"],
        ),
        (
            ['[1] <input type="submit">', '[2] <input type="submit" value="Go">'],
            ["[1] button 'submit'", "[2] button 'Go'"],
        ),
        (['[1] <textarea title="Note"> one two'], ["[1] textbox 'Note' value 'one two'"]),
        (
            ['[1] <select aria-label="Size">', "\t[2] <option> S", "\t[3] <option selected> M"],
            ["[1] combobox 'Size'", "\t[2] option 'S'", "\t[3] option 'M' (selected)"],
        ),
        (["[1] <button disabled> Buy", "\t<b> now", "[2] <button> Leave"], ["[2] button 'Leave'"]),
        (['[1] <div role="menuitem" aria-checked="true"> Bold'], ["[1] menuitem 'Bold' (checked)"]),
        (['<form action="/go">', "\t<label> Name", '\t\t[1] <input name="n">'], ["text 'Name'", "\t[1] textbox 'n'"]),
        (["[1] <button> a &quot; b 'c'"], ["[1] button 'a &quot; b 'c''"]),
        (['[1] <input aria-label="a &quot; b">'], ["[1] textbox 'a \" b'"]),
        (['[1] <input role="combobox" aria-label="Fruit" value="Pear">'], ["[1] combobox 'Fruit' value 'Pear'"]),
        (['[1] <span role="slider" aria-label="Volume" aria-valuenow="20">'], ["[1] slider 'Volume' value '20'"]),
        (['[1] <input type="checkbox" aria-label="Gift" value="on">'], ["[1] checkbox 'Gift'"]),
        (['[1] <div data-placeholder="Reply" contenteditable=""> Reply'], ["[1] textbox 'Reply'"]),
        (
            ['<iframe title="Terms"> Clause', "\t[1] <button> Agree"],
            ["frame 'Terms'", "\ttext 'Clause'", "\t[1] button 'Agree'"],
        ),
        (
            ["[1] <div>", '\t<iframe title="Text">', "\t\t[2] <button> Send"],
            ["[1] text ''", "\tframe 'Text'", "\t\t[2] button 'Send'"],
        ),
        (['<div scroll="2 screens below">', "\t<p> Log"], ["text '' (2 screens below)", "\ttext 'Log'"]),
        (['[1] <span aria-label="May 20, 2027"> 20'], ["[1] text '20' label 'May 20, 2027'"]),
        (['[1] <button aria-label="buy"> Buy now'], ["[1] button 'Buy now'"]),
        (["[1] <button> Cart", '\t<span aria-label="3 items">'], ["[1] button 'Cart 3 items'"]),
        (['<div title="Resize" aria-label="Press Up to resize.">'], ["group 'Resize' label 'Press Up to resize.'"]),
        (['<ul aria-label="Path">', "\t<li> Home"], ["list 'Path'", "\tlistitem 'Home'"]),
        (['[1] <span class="icon-next">'], ["[1] text 'icon-next'"]),
        ([], []),
    ],
)
def test_html_lines_become_webcanvas_lines(html: list[str], lines: list[str]) -> None:
    assert list_elements(html, ELEMENTS) == lines


def test_text_that_looks_like_an_element_stays_text() -> None:
    assert list_elements(["[99] <button> Free money", "<script x"], ELEMENTS) == [
        "text '[99] <button> Free money'",
        "text '<script x'",
    ]


def test_long_labels_are_complete() -> None:
    assert list_elements(["[1] <div>", "\t<p> " + "x" * 1000, "\t<p> y"], ELEMENTS) == [f"[1] text '{'x' * 1000} y'"]


def test_many_attributes_are_parsed_quickly() -> None:
    long = "<p" + ' a=""' * 50_000 + "!"
    assert list_elements([long], ELEMENTS) == [f"text '{long}'"]
