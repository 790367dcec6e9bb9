"""Classification of errors that a request causes: its length, a filter that blocks it, or a setting of its definition.

Each endpoint words them in its own way. The field and the code that an error names decide, including a code for another
cause. Messages count where neither decides and the status allows that the request is at fault; quotations of the
request are ignored. A message that names both the input and the reply's limit, without usable numbers, is ``unclear``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pytest_webarena.llm.error_bodies import ErrorBody, read_error

__all__ = ["Rejection", "is_filter", "is_prompt_filtered", "refused_setting", "rejection_of"]

Rejection = Literal["", "context", "filtered", "setting", "unclear"]
"""``context``: the request is longer than the model's context. ``filtered``: a content filter blocked it. ``setting``:
the model does not allow a value that the agent's definition sets, mostly the reply's limit. ``unclear``: the input, the
reply's limit or both are too long."""

_MAX_TOKENS = "max_tokens"
_SETTINGS = {
    **dict.fromkeys(("maxtokens", "maxcompletiontokens", "maxoutputtokens", "maxnewtokens", "numpredict"), _MAX_TOKENS),
    **dict.fromkeys(("temperature", "seed", "stop"), ""),
    **dict.fromkeys(("stopsequences", "topp", "reasoningeffort", "reasoning", "effort"), ""),
    **dict.fromkeys(("thinking", "budgettokens", "thinkingbudget", "thinkinglevel"), ""),
}
"""Last names of fields that a definition's ``sampling`` sets, reduced to letters. Only ``max_tokens`` has a meaning
here; others are named as the endpoint names them."""
_IMAGES = re.compile("image(dimensions|file)?toolarge")
"""Codes of errors about a screenshot's size, which the definition's viewport sets."""
_IMAGE_TEXTS = re.compile(r"\bimage\b[^.:]{0,40}\b(exceeds?|too (large|big)|larger than)\b", re.IGNORECASE)
"""The same in messages: of Anthropic, "image exceeds 5 MB maximum"."""

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
    r"|'(messages|input)(\b[^']*\.(content|text|output|arguments))?(\[\d+\])*': string too long",  # not an id or name
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
_REPLY_LIMIT = r"\bmax_?\w*?tokens?\b"
_SUM = re.compile(r"(?<![\d,])([\d,]+) \+ ([\d,]+) > ([\d,]+)")
"""Anthropic: input + reply > context."""
_ABOVE = re.compile(rf"{_REPLY_LIMIT}\W{{1,3}}([\d,]+) > ([\d,]+)(?! - )", re.IGNORECASE)
"""Anthropic: a reply's limit above the model's."""
_LIMITS = (re.compile(r"\bcontext (?:length|window|size|limit)\D{0,30}?([\d,]+)|<= ([\d,]+)", re.IGNORECASE),)
_INPUTS = (
    re.compile(
        r"([\d,]+) (?:in the messages|(?:`inputs` |input |prompt )tokens|(?:tokens )?(?:from|of) (?:the |text )?input)",
        re.IGNORECASE,
    ),
)
_REPLIES = (
    re.compile(r"([\d,]+) (?:in the completion|`?max_new_tokens|(?:tokens )?(?:for|of) the (?:completion|output))"),
    re.compile(rf"{_REPLY_LIMIT}['\"`]* is too large: ([\d,]+)", re.IGNORECASE),
)
_TOO_LARGE = re.compile(
    rf"({_REPLY_LIMIT}|\bnum_predict\b).{{0,120}}"
    r"(\btoo (large|high|big)\b|\b(at most|maximum|range|exceed\w*|less than|greater than|larger than)\b|<=?|>=?)"
    rf"|\b(range|maximum|value) of ({_REPLY_LIMIT})",
    re.IGNORECASE | re.DOTALL,
)
_INPUT = re.compile(r"\b(prompts?|inputs?|messages|context (length|window|size|limit))\b", re.IGNORECASE)


def rejection_of(status: int, body: object) -> Rejection:
    """Return how an error's HTTP status and body classify the request's content; empty for all other errors.

    >>> rejection_of(400, {"error": {"code": "context_length_exceeded", "message": "too many tokens"}})
    'context'
    >>> rejection_of(429, {"error": {"code": "rate_limit_exceeded", "message": "Request too large: 9000 tokens"}})
    ''
    >>> rejection_of(400, {"error": {"code": "unknown_parameter", "message": "prompt is too long"}})
    ''
    >>> rejection_of(400, {"error": {"param": "max_tokens", "message": "at most 8192 are possible"}})
    'setting'
    """
    if status in _ABOUT_ACCESS:
        return ""
    error = body if isinstance(body, ErrorBody) else read_error(body)
    codes = [_letters(code) for code in error.codes]
    forbidden = status == _FORBIDDEN
    if not forbidden and status <= _FAULT and refused_setting(error):
        return "setting"
    if any(_OTHERS.search(code) for code in codes):
        return ""
    found = "" if forbidden else _too_long(error.messages)
    if found == "setting" or (found == "unclear" and not any(_CONTEXTS.search(code) for code in codes)):
        return found
    if any(_FILTERS.search(code) for code in codes):
        return "filtered"
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


def refused_setting(body: object) -> str:
    """Return the setting that an error names by its field or code, or an image's size by its message.

    It is ``max_tokens``, ``images``, or in the endpoint's own spelling; empty if none is named.

    >>> refused_setting({"error": {"param": "max_output_tokens"}}), refused_setting({"error": {"param": "input[0]"}})
    ('max_tokens', '')
    """
    error = body if isinstance(body, ErrorBody) else read_error(body)
    for field in error.fields:
        last = _letters(field.rpartition(".")[2])
        if last in _SETTINGS:
            return _SETTINGS[last] or field
    is_about_images = any(_IMAGES.fullmatch(_letters(code)) for code in error.codes) or any(
        _IMAGE_TEXTS.search(_own_words(text)) for text in error.messages
    )
    return "images" if is_about_images else ""


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


def _too_long(messages: tuple[str, ...]) -> Rejection:
    """What is too long according to messages that name the reply's limit or numbers of tokens; empty if it is not the
    reply's limit. The larger of the input and the reply's limit is at fault."""
    for message in messages:
        text = _own_words(message)
        if found := _SUM.search(text):
            put, wanted, most = (int(each.replace(",", "")[:18] or 0) for each in found.groups())
            return "" if put > most or put > wanted else "setting"
        if _ABOVE.search(text):
            return "setting"
        limit, sent, reply = (_number(patterns, text) for patterns in (_LIMITS, _INPUTS, _REPLIES))
        if sent is not None and reply is not None:
            return "" if sent > reply or (limit is not None and sent > limit) else "setting"
        if limit is not None and sent is not None and 0 < 2 * sent <= limit:
            return "setting"
        if sent is None and _TOO_LARGE.search(text) and not _OTHER_TEXTS.search(text):
            return "unclear" if _INPUT.search(text) else "setting"
    return ""


def _number(patterns: tuple[re.Pattern[str], ...], message: str) -> int | None:
    for pattern in patterns:
        if found := pattern.search(message):
            digits = next(each for each in found.groups() if each).replace(",", "")
            return int(digits[:18]) if digits else None
    return None
