"""Generates requests for `agree_verified`: the requests that a task expects, and mutations of them."""

from __future__ import annotations

import base64
import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote, urlencode, urljoin

from pytest_webarena.evidence import RequestRecord
from scripts.verified_answers import rendered, unpattern

__all__ = ["Event", "traffic"]

HTML = "text/html,application/xhtml+xml,*/*;q=0.8"
SECURE = (("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-User", "?1"))


@dataclass(frozen=True, kw_only=True)
class Event:
    """One exchange, before it is converted to either form."""

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
        """Returns the exchange as the gateway logs it."""
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
        """Returns the exchange as a browser writes it into a HAR."""
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


def matching(evaluator: dict[str, Any]) -> Event:
    """Returns an exchange that fits, as far as that can be guessed from the expectation."""
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
    """Returns JSON data in which paths like ``$.a[0].b`` lead to their values."""
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
        for parts in ({}, {**flat, next(iter(flat)): "else"}, dict(list(flat.items())[:1]), {**flat, "more": 1}):
            yield "reply", (replace(event, reply=json.dumps(nested(parts))),)
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
