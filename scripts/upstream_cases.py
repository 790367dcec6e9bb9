"""Generates trials for `agree_upstream`: answers, addresses and page texts like the references, and judge replies."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_webarena.checks.upstream.calls import Call
from pytest_webarena.tasks.model import Task
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.testing import make_task

__all__ = ["SITES", "helpers", "own", "published"]

SITES = {
    "shopping": "http://shopping.test",
    "shopping_admin": "http://shopping-admin.test/admin",
    "reddit": "http://reddit.test",
    "gitlab": "http://gitlab.test",
    "map": "http://map.test",
    "wikipedia": "http://wikipedia.test/wiki",
    "classifieds": "http://classifieds.test",
    "homepage": "http://homepage.test",
}
REPLIES = (
    "correct", "incorrect", "partially correct", "Correct.", "It is not correct", "NOT CORRECT", "same", "different",
    "not the same", "Both are the same.", "I can't tell", "", "the same, not different", "GRADE: correct",
)  # fmt: skip
API = {
    "/rest/default/V1/integration/admin/token": (200, "token"),
    "/rest/V1/orders": (200, {"items": [{"increment_id": "000000191"}]}),
}


# --- made-up answers, addresses and texts


def answers(references: Sequence[str], choose: random.Random) -> Iterator[str]:
    """Yields answers similar to these references, right and wrong ones."""
    texts = [text.split(" |OR| ")[0] for text in references] or ["N/A"]
    for text in choose.sample(texts, min(3, len(texts))):
        yield from (
            text, text.upper(), f" {text} ", f"'{text}'", f'"{text}"', f"\"'{text}'\"", f"'\"{text}\"'",
            f"\u2018{text}\u2019",
            f"\u201c{text}\u201d", f"`{text}`", f"{text}.", f"{text}. The end", f"it is {text}. the end",
            f"{text}, or so",
            f"{text}?", f"{text}!", f"({text})", f"[{text}]", f"${text}", f"{text}%", f"#{text}", f"{text}0",
            f"0{text}", f"1{text}", f"{text}.0", f"{text}.00", f"-{text}", f"{text}/5", f"{text}th",
            f"{text}-star", f"x{text}",
            f"{text}x", text[:-1], text[1:], text[::-1], text.replace(" ", "  "), text.replace(" ", "\u00a0"),
            text.replace("-", "\u2013"), text.replace("'", "\u2019"), f"The answer is {text}", f"{text}\n{text}",
            f"{text}\t",
            f"no. {text}. 5 more", f"{text}:", f"{text};", f"a {text} b", f"'{text}", f'{text}"', f"{text}'s",
            f"{text}\u2026", text.casefold(), text.title(), text.encode("utf-8", "replace").decode("latin-1"),
            f"{text} {text[:1]}",
        )  # fmt: skip
        if text:
            spot = choose.randrange(len(text))
            yield text[:spot] + choose.choice("abc019 .'\"éß") + text[spot + 1 :]
    yield from (
        "", " ", "'", '"', "''", "N/A", "n/a", "'N/A'", '" n/a "', "NA", "None", "yes", "No", "0", "Yes and no",
        "\u0130", ", ".join(texts), "; ".join(reversed(texts)), " ".join(texts[:-1]), "\n".join(texts).upper(),
        "".join(texts),
    )  # fmt: skip


def addresses(reference: str, choose: random.Random) -> Iterator[str]:
    """Yields addresses similar to the alternatives of a reference."""
    alternatives = reference.split(" |OR| ")
    other = choose.choice(list(SITES.values()))
    for url in alternatives:
        head, mark, query = url.partition("?")
        rest = head.partition("://")[2]
        parts = query.split("&")
        yield from (
            url, f"{url}/", f"{url}///", head, f"{head}/", f"{head.rstrip('/')}{mark}{query}",
            f"{head}/{mark}{query}",
            f"{head}?{'&'.join(reversed(parts))}", f"{url}&a=b" if mark else f"{url}?a=b", f"{url}#part", f"{head}2",
            f"{head}/12/title", head[:-1], head.upper(), f"https://{rest}{mark}{query}", f"http://x.test/{rest}",
            f"http://x{rest}", f"{head.replace('.test', '.test:81')}{mark}{query}", quote(url, safe=":/?=&+"),
            f"{head}?{parts[0]}=", f"{head}?{parts[0]}&{parts[-1]}x", f"{head};p=1{mark}{query}", f"{other}/x",
            f"{head}?{query.replace('%20', '+').replace('+', '%20')}", f"{head}?{query}&{query}", "about:blank", "",
            f"http://localhost/{rest}", f"{head}?{query.lower()}", url.replace("%5B", "[").replace("%5D", "]"),
        )  # fmt: skip
        if len(alternatives) > 1:
            yield f"{head}?{choose.choice(alternatives).partition('?')[2]}"


def values(references: Sequence[str], choose: random.Random) -> list[Any]:
    """Returns possible values of a locator: similar to these references, and of every type."""
    texts = [each for text in references for each in text.split(" |OR| ")] or ["a"]
    together = " ".join(texts)
    text = choose.choice(texts)
    made: tuple[Any, ...] = (
        together, text, together.upper(), f"<p>{together}</p>", together.replace("&", "&amp;").replace("'", "&#39;"),
        f"&quot;{text}&quot;", f" {text} ", f"'{text}'", text[:-1], f"{text}0", f"0{text}", "", "None",
        " ".join(texts[1:]), f"&amp;lt;{text}", together.replace(" ", "\n"), f"{text}. x", f"{text}, {text}",
        text.title(), f"{text}é",
        "\n".join(reversed(texts)), f"&nbsp;{text}", f"{text}&", 0, 1, 2.5, 1e21, True, False, 12, [text], ["a", None],
        {"a": text}, 1000000, [], [1.5, True], int(text) if text.isdecimal() and text.isascii() else 7,
    )  # fmt: skip
    return [
        *(["value", value] for value in made),
        ["none"], ["error", "TypeError"], ["text", "nan"], ["text", "inf"], ["text", "-0.0"],
    ]  # fmt: skip


def texts_of(evaluation: Any) -> list[str]:
    """Returns the references for the answer."""
    found: list[str] = []
    for value in (evaluation.get("reference_answers") or {}).values():
        found += [value] if isinstance(value, str) else value
    return found


def contents(target: Any) -> list[str]:
    """Returns the references for one target's text."""
    found: list[str] = []
    for value in target["required_contents"].values():
        found += [value] if isinstance(value, str) else value
    return found


# --- cases


def published(python: Path, choose: random.Random, many: int) -> Iterator[tuple[str, Task, dict[str, Any]]]:
    """Yields cases of the published tasks: the evaluator, the task and the case."""
    from pytest_webarena.suites.loading import read_suite_file

    find = (
        "import pathlib, sys; "
        "print(next(path for each in sys.path if (path := pathlib.Path(each, sys.argv[1])).exists()))"
    )
    for dialect, name in (
        ("webarena", "webarena/test.raw.json"),
        ("webarena-lite", "browsergym/webarenalite/test_webarena_lite.raw.json"),
        ("visualwebarena", "visualwebarena/test_raw.json"),
    ):
        path = Path(
            subprocess.run([python, "-c", find, name], capture_output=True, text=True, check=True).stdout.strip()
        )
        rows = {row["task_id"]: row for row in json.loads(path.read_text())}
        for task in read_suite_file(path):
            if (dialect, task.source["task_id"]) == ("webarena-lite", 81):
                continue
            row = json.loads(resolve_placeholders(json.dumps(rows[task.source["task_id"]]), SITES))
            evaluation = row["eval"]
            if "page_image_query" in evaluation["eval_types"]:
                continue
            for kind in dict.fromkeys(evaluation["eval_types"]):
                yield from cases_of(dialect, kind, task, row, choose, many)


def cases_of(
    dialect: str, kind: str, task: Task, row: Any, choose: random.Random, many: int
) -> Iterator[tuple[str, Task, dict[str, Any]]]:
    """Yields cases that vary the input of one evaluator; the others are removed from the task."""
    evaluation = {**row["eval"], "eval_types": [kind], "string_note": row["eval"].get("string_note", "")}
    only = replace(task, checks=tuple(check for check in task.checks if check.kind == kind))
    base = {"dialect": dialect, "intent": row["intent"], "eval": evaluation, "answer": "", "api": API}
    if kind == "string_match":
        found = list(dict.fromkeys(answers(texts_of(evaluation), choose)))
        for answer in choose.sample(found, min(many, len(found))):
            yield f"{dialect} {kind}", only, {**base, "answer": answer, "replies": choose.choices(REPLIES, k=20)}
    elif kind == "url_match":
        found = list(dict.fromkeys(addresses(evaluation["reference_url"], choose)))
        for url in choose.sample(found, min(many, len(found))):
            yield f"{dialect} {kind}", only, {**base, "url": url}
    else:
        evaluation["program_html"] = [
            {key: value for key, value in target.items() if key != "prep_actions"}
            for target in evaluation["program_html"]
        ]
        if any(_unseen(target) for target in evaluation["program_html"]):
            return
        for _ in range(many // 2):
            shown: list[Any] = []
            for target in evaluation["program_html"]:
                shown += _shows(target, choose)
            url = f"{SITES['reddit']}/f/books/12/a-title"
            case = {**base, "shown": shown, "url": url, "replies": choose.choices(REPLIES, k=20)}
            yield f"{dialect} {kind}", only, case


def _unseen(target: Any) -> bool:
    """Returns whether a target's helper function reads more of the page than the stand-in has."""
    name = target["locator"].partition("(")[0]
    return name.startswith("func:") and not name.endswith(("get_query_text", "memeber_role"))


def _shows(target: Any, choose: random.Random) -> list[Any]:
    found = values(contents(target), choose)
    right = choose.random() < 0.4  # otherwise tasks with many targets would hardly ever pass
    text = " ".join(each.split(" |OR| ")[0] for each in contents(target))
    shown = ["value", text] if right else choose.choice(found)
    if not target["locator"].strip() or target["locator"].startswith("func:"):
        shown = shown if shown[0] == "value" and isinstance(shown[1], str) else ["value", text]
    if "memeber_role" in target["locator"]:
        return [["value", 0], shown] if choose.random() < 0.9 else [["error", "x"]]
    return [shown]


def helpers(choose: random.Random) -> Iterator[tuple[Call, dict[str, Any]]]:
    """Yields calls of helper functions, with the answers of the store's API."""
    for url in addresses(f"{SITES['reddit']}/f/books/12/a-title/-/comment/3?a=b", choose):
        yield Call("reddit_get_post_url", (url,)), {}
        yield Call("reddit_get_post_url", (url.replace("/12/a-title", ""),)), {}
        yield Call("reddit_get_post_url", (url.replace("/a-title/-/comment/3", ""),)), {}
    orders: list[Any] = [
        {"items": [{"increment_id": value}]} for value in ("000000191", "7", 12, "abc", None, "1.5", " 8 ")
    ]
    for status, data in ((200, each) for each in (*orders, {"items": []}, {}, [], "<html>")):
        yield Call("shopping_get_latest_order_url"), {**API, "/rest/V1/orders": (status, data)}
    yield Call("shopping_get_latest_order_url"), {**API, "/rest/V1/orders": (500, orders[0])}
    one = {"nickname": "Ann", "detail": "Fine", "ratings": [{"rating_name": "Rating", "percent": 80}]}
    lists: list[Any] = [
        [], [one], [one, {**one, "nickname": "Bob & Co", "ratings": [{"rating_name": "Rating", "percent": 20.5}]}],
        [{**one, "ratings": [{"rating_name": "Price", "percent": 1}]}], [{**one, "ratings": []}], {"message": "no"},
        [{}], "<html>",
    ]  # fmt: skip
    for data in lists:
        for name in ("author", "rating"):
            call = Call(f"shopping_get_sku_latest_review_{name}", ("B07",))
            for status in (200, 404):
                yield call, {**API, "/rest/V1/products/B07/reviews": (status, data)}


# --- cases of our own, for the unit tests

OWN_SPECS: tuple[tuple[str, Any], ...] = (
    ("string_match", {"exact_match": "Kettle"}),
    ("string_match", {"exact_match": "It's 5 o'clock"}),
    ("string_match", {"must_include": ["0"]}),
    ("string_match", {"must_include": ["7"]}),
    ("string_match", {"must_include": ["x"]}),
    ("string_match", {"must_include": ["12.50"]}),
    ("string_match", {"must_include": ["Yes"]}),
    ("string_match", {"must_include": ["Café Noir", "3.2km"]}),
    ("string_match", {"must_include": ["1", "2"]}),
    ("string_match", {"must_include": ["red |OR| blue"]}),
    ("string_match", {"fuzzy_match": ["It is light", "It is cheap"]}),
    ("string_match", {"must_include": ["Ann"], "fuzzy_match": ["5 minutes"]}),
    ("string_match", {"fuzzy_match": "N/A", "note": "There is no such shop"}),
    ("string_match", {"must_include": ["teal"], "dialect": "visualwebarena"}),
    ("string_match", {"must_include": ["12 |OR| a dozen"], "dialect": "visualwebarena"}),
    ("string_match", {"must_exclude": ["teal", "dark red"], "dialect": "visualwebarena"}),
    ("string_match", {"one_of": ["round", "oval"], "dialect": "visualwebarena"}),
    ("string_match", {"required_values": [">= 3", "< 10 |OR| == 40"], "dialect": "visualwebarena"}),
    ("url_match", {"reference_url": "__REDDIT__/f/tea"}),
    ("url_match", {"reference_url": "__REDDIT__/f/tea |OR| __REDDIT__/f/coffee?sort=new"}),
    ("url_match", {"reference_url": "__GITLAB__/a/b/-/issues/?label%5B%5D=not+now&state=opened"}),
    ("url_match", {"reference_url": "__MAP__/search?query=tea%20house"}),
    ("url_match", {"reference_url": "__SHOPPING__/tea/", "dialect": "visualwebarena"}),
    ("url_match", {"reference_url": "__SHOPPING__/tea", "note": "GOLD in PRED", "dialect": "visualwebarena"}),
    ("program_html", [{"url": "last", "locator": "", "required_contents": {"must_include": ["tea", "a |OR| b"]}}]),
    ("program_html", [{"url": "last", "locator": "document.title", "required_contents": {"exact_match": "12"}}]),
    ("program_html", [{"url": "last", "locator": "document.title", "required_contents": {"exact_match": "True"}}]),
    ("program_html", [{"url": "last", "locator": "document.title", "required_contents": {"exact_match": "None"}}]),
    ("program_html", [{"url": "last", "locator": "document.title", "required_contents": {"must_include": ["a & b"]}}]),
)  # fmt: skip


def own(choose: random.Random, many: int) -> Iterator[tuple[str, Task, dict[str, Any]]]:
    """Yields cases with references of our own."""
    for kind, spec in OWN_SPECS:
        form = {kind: spec}
        task = make_task(f"intent: What is it?\nsites: {json.dumps(list(SITES))}\nchecks: [{json.dumps(form)}]")
        dialect = spec.get("dialect", "webarena") if isinstance(spec, dict) else "webarena"
        evaluation: dict[str, Any] = {"eval_types": [kind]}
        if kind == "string_match":
            keys = ("exact_match", "must_include", "must_exclude", "one_of", "required_values", "fuzzy_match")
            evaluation |= {"reference_answers": {key: spec[key] for key in keys if key in spec}}
            evaluation["string_note"] = spec.get("note", "")
        elif kind == "url_match":
            evaluation["reference_url"] = spec["reference_url"]
            evaluation |= {"url_note": spec["note"]} if "note" in spec else {}
        else:
            evaluation["program_html"] = spec
        row = json.loads(resolve_placeholders(json.dumps({"intent": "What is it?", "eval": evaluation}), SITES))
        for _, only, case in cases_of(dialect, kind, task, row, choose, many):
            yield json.dumps(form), only, case
