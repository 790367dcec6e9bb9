"""Answers that are known to be right although they say what no rule can vouch for.

Some typed answers of WebArena-Verified name more than the task's reference does: the title of a post, a full user name.
Nothing in the task tells them from names that are wrong, so they are known by what they say: the digest of the question
and of the words of the answer. Made by ``scripts/known_right.py``.
"""

from __future__ import annotations

import hashlib
import re

from pytest_webarena.checks.upstream.folding import fold

__all__ = ["DIGESTS", "digest", "is_known_right"]


def is_known_right(question: str, answer: str) -> bool:
    """Whether the answer says just what the typed one says, in whatever order; the other rules look at the order."""
    return digest(question, answer) in DIGESTS


def digest(question: str, answer: str) -> str:
    """Of the folded question and the words of the answer.

    >>> digest("Who?", "- Ann\\n- Bob") == digest("Who?", '["Bob", "Ann"]') != digest("Who?", "Ann, Bob, Eve")
    True
    """
    words = sorted(re.findall(r"\w+", fold(answer)))
    return hashlib.sha256("\n".join((fold(question), *words)).encode()).hexdigest()[:20]


DIGESTS = frozenset(
    """
    02e7e27b176f60792672 0490639d74c3d7de6e3d 2eeb5c84b56607510877 4425235580c9f52ef8bc 5c9b1f4a90dcadd1dffc
    612b5062855a9452824b 93e38af613b8a224526f 9c7a674a29c22f1fb4bd afe4f2daf011fd1cf365 c6ae0de92291dc55bba4
    cbd0f8841952782c3a03 fcdd7b066af5722b06a2
    """.split()  # noqa: SIM905 - a list is no easier to read
)
