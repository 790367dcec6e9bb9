"""Cuts an observation's text to a budget between two elements, with a note about what was cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation.forms import find_form
from pytest_webarena.browser.observation.tokens import token_counter

__all__ = ["compose", "cut_lines"]


def compose(head: str, forms: Mapping[str, Sequence[str]], config: ObservationConfig) -> str:
    """Join ``head``, a blank line, and the forms (each under a title if there are several), within the budget.

    Forms share what the head leaves. A form that needs less than its share leaves the rest to the others.
    """
    titled = len(forms) > 1
    parts = {kind: "\n".join([*([find_form(kind).title] if titled else []), *lines]) for kind, lines in forms.items()}
    for size, most in _limits(config):
        parts = _shared(head, parts, size, most)
    text = "\n\n".join([head, *parts.values()]) if parts else head
    if config.max_obs_length is not None:
        text = token_counter(config.tokenizer).head(text, config.max_obs_length)
    return text


def _limits(config: ObservationConfig) -> list[tuple[Callable[[str], int], int]]:
    found: list[tuple[Callable[[str], int], int]] = []
    if config.max_tokens is not None:
        found.append((token_counter(config.tokenizer).count, config.max_tokens))
    if config.max_chars is not None:
        found.append((len, config.max_chars))
    return found


def _shared(head: str, parts: Mapping[str, str], size: Callable[[str], int], most: int) -> dict[str, str]:
    if size("\n\n".join([head, *parts.values()])) <= most:
        return dict(parts)
    available = max(0, most - size(head + "\n\n") - 2 * (len(parts) - 1))
    cut: dict[str, str] = {}
    by_size = sorted(parts, key=lambda kind: size(parts[kind]))
    for number, kind in enumerate(by_size):
        cut[kind] = cut_lines(parts[kind], available // (len(by_size) - number), size)
        available = max(0, available - size(cut[kind]))
    return {kind: cut[kind] for kind in parts}


def cut_lines(text: str, most: int | None, size: Callable[[str], int] = len) -> str:
    """Cut ``text`` after whole lines to ``most`` characters (or units of ``size``); the last line says what was cut.

    >>> cut_lines("one\\ntwo\\nthree\\nfour", 40)
    'one\\ntwo\\nthree\\nfour'
    >>> cut_lines("line\\n" * 20, 50)
    'line\\nline\\n… cut here: 18 more lines, 90 characters'
    """
    if most is None or size(text) <= most:
        return text
    lines = text.removesuffix("\n").split("\n")

    def cut(kept: int) -> str:
        rest = sum(map(len, lines[kept:])) + len(lines) - kept
        return "\n".join([*lines[:kept], f"… cut here: {len(lines) - kept} more lines, {rest} characters"])

    low, high = 0, len(lines) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(cut(middle)) <= most else (low, middle - 1)
    return cut(low)
