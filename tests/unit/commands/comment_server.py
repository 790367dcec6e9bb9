"""A server that answers as GitHub's and GitLab's APIs do about comments on pull request 7.

Sources: GitHub REST API 2022-11-28, issue comments (list, create, update), and GraphQL ``viewer``; GitLab REST API 4,
notes of merge requests, and ``/user``. Both list at most 100 comments a page.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["GITHUB_BOT", "CommentServer", "comment_server"]

GITHUB_BOT = "github-actions[bot]"
GITHUB = "/repos/o/r/issues"
GITLAB = "/projects/9/merge_requests/7/notes"


@dataclass
class CommentServer:
    """State of the server, and its requests."""

    address: str
    comments: list[dict[str, Any]] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    """Statuses with which the next writing requests are answered, in place of what they ask for."""
    writes_before_fault: bool = False
    """Whether a request that is answered with a fault has its effect."""
    retry_after: bool = False
    requests: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def add(self, body: str, author: str = GITHUB_BOT) -> dict[str, Any]:
        """Add a comment, as GitHub or GitLab lists it."""
        number = len(self.comments) + 1
        made = {
            "id": number, "body": body, "user": {"login": author}, "author": {"id": 1 if author == GITHUB_BOT else 2},
            "system": False, "html_url": f"{self.address}/pull/7#comment-{number}",
        }  # fmt: skip
        self.comments.append(made)
        return made

    @property
    def bodies(self) -> list[str]:
        return [each["body"] for each in self.comments]

    @property
    def variables(self) -> dict[str, str]:
        """Variables of a job whose host is this server, without those of the pull request and the token."""
        return {
            "GITHUB_API_URL": self.address, "GITHUB_GRAPHQL_URL": f"{self.address}/graphql",
            "GITHUB_REPOSITORY": "o/r", "CI_API_V4_URL": self.address, "CI_PROJECT_ID": "9",
            "CI_MERGE_REQUEST_IID": "7",
        }  # fmt: skip

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        """Return status and content of the answer."""
        if (method, path) == ("POST", "/graphql"):
            assert "viewer" in body["query"]
            return 200, {"data": {"viewer": {"login": GITHUB_BOT}}}
        if (method, path) == ("GET", "/user"):  # GitHub refuses it to the token of a job
            return (200, {"id": 1}) if "gitlab" in self.tokens else (403, {"message": "not accessible by integration"})
        lists = (f"{GITHUB}/7/comments", GITLAB)
        if method == "GET" and path in lists:
            size, page = (int(query.get(name, ["30"])[0]) for name in ("per_page", "page"))
            return 200, self.comments[size * (page - 1) : size * page]
        if self.faults and not self.writes_before_fault:
            return self.faults.pop(0), {"message": "Resource not accessible by integration"}
        if method == "POST" and path in lists:
            reply: tuple[int, Any] = 201, self.add(body["body"])
        else:
            assert (method, path.rpartition("/")[0]) in (("PATCH", f"{GITHUB}/comments"), ("PUT", GITLAB)), path
            (found,) = [each for each in self.comments if each["id"] == int(path.rpartition("/")[2])]
            found["body"] = body["body"]
            reply = 200, found
        return (self.faults.pop(0), None) if self.faults else reply


@contextmanager
def comment_server() -> Iterator[CommentServer]:
    """Start a server on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            parts = urlsplit(self.path)
            server.requests.append((self.command, parts.path))
            given = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers["PRIVATE-TOKEN"]
            server.tokens.add("gitlab" if self.headers["PRIVATE-TOKEN"] else "github")
            assert given == "t0ken-of-the-job"
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = server.answer(
                self.command, parts.path, parse_qs(parts.query), json.loads(data) if data else None
            )
            self.send_response(status)
            if server.retry_after and status == 403:
                self.send_header("Retry-After", "1")
            if status // 100 == 3:
                self.send_header("Location", f"{server.address}/elsewhere")
            written = json.dumps(content).encode() if content is not None else b""
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        do_GET = do_POST = do_PUT = do_PATCH = answer

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = CommentServer(f"http://127.0.0.1:{listener.server_port}")
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
