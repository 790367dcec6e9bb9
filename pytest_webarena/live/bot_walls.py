"""Detection of sites that reject robots: by response head, frame address or page text."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

__all__ = ["captcha_frame", "refusal", "retry_after", "wall", "wall_of_page"]

_LONGEST = 3600.0

_FRAMES = re.compile(
    r"//(?:"
    r"challenges\.cloudflare\.com/.*(?:turnstile|challenge)"
    r"|(?:[a-z0-9-]+\.)*captcha-delivery\.com/(?:captcha|interstitial)"
    r"|(?:[a-z0-9-]+\.)*(?:px-cdn\.net|perimeterx\.net|px-cloud\.net)/.*captcha"
    r"|(?:[a-z0-9-]+\.)*(?:arkoselabs|funcaptcha)\.com/"
    r"|(?:www\.)?(?:google\.com|recaptcha\.net)/sorry/"
    r")",
    re.IGNORECASE,
)
"""Addresses of frames and pages that only keep robots out. Widgets that many pages embed invisibly (the anchors of
reCAPTCHA and hCaptcha) are excluded, because they block nobody."""

_WALLS = re.compile(
    r"verif(?:y|ying) (?:that )?you are (?:a )?human|are you a (?:robot|human)\b|confirm (?:that )?you(?:.re| are) "
    r"(?:not a (?:ro)?bot|human|a human)|unusual traffic from your|complete the (?:captcha|security check)"
    r"|(?:solve|enter) (?:the|this) captcha|press (?:&|and) hold to confirm|checking your browser before"
    r"|pardon our interruption|access to this page has been denied|enable javascript and cookies to continue"
    r"|(?:not available|unavailable) in your (?:country|region|location)|automated (?:access|queries|requests) "
    r"(?:is|are|to|from)|you have been blocked|request (?:has been|was) blocked",
    re.IGNORECASE,
)
_UNSEEN = re.compile(
    r"<!--.*?-->|<(script|style|template|noscript|head)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE
)
_TITLE = re.compile(r"<title\b[^>]*>(.*?)</title\s*>", re.DOTALL | re.IGNORECASE)
_ROOM = 1500
"""Maximum length, in characters, of the text of a page that shows only a wall. Longer pages may be about captchas."""


def refusal(status: int, fields: Mapping[str, str], *, page: bool) -> str:
    """Return why a response rejects the visitor and does not answer the request; empty if it answers. Names in
    ``fields`` are in lower case.

    >>> refusal(429, {"retry-after": "30"}, page=False)
    'status 429, to be asked again in 30 s'
    >>> refusal(403, {}, page=False), refusal(403, {}, page=True)
    ('', 'status 403')
    >>> refusal(202, {"x-amzn-waf-action": "challenge"}, page=True)
    'status 202, a challenge to show that one is no robot'
    """
    if {fields.get("cf-mitigated", "").lower(), fields.get("x-amzn-waf-action", "").lower()} & {"challenge", "captcha"}:
        return f"status {status}, a challenge to show that one is no robot"
    wait = retry_after(fields.get("retry-after", ""))
    later = f", to be asked again in {wait:.0f} s" if wait else ""
    if status == 429 or (status == 503 and wait):
        return f"status {status}{later}"
    return f"status {status}{later}" if page and status in (401, 402, 403, 407, 418, 451, 511, 999) else ""


def retry_after(value: str, now: float | None = None) -> float:
    """Seconds requested by a ``Retry-After`` value, at most an hour; 0 for no or an invalid value.

    >>> retry_after("120"), retry_after("Thu, 01 Jan 1970 00:00:40 GMT", now=10.0), retry_after("soon")
    (120.0, 30.0, 0.0)
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), _LONGEST)
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return 0.0
    moment = datetime.now(UTC).timestamp() if now is None else now
    return min(max(0.0, at.replace(tzinfo=at.tzinfo or UTC).timestamp() - moment), _LONGEST)


def captcha_frame(url: str) -> bool:
    """Whether ``url`` is the address of a visible challenge.

    >>> captcha_frame("https://geo.captcha-delivery.com/captcha/?x=1"), captcha_frame("https://www.example.com/captcha")
    (True, False)
    """
    parts = urlsplit(url)
    return bool(_FRAMES.match(f"//{parts.netloc}{parts.path}"))


def wall(text: str) -> str:
    """The words that identify a page's text as a wall without other content; empty if it is not a wall.

    >>> wall("Please verify you are human\\nRay ID: 7")
    'verify you are human'
    """
    text = " ".join(text.split())
    match = _WALLS.search(text) if len(text) <= _ROOM else None
    return match[0] if match else ""


def wall_of_page(markup: str) -> str:
    """Like `wall`, for a page's markup: checks its title and its visible text.

    >>> wall_of_page("<title>Shop</title><script>// verify you are human</script><p>Are you a robot?")
    'Are you a robot'
    """
    title = match[1] if (match := _TITLE.search(markup)) else ""
    return wall(html.unescape(f"{title} {_UNSEEN.sub(' ', markup)}"))
