"""Generates answers for `agree_verified`: a task's expected response, and mutations of it."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["SITES", "expected_response", "rendered", "responses", "unpattern"]

SITES = {
    "shopping": "http://shopping.test",
    "shopping_admin": "http://shopping-admin.test/admin",
    "reddit": "http://reddit.test",
    "gitlab": "http://gitlab.test",
    "map": "http://map.test",
    "wikipedia": "http://wikipedia.test/wikipedia_en_all_maxi_2022-05/A/User:The_other_Kiwix_guy/Landing",
    "homepage": "http://homepage.test",
}


def expected_response(evaluator: dict[str, Any]) -> dict[str, Any]:
    """Returns one response that fits; of alternatives it takes the first."""
    wanted = copy.deepcopy(evaluator["expected"])
    data = wanted.get("retrieved_data")
    if isinstance(data, list):
        wanted["retrieved_data"] = [item[0] if isinstance(item, list) and item else item for item in data]
    wanted["retrieved_data"] = _literal(wanted.get("retrieved_data"))
    return {**wanted, "task_type": wanted["task_type"].upper()}


def _literal(value: Any) -> Any:
    """Replaces patterns by a text that may match them, and host placeholders by hosts."""
    if isinstance(value, list):
        return [_literal(item) for item in value]
    if isinstance(value, dict):
        return {key: _literal(item) for key, item in value.items()}
    if isinstance(value, str):
        value = re.sub(r"git@__SSH_HOST__:(.*)", r"ssh://git@gitlab.test:2222/\1", value)
        return rendered(unpattern(value))
    return value


def rendered(text: str) -> str:
    for site, url in sorted(SITES.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(f"__{site.upper()}__", url)
    return text


def unpattern(text: str) -> str:
    """Returns a text that a simple regular expression may match."""
    if not (text.startswith("^") and text.endswith("$")):
        return text
    text = text[1:-1]
    words = re.findall(r"\(\?=\.\*(\w+)\)", text)
    text = re.sub(r"\(\?[=!<][^()]*(?:\([^()]*\)[^()]*)*\)", "", text)
    text = re.sub(r"\((?:\?:)?([^()|]*)[^()]*\)[?*]?", r"\1", text)
    text = re.sub(r"\[[^\]]*\][+*?]?", " ", text).replace("\\s+", " ").replace("\\s*", "").replace("\\d+", "1")
    text = re.sub(r"\.[*+]\??", " ".join(words) if words else "x", text, count=1)
    text = re.sub(r"\.[*+]\??", "y", text)
    return re.sub(r"\\(.)", r"\1", text).replace("?", "")


def responses(task: dict[str, Any], dice: random.Random) -> Iterator[tuple[str, str | None]]:
    right = expected_response(task["eval"][0])
    dumps = json.dumps
    yield "right", dumps(right)
    yield "right, pretty", dumps(right, indent=2, ensure_ascii=False)
    yield "right, fenced", f"Here it is:\n```json\n{dumps(right)}\n```\nDone."
    yield "right, bare fence", f"```\n{dumps(right)}\n```"
    yield (
        "right, lower case",
        dumps({**right, "task_type": right["task_type"].lower(), "status": right["status"].lower()}),
    )
    yield "right, old key", dumps({("performed_operation" if k == "task_type" else k): v for k, v in right.items()})
    yield "right, more keys", dumps({**right, "confidence": 1, "error_details": "none"})
    yield "right, spaces", dumps({**right, "status": f" {right['status']} "})
    yield "no answer", None
    for text in (
        "",
        "N/A",
        "done",
        "null",
        "[]",
        "42",
        '{"task_type": "RETRIEVE"',
        "{}",
        '{"status": "SUCCESS"}',
        "[1, 2]",
    ):
        yield "no response", text
    for status in ("SUCCESS", "NOT_FOUND_ERROR", "UNKNOWN_ERROR", "WRONG", "", None, 3):
        yield "status", dumps({**right, "status": status})
    for kind in ("RETRIEVE", "MUTATE", "NAVIGATE", "retrieve ", None):
        yield "task type", dumps({**right, "task_type": kind})
    without = {key: value for key, value in right.items() if key != "retrieved_data"}
    yield "no data", dumps(without)
    data: Any
    for data in (None, [], "", {}, [None], [[]], [""], 0, [0], "text", ["text"], {"a": 1}, [{"a": 1}], False):
        yield "other data", dumps({**right, "retrieved_data": data})
    data = right.get("retrieved_data")
    if not isinstance(data, list) or not data:
        return
    for what, changed in shuffled(data, dice):
        yield what, dumps({**right, "retrieved_data": changed}, default=str)
    for index in dice.sample(range(len(data)), min(2, len(data))):
        for what, value in near(data[index], dice):
            changed = [*data[:index], value, *data[index + 1 :]]
            yield what, dumps({**right, "retrieved_data": changed}, default=str)
    alternatives = task["eval"][0]["expected"].get("retrieved_data") or []
    for index, item in enumerate(alternatives[: len(data)]):
        for other in item[1:] if isinstance(item, list) else ():
            yield (
                "alternative",
                dumps({**right, "retrieved_data": [*data[:index], _literal(other), *data[index + 1 :]]}),
            )


def shuffled(data: list[Any], dice: random.Random) -> Iterator[tuple[str, Any]]:
    yield "reversed", data[::-1]
    yield "one less", data[:-1]
    yield "one twice", [*data, data[0]]
    yield "one more", [*data, "something else"]
    yield "nested", [data]
    yield "lone", data[0]
    yield "joined", ", ".join(map(str, data))
    mixed = list(data)
    dice.shuffle(mixed)
    yield "shuffled", mixed
    if all(isinstance(item, dict) for item in data):
        yield "key dropped", [dict(list(item.items())[:-1]) for item in data]
        yield "key added", [{**item, "note": "x"} for item in data]
        yield "key renamed", [{f"{key}_": value for key, value in item.items()} for item in data]
        yield "keys turned", [dict(reversed(list(item.items()))) for item in data]


def near(value: Any, dice: random.Random) -> Iterator[tuple[str, Any]]:
    other: Any
    if isinstance(value, dict):
        key = dice.choice(list(value)) if value else None
        for what, changed in near(value[key], dice) if key is not None else ():
            yield f"{what} in an object", {**value, key: changed}
        return
    if isinstance(value, bool):
        for other in (not value, "yes", "No", "true", "FALSE", 1, 0, "on", "maybe"):
            yield "boolean", other
        return
    if isinstance(value, int | float):
        for other in (
            str(value),
            f"${value}",
            f"{value:,}",
            f"${value:,.2f}",
            f" {value} ",
            f"USD {value}",
            value + 0.05,
            value - 0.09,
            value + 0.11,
            value + 1,
            -value,
            value * 10,
            f"{value}.0",
            f"{value} items",
            f"{value:.2f}",
            f"{value}€",
            "many",
            "seven",
            "twenty one",
            f"{value}%",
        ):
            yield "number", other
        return
    if not isinstance(value, str):
        return
    for other in (
        value.upper(),
        value.lower(),
        value.title(),
        f" {value} ",
        f'"{value}"',
        f"'{value}'",
        f"{value}.",
        f"“{value}”",
        value.replace("-", " "),
        value.replace(" ", "  "),
        value.replace(" ", "_"),
        value.replace("e", "é"),
        value[:-1],
        value + "s",
        value[1:],
        value + "!",
        f"The answer is {value}",
        value.replace("-", "–"),
        value.replace("'", "\u2019"),
        value.replace(" ", "\u00a0"),
        "\uff46" + value[1:],
        "",
        value.replace(",", ""),
        value.replace("&", "and"),
    ):
        yield "text", other
    if time_of_day := re.fullmatch(r"(\d+):(\d\d)(?::(\d\d))?", value):
        hours, minutes, seconds = (int(part or 0) for part in time_of_day.groups())
        for shift in (-4, -3, -1, 1, 2, 3, 4, 20):
            total = max(0, hours * 60 + minutes + shift)
            yield "duration", f"{total // 60:02d}:{total % 60:02d}:{seconds:02d}"
        yield "duration", f"{hours}h {minutes}min"
        yield "duration", f"{hours * 60 + minutes} minutes"
        yield "duration", f"{hours} hours {minutes} minutes {seconds} seconds"
        yield "duration", hours * 3600 + minutes * 60 + seconds
    if distance := re.fullmatch(r"([\d.]+) ?(km|m|mi|miles)", value):
        amount = float(distance[1])
        for other in (
            amount * 1000,
            f"{amount * 1000:g} m",
            f"{amount:g}{distance[2]}",
            f"{amount + 0.1:g} km",
            f"{amount * 0.621371:.2f} miles",
            f"{amount:g} kilometers",
            f"{amount:g}",
        ):
            yield "distance", other
    if re.search(r"\d{4}", value):
        from dateutil import parser

        try:
            date = parser.parse(value)
        except (ValueError, OverflowError):
            return
        for form in (
            "%Y-%m-%d",
            "%m/%d/%Y",
            "%d/%m/%Y",
            "%B %d, %Y",
            "%d %b %Y",
            "%b %Y",
            "%Y",
            "%Y%m%d",
            "%B %Y",
            "%m/%d/%y",
        ):
            yield "date", date.strftime(form)
    if value.startswith(("http://", "https://", "ssh://")):
        for other in (
            value + "/",
            value.replace("http:", "https:"),
            value + "?a=1",
            value + "#x",
            value.upper(),
            value.replace(".test", ".example"),
            value.partition("://")[2],
        ):
            yield "url", other
