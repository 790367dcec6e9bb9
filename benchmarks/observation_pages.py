"""Generates pages of known sizes for `observation`: a form, a product list, a mixed page and two large pages."""

from __future__ import annotations

import random

__all__ = ["PAGES", "page"]

_WORDS = """
    amber bridge candle drift ember forest garden harbour island jasmine kettle lantern meadow needle orchard paper
    quarry river saddle timber umbrella velvet willow yarn zephyr
""".split()  # noqa: SIM905
_PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACw="

PAGES = ("form", "products", "mixed", "heavy5k", "heavy20k")


def page(name: str) -> str:
    """Returns the HTML of one of `PAGES`, always the same; about 80, 2,000, 2,000, 5,000 and 20,000 DOM nodes."""
    made = random.Random(name)
    return {
        "form": _form,
        "products": lambda made: _products(made, 124),
        "mixed": _mixed,
        "heavy5k": lambda made: _rows(made, 312),
        "heavy20k": lambda made: _rows(made, 1250),
    }[name](made)


def _some(made: random.Random, count: int) -> str:
    return " ".join(made.choices(_WORDS, k=count))


def _form(made: random.Random) -> str:
    return """<!doctype html><html lang=en><title>Contact form</title><button>Bench</button><h1>Contact us</h1><form>
<p><label>Name <input name=name required></label><p><label>Email <input type=email value='ada@example.com'></label>
<p><label for=s>Subject </label><select id=s><option>Sales<option selected>Support<option>Press</select>
<fieldset><legend>Urgency</legend><label><input type=radio name=u>Low</label><label><input type=radio name=u checked>
Medium</label><label><input type=radio name=u>High</label></fieldset><p>
<label><input type=checkbox checked> Copy</label><ul><li>One<li>Two</ul>
<p><label>Day <input type=date value=2026-01-02></label><p><label>Message <textarea>Hello</textarea></label>
<p><button type=submit>Send</button> <button type=button disabled>Save</button> <a href=#help>Need help?</a></form>
<p>We answer within <b>two</b> days.</p></html>"""


def _card(made: random.Random, number: int) -> str:
    name = _some(made, 3)
    return (
        f"<li class=card><a href='/p/{number}'><img src='{_PIXEL}' alt='{name}' width=120 height=90></a>"
        f"<h3><a href='/p/{number}'>{name}</a></h3><p class=price>${made.randint(5, 900)}.{made.randint(10, 99)}</p>"
        f"<p>{_some(made, 8)}</p><button data-id={number}>Add to cart</button> "
        f"<button aria-label='Remember {name}'>&#9825;</button></li>\n"
    )


def _products(made: random.Random, count: int) -> str:
    cards = "".join(_card(made, number) for number in range(count))
    return (
        "<!doctype html><html lang=en><title>Products</title><style>ul.grid{display:flex;flex-wrap:wrap;"
        "list-style:none}.card{width:280px}</style><nav><a href=/>Home</a> <a href=/new>New</a></nav><main>"
        f"<h1>All products</h1><ul class=grid>{cards}</ul></main></html>"
    )


def _mixed(made: random.Random) -> str:
    parts = []
    for number in range(31):
        rows = "".join(
            f"<tr><td>{row}</td><td><a href='#r{row}'>{_some(made, 2)}</a></td><td>{made.randint(1, 99)}</td></tr>"
            for row in range(3)
        )
        parts.append(
            f"<section><h2>{_some(made, 3)}</h2><p>{_some(made, 12)} <em>{_some(made, 2)}</em> {_some(made, 5)}</p>"
            f"<table><thead><tr><th>No<th>Name<th>Count</thead><tbody>{rows}</tbody></table>"
            f"<ul><li>{_some(made, 2)}<li><a href=#x{number}>{_some(made, 2)}</a></ul>"
            f"<label>Field {number} <input value='{_some(made, 1)}'></label>"
            f"<label><input type=checkbox> {_some(made, 1)}</label>"
            f"<select><option>{_some(made, 1)}<option selected>{_some(made, 1)}</select>"
            f"<details><summary>More</summary>{_some(made, 9)}</details></section>\n"
        )
    return f"<!doctype html><html lang=en><title>Mixed</title><main><h1>Everything</h1>{''.join(parts)}</main></html>"


def _rows(made: random.Random, count: int) -> str:
    rows = "".join(
        f"<div class=row id=r{number}><h4>{_some(made, 2)}</h4><p>{_some(made, 6)} <b>{_some(made, 1)}</b> "
        f"{_some(made, 3)}</p><a href=#r{number}>{_some(made, 2)}</a> <button>{_some(made, 1)}</button>"
        f"<span>{made.randint(1, 999)}</span></div>\n"
        for number in range(count)
    )
    return f"<!doctype html><html lang=en><title>Heavy</title><main>{rows}</main></html>"
