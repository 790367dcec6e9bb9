"""Holds our ``verified`` grading against the package ``webarena-verified``, on thousands of made-up trials.

    python scripts/agree_verified.py [--seed 1] [--tasks 0-811] [--show 5]

For each task of the package's data set: its expected response and requests, and mutations of both (types, order, near
misses, formats of dates, amounts and durations, statuses, methods, paths, parameters, encodings, later and earlier
events). One way they go as the package's users hand them in: a file with the answer, a file with the HAR, its public
API. The other way they go as we record them: requests as the gateway logs them, evidence through JSON, our judge.
The HAR of the first way is written here, not by `pytest_webarena.har`, so that a mistake there shows.
"""

from __future__ import annotations

import argparse
import base64
import collections
import copy
import json
import logging
import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode, urljoin

from pytest_webarena.checks import judge
from pytest_webarena.checks.grading import VERIFIED
from pytest_webarena.checks.verified import VerifiedSpec
from pytest_webarena.checks.verified.package import evaluate
from pytest_webarena.evidence import Evidence, RequestRecord
from pytest_webarena.tasks.model import Check, Task

SITES = {
    "shopping": "http://shopping.test",
    "shopping_admin": "http://shopping-admin.test/admin",
    "reddit": "http://reddit.test",
    "gitlab": "http://gitlab.test",
    "map": "http://map.test",
    "wikipedia": "http://wikipedia.test/wikipedia_en_all_maxi_2022-05/A/User:The_other_Kiwix_guy/Landing",
    "homepage": "http://homepage.test",
}
HTML = "text/html,application/xhtml+xml,*/*;q=0.8"
SECURE = (("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-User", "?1"))


@dataclass(frozen=True, kw_only=True)
class Event:
    """One exchange, before it is written down in either form."""

    method: str = "GET"
    url: str = ""
    headers: tuple[tuple[str, str], ...] = (("Accept", HTML),)
    status: int | None = 200
    kind: str = ""
    body: bytes = b""
    got: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)
    reply: str | None = None
    refused: bool = False

    @property
    def sent_headers(self) -> tuple[tuple[str, str], ...]:
        return (*self.headers, *([("Content-Type", self.kind)] if self.kind else []))

    def record(self, at: int) -> RequestRecord:
        """As the gateway logs it."""
        try:
            text: str | None = self.body.decode()
        except UnicodeDecodeError:
            text = "base64:" + base64.b64encode(self.body).decode()
        if text is not None and (not text or "\0" in text):
            text = ("base64:" + base64.b64encode(self.body).decode()) if text else None
        return RequestRecord(
            time=1.7e9 + at,
            method=self.method,
            url=self.url,
            status=403 if self.refused else self.status,
            refused="x is not one of this task's sites" if self.refused else "",
            request_headers=self.sent_headers,
            request_body=text,
            request_bytes=len(self.body),
            response_headers=self.got,
            response_bytes=len((self.reply or "").encode()),
            response_body=self.reply,
        )

    def entry(self) -> dict[str, Any]:
        """As a browser writes it into a HAR."""
        lost = self.refused or self.status is None
        got = () if self.refused else self.got
        request: dict[str, Any] = {
            "method": self.method,
            "url": self.url,
            "headers": [{"name": name, "value": value} for name, value in self.sent_headers],
        }
        if self.body:
            request["postData"] = {"mimeType": self.kind, "text": self.body.decode("utf-8", "replace")}
        cookies = [value.split(";")[0].partition("=") for name, value in got if name == "Set-Cookie"]
        moved = next((value for name, value in got if name == "Location"), "")
        content = {"mimeType": next((value for name, value in got if name == "Content-Type"), "x-unknown")}
        if self.reply is not None:
            content["text"] = self.reply
        return {
            "request": request,
            "response": {
                "status": -1 if lost else self.status,
                "headers": [{"name": name, "value": value} for name, value in got],
                "cookies": [{"name": name, "value": value} for name, _, value in cookies],
                "content": content,
                "redirectURL": urljoin(self.url, moved) if moved else "",
            },
        }


@dataclass(frozen=True, kw_only=True)
class Case:
    what: str
    answer: str | None
    events: tuple[Event, ...]


@dataclass
class Tally:
    cases: int = 0
    agreed: int = 0
    status: collections.Counter[str] = field(default_factory=collections.Counter)


# --- answers ---


def expected_response(evaluator: dict[str, Any]) -> dict[str, Any]:
    """One response that fits; alternatives are resolved to the first."""
    wanted = copy.deepcopy(evaluator["expected"])
    data = wanted.get("retrieved_data")
    if isinstance(data, list):
        wanted["retrieved_data"] = [item[0] if isinstance(item, list) and item else item for item in data]
    wanted["retrieved_data"] = _literal(wanted.get("retrieved_data"))
    return {**wanted, "task_type": wanted["task_type"].upper()}


def _literal(value: Any) -> Any:
    """Patterns as a text that may match them; placeholders of hosts as hosts."""
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
    """A text that a simple regular expression may match."""
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


# --- requests ---


def matching(evaluator: dict[str, Any]) -> Event:
    """An exchange that fits, as far as that can be guessed from the expectation."""
    wanted = evaluator["expected"]
    url = wanted["url"][0] if isinstance(wanted["url"], list) else wanted["url"]
    url = rendered(unpattern(url))
    if not url.startswith("http"):
        url = "http://map.test/" + url.lstrip("/")
    if params := wanted.get("query_params"):
        pairs = [(key, unpattern(str(v[0] if isinstance(v, list | tuple) and v else v))) for key, v in params.items()]
        url += ("&" if "?" in url else "?") + urlencode(pairs)
    headers = [("Accept", HTML)]
    for name, value in (wanted.get("headers") or {}).items():
        headers.append((name.title(), rendered(unpattern(value if isinstance(value, str) else value[0]))))
    method = wanted.get("http_method", "GET")
    status = wanted.get("response_status", 200)
    event = Event(method=method, url=url, headers=tuple(headers), status=None if status == -1 else status)
    if 300 <= status < 400:
        event = replace(event, got=(*event.got, ("Location", "/done")))
    if data := wanted.get("post_data"):
        event = with_body(event, data)
    if content := wanted.get("response_content"):
        reply = json.dumps(nested({key: _first(value) for key, value in content.items()}))
        event = replace(event, got=(("Content-Type", "application/json"),), reply=reply)
    for name, value in (wanted.get("response_cookies") or {}).items():
        cookie = quote(json.dumps([{"text": unpattern(_first(value))}])) if value else ""
        event = replace(event, got=(*event.got, ("Set-Cookie", f"{name}={cookie}; Path=/; HttpOnly")))
    return event


def _first(value: Any) -> Any:
    value = value[0] if isinstance(value, list) and value else value
    return rendered(unpattern(value)) if isinstance(value, str) else value


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    """JSON in which paths like ``$.a[0].b`` lead to their values."""
    result: dict[str, Any] = {}
    for key, value in flat.items():
        if not key.startswith("$"):
            result[key] = value
            continue
        parts: list[Any] = [int(i) if i else name for name, i in re.findall(r"([A-Za-z_][\w-]*)|\[(\d+)\]", key)]
        place: Any = result
        for part, following in zip(parts, [*parts[1:], None], strict=True):
            fresh: Any = value if following is None else [] if isinstance(following, int) else {}
            if isinstance(part, int):
                while len(place) <= part:
                    place.append(copy.deepcopy(fresh) if following is not None else None)
                if following is None:
                    place[part] = value
            elif following is None:
                place[part] = value
            else:
                place.setdefault(part, fresh)
            place = place[part]
    return result


def with_body(event: Event, data: dict[str, Any], form: str = "") -> Event:
    first = {key: _first(value) for key, value in data.items()}
    paths = any(key.startswith("$") for key in first)
    form = form or ("json" if paths else "form")
    if form == "json":
        return replace(event, kind="application/json", body=json.dumps(nested(first)).encode())
    if form == "multipart":
        lines = [f'--XX\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in first.items()]
        body = "".join([*lines, "--XX--\r\n"]).encode()
        return replace(event, kind="multipart/form-data; boundary=XX", body=body)
    pairs = [(key, "" if value is None else str(value)) for key, value in first.items()]
    return replace(event, kind="application/x-www-form-urlencoded; charset=UTF-8", body=urlencode(pairs).encode())


NOISE = (
    Event(url="http://shopping.test/static/a.css", headers=(("Accept", "text/css"),)),
    Event(url="http://shopping.test/pub/x.png", headers=(("Accept", "image/*"),)),
    Event(url="http://example.com/", refused=True),
)


def traffic(task: dict[str, Any], dice: random.Random) -> Iterator[tuple[str, tuple[Event, ...]]]:
    start = Event(url=rendered(task["start_urls"][0]), headers=(("Accept", HTML), *SECURE))
    specs = [each for each in task["eval"] if each["evaluator"] == "NetworkEventEvaluator"]
    fits = [matching(each) for each in specs]
    good = tuple(event for event, each in zip(fits, specs, strict=True) if not each.get("should_not_exist"))
    yield "right", (start, *good)
    yield "right among others", (start, NOISE[0], *good, NOISE[1])
    yield "nothing", (start,)
    if not specs:
        return
    yield "a later page", (start, *good, Event(url=start.url + "/other", headers=(("Accept", HTML), *SECURE)))
    yield "a later refused page", (start, *good, NOISE[2])
    yield "turned", (*good[::-1], start)
    yield "twice", (start, *good, *good)
    yield "all, forbidden ones too", (start, *fits)
    at = dice.randrange(len(specs))
    for what, changed in perturbed(fits[at], specs[at], dice):
        rest = [event for index, event in enumerate(fits) if index != at and not specs[index].get("should_not_exist")]
        yield what, (start, *rest, *changed)


def perturbed(event: Event, spec: dict[str, Any], dice: random.Random) -> Iterator[tuple[str, tuple[Event, ...]]]:
    for status in (200, 201, 204, 301, 302, 400, 403, 404, 500, None):
        yield "status", (replace(event, status=status),)
    for method in ("GET", "POST", "PUT", "DELETE", event.method.lower()):
        yield "method", (replace(event, method=method),)
    base, _, query = event.url.partition("?")
    host = "/".join(event.url.split("/")[:3])
    for url in (
        base + "/" + (f"?{query}" if query else ""),
        base.rstrip("/"),
        event.url + ("&" if query else "?") + "zz=1",
        event.url + "#part",
        event.url.replace("http:", "https:"),
        event.url.replace(host, host + ":8080"),
        event.url.replace(host, "http://example.com"),
        base + "x",
        base.upper(),
        event.url + "&",
        quote(base, safe=":/") + f"?{query}",
        "?".join([base, "&".join(reversed(query.split("&")))]),
        "?".join([base, "&".join(query.split("&")[1:])]),
        unquote(event.url),
        event.url.replace("%20", "+"),
        event.url + "&" + query,
        base + "/index/?" + query,
    ):
        yield "address", (replace(event, url=url),)
    yield "right, then wrong", (event, replace(event, status=500))
    yield "wrong, then right", (replace(event, status=500), event)
    yield "refused", (replace(event, refused=True),)
    yield "secure", (replace(event, headers=(*event.headers, *SECURE)),)
    yield "fetched", (replace(event, headers=(("Accept", "*/*"), *event.headers[1:])),)
    yield "framed", (replace(event, headers=(*event.headers, ("Sec-Fetch-User", "?1"), ("Sec-Fetch-Dest", "iframe"))),)
    yield "no headers", (replace(event, headers=()),)
    for name, value in (spec["expected"].get("headers") or {}).items():
        kept = tuple(pair for pair in event.headers if pair[0].lower() != name.lower())
        yield "header", (replace(event, headers=(*kept, (name.lower(), "http://elsewhere.test/"))),)
        yield "header", (replace(event, headers=(*kept, (name.upper(), rendered(unpattern(_first(value))) + "?a=1"))),)
    for name in spec["expected"].get("response_cookies") or {}:
        yield "cookie", (replace(event, got=(("Set-Cookie", f"{name}=%22nothing%22"),)),)
        yield "cookie", (replace(event, got=(("Set-Cookie", f"{name}X=1"), *event.got)),)
    if content := spec["expected"].get("response_content"):
        flat = {key: _first(value) for key, value in content.items()}
        for said in ({}, {**flat, next(iter(flat)): "else"}, dict(list(flat.items())[:1]), {**flat, "more": 1}):
            yield "reply", (replace(event, reply=json.dumps(nested(said))),)
        yield "reply", (replace(event, reply=json.dumps([nested(flat)])),)
        yield "reply", (replace(event, reply="{"),)
        yield "reply", (replace(event, reply=None),)
    data = spec["expected"].get("post_data")
    if not data:
        return
    for form in ("form", "json", "multipart"):
        yield f"as {form}", (with_body(event, data, form),)
    for key in dice.sample(list(data), min(3, len(data))):
        rest = {name: value for name, value in data.items() if name != key}
        yield "field missing", (with_body(event, rest),)
        value = _first(data[key])
        for other in (
            "",
            f"{value}x",
            f" {value} ",
            str(value).upper(),
            f"{value}.0",
            str(value).replace(" ", "\u00a0"),
            "<p>x</p>",
        ):
            yield "field", (with_body(event, {**data, key: other}),)
    yield "more fields", (with_body(event, {**data, "extra": "1"}),)
    yield "no body", (replace(event, body=b"", kind=""),)
    yield "other type", (replace(event, kind="text/plain"),)
    yield "bytes", (replace(event, body=b"\xff\xfe\0" + event.body),)
    yield "broken", (replace(event, body=event.body[: len(event.body) // 2]),)
    yield "right, then another", (event, with_body(event, dict.fromkeys(data, "other")))
    yield "another, then right", (with_body(event, dict.fromkeys(data, "other")), event)


def cases(task: dict[str, Any], dice: random.Random) -> Iterator[Case]:
    right = json.dumps(expected_response(task["eval"][0]))
    _, calm = next(traffic(task, dice))
    for what, answer in responses(task, dice):
        yield Case(what=f"response: {what}", answer=answer, events=calm)
    for what, events in traffic(task, dice):
        yield Case(what=f"requests: {what}", answer=right, events=events)


# --- both ways ---


def ours(task: dict[str, Any], case: Case) -> tuple[float | None, str]:
    spec = VerifiedSpec(sites=tuple(task["sites"]), eval=tuple(task["eval"]), task_id=task["task_id"])
    evidence = Evidence(
        answer=case.answer,
        stop_reason="answered",
        requests=tuple(event.record(at) for at, event in enumerate(case.events)),
        sites={site: SITES[site] for site in task["sites"]},
        answer_format="verified",
    )
    evidence = Evidence.from_json(json.loads(json.dumps(evidence.to_json())))
    check = Check(path="checks[0]", kind="verified", spec=spec)
    verdict = judge(Task(id="t", intent="", sites=tuple(task["sites"]), checks=(check,)), evidence, grading=VERIFIED)
    return verdict.score, evaluate(spec, evidence).status


class Theirs:
    def __init__(self, folder: Path) -> None:
        from webarena_verified.api import WebArenaVerified

        config = folder / "config.json"
        environments = {f"__{site.upper()}__": {"urls": [url]} for site, url in SITES.items()}
        config.write_text(json.dumps({"environments": environments}))
        self.api = WebArenaVerified(config=config)
        self.tasks: list[dict[str, Any]] = json.loads(self.api.config.test_data_file.read_text())
        self.answer, self.har = folder / "agent_response.json", folder / "network.har"

    def __call__(self, task_id: int, case: Case) -> tuple[float, str]:
        self.answer.write_text("null" if case.answer is None else case.answer)
        self.har.write_text(json.dumps({"log": {"entries": [event.entry() for event in case.events]}}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as on its command line; the test suite makes errors of them
            result = self.api.evaluate_task(task_id=task_id, agent_response=self.answer, network_trace=self.har)
        return result.score, str(result.status)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", default="0-811", help="FIRST-LAST[/STEP]")
    parser.add_argument("--show", type=int, default=5, help="disagreements to print")
    options = parser.parse_args()
    for name in ("WebArena-Verified", "webarena_verified"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    span, _, step = options.tasks.partition("/")
    first, _, last = span.partition("-")
    tallies: dict[str, Tally] = collections.defaultdict(Tally)
    began, shown = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        theirs = Theirs(Path(folder))
        tasks = theirs.tasks[int(first) : int(last or first) + 1 : int(step or 1)]
        for task in tasks:
            dice = random.Random(f"{options.seed}/{task['task_id']}")
            for case in cases(task, dice):
                score, status = ours(task, case)
                their_score, their_status = theirs(task["task_id"], case)
                tally = tallies[case.what]
                tally.cases += 1
                tally.status[their_status] += 1
                if (score, status) == (their_score, their_status):
                    tally.agreed += 1
                elif shown < options.show:
                    shown += 1
                    print(
                        f"task {task['task_id']}, {case.what}: ours {score} {status}, "
                        f"theirs {their_score} {their_status}"
                    )
                    print("  answer:", case.answer, "\n  events:", *case.events[-2:])
    print(f"{'kind of case':34} {'agreed':>14}  success  failure  error")
    total = Tally()
    for what, tally in sorted(tallies.items()):
        counts = [tally.status[name] for name in ("success", "failure", "error")]
        print(f"{what:34} {f'{tally.agreed}/{tally.cases}':>14} {counts[0]:8} {counts[1]:8} {counts[2]:6}")
        total.cases += tally.cases
        total.agreed += tally.agreed
        total.status += tally.status
    counts = [total.status[name] for name in ("success", "failure", "error")]
    print(f"{'all':34} {f'{total.agreed}/{total.cases}':>14} {counts[0]:8} {counts[1]:8} {counts[2]:6}")
    print(f"{len(tasks)} tasks, seed {options.seed}, {time.monotonic() - began:.0f} s")
    return 0 if total.agreed == total.cases else 1


if __name__ == "__main__":
    sys.exit(main())
