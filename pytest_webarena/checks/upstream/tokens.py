"""Words of a text as NLTK's ``word_tokenize`` (3.8) cuts them: Penn Treebank conventions, sentence by sentence."""

from __future__ import annotations

import re

from pytest_webarena.checks.upstream.sentences import sentences

__all__ = ["has_token", "word_tokens"]

_STEPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # quotes that open
        (r"([\u00ab\u201c\u2018\u201e]|`+)", r" \1 "),
        (r"^\"", "``"),
        (r"(``)", r" \1 "),
        (r"([ (\[{<])(\"|'{2})", r"\1 `` "),
        (r"(?i)(')(?!re|ve|ll|m|t|s|d|n)(\w)\b", r"\1 \2"),
        # the full stop at the end, and other marks
        (r"([^.])(\.)([\])}>\"'\u00bb\u201d\u2019 ]*)\s*$", r"\1 \2 \3 "),
        (r"([:,])([^\d])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"(\.{2,})", r" \1 "),
        (r"([;@#$%&])", r" \1 "),
        (r"([^.])(\.)([\])}>\"']*)\s*$", r"\1 \2\3 "),
        (r"([?!])", r" \1 "),
        (r"([^'])' ", r"\1 ' "),
        (r"(\*)", r" \1 "),
        (r"([\]\[(){}<>])", r" \1 "),
        (r"--", " -- "),
        (r"^(?s:(.*))$", r" \1 "),
        # quotes that close, and clitics
        (r"([\u00bb\u201d\u2019])", r" \1 "),
        (r"''", " '' "),
        (r"\"", " '' "),
        (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        # contractions
        *(
            (rf"(?i)\b({first})({second})\b", r" \1 \2 ")
            for first, second in (
                ("can", "not"), ("d", "'ye"), ("gim", "me"), ("gon", "na"), ("got", "ta"), ("lem", "me"),
                ("more", "'n"),
            )
        ),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is)\b", r" \1 \2 "),
        (r"(?i) ('t)(was)\b", r" \1 \2 "),
    )
)  # fmt: skip


def word_tokens(text: str) -> list[str]:
    """The words and marks of ``text``, which is taken to be in lower case.

    >>> word_tokens('it costs $0, "free". 5% off')
    ['it', 'costs', '$', '0', ',', '``', 'free', "''", '.', '5', '%', 'off']
    """
    return [token for sentence in sentences(text) for token in _cut(sentence)]


def has_token(token: str, text: str) -> bool:
    """Whether ``token`` is one of the words of ``text``."""
    rewritten = set(token) <= set("`'")  # quotes are, nothing else is
    if not rewritten and token not in text:
        return False
    return any(token in _cut(sentence) for sentence in sentences(text) if rewritten or token in sentence)


def _cut(sentence: str) -> list[str]:
    for pattern, replacement in _STEPS:
        sentence = pattern.sub(replacement, sentence)
    return sentence.split()
