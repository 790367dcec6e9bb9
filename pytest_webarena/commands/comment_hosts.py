"""Comments on pull requests by the APIs of GitHub and GitLab.

Only comments of the token's own account are changed: a token that may write can change those of others, and anybody can
write a comment that begins like ours.
"""

from __future__ import annotations

import abc
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pytest_webarena.docs_site import docs
from pytest_webarena.secrets import mark
from pytest_webarena.text import clip

__all__ = ["WAITS", "Host", "NotPosted", "Unasked", "host_of", "tested_commit"]

WAITS = (1.0, 4.0, 16.0)
"""Seconds before each repetition of requests that the host could not answer."""
_TIMEOUT = 30.0
_PAGE = 100
"""Comments per page: the maximum of both hosts."""
_MOST_PAGES = 100
_MOST_BYTES = 64_000_000


class NotPosted(Exception):
    """A comment that could not be posted; ``str()`` is a sentence about why, and what to do."""


class Unasked(Exception):
    """There is no pull request to comment on; ``str()`` says so."""


class _Refused(NotPosted):
    """An answer of the host that repeating the request does not change."""


class _Unanswered(NotPosted):
    """A host that could not be asked, or did not answer; repeating the request may help."""


class HostReply(NamedTuple):
    """The host's answer."""

    data: Any
    """Parsed JSON; None for an empty answer."""
    headers: HTTPMessage


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirects, because urllib would send the token to wherever they lead."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Host(abc.ABC):
    """One pull request at a host."""

    def __init__(self, *, api: str, token: str, number: int, where: str) -> None:
        mark(token)
        self.api = api.rstrip("/")
        self.token = token
        self.number = number
        self.where = where
        """The pull request, for messages."""

    def publish(self, text: str, marker: str) -> str:
        """Post ``text``, or replace the comment that begins with ``marker``. Return a sentence about what was done.

        After a failure of the host all is done again, so that a comment that was posted without an answer is found.
        Raises `NotPosted`.
        """
        for wait in (*WAITS, None):
            try:
                existing = self.own_comment(marker)
                address = self.create(text) if existing is None else self.update(existing, text)
            except _Unanswered as error:
                if wait is None:
                    raise NotPosted(f"{error}, {len(WAITS) + 1} times in a row; run the job again later") from None
                time.sleep(wait)
            else:
                return f"comment: {'posted' if existing is None else 'updated'} {clip(address, 300)}".rstrip()
        raise AssertionError("the last repetition raises or returns")

    @abc.abstractmethod
    def own_comment(self, marker: str) -> int | None:
        """Return the id of the account's first comment that begins with ``marker``; None without one."""

    @abc.abstractmethod
    def create(self, text: str) -> str:
        """Post a comment; return its address."""

    @abc.abstractmethod
    def update(self, comment: int, text: str) -> str:
        """Replace the text of a comment; return its address."""

    @abc.abstractmethod
    def headers(self) -> dict[str, str]:
        """Headers that identify the account."""

    @abc.abstractmethod
    def advice(self, status: int) -> str:
        """Return what to do about the refusal of a request."""

    def ask(self, method: str, address: str, body: Mapping[str, Any] | None = None) -> HostReply:
        """Send a request. Raises `NotPosted`."""
        content = json.dumps(body).encode() if body is not None else None
        headers = {**self.headers(), "User-Agent": "pytest-webarena", "Content-Type": "application/json"}
        try:
            request = urllib.request.Request(address, content, headers, method=method)
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=_TIMEOUT) as found:
                data = found.read(_MOST_BYTES)
                return HostReply(json.loads(data) if data.strip() else None, found.headers)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(method, error) from None
        except (OSError, HTTPException) as error:
            raise _Unanswered(f"{method} {address} found no answer: {clip(str(error), 200)}") from None
        except ValueError as error:
            raise _Refused(
                f"{method} {address}: expected an answer in JSON, found something else: {clip(str(error), 200)}"
            ) from None

    def _refusal(self, method: str, error: urllib.error.HTTPError) -> NotPosted:
        status = f"{method} {error.url} was answered with {error.code}"
        if error.code >= 500 or error.code == 429 or (error.code == 403 and "Retry-After" in error.headers):
            return _Unanswered(status)
        return _Refused(f"{status}{_reason(error)}; {self.advice(error.code)}")

    def pages(self, address: str) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of a list on all of its pages. Raises `NotPosted`."""
        for page in range(1, _MOST_PAGES + 1):
            found = self.ask("GET", f"{address}?per_page={_PAGE}&page={page}").data
            if not isinstance(found, list):
                raise _Refused(f"GET {address}: expected a list of comments, found {clip(repr(found), 80)}")
            yield from (each for each in found if isinstance(each, Mapping))
            if len(found) < _PAGE:
                return


class GitHub(Host):
    """A pull request at GitHub (REST API, version 2022-11-28)."""

    def __init__(self, *, repository: str, graphql: str, **more: Any) -> None:
        super().__init__(**more)
        self._comments = f"{self.api}/repos/{quote(repository)}/issues"
        self._graphql = graphql

    def own_comment(self, marker: str) -> int | None:
        viewer = self.ask("POST", self._graphql, {"query": "query { viewer { login } }"}).data
        try:  # `GET /user` refuses the token of a job
            own = viewer["data"]["viewer"]["login"]
        except (KeyError, TypeError, IndexError):
            found = clip(repr(viewer), 120)
            raise _Refused(f"POST {self._graphql}: expected the token's account, found {found}") from None
        for each in self.pages(f"{self._comments}/{self.number}/comments"):
            if (each.get("user") or {}).get("login") == own and _begins(each, marker):
                return int(each["id"])
        return None

    def create(self, text: str) -> str:
        return _address(self.ask("POST", f"{self._comments}/{self.number}/comments", {"body": text}), "html_url")

    def update(self, comment: int, text: str) -> str:
        return _address(self.ask("PATCH", f"{self._comments}/comments/{comment}", {"body": text}), "html_url")

    def headers(self) -> dict[str, str]:
        return {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "X-GitHub-Api-Version": "2022-11-28",
        }

    def advice(self, status: int) -> str:
        if status == 403:
            return (
                f"the token may not comment on {self.where}. Pull requests from forks get a token that only reads; "
                "other jobs need 'permissions: {pull-requests: write}'"
            )
        if status == 404:
            return f"expected {self.where}, and a token that sees it"
        return f"see {docs('ci', 'comments-on-pull-requests')}"


class GitLab(Host):
    """A merge request at GitLab (REST API, version 4)."""

    def __init__(self, *, project: str, **more: Any) -> None:
        super().__init__(**more)
        self._notes = f"{self.api}/projects/{quote(project, safe='')}/merge_requests/{self.number}/notes"

    def own_comment(self, marker: str) -> int | None:
        user = self.ask("GET", f"{self.api}/user").data
        if not isinstance(user, Mapping) or "id" not in user:
            raise _Refused(f"GET {self.api}/user: expected the token's account, found {clip(repr(user), 120)}")
        for each in self.pages(self._notes):
            own = (each.get("author") or {}).get("id") == user["id"]
            if own and not each.get("system") and _begins(each, marker):
                return int(each["id"])
        return None

    def create(self, text: str) -> str:
        self.ask("POST", self._notes, {"body": text})
        return self.where

    def update(self, comment: int, text: str) -> str:
        self.ask("PUT", f"{self._notes}/{comment}", {"body": text})
        return self.where

    def headers(self) -> dict[str, str]:
        return {"PRIVATE-TOKEN": self.token}

    def advice(self, status: int) -> str:
        if status in (401, 403):
            return (
                "expected WEBARENA_GITLAB_TOKEN to be a project access token with the scope 'api' and the role Reporter"
            )
        if status == 404:
            return f"expected {self.where}, and a token that sees it"
        return f"see {docs('ci', 'comments-on-pull-requests')}"


def host_of(name: str, environment: Mapping[str, str], *, number: int | None = None) -> Host:
    """Return the pull request of a CI job, from the variables that the host sets.

    Raises:
        Unasked: The job does not belong to a pull request.
        NotPosted: A variable is missing.
    """
    if name == "gitlab":
        number = number or _number(environment.get("CI_MERGE_REQUEST_IID"))
        if number is None:
            raise Unasked("the job has no merge request to comment on (CI_MERGE_REQUEST_IID)")
        project = environment.get("CI_MERGE_REQUEST_PROJECT_ID") or _wanted(environment, "CI_PROJECT_ID")
        return GitLab(
            api=_wanted(environment, "CI_API_V4_URL"), token=_token(environment, "WEBARENA_GITLAB_TOKEN"),
            project=project, number=number, where=f"merge request {number} of project {project}",
        )  # fmt: skip
    number = number or _pull_request(_event(environment))
    if number is None:
        raise Unasked("the job has no pull request to comment on")
    repository = _wanted(environment, "GITHUB_REPOSITORY")
    return GitHub(
        api=environment.get("GITHUB_API_URL") or "https://api.github.com",
        graphql=environment.get("GITHUB_GRAPHQL_URL") or "https://api.github.com/graphql",
        token=_token(environment, "GITHUB_TOKEN"),
        repository=repository, number=number, where=f"pull request {number} of {repository}",
    )  # fmt: skip


def tested_commit(environment: Mapping[str, str]) -> str:
    """Return the commit that a CI job tests, as its author knows it; empty if unknown."""
    pull = _event(environment).get("pull_request")
    head = pull.get("head") if isinstance(pull, Mapping) else None
    found = head.get("sha") if isinstance(head, Mapping) else None
    return str(found or environment.get("GITHUB_SHA") or environment.get("CI_COMMIT_SHA") or "")


def _event(environment: Mapping[str, str]) -> Mapping[str, Any]:
    try:
        found = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    except (KeyError, OSError, ValueError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _pull_request(event: Mapping[str, Any]) -> int | None:
    pull, issue = event.get("pull_request"), event.get("issue")
    if isinstance(pull, Mapping):
        return _number(pull.get("number"))
    if isinstance(issue, Mapping) and issue.get("pull_request"):  # a comment on a pull request started the job
        return _number(issue.get("number"))
    return None


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _token(environment: Mapping[str, str], name: str) -> str:
    token = environment.get(name, "").strip()
    if not token:
        raise NotPosted(
            f"expected a token in {name}, found none. Jobs of pull requests from forks get no secrets; other jobs: see "
            f"{docs('ci', 'comments-on-pull-requests')}"
        )
    if not token.isascii() or not token.isprintable():
        raise NotPosted(f"expected a token in {name}, found characters that no token has")
    return token


def _wanted(environment: Mapping[str, str], name: str) -> str:
    if value := environment.get(name):
        return value
    raise NotPosted(f"expected the variable {name}, which the host sets in its jobs, found none")


def _begins(comment: Mapping[str, Any], marker: str) -> bool:
    return str(comment.get("body") or "").startswith(marker)


def _address(reply: HostReply, name: str) -> str:
    return str(reply.data.get(name) or "") if isinstance(reply.data, Mapping) else ""


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        found = json.loads(error.read(10_000)).get("message")
    except (OSError, ValueError, AttributeError, HTTPException):
        return ""
    return f" ({clip(str(found), 200)})" if found else ""
