"""Forms in which a text may be stored: escaped, percent-encoded, as HTML, in base64 at any offset, in hexadecimal."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

__all__ = ["forms_of"]

_KEPT = ("", "/", "!$%&'()*+,/:;=@[\\]|^", "!$%&()*+,/:;=?@[\\]^`{|}", "!'()*")
"""Characters that encoders leave unescaped: of components, of paths, browsers in paths and in queries, JavaScript."""
_ESCAPE = re.compile(r"%[0-9A-F]{2}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|&#x[0-9a-f]+;")
_APOSTROPHES = ("'", "&#x27;", "&#39;", "&apos;")
_QUOTES = ('"', "&quot;", "&#34;", "&#x22;")


def forms_of(value: str) -> frozenset[str]:
    """Return ``value`` and its forms in JSON, Python, addresses, HTML and XML, base64 and hexadecimal.

    Escapes are included once and twice, with small and with capital digits. Base64 lacks the characters that depend on
    neighbouring bytes, so that the form is found in a longer text that was encoded as a whole.

    >>> sorted(form for form in forms_of("a<b") if "%26" not in form)[:8]
    ['613C62', '613c62', 'E8Y', 'YTxi', 'a%253Cb', 'a%253cb', 'a%3Cb', 'a%3cb']
    """
    once = set(_escaped(value))
    found = {form for each in once for form in _escaped(each)} | once
    found |= {_ESCAPE.sub(_other_case, form) for form in found}
    raw = value.encode("utf-8", "surrogatepass")
    return frozenset(found | set(_in_base64(raw)) | {raw.hex(), raw.hex().upper()})


def _escaped(text: str) -> Iterator[str]:
    yield text
    for pure in (True, False):
        as_json = json.dumps(text, ensure_ascii=pure)[1:-1]
        yield as_json
        yield as_json.replace("/", "\\/")
    yield repr(text)[1:-1]
    yield ascii(text)[1:-1]
    yield repr(text.encode("utf-8", "surrogatepass"))[2:-1]
    for kept in _KEPT:
        address = quote(text, safe=kept, errors="surrogatepass")
        yield address
        yield address.replace("%20", "+")
    yield quote_plus(text, errors="surrogatepass")
    markup = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for apostrophe in _APOSTROPHES:
        for mark in _QUOTES:
            page = markup.replace("'", apostrophe).replace('"', mark)
            yield page
            yield page.encode("ascii", "xmlcharrefreplace").decode()


def _other_case(escape: re.Match[str]) -> str:
    """Return an escape with its hexadecimal digits in the other case."""
    start = 3 if escape[0].startswith("&") else 1 if escape[0].startswith("%") else 2
    return escape[0][:start] + escape[0][start:].swapcase()


def _in_base64(raw: bytes) -> Iterator[str]:
    """Yield both alphabets' forms, complete with padding and for each number of bytes before in a group of three."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode()
        for before in range(3):
            text = encode(b"\0" * before + raw).decode().rstrip("=")
            start = (0, 2, 3)[before]
            end = len(text) - (1 if (before + len(raw)) % 3 else 0)
            yield text[start:end]
