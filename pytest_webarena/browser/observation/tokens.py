"""Counts tokens for budgets: by an estimate, or exactly with an installed tokenizer that needs no download.

Values of ``observation.tokenizer``:

=========================  ==========================================================================================
``estimate``               no tokenizer: see `estimate`
``tiktoken:NAME``          an encoding or a model of ``tiktoken``, e.g. ``tiktoken:cl100k_base``; its vocabulary must
                           be in ``TIKTOKEN_CACHE_DIR``, because nothing is downloaded during a run
``tokenizers:FILE``        a model's ``tokenizer.json``, read by Hugging Face's ``tokenizers``
``python:MODULE:NAME``     your own function from a text to a number, or an object with ``encode`` and ``decode``
=========================  ==========================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError, closest

__all__ = ["TokenCounter", "estimate", "token_counter"]

_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|_+|\s+|[^\w\s]")


def estimate(text: str) -> int:
    """Return the approximate number of tokens of ``text`` for current models, without a tokenizer.

    Words count one token per 6 letters or part of them, digits one per 3. Signs count one each, but two in a row one
    and a half. White space other than single spaces counts one per run, and letters of scripts without such words one
    each. Over 54 texts (trees and HTML of the benchmarks' pages), the sum is 0.99 of that of ``cl100k_base``; single
    texts are between 0.83 and 1.26. Reserve a fifth of the budget, or count exactly.

    >>> estimate("[12] button 'Add to cart'")
    9
    """
    tokens, signs = 0.0, 0
    for match in _PIECE.finditer(text):
        piece = match[0]
        first = piece[0]
        if first.isalpha():
            tokens += -(-len(piece) // 6) if first < "\u0250" else len(piece)
            signs = 0
        elif first.isspace():
            tokens += 0 if piece == " " else 1
            signs = 0 if piece == " " else 1
        elif first.isalnum():
            tokens, signs = tokens + 1, 0
        else:
            tokens += 1 if first > "\x7f" or not signs else 0.5
            signs += 1
    return -int(-tokens // 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounter:
    """Counts the tokens of a text, and cuts it."""

    count: Callable[[str], int]
    head: Callable[[str, int], str]
    """Returns the longest beginning of a text with at most so many tokens."""
    exact: bool = True


@cache
def token_counter(name: str) -> TokenCounter:
    """Return the counter of that name (see the module's table). `UsageError` says what is missing."""
    kind, _, rest = name.partition(":")
    if name == "estimate":
        return TokenCounter(count=estimate, head=_search(estimate), exact=False)
    if kind == "tiktoken" and rest:
        return _tiktoken(name, rest)
    if kind == "tokenizers" and rest:
        return _tokenizers(name, Path(rest))
    if kind == "python" and rest.count(":") == 1:
        return _own(name, *rest.split(":"))
    known = ("estimate", "tiktoken:NAME", "tokenizers:FILE", "python:MODULE:NAME")
    raise UsageError(f"observation.tokenizer: no counter {name!r}; {closest(name, known)}")


def _tiktoken(name: str, encoding: str) -> TokenCounter:
    try:
        import tiktoken
    except ImportError:
        raise UsageError(
            f"observation.tokenizer {name}: tiktoken is not installed; run: pip install tiktoken"
        ) from None
    try:
        known = encoding in tiktoken.list_encoding_names()
        found = tiktoken.get_encoding(encoding) if known else tiktoken.encoding_for_model(encoding)
    except KeyError:
        listing = closest(encoding, tiktoken.list_encoding_names())
        raise UsageError(f"observation.tokenizer {name}: no such model or encoding; {listing}") from None
    except Exception as error:  # its download raises many types, as runs have no network
        raise UsageError(
            f"observation.tokenizer {name}: its vocabulary could not be loaded ({error.__class__.__name__}); "
            "put it into the folder that TIKTOKEN_CACHE_DIR names"
        ) from None
    return _of_codec(lambda text: found.encode(text, disallowed_special=()), found.decode)


def _tokenizers(name: str, file: Path) -> TokenCounter:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise UsageError(
            f"observation.tokenizer {name}: tokenizers is not installed; run: pip install tokenizers"
        ) from None
    try:
        found = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises no specific type
        raise UsageError(f"observation.tokenizer {name}: expected a tokenizer.json, found {error}") from None
    return _of_codec(lambda text: found.encode(text, add_special_tokens=False).ids, found.decode)


def _own(name: str, module: str, attribute: str) -> TokenCounter:
    try:
        found: Any = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"observation.tokenizer {name}: expected a function, found none: {error}") from None
    if hasattr(found, "encode") and hasattr(found, "decode"):
        return _of_codec(found.encode, found.decode)
    if not callable(found):
        raise UsageError(f"observation.tokenizer {name}: expected a function from a text to a number, found {found!r}")
    return TokenCounter(count=found, head=_search(found))


def _of_codec(encode: Callable[[str], Sequence[int]], decode: Callable[[Any], str]) -> TokenCounter:
    def head(text: str, tokens: int) -> str:
        ids = encode(text)
        # A character that is incomplete at the cut is omitted.
        return text if len(ids) <= tokens else decode(ids[:tokens]).rstrip("\ufffd")

    return TokenCounter(count=lambda text: len(encode(text)), head=head)


def _search(count: Callable[[str], int]) -> Callable[[str, int], str]:
    """Return a function that searches for the longest beginning, for counters that can't cut."""

    def head(text: str, tokens: int) -> str:
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if count(text[:middle]) <= tokens else (low, middle - 1)
        return text[:low]

    return head
