"""Faults of requests: what failed, whether the same request may succeed later, and whether it may have cost money."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_webarena.llm.error_bodies import read_error
from pytest_webarena.llm.rejections import Rejection, refused_setting, rejection_of
from pytest_webarena.llm.retries import asked_delay
from pytest_webarena.secrets import scrub

__all__ = ["RequestFault", "error_text", "fault_of_status"]

_PAGE = 20_000
"""Characters of an HTML page that are read for its text."""

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
        setting: str = "",
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
        self.setting = setting or "max_tokens"
        """The setting that is refused (`refused_setting`), if the rejection is ``setting``."""
        self.malformed = malformed
        """What the model wrote, where the endpoint failed because it could not parse the model's tool call."""
        self.answer = answer
        """An answer with HTTP 200 that is not a reply; it may report what the request used."""
        self.so_far: Mapping[str, Any] = {}
        """The latest usage that a broken stream reported, in the form of an answer."""


def fault_of_status(
    status: int, headers: Mapping[str, str], content: str, now: float, *, message: str = "", spent: bool = False
) -> RequestFault:
    """Return the fault that an answer with an error's HTTP status is.

    ``message`` is used where the answer's ``content`` has none. ``spent`` says that a quota is used up.
    """
    body = _body_of(content)
    detail = error_text(body) or scrub(_text_of(message))[:_MESSAGE_LENGTH]
    # 501: a server that does not know the method, as when its address belongs to something else.
    is_retryable = status in (408, 409, 429) or (status >= 500 and status != 501)
    # OpenAI's and Anthropic's own clients obey this header, too.
    is_retryable = {"true": True, "false": False}.get(headers.get("x-should-retry", ""), is_retryable)
    return RequestFault(
        f"HTTP {status}: {detail}",
        again=is_retryable and not spent,
        after=asked_delay(headers, body, now),
        status=status,
        rejection=rejection_of(status, body),
        setting=refused_setting(body),
        malformed=_failed_generation(body),
    )


def error_text(body: object) -> str:
    """Return the first message of an error's body, shortened."""
    if messages := read_error(body).messages:
        return messages[0][:_MESSAGE_LENGTH]
    return scrub(_text_of(str(body)))[:_MESSAGE_LENGTH] if body else ""


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
    text = re.sub(r"(?is)<(script|style|head)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", " ", scrub(body)[:_PAGE])
    if not (words := " ".join(html.unescape(text).split())):
        title = re.search(r"(?is)<title[^>]*>([^<]*)", body[:_PAGE])
        words = " ".join(html.unescape(title[1]).split()) if title else "without text"
    return f"a page of HTML: {words}"
