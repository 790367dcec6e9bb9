"""How the original evaluators compare texts, to the letter."""

from __future__ import annotations

from pytest_webarena.checks.upstream.tokens import has_token, word_tokens

__all__ = ["ALTERNATIVE", "clean", "equals", "includes", "unquoted"]

ALTERNATIVE = " |OR| "
"""Between alternatives in references, where they are understood at all."""


def clean(text: str, *, strip: bool = True) -> str:
    """``unquoted``, in lower case.

    >>> clean(' "Yes" ')
    'yes'
    """
    return unquoted(text, strip=strip).lower()


def unquoted(text: str, *, strip: bool = True) -> str:
    """Without white space around, without one pair of quotes.

    VisualWebArena keeps the white space (``strip=False``).
    """
    if strip:
        text = text.strip()
    for quote in ("'", '"'):
        if text.startswith(quote) and text.endswith(quote):
            text = text[1:-1]
            break
    return text


def equals(reference: str, text: str, *, strip: bool = True) -> bool:
    """The original's ``exact_match``."""
    return clean(text, strip=strip) == clean(reference, strip=strip)


def includes(reference: str, text: str, *, tokens: bool = False, strip: bool = True) -> bool:
    """The original's ``must_include``: as a part of the text; with ``tokens`` as one of its words, if it is one itself.

    WebArena asks for words only when the reference is a single character, VisualWebArena whenever it is one word.
    """
    reference, text = clean(reference, strip=strip), clean(text, strip=strip)
    if tokens and len(word_tokens(reference)) == 1:
        return has_token(reference, text)
    return reference in text
