"""A local endpoint with the APIs of OpenAI, Anthropic and Google that can misbehave: real HTTP for the real SDKs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Answer", "Model", "ModelServer", "call", "cut_stream", "drip", "fail", "model_server", "say"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response of the endpoint: a message, or raw bytes instead."""

    text: str | None = None
    thought: str = ""
    """Thoughts that are reported separately, by Anthropic and Google."""
    hostile: bool = False
    """Whether the provider's own types may refuse it, for Anthropic and Google."""
    calls: tuple[tuple[str, str], ...] = ()
    """Tool calls: name and arguments."""
    refusal: str | None = None
    finish: str = "stop"
    """Finish reason, in the terms of Chat Completions."""
    usage: tuple[int, int] | Any = (1000, 100)
    """Input and output tokens; None: not reported; any other value is sent as it is."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    cut: bool = False
    """Whether to close the connection in the middle of the body."""
    hang: bool = False
    """Whether to send the headers and then nothing, until the client gives up."""
    drip: bool = False
    """Whether to send spaces for ever."""


def say(text: str, **rest: Any) -> Answer:
    """Returns a text reply."""
    return Answer(text=text, **rest)


def call(name: str, /, **arguments: Any) -> Answer:
    """Returns a reply with one tool call."""
    return Answer(calls=((name, json.dumps(arguments)),), finish="tool_calls")


def fail(status: int, message: str = "scripted", headers: dict[str, str] | None = None, code: str = "") -> Answer:
    """Returns an HTTP error."""
    body = json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()
    return Answer(status=status, raw=body, headers=headers or {})


def cut_stream(text: str = "half a") -> Answer:
    """Returns a reply whose body is cut off."""
    return Answer(text=text, cut=True)


def drip() -> Answer:
    """Returns a reply whose body never ends."""
    return Answer(drip=True)


Model = Callable[[dict[str, Any]], Answer]
"""A function that maps the request's body to the response."""


class ModelServer:
    """Counts, stores and answers requests."""

    def __init__(self, script: Model | Sequence[Answer | Model]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""
        self.done = threading.Event()
        self._lock = threading.Lock()
        self._script = script

    @property
    def requests(self) -> int:
        """Number of requests received."""
        return len(self.bodies)

    def prompt(self, number: int = -1) -> str:
        """Returns all text of one request's messages."""
        body = self.bodies[number]
        return "\n".join(_text(message) for message in body.get("messages") or body.get("contents") or body["input"])

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        """Returns the script's next response; the last one is repeated for ever."""
        with self._lock:
            self.bodies.append(body)
            self.headers.append(headers)
            number = len(self.bodies) - 1
        each = self._script if callable(self._script) else self._script[min(number, len(self._script) - 1)]
        return each(body) if callable(each) else each


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or message.get("parts")
    if isinstance(content, list):
        return "\n".join(part.get("text") or part.get("content") or "" for part in content)
    return content or message.get("output") or ""


_IDLE: list[_Server] = []
"""Servers that no test uses at present. A known port needs no new SDK client, which costs a tenth of a second."""


@contextmanager
def model_server(script: Model | Sequence[Answer | Model]) -> Iterator[ModelServer]:
    """Context manager that returns a running server; its ``url`` is a base URL for the SDK."""
    server = _IDLE.pop() if _IDLE else _Server()
    server.model = model = ModelServer(script)
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield model
    finally:
        model.done.set()
        _IDLE.append(server)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        model = self.server.model
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = model.answer(body, dict(self.headers))
        streamed = (body.get("stream") or ":stream" in self.path) and answer.status == 200 and answer.raw is None
        try:
            if streamed:
                self._send(b"".join(_stream(answer, self.path)), answer, "text/event-stream", model.done)
            else:
                content = answer.raw if answer.raw is not None else json.dumps(_answer(answer, self.path)).encode()
                self._send(content, answer, "application/json", model.done)
        except OSError:
            self.close_connection = True

    def _send(self, content: bytes, answer: Answer, kind: str, done: threading.Event) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if "Content-Type" not in answer.headers:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(10**9 if answer.drip else len(content)))
        self.end_headers()
        if answer.hang:
            done.wait(20)
            self.close_connection = True
        elif answer.drip:
            while not done.wait(0.02):
                self.wfile.write(b" ")
            self.close_connection = True
        elif answer.cut:
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        else:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _answer(answer: Answer, path: str) -> dict[str, Any]:
    if path.endswith("/v1/messages") or "enerateContent" in path:
        from tests import native_apis  # takes seconds

        make = native_apis.anthropic_message if path.endswith("/v1/messages") else native_apis.google_response
        return make(answer)
    return _whole(answer, path.endswith("/chat/completions"))


def _stream(answer: Answer, path: str) -> Iterator[bytes]:
    if path.endswith("/v1/messages") or "enerateContent" in path:
        from tests import native_apis

        make = native_apis.anthropic_events if path.endswith("/v1/messages") else native_apis.google_events
        return make(answer)
    return _events(answer, path.endswith("/chat/completions"))


def _whole(answer: Answer, chat: bool) -> dict[str, Any]:
    if chat:
        message = {
            "role": "assistant",
            "content": answer.text,
            "refusal": answer.refusal,
            "tool_calls": [
                {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
                for number, (name, arguments) in enumerate(answer.calls)
            ],
        }
        whole: dict[str, Any] = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted-1",
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
        }
        if answer.usage:
            whole["usage"] = _usage(answer.usage, "prompt_tokens", "completion_tokens")
        return whole
    output: list[dict[str, Any]] = []
    parts = []
    if answer.text is not None:
        parts.append({"type": "output_text", "text": answer.text, "annotations": []})
    if answer.refusal is not None:
        parts.append({"type": "refusal", "refusal": answer.refusal})
    if parts:
        output.append({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": parts})
    output += [
        {"type": "function_call", "id": f"f{n}", "call_id": f"c{n}", "name": name, "arguments": arguments}
        for n, (name, arguments) in enumerate(answer.calls)
    ]
    whole = {"id": "x", "object": "response", "created_at": 1, "model": "scripted-1", "status": "completed"}
    if answer.finish not in ("stop", "tool_calls"):
        reason = {"length": "max_output_tokens"}.get(answer.finish, answer.finish)
        whole |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    whole["output"] = output
    if answer.usage:
        whole["usage"] = _usage(answer.usage, "input_tokens", "output_tokens")
    return whole


def _usage(counts: Any, *names: str) -> Any:
    return (
        {**dict(zip(names, counts, strict=True)), "total_tokens": sum(counts)} if isinstance(counts, tuple) else counts
    )


def _events(answer: Answer, chat: bool) -> Iterator[bytes]:
    """Yields the response as server-sent events, with the text in two parts."""
    whole = _whole(answer, chat)
    if not chat:
        for number, kind in enumerate(("response.created", f"response.{whole['status']}")):
            data = {"type": kind, "sequence_number": number, "response": whole}
            yield f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
        return
    text = answer.text or ""
    pieces: list[dict[str, Any]] = [
        {"content": text[: len(text) // 2], "role": "assistant"},
        {"content": text[len(text) // 2 :]},
        *([{"refusal": answer.refusal}] if answer.refusal is not None else []),
    ]
    for index, (name, arguments) in enumerate(answer.calls):
        pieces.append(
            {"tool_calls": [{"index": index, "id": f"c{index}", "function": {"name": name, "arguments": ""}}]}
        )
        pieces.append({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
    base = {"id": "x", "object": "chat.completion.chunk", "model": "scripted-1"}
    for piece in pieces:
        choice = {"index": 0, "delta": piece, "finish_reason": None}
        yield f"data: {json.dumps({**base, 'choices': [choice]})}\n\n".encode()
    last = {"index": 0, "delta": {}, "finish_reason": answer.finish}
    yield f"data: {json.dumps({**base, 'choices': [last]})}\n\n".encode()
    yield f"data: {json.dumps({**base, 'choices': [], 'usage': whole.get('usage')})}\n\n".encode()
    yield b"data: [DONE]\n\n"
