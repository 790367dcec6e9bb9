"""Agents that drive their browser over CDP: one forges responses, one sends a list of commands."""

from __future__ import annotations

import base64
import json
import queue
import threading
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.connection import Connection

__all__ = ["Driver", "Forger", "script"]

FORGED = "<title>forged</title><p>true</p>"
WORKER = """
self.addEventListener('install', event => self.skipWaiting())
self.addEventListener('activate', event => event.waitUntil(clients.claim()))
self.addEventListener('fetch', event => event.respondWith(
  new Response('<p>true</p>', {headers: {'Content-Type': 'text/html'}})))
"""


class Forger:
    """Answers all requests of its browser while it may, and installs a service worker that continues to do so."""

    def __init__(self, start: str) -> None:
        """``start``: the address that it opens, and answers for, first."""
        self._start = start
        self._ids = iter(range(1, 1_000_000))
        self._answers: dict[int, dict[str, Any]] = {}
        self._news = threading.Condition()
        self._sockets: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self.forged: list[str] = []

    def drive(self, cdp_url: str, http_url: str) -> str:
        threading.Thread(target=self._connect, args=(cdp_url,), daemon=True).start()
        socket = self._sockets.get(timeout=20)
        attach = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        targets = self._ask(socket, "Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        session = self._ask(socket, "Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        self._ask(socket, "Target.setAutoAttach", session, **attach)
        self._ask(socket, "Fetch.enable", session, patterns=[{"urlPattern": "*"}])
        self._ask(socket, "Page.navigate", session, url=self._start)
        plant = "navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => 1)"
        for _ in range(50):  # pages opened while the harness observes a step are hidden from agents
            if "exceptionDetails" not in self._ask(
                socket, "Runtime.evaluate", session, expression=plant, awaitPromise=True
            ):
                break
        return "done"  # and the socket stays open, the thread at work

    def _connect(self, cdp_url: str) -> None:
        with connect(cdp_url, max_size=None) as socket:
            self._sockets.put(socket)
            self._listen(socket)

    def _listen(self, socket: Connection) -> None:
        try:
            for text in socket:
                message = json.loads(text)
                if message.get("method") == "Fetch.requestPaused":
                    self._forge(socket, message)
                elif message.get("method") == "Target.attachedToTarget":
                    child = message["params"]["sessionId"]
                    self._say(socket, "Fetch.enable", child, patterns=[{"urlPattern": "*"}])
                elif "id" in message:
                    with self._news:
                        self._answers[message["id"]] = message
                        self._news.notify_all()
        except ConnectionClosed:
            pass

    def _forge(self, socket: Connection, message: dict[str, Any]) -> None:
        url = message["params"]["request"]["url"]
        worker = url.endswith("worker.js")
        self.forged.append(url)
        self._say(
            socket,
            "Fetch.fulfillRequest",
            message.get("sessionId", ""),
            requestId=message["params"]["requestId"],
            responseCode=200,
            responseHeaders=[{"name": "Content-Type", "value": "text/javascript" if worker else "text/html"}],
            body=base64.b64encode((WORKER if worker else FORGED).encode()).decode(),
        )

    def _say(self, socket: Connection, method: str, session: str = "", **params: Any) -> int:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        socket.send(json.dumps(message))
        return number

    def _ask(self, socket: Connection, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        number = self._say(socket, method, session, **params)
        with self._news:
            assert self._news.wait_for(lambda: number in self._answers, 20), method
            answer = self._answers[number]
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result


class Driver:
    """Sends these commands to the page that its trial starts with, then answers."""

    def __init__(self, *commands: tuple[str, dict[str, Any]]) -> None:
        self._commands = commands

    def drive(self, cdp_url: str, http_url: str) -> str:
        with connect(cdp_url, max_size=None) as socket:
            targets = self._ask(socket, 1, "Target.getTargets")["targetInfos"]
            page = next(each["targetId"] for each in targets if each["type"] == "page")
            session = self._ask(socket, 2, "Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
            for number, (method, params) in enumerate(self._commands, start=3):
                self._ask(socket, number, method, session, **params)
        return "done"

    def _ask(self, socket: Connection, number: int, method: str, session: str = "", **params: Any) -> Any:
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        socket.send(json.dumps(message))
        while (answer := json.loads(socket.recv(30))).get("id") != number:
            pass
        return answer["result"]


def script(source: str) -> tuple[str, dict[str, Any]]:
    return "Runtime.evaluate", {"expression": source}
