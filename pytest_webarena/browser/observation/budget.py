"""Keeps an observation's text within a budget, at the borders of elements, and says what was left out."""

from __future__ import annotations

__all__ = ["cut_lines"]


def cut_lines(text: str, max_chars: int | None) -> str:
    """``text`` cut after whole lines to ``max_chars`` characters, the last line saying how much is missing.

    >>> cut_lines("one\\ntwo\\nthree\\nfour", 40)
    'one\\ntwo\\nthree\\nfour'
    >>> cut_lines("line\\n" * 20, 50)
    'line\\nline\\n… cut here: 18 more lines, 90 characters'
    """
    if max_chars is None or len(text) <= max_chars:
        return text
    lines = text.removesuffix("\n").split("\n")
    rest = sum(map(len, lines)) + len(lines)

    def notice(kept: int, left: int) -> str:
        return f"… cut here: {len(lines) - kept} more lines, {left} characters"

    kept, length = 0, 0
    for line in lines:
        size = len(line) + 1
        if length + size + len(notice(kept + 1, rest - size)) > max_chars:
            break
        kept, length, rest = kept + 1, length + size, rest - size
    return "\n".join([*lines[:kept], notice(kept, rest)])
