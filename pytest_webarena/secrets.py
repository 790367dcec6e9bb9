"""Values that must never be written: keys and whatever the user marks are masked in every file and message."""

from __future__ import annotations

import gzip
import os
import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.secret_forms import forms_of

__all__ = [
    "MASK", "SHORTEST", "any_known", "has_secret", "learn", "mark", "mark_environment", "scrub", "scrub_bytes",
    "scrub_cut", "scrub_plain",
]  # fmt: skip

MASK = "[secret]"
SHORTEST = 6
"""Minimum length of a secret in characters. A shorter value would occur in harmless text."""

_LEARNT = 2000
"""Number of learned values that are kept: a site may replace a session with each answer, and a run is long."""
_GRAM, _STRIDE = 8, 4
_LONG = _GRAM + _STRIDE - 1
"""Minimum length of forms that are found by their grams. An occurrence of one contains a gram that begins at a multiple
of the stride, so the time that a text takes does not depend on the number of forms."""
_FEW = 1000
"""Number of forms up to which a search for each is faster in a long text."""
_CUT = " […]"
"""Mark of this package where recorded text is cut."""
_CLIP = re.compile(r" \[…\]|…|\.\.\.|\Z")
"""Ends of texts that somebody has shortened."""


def _whole_number(digits: str) -> re.Pattern[str]:
    """Returns a pattern of a number, such as a one-time code, which is no part of a longer one."""
    return re.compile(rf"(?<![0-9]){digits}(?![0-9])")


class Known:
    """All secrets of this process, and their forms, indexed by how they are found."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.marked: set[str] = set()
        self.learnt: OrderedDict[str, None] = OrderedDict()
        self.owners: dict[str, int] = {}
        """Number of secrets that have a form."""
        self.short: set[str] = set()
        self.grams: dict[str, set[str]] = {}

    def add(self, value: str) -> None:
        for form in _kept_forms(value):
            self.owners[form] = count = self.owners.get(form, 0) + 1
            if count == 1 and len(form) < _LONG:
                self.short.add(form)
            elif count == 1:
                for gram in _first_grams(form):
                    self.grams.setdefault(gram, set()).add(form)

    def remove(self, value: str) -> None:
        for form in _kept_forms(value):
            self.owners[form] -= 1
            if self.owners[form]:
                continue
            del self.owners[form]
            self.short.discard(form)
            for gram in _first_grams(form) if len(form) >= _LONG else ():
                self.grams[gram].discard(form)
                if not self.grams[gram]:
                    del self.grams[gram]

    def in_text(self, text: str) -> list[str]:
        """Return the forms that ``text`` contains, longest first, and perhaps others."""
        if len(self.owners) < _FEW and len(text) > len(self.owners):
            return sorted((form for form in self.owners if form in text), key=len, reverse=True)
        found, grams = set(self.short), self.grams
        starts = range(0, len(text) - _GRAM + 1, _STRIDE) if grams else ()
        for gram in {gram for at in starts if (gram := text[at : at + _GRAM]) in grams}:
            found |= grams[gram]
        return sorted(found, key=len, reverse=True)


_known = Known()


def mark(value: str) -> None:
    """Replace ``value``, also in the usual encodings, by `MASK` in everything that this process writes from now on.

    Surrounding whitespace is not part of the secret. Values shorter than `SHORTEST` are ignored.
    """
    value = value.strip()
    known = _known
    with known.lock:
        if len(value) >= SHORTEST and value not in known.marked:
            known.marked.add(value)
            known.add(value)


def learn(values: Iterable[str]) -> None:
    """Mask values that sites made, such as session ids, like those of `mark`; only the newest 2,000 are kept."""
    known = _known
    with known.lock:
        for value in values:
            if value in known.learnt:
                known.learnt.move_to_end(value)
            elif len(value) >= SHORTEST and value not in known.marked:
                known.learnt[value] = None
                known.add(value)
        while len(known.learnt) > _LEARNT:
            known.remove(known.learnt.popitem(last=False)[0])


def mark_environment(names: Iterable[str]) -> None:
    """Mark the values of these environment variables. Raises `UsageError` for a value that is too short to be
    recognised."""
    for name in names:
        value = os.environ.get(name, "").strip()
        if value and len(value) < SHORTEST:
            raise UsageError(f"secret {name}: expected at least {SHORTEST} characters, found {len(value)}")
        mark(value)


def any_known() -> bool:
    """Whether this process knows any secret."""
    return bool(_known.owners)


def scrub(text: str) -> str:
    """Returns ``text`` with secrets masked."""
    if not _known.owners:
        return text
    with _known.lock:
        found = _known.in_text(text)
    for form in found:
        text = _whole_number(form).sub(MASK, text) if form.isdecimal() else text.replace(form, MASK)
    return _without_beginnings(text) if _CUT in text else text


def scrub_cut(text: str) -> str:
    """Returns ``text`` with secrets masked, also the beginnings of secrets at its end and before ``...``.

    For texts that others have shortened. Beginnings have at least 8 characters.
    """
    return _without_beginnings(scrub(text))


def _without_beginnings(text: str) -> str:
    if not _known.grams:
        return text
    with _known.lock:
        longest = max(map(len, _known.owners))
        parts, done = [], 0
        for clip in _CLIP.finditer(text):
            part = text[done : clip.start()]
            for at in range(max(0, len(part) - longest), len(part) - _GRAM + 1):
                rest = part[at:]
                if any(form.startswith(rest) for form in _known.grams.get(rest[:_GRAM], ())):
                    part = part[:at] + MASK
                    break
            parts += [part, clip[0]]
            done = clip.end()
    return "".join(parts)


def scrub_bytes(data: bytes) -> bytes:
    """Returns the content of a file with secrets masked, whatever its type; a gzip file is masked inside."""
    if data.startswith(b"\x1f\x8b"):
        try:
            plain = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return data
        return data if (masked := scrub_bytes(plain)) == plain else gzip.compress(masked)
    text = data.decode("utf-8", "surrogateescape")
    masked_text = scrub(text)
    return data if masked_text == text else masked_text.encode("utf-8", "surrogateescape")


def scrub_plain(data: Any) -> Any:
    """Returns plain JSON data with secrets masked, in keys of mappings, too."""
    if not _known.owners:
        return data
    if isinstance(data, str):
        return scrub(data)
    if isinstance(data, dict):
        return {scrub_plain(key): scrub_plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [scrub_plain(each) for each in data]
    return data


def has_secret(data: Any) -> bool:
    """Whether any text in plain data contains a secret.

    >>> has_secret({"replies": ("GRADE: 1", ["none here"])})
    False
    """
    if not _known.owners:
        return False
    if isinstance(data, str):
        return scrub(data) != data
    if isinstance(data, Mapping):
        return any(has_secret(key) or has_secret(value) for key, value in data.items())
    return isinstance(data, list | tuple) and any(map(has_secret, data))


def _kept_forms(value: str) -> set[str]:
    """Returns the forms that are long enough to be looked for."""
    return {form for form in forms_of(value) if len(form) >= SHORTEST}


def _first_grams(form: str) -> set[str]:
    return {form[at : at + _GRAM] for at in range(_STRIDE)}
