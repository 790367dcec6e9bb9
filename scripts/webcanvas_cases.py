"""Generates cases for `agree_webcanvas`: addresses, documents, selectors, values, texts and replies, some unusual."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from bs4 import BeautifulSoup, Tag

from pytest_webarena.checks.webcanvas.addresses import address_subject, site_label

__all__ = ["labels", "moments", "raw_exports", "sequences"]

HOSTS = (
    "www.lamps.test", "lamps.test", "shop.lamps.test", "www.lamps.co.test", "WWW.Lamps.test", "www2.lamps.test",
    "wwwlamps.test", "www.test", "localhost", "127.0.0.1:8080", "user:pw@www.lamps.test", "me@lamps.test:81",
    "lämps.test", "xn--lmps-loa.test", "[::1]:80", "[::1", "www.lamps.test.", ".lamps.test", "", "a..b.test",
)  # fmt: skip
WORDS = (
    "kettle", "red lamp", "50%", "a+b", "a&b", "20-40", "été", "灯", "%41", "%2541", "x=y", "#1", "", " ", "Kettle",
    "KETTLE", "ß", "İ", "'", '"', "0", "nan", "a/b", "?", "\u200b", "\t", "%zz", "%e9", "kettle ",
)  # fmt: skip
KEYS = ("q", "page", "max price", "é", "a[]", "q%20x", "Q", "id")
TAGS = (
    "div", "span", "p", "a", "button", "ul", "li", "h1", "h3", "h6", "section", "b", "form", "label", "input", "select",
    "option", "td", "tr", "table", "svg", "img", "br", "DIV", "x-item", "template",
)  # fmt: skip
VOID = {"input", "img", "br"}
CLASSES = ("a", "b", "btn", "btn primary", "w-1/2", "Whs(n)", "1x", "a b c", "é", "--x")
REPLIES = (
    "```0.85```", "``` 1 ```", "```0```", "It fits.\n```\n0.5\n```", "```python\n0.9```", "```85```", "```True```",
    "```False```", "```None```", "```-1```", "```0.999```", "```0.994```", "```0.005```", "0.7", "", "```1/2```",
    "```float('nan')```", "```nan```", "```.5```", "```1e-3```", "```0,5```", "```'1'```", "```0.3``` ```0.9```",
    "```(0.4)```", "```0.8 # sure```", "```\t0.6```", "```\n 0.6```", "```[1]```", "```1 == 1```", "```2**3```",
    "``````", "```0.85", "```08```", "```1_0```", "```0x1```", "```1j```", "```1 if 1 else 0```", "```float('inf')```",
    "```-float('inf')```", "```not 1```", "```3 > 2```", "```1 and 0.5```", "```round(0.456, 2)```", "```1/0```",
    "```score```", "```max(0.2, 0.3)```", "```10**5```", "```0.5;```", "```~1```", "```1 is 1```", "```0.5 0.6```",
)  # fmt: skip


def address(choose: random.Random) -> str:
    """Returns an address, usually a valid one."""
    scheme = choose.choice(("https", "https", "http", "HTTPS", "chrome-error", ""))
    path = "/".join(_encoded(choose) for _ in range(choose.randrange(4)))
    url = f"{scheme}://{choose.choice(HOSTS[:7] if choose.random() < 0.7 else HOSTS)}/{path}"
    if choose.random() < 0.15:
        url += f";{choose.choice(('v=1', 'x', ''))}"
    if choose.random() < 0.7:
        pairs = [f"{_key(choose)}={_encoded(choose)}" for _ in range(choose.randrange(1, 4))]
        url += "?" + choose.choice(("&", "&", "&", ";")).join(pairs)
    if choose.random() < 0.3:
        url += f"#{_encoded(choose)}"
    if choose.random() < 0.02:
        url = choose.choice(("about:blank", "", "data:text/html,x", "https://[bad", "//lamps.test/x", "lamps.test/x"))
    return url


def _key(choose: random.Random) -> str:
    key = choose.choice(KEYS[:3] if choose.random() < 0.7 else KEYS)
    return choose.choice((quote, quote_plus, str))(key)


def _encoded(choose: random.Random) -> str:
    word = choose.choice(WORDS)
    word = choose.choice((quote, quote, quote_plus, str))(word)
    return quote(word) if choose.random() < 0.15 else word


def document(choose: random.Random) -> str:
    """Returns a page, sometimes with unclosed tags."""
    budget = [choose.randrange(3, 40)]

    def element(depth: int) -> str:
        budget[0] -= 1
        tag = choose.choice(TAGS)
        attributes = ""
        if choose.random() < 0.3:
            attributes += f' id="{choose.choice(("main", "a", "b1", "1a", "x:y", "buy", "é"))}"'
        if choose.random() < 0.5:
            attributes += f' class="{choose.choice(CLASSES)}"'
        if choose.random() < 0.1:
            attributes += choose.choice((' href="/x?a=1&b=2"', " disabled", " data-x='1'", ' name="q"'))
        if tag.lower() in VOID:
            return f"<{tag}{attributes}>"
        inside = choose.choice(("", "Buy", "now & then", "<!-- x -->", "&nbsp;", "a < b"))
        while budget[0] > 0 and depth < 12 and choose.random() < 0.75:
            inside += element(depth + 1)
        return f"<{tag}{attributes}>{inside}" + ("" if choose.random() < 0.08 else f"</{tag}>")

    body = "".join(element(0) for _ in range(choose.randrange(1, 4)))
    if choose.random() < 0.05:
        return choose.choice(("", "plain text", "<", body, "<!-- -->", "\x00"))
    return f"<!DOCTYPE html><html><head><title>t</title></head><body>{body}</body></html>"


def selector(choose: random.Random, element: Tag) -> str:
    """Returns a selector for an element, in one of the forms that recorders use."""
    parts: list[str] = []
    current: Any = element
    while current is not None and current.name != "[document]":
        if current.get("id") and choose.random() < 0.6:
            return " > ".join([f"#{current['id']}", *parts])
        siblings = [each for each in current.parent.children if isinstance(each, Tag)] if current.parent else [current]
        same = [each for each in siblings if each.name == current.name]
        nth, of_type = _place(siblings, current), _place(same, current)
        names = ".".join(current.get("class") or ())
        part = choose.choice(
            (
                f"{current.name}:nth-child({nth})",
                f"{current.name}:nth-of-type({of_type})",
                f"{current.name}.{names}" if names else current.name,
                f":nth-child({nth})",
                current.name,
            )
        )
        parts.insert(0, part)
        current = current.parent
        if choose.random() < 0.15:
            break
    return choose.choice((" > ", " > ", " ")).join(parts)


def _place(among: Sequence[Any], element: Any) -> int:
    return next((index for index, each in enumerate(among, 1) if each is element), 1)


ODD_SELECTORS = (
    "", " ", "#", "div >", "> div", "a:hover", "div:has(> span)", "#1a", ".w-1/2", "*", "a, button", "div ~ p",
    "li + li",     "[href]", "a[href='/x?a=1&b=2']", "::before", ":nth-child(0)", "div:nth-child(2n+1)",
    "html", "body", "p:contains(x)",
    "x-item", "svg|a", "#x\\:y", ":root", ":is(div, span)", "div:not(.a)", "\\", "é", "//div", "/html/body/div[1]",
    "//span/..", "string(//a)", "count(//a)", "//a/@href", "//comment()", "true()", "//*[@id='main']",
)  # fmt: skip


def element_pair(choose: random.Random, html: str) -> tuple[str, str]:
    """Returns selectors of the element acted on and of the reference, which is often the same or an outer element."""
    tree = BeautifulSoup(html, "html.parser")
    elements = tree.find_all(True)
    if not elements or choose.random() < 0.1:
        return choose.choice(ODD_SELECTORS), choose.choice(ODD_SELECTORS)
    reference: Any = choose.choice(elements)
    acted = reference
    if choose.random() < 0.6:
        for _ in range(choose.randrange(1, 6)):
            acted = acted.parent if acted.parent is not None and acted.parent.name != "[document]" else acted
    elif choose.random() < 0.4:
        inner = reference.find_all(True)
        acted = choose.choice(inner) if inner else choose.choice(elements)
    one, other = selector(choose, acted), selector(choose, reference)
    if choose.random() < 0.05:
        other = choose.choice(ODD_SELECTORS)
    return one, other


def moment(choose: random.Random) -> tuple[dict[str, Any], list[str]]:
    """Returns a moment, and references that may fit the element acted on."""
    html = document(choose)
    acted, reference = element_pair(choose, html)
    found = {
        "url": address(choose),
        "html": html,
        "selector": acted if choose.random() < 0.9 else None,
        "value": choose.choice(WORDS) if choose.random() < 0.93 else None,
        "text": choose.choice(WORDS) if choose.random() < 0.9 else None,
    }
    return found, [reference]


def node(choose: random.Random, at: dict[str, Any], references: Sequence[str]) -> dict[str, Any]:
    """Returns a node that often holds at this moment."""
    function = choose.choice(
        (
            "url_exactly_match", "url_exactly_match", "url_included_match", "url_included_match", "url_semantic_match",
            "element_path_exactly_match", "element_path_exactly_match", "element_path_exactly_match",
            "element_path_included_match", "element_value_exactly_match", "element_value_included_match",
            "element_value_semantic_match", "cache_data_exact_match", "cache_data_included_match",
            "cache_data_semantic_match", "final_answer_exact_match", "final_answer_included_match",
            "final_answer_semantic_match", "url_exact_match", "",
        )
    )  # fmt: skip
    found: dict[str, Any] = {"match_function": function, "reference_answer": choose.choice(WORDS)}
    try:
        label = site_label(at["url"])
    except ValueError:
        label = "lamps"
    if choose.random() < 0.15:
        label = choose.choice(("lamps", "shop", "", "Lamps", "www"))
    if "url" in function:
        found["key"] = choose.choice(KEYS) if choose.random() < 0.6 else ""
        subject = address_subject(at["url"], "includes" if "included" in function else "exact", found["key"])
        if subject is not None and choose.random() < 0.7:
            found["reference_answer"] = _part(choose, subject) if "included" in function else subject
    elif "element_path" in function:
        found |= {"method": "selector" if choose.random() < 0.8 else "xpath", "netloc": label}
        found["reference_answer"] = choose.choice(references)
        if found["method"] == "xpath" and choose.random() < 0.8:
            found["reference_answer"] = choose.choice(ODD_SELECTORS[-9:])
    elif "element_value" in function:
        found["netloc"] = label
        if choose.random() < 0.5:
            found["path"] = choose.choice(references)
        if at["value"] and choose.random() < 0.7:
            found["reference_answer"] = _part(choose, at["value"]) if "included" in function else at["value"]
    elif at["text"] and choose.random() < 0.7:
        found["reference_answer"] = choose.choice((str.upper, str.lower, str.title, str))(at["text"])
    return found


def _part(choose: random.Random, text: str) -> str:
    begin = choose.randrange(len(text) + 1)
    return text[begin : choose.randrange(begin, len(text) + 1)]


def moments(choose: random.Random, count: int) -> Iterator[dict[str, Any]]:
    """Yields cases of one node at one moment."""
    for _ in range(count):
        at, references = moment(choose)
        one = node(choose, at, references)
        if one.get("method") == "xpath" and choose.random() < 0.7:
            at["selector"] = choose.choice(ODD_SELECTORS[-9:])
        replies = [choose.choice(REPLIES) for _ in range(choose.randrange(4))] if "semantic" in str(one) else []
        yield {"nodes": [one], "moments": [at], "replies": replies}


def sequences(choose: random.Random, count: int) -> Iterator[dict[str, Any]]:
    """Yields cases of several nodes over several moments, which test kept scores, early ends and the judge's calls."""
    for _ in range(count):
        seen = [moment(choose) for _ in range(choose.randrange(2, 6))]
        nodes = [node(choose, *choose.choice(seen)) for _ in range(choose.randrange(2, 7))]
        if choose.random() < 0.2:
            nodes.append(dict(choose.choice(nodes)))
        replies = [choose.choice(REPLIES) for _ in range(choose.randrange(12))]
        yield {"nodes": nodes, "moments": [at for at, _ in seen], "replies": replies}


def labels(choose: random.Random, count: int) -> Iterator[dict[str, Any]]:
    """Yields addresses whose site is asked for."""
    for _ in range(count):
        yield {"label": address(choose)}


def raw_exports(choose: random.Random, count: int) -> Iterator[dict[str, Any]]:
    """Yields raw exports that the converter can read."""
    for _ in range(count):
        yield {"raw": [_raw_task(choose) for _ in range(choose.randrange(1, 4))]}


def _raw_task(choose: random.Random) -> dict[str, Any]:
    steps = [_raw_step(choose) for _ in range(choose.randrange(1, 6))]
    steps.append(_raw_step(choose, always=True))
    return {"title": f"Look for {choose.choice(('lamps', 'a kettle'))}", "steps": steps}


def _raw_step(choose: random.Random, *, always: bool = False) -> dict[str, Any]:
    pairs = {key: choose.choice(WORDS[:6]) for key in KEYS[:3]}
    query = "&".join(f"{quote(key)}={quote(value)}" for key, value in pairs.items())
    step: dict[str, Any] = {
        "href": f"https://{choose.choice(HOSTS[:4])}/{choose.choice(('a', 'b%20c', ''))}?{query}",
        "selector": choose.choice(("#buy", "div > a.b", "button")),
        "value": choose.choice(WORDS[:6]),
        "description": choose.choice(("Click it", "", "https://lamps.test/found?q=x&page=2&max%20price=3", "a:b")),
        "rewardFunction": [],
    }
    for _ in range(choose.randrange(1, 3) if always else choose.randrange(3)):
        name = choose.choice(
            (
                "url_exactly_match", "url_included_match", "url_semantic_match", "element_path_exactly_match",
                "element_value_exactly_match", "element_value_included_match", "element_value_semantic_match",
                "cache_data_exact_match", "cache_data_included_match", "cache_data_semantic_match",
                "final_answer_exact_match", "final_answer_included_match", "final_answer_semantic_match",
            )
        )  # fmt: skip
        function = {"name": name, "required": quote(choose.choice(WORDS[:6])), "optional": choose.choice(WORDS[:6])}
        if name.startswith("url") and choose.random() < 0.7:
            function["key"] = quote(choose.choice(KEYS[:3]))
        if name == "url_exactly_match" and choose.random() < 0.6:
            del function["optional"]
        step["rewardFunction"].append(function)
    if choose.random() < 0.01:
        step["rewardFunction"].append({})
    return step
