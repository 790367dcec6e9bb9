"""One request through the ``openai`` SDK: returns the answer as plain data, or raises `RequestFault`."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.error_bodies import read_error
from pytest_webarena.llm.rejections import Rejection, is_prompt_filtered, rejection_of
from pytest_webarena.llm.reply_values import arguments_of, text_of
from pytest_webarena.llm.retries import retry_after
from pytest_webarena.secrets import scrub

__all__ = ["LARGEST_ANSWER", "RequestFault", "greet", "send"]

_Events = Sequence[Mapping[str, Any]]

LARGEST_ANSWER = 32 * 1024 * 1024
"""Bytes of an answer, at most; a longer one fails."""

_DEEPEST = 100
"""Levels of an answer's JSON, at most. No reply has a tenth of them, and the code that reads one is recursive."""

_PAGE = 20_000
"""Characters of an HTML page that are read for its text."""

_GREETING = 10.0
"""Seconds to wait for an answer to a connection check."""

_MESSAGE_LENGTH = 300
"""Characters of an endpoint's error message that are passed on."""


class RequestFault(Exception):
    """A request without a reply. ``str()`` says why."""

    def __init__(
        self,
        text: str,
        *,
        again: bool = True,
        after: float | None = None,
        billed: bool = False,
        status: int = 0,
        rejection: Rejection = "",
        answer: Mapping[str, Any] | None = None,
        malformed: str | None = None,
    ) -> None:
        super().__init__(scrub(text))
        self.again = again and not rejection
        """Whether the same request may succeed later."""
        self.after = after
        """Seconds that the endpoint asks to wait."""
        self.billed = billed
        """Whether the endpoint may have done the work, so that the money may be spent."""
        self.status = status
        """HTTP status of the answer, or the one that an error in it reports; 0 when none came."""
        self.rejection = rejection
        """What the endpoint rejects in the request's content; empty when that is not the cause."""
        self.malformed = malformed
        """What the model wrote, where the endpoint failed because it could not parse the model's tool call."""
        self.answer = answer
        """An answer with HTTP 200 that is not a reply; it may report what the request used."""
        self.so_far: Mapping[str, Any] = {}
        """The latest usage that a broken stream reported, in the form of an answer."""


def send(endpoint: Endpoint, body: Mapping[str, Any], *, timeout: float, now: Callable[[], float]) -> Mapping[str, Any]:
    """Post ``body`` and return the answer's JSON; the parts of a streamed answer are joined. Raises `RequestFault`.

    ``timeout`` in seconds limits the whole exchange, also with an endpoint that sends single bytes now and then.
    """
    client, body = _sdk(endpoint.url, endpoint.key()), _well_formed(body)
    resource = client.chat.completions if endpoint.api == "chat" else client.responses
    first = "messages" if endpoint.api == "chat" else "input"
    rest = {name: value for name, value in body.items() if name not in ("model", first)}
    if endpoint.stream and endpoint.api == "chat":
        rest["stream_options"] = {"include_usage": True}
    ends = now() + timeout
    arguments = {"model": body["model"], first: body[first], "extra_body": rest, "timeout": timeout}
    if endpoint.stream:
        rest["stream"] = True
    content, streamed = bytearray(), False
    try:
        with _faults(now), resource.with_streaming_response.create(**arguments) as answer:
            streamed = "event-stream" in answer.headers.get("content-type", "")
            for chunk in answer.iter_bytes():
                content += chunk
                if len(content) > LARGEST_ANSWER:
                    raise RequestFault(f"an answer of more than {LARGEST_ANSWER} bytes", again=False, billed=True)
                if now() > ends:
                    raise RequestFault("the answer did not end in time", billed=True)
        if streamed:
            return _joined(bytes(content), _joined_chat if endpoint.api == "chat" else _joined_response)
    except RequestFault as fault:
        if streamed:
            events, _ = _events(bytes(content))
            fault.so_far = {"model": _model(events), "usage": _latest_usage(events)}
        raise
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        shown = bytes(content[:80]).decode("utf-8", "replace")
        raise RequestFault(f"expected JSON, got {shown!r}", billed=True) from None
    if not isinstance(data, dict):
        if isinstance(data, list) and (errors := [each for each in map(_error_of, data) if each is not None]):
            raise _error_in_answer(errors, billed=False)
        raise RequestFault(f"expected a JSON object, got {type(data).__name__}", billed=True)
    if (reported := _error_of(data)) is not None:
        raise _error_in_answer(reported, billed=False, answer=data)
    if _is_blocked([data]):
        raise RequestFault("no reply to a prompt that was filtered", billed=True, rejection="filtered", answer=data)
    if _is_deep(data):
        raise RequestFault(f"expected a reply, got JSON nested deeper than {_DEEPEST} levels", billed=True, answer=data)
    return data


def greet(endpoint: Endpoint) -> None:
    """Request the list of models in the same way as later requests: same proxies, same certificates.

    Raises `RequestFault` when no connection can be made. Any answer, or none in time, shows that a server is there.
    """
    import openai

    client = _sdk(endpoint.url, endpoint.key())
    try:
        client.with_options(timeout=_GREETING).models.with_raw_response.list()
    except openai.APITimeoutError as error:
        if type(error.__cause__).__name__ == "ConnectTimeout":
            raise RequestFault("no connection in time") from error
    except openai.APIConnectionError as error:
        reason = error.__cause__ or error
        if type(reason).__name__ == "ConnectError":
            raise RequestFault(f"the connection failed: {reason}") from error
    except Exception:  # any answer shows that a server is there
        return


def _well_formed(data: Any) -> Any:
    """``data`` with each lone surrogate replaced: pages and models produce them, and they can't be sent."""
    match data:
        case str():
            whole = data.isascii() or data.encode("utf-8", "replace").decode() == data
            return data if whole else data.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_well_formed(key): _well_formed(each) for key, each in data.items()}
        case list() | tuple():
            return [_well_formed(each) for each in data]
    return data


def _is_deep(data: object) -> bool:
    """Whether ``data`` is nested deeper than any reply, so that recursive code would overflow its stack."""
    level = [data]
    for _ in range(_DEEPEST):
        level = [
            each
            for inner in level
            if isinstance(inner, dict | list)
            for each in (inner.values() if isinstance(inner, dict) else inner)
        ]
    return bool(level)


@cache
def _sdk(url: str, key: str) -> Any:
    """One client per endpoint and process, because it keeps connections open."""
    try:
        import openai
    except ModuleNotFoundError:
        raise UsageError(
            "model agents: expected the package 'openai', it is not installed; pip install openai"
        ) from None
    return openai.OpenAI(base_url=url, api_key=key, max_retries=0)


@contextmanager
def _faults(now: Callable[[], float]) -> Iterator[None]:
    """Turn exceptions of the SDK and the HTTP library below it into `RequestFault`."""
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        status, headers = error.status_code, error.response.headers
        body = _body_of(error.response.text)  # the SDK keeps only a part of it
        detail = _error_text(body) or _text_of(error.message)[:_MESSAGE_LENGTH]
        spent = "insufficient_quota" in (error.code, error.type)
        # 501: a server that does not know the method, as when its address belongs to something else.
        is_retryable = (status in (408, 409, 429) or (status >= 500 and status != 501)) and not spent
        raise RequestFault(
            f"HTTP {status}: {detail}",
            again=is_retryable,
            after=retry_after(headers, now()),
            status=status,
            rejection=rejection_of(status, body),
            malformed=_failed_generation(body),
        ) from error
    except openai.APITimeoutError as error:
        raise RequestFault("no answer in time", billed=True) from error
    except openai.APIConnectionError as error:
        reason = error.__cause__ or error
        refused = type(reason).__name__ in ("ConnectError", "ConnectTimeout")
        raise RequestFault(f"the connection failed: {reason}", billed=not refused) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("httpcore", "httpcore2", "httpx", "httpx2"):
            raise RequestFault(f"the answer was cut off: {error or type(error).__name__}", billed=True) from error
        raise


def _error_text(body: object) -> str:
    if messages := read_error(body).messages:
        return messages[0][:_MESSAGE_LENGTH]
    return _text_of(str(body))[:_MESSAGE_LENGTH] if body else ""


def _failed_generation(body: object) -> str | None:
    """The tool call of a model that Groq could not parse; None for all other errors."""
    if "tool_use_failed" not in read_error(body).codes:
        return None
    error = body.get("error") if isinstance(body, Mapping) else None
    written = error.get("failed_generation") if isinstance(error, Mapping) else ""
    return written if isinstance(written, str) else ""


def _body_of(text: str) -> object:
    """An error's JSON, or its text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text_of(body: str) -> str:
    """The text of an HTML page on one line; other text is unchanged.

    Proxies and wrong addresses answer with HTML pages.
    """
    if "<html" not in body[:2000].lower() and "<!doctype" not in body[:100].lower():
        return body
    text = re.sub(r"(?is)<(script|style|head)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", " ", body[:_PAGE])
    if not (words := " ".join(html.unescape(text).split())):
        title = re.search(r"(?is)<title[^>]*>([^<]*)", body[:_PAGE])
        words = " ".join(html.unescape(title[1]).split()) if title else "without text"
    return f"a page of HTML: {words}"


def _error_of(data: object, *, event: bool = False) -> object:
    """The error in an answer with HTTP 200 or in an event of a stream; None when it has none.

    Some endpoints report it in the choice, also after a part of the reply.
    """
    if not isinstance(data, Mapping):
        return None
    choices = data.get("choices")
    for part in (_response_of(data), *(choices if isinstance(choices, list) else ())):
        if isinstance(part, Mapping) and part.get("error"):
            return part["error"]
    if data.get("type") in ("error", "response.failed"):
        return data
    replied = not event and data.get("status") != "failed" and (choices or data.get("output"))
    names = ("error", "errors") if event or choices or data.get("output") else ("error", "errors", "detail", "message")
    return None if replied else data if any(data.get(name) for name in names) else None


def _is_blocked(answers: _Events) -> bool:
    """Whether there is no choice because a filter blocked the prompt."""
    return not any(each.get("choices") for each in answers) and any(is_prompt_filtered(each) for each in answers)


def _error_in_answer(reported: object, *, billed: bool, answer: Mapping[str, Any] | None = None) -> RequestFault:
    """The fault for an error that came with HTTP 200. Its code may be an HTTP status."""
    rejection = rejection_of(read_error(reported).status or 400, reported)
    text = f"an error in place of a reply: {_error_text(reported)}"
    # A request that is too long is refused before any work is done.
    return RequestFault(
        text, billed=billed and rejection != "context", status=read_error(reported).status, rejection=rejection,
        answer=answer,
    )  # fmt: skip


def _joined(content: bytes, join: Callable[[_Events], Mapping[str, Any]]) -> Mapping[str, Any]:
    """The answer that a stream's events add up to. A fault in the stream keeps the usage that the stream reported."""
    events, broken = _events(content)
    answer = {"model": _model(events), "usage": _final_usage(events)}
    for event in events:
        if (reported := _error_of(event, event=True)) is not None:
            raise _error_in_answer(reported, billed=True, answer=answer)
    if broken:
        raise RequestFault(broken, billed=True, answer=answer)
    try:
        joined = join(events)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        shape = f"expected a stream of a reply, got one of another shape ({type(error).__name__}: {error})"
        raise RequestFault(shape, billed=True, answer=answer) from error
    if not joined and _is_blocked(events):
        raise RequestFault("no reply to a prompt that was filtered", billed=True, rejection="filtered", answer=answer)
    if not joined:
        raise RequestFault("the stream was cut off before its end", billed=True, answer=answer)
    return joined


def _events(content: bytes) -> tuple[list[Mapping[str, Any]], str]:
    """The JSON of each server-sent event, and the error of the first event that has none."""
    found: list[Mapping[str, Any]] = []
    for line in content.replace(b"\r\n", b"\n").split(b"\n"):
        data = line.removeprefix(b"data:").strip() if line.startswith(b"data:") else b""
        if not data or data == b"[DONE]":
            continue
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            return found, f"expected JSON in the stream: {error}"
        if isinstance(event, dict):
            found.append(event)
    return found, ""


def _model(events: _Events) -> object:
    return next((model for each in events if (model := each.get("model") or _response_of(each).get("model"))), "")


def _final_usage(events: _Events) -> object:
    """The usage of the whole stream, if an event of its own or of the whole response reports it.

    A count in an event with a part of the reply may cover only what was sent so far.
    """
    return _latest_usage([each for each in events if not each.get("choices")])


def _latest_usage(events: _Events) -> object:
    counts = [each.get("usage") or _response_of(each).get("usage") for each in events]
    return next((usage for usage in reversed(counts) if usage), None)


def _response_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    response = event.get("response")
    return response if isinstance(response, Mapping) else {}


def _joined_chat(events: _Events) -> Mapping[str, Any]:
    """The Chat Completions answer that a stream's events add up to; empty when the stream has no end.

    Raises `ValueError` for parts of several choices.
    """
    message = {"content": "", "refusal": ""}
    calls: dict[int, dict[str, Any]] = {}
    finish: str | None = None
    usage: Any = None
    model = ""
    indexes: set[object] = set()
    for event in events:
        model, usage = event.get("model") or model, event.get("usage") or usage
        for choice in event.get("choices") or ():
            indexes.add(choice.get("index") or 0)
            if len(indexes) > 1:
                raise ValueError("expected one choice, found pieces of several")
            delta = choice.get("delta") or {}
            finish = choice.get("finish_reason") or finish
            for name in message:
                message[name] += text_of(delta.get(name))
            for part in delta.get("tool_calls") or ():
                call = calls.setdefault(part.get("index", 0), {"id": "", "function": {"name": "", "arguments": ""}})
                function = part.get("function") or {}
                call["id"] = part.get("id") or call["id"]
                call["function"]["name"] += function.get("name") or ""
                call["function"]["arguments"] += arguments_of(function.get("arguments"))
    if finish is None:
        return {}
    whole = {**message, "tool_calls": [calls[index] for index in sorted(calls)]}
    return {"model": model, "choices": [{"message": whole, "finish_reason": finish}], "usage": usage}


def _joined_response(events: _Events) -> Mapping[str, Any]:
    """The Responses answer in a stream's last event; empty when the stream has no end."""
    ends = ("response.completed", "response.incomplete")
    whole: object = next((each["response"] for each in events if each.get("type") in ends), {})
    return whole if isinstance(whole, dict) else {}
