"""An example agent behind HTTP: start it with ``python agents/keyword_server.py 8765``, standard library only.

``pytest --agent=keyword-http tasks/`` asks it. One server serves many trials at the same time; each message says which
trial it belongs to, and may come twice when an answer got lost.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LINE = re.compile(r"^\s*\[(\d+)\] (\w+) '(.*)'", re.MULTILINE)


@dataclass
class Trial:
    """What the agent remembers of one trial."""

    wanted: set[str]
    patience: int
    clicked: set[str] = field(default_factory=set)
    replies: dict[int, dict[str, Any]] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    """One message, one reply."""

    trials: dict[str, Trial] = {}  # noqa: RUF012

    def do_POST(self) -> None:
        """Answer a message."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.reply(message)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reply(self, message: dict[str, Any]) -> dict[str, Any]:
        """What to say to it. The replies to the task and to the end are ignored."""
        id = message["trial"]
        if message["type"] == "task":
            self.trials[id] = Trial(words(message["intent"]), message["options"].get("patience", 4))
        elif message["type"] == "observation":
            trial = self.trials[id]
            if message["step"] not in trial.replies:
                trial.replies[message["step"]] = decide(trial, message["text"])
            return trial.replies[message["step"]]
        elif message["type"] == "end":
            self.trials.pop(id, None)
        return {}


def decide(trial: Trial, text: str) -> dict[str, Any]:
    """Follow the most promising link, or answer with the most promising line."""
    found = LINE.findall(text)
    links = [(len(trial.wanted & words(name)), name, id) for id, role, name in found if role == "link"]
    score, name, id = max((link for link in links if link[1] not in trial.clicked), default=(0, "", ""))
    if score and len(trial.clicked) < trial.patience:
        trial.clicked.add(name)
        return {"type": "action", "action": {"kind": "click", "target": {"id": id}}}
    quotes = [(len(trial.wanted & words(name)), name) for _, role, name in found if role != "link"]
    return {"type": "answer", "answer": max(quotes, default=(0, ""))[1]}


def words(text: str) -> set[str]:
    """The words of a text, singular and plural alike; short ones are in every text."""
    return {word.rstrip("s") for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 2}


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8765), Handler)
    print(f"listening at http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
