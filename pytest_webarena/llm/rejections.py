"""Classification of errors about a request's content: too long for the model, or blocked by a filter.

Each endpoint words them in its own way. An explicit code decides, including one for another cause. Messages count where
no code decides and the status allows that the request is at fault; quotations of the request are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pytest_webarena.llm.error_bodies import ErrorBody, read_error

__all__ = ["Rejection", "is_filter", "is_prompt_filtered", "rejection_of"]

Rejection = Literal["", "context", "filtered"]
"""``context``: the request is longer than the model's context. ``filtered``: a content filter blocked it."""

_ABOUT_ACCESS = frozenset((401, 402, 404, 407, 408, 409, 429))
"""HTTP statuses of authentication, payment, rates and similar causes, whatever the text says."""
_FORBIDDEN = 403
_FAULT = 500
"""The last status at which messages count: llama.cpp and gateways use it for requests that are too long."""

_FILTERS = re.compile(
    "contentfilter|contentpolicy|policyviolation|biopolicy|guardrail|moderation|sensitive|safety|prohibitedcontent"
    "|datainspection|flaggedinput|^1301$"  # Alibaba, OpenRouter, Zhipu
)
"""Families of codes and finish reasons, reduced to letters and digits."""
_CONTEXTS = re.compile(
    "context(length|window|size|limit)|(prompt|input|request)too(long|large)|^requesttoolarge$|maxprompttokens"
)
_OTHERS = re.compile(
    "^(unknown|unsupported|unrecognized|missing|array)|^invalid(api|auth|content|function|image|json|model|schema|tool)"
    "|ratelimit|throttl|overload|quota|apikey|authent|permission|billing|credit|budget|balance|notfound|unavailable"
    "|timeout|toolusefailed"
)
"""Codes of errors that are about something else."""

_WHAT = r"\b(prompt|inputs?|messages)\b(?:(?!\b(images?|files?|audio|schema|array)\b)[^.:]){0,60}?"
_CONTEXT_TEXTS = re.compile(
    r"contextwindowexceedederror|context_length_exceeded"
    r"|\b(maximum|max\.?|model\Ws|available|exceeds?|exceeded|(longer|larger|greater) than|too (long|large)|reduce)\b"
    r".{0,80}\bcontext (length|window|size|limit)"
    r"|\bcontext (length|window|size|limit)\b.{0,80}\b(exceed|longer|larger|greater|too (long|large)|only)"
    + rf"|{_WHAT}(\b(exceeds?|exceeded|longer than|too (long|large))\b|\bonly supports)"
    r"|\btoo many (total )?(text |input |prompt )?(tokens|bytes)\b"
    r"|\b(exceeded|exceeds) model token limit|\brequest\b.{0,40}\btokens?\b.{0,60}\b(exceeds?|exceeded)\b"
    r"|\b(maximum (prompt|input)|range of input|maximum model) length\b"
    r"|`inputs`.{0,40}\bmust (be|have)\b"
    r"|\bcurrent length is\b.{0,40}\blimit is\b"
    r"|\breduce the length of (the|your) (messages|prompt|input)"
    r"|\bexpected maxlength: \d{4,}"
    r"|'(messages|input)\b[^']*': string too long",
    re.IGNORECASE | re.DOTALL,
)
_FILTER_TEXTS = re.compile(
    r"contentpolicyviolationerror|content management policy|^\W*content[_ ]filter\W*$"
    r"|\b(violat\w*|against|blocked|rejected|flagged|filtered|trigger\w*)\b.{0,60}"
    r"\b(content[_ -]filter\w*|(content|usage|safety) (polic(y|ies)|guidelines?)|moderation|guardrails?"
    r"|prohibited_content|safety system)"
    r"|\b(moderation|guardrails?|content polic(y|ies))\b.{0,60}\b(violat|interven|flagged|blocked|rejected)"
    r"|\bguardrail checks?\b.{0,60}\bfailed"
    r"|\b(sensitive|inappropriate|unsafe|prohibited|harmful)\b.{0,30}\b(content|information)\b|敏感"
    r"|\bcontent exists risk\b|\bconsidered high risk\b",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_TEXTS = re.compile(
    r"\bper (minute|min|hour|day)\b|\brate[ _-]?limit|\bquota\b|\bTP[MD]\b|\bcredits\b|\bvalid api key\b"
    r"|\b(unknown|unsupported|unrecognized) (request )?(parameter|value|field|argument|option)",
    re.IGNORECASE,
)

_QUOTED = re.compile(
    r"(?<!\w)(?P<mark>['\"`])(?P<said>.*?)(?:(?P=mark)(?!\w)|\Z)|“.*?(?:”|\Z)", re.DOTALL
)  # a quotation without an end extends to the end of the text, because messages are cut
_OWN_NAME = re.compile(r"(messages|inputs?|prompt|max_\w+)[\w.\[\]]*")
_REPEATED = re.compile(r"\b(input_value|received|got|found)\s*[:=].*", re.IGNORECASE | re.DOTALL)
_EARLY = 600
"""Characters of a message that state its point; later text may be the request, without quotes."""
_NUMBERS = 2000
"""Characters of a message that are searched for numbers of tokens."""

_LIMITS = (
    re.compile(r"\bcontext (?:length|window|size|limit)\D{0,30}?([\d,]+)|<= ([\d,]+)", re.IGNORECASE),
    re.compile(r"[\d,]+ \+ [\d,]+ > ([\d,]+)"),  # Anthropic: input + reply > limit
)
_INPUTS = (
    re.compile(r"([\d,]+) \+ [\d,]+ > [\d,]+"),
    re.compile(
        r"([\d,]+) (?:in the messages|(?:`inputs` |input |prompt )tokens|(?:tokens )?(?:from|of) (?:the |text )?input)",
        re.IGNORECASE,
    ),
)


def rejection_of(status: int, body: object) -> Rejection:
    """Return how an error's HTTP status and body classify the request's content; empty for all other errors.

    >>> rejection_of(400, {"error": {"code": "context_length_exceeded", "message": "too many tokens"}})
    'context'
    >>> rejection_of(429, {"error": {"code": "rate_limit_exceeded", "message": "Request too large: 9000 tokens"}})
    ''
    >>> rejection_of(400, {"error": {"code": "unknown_parameter", "message": "prompt is too long"}})
    ''
    """
    if status in _ABOUT_ACCESS:
        return ""
    error = body if isinstance(body, ErrorBody) else read_error(body)
    codes = [_letters(code) for code in error.codes]
    if any(_OTHERS.search(code) for code in codes) or any(
        _is_reply_too_long(text[:_NUMBERS]) for text in error.messages
    ):
        return ""
    if any(_FILTERS.search(code) for code in codes):
        return "filtered"
    forbidden = status == _FORBIDDEN
    if not forbidden and any(_CONTEXTS.search(code) for code in codes):
        return "context"
    if status > _FAULT:
        return ""
    texts = [_own_words(text) for text in error.messages]
    if any(_OTHER_TEXTS.search(text) for text in texts):
        return ""
    if not forbidden and any(_CONTEXT_TEXTS.search(text) for text in texts):
        return "context"
    return "filtered" if any(_FILTER_TEXTS.search(text) for text in texts) else ""


def is_filter(word: str) -> bool:
    """Return whether a finish reason belongs to the family of content filters.

    >>> is_filter("content_filter: PROHIBITED_CONTENT"), is_filter("guardrail_intervened"), is_filter("stop")
    (True, True, False)
    """
    return _FILTERS.search(_letters(word)) is not None


def is_prompt_filtered(data: Mapping[str, Any]) -> bool:
    """Return whether an answer reports, as Azure's do, that a filter blocked the prompt."""
    level: list[object] = [data.get("prompt_filter_results")]
    for _ in range(5):
        level = [
            each
            for inner in level
            if isinstance(inner, dict | list)
            for each in (inner.values() if isinstance(inner, dict) else inner)
        ]
        if any(isinstance(each, dict) and each.get("filtered") is True for each in level):
            return True
    return False


def _letters(code: str) -> str:
    return re.sub(r"[^a-z0-9]", "", code.lower())


def _own_words(message: str) -> str:
    """The endpoint's own text, without quotations other than the names of fields that may be too long."""

    def kept(quoted: re.Match[str]) -> str:
        quotation = quoted["said"] or ""
        return quoted[0] if _OWN_NAME.fullmatch(quotation) else "''"

    return _REPEATED.sub("", _QUOTED.sub(kept, message))[:_EARLY]


def _is_reply_too_long(message: str) -> bool:
    """Whether the numbers say that the input uses at most half of the context, so the reply's limit is at fault."""
    limit, sent = _number(_LIMITS, message), _number(_INPUTS, message)
    return limit is not None and sent is not None and 0 < 2 * sent <= limit


def _number(patterns: tuple[re.Pattern[str], ...], message: str) -> int | None:
    for pattern in patterns:
        if found := pattern.search(message):
            digits = next(each for each in found.groups() if each).replace(",", "")
            return int(digits[:18]) if digits else None
    return None
