"""Lets a model propose intents from crawled pages. Replies are parsed strictly, because pages may contain
instructions."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pytest_webarena.browser.grammars.replies import json_objects
from pytest_webarena.errors import ModelError
from pytest_webarena.llm.messages import Message, ModelReply
from pytest_webarena.llm.reply_retries import converse
from pytest_webarena.llm.templates import Template
from pytest_webarena.secrets import scrub
from pytest_webarena.task_generation.crawling import CrawledPage
from pytest_webarena.text import clip

__all__ = ["PROMPT", "Idea", "Kind", "Proposed", "prompt_version", "propose", "read_reply"]

PROMPT = Path(__file__).parent / "prompts" / "ideas.j2"
Kind = Literal["information", "navigation", "content"]

_ASKS = 3
"""Maximum number of replies that are requested."""
_LONGEST = 600
"""Maximum length of an intent in characters."""
_FILLINGS = 5
"""Maximum number of instances of a template."""
_NAME = re.compile(r"\{{1,2}\s*([A-Za-z_]\w{0,39})\s*\}{1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """One intent, and other instances of its template."""

    kind: Kind
    template: str
    """The model's template, with names in braces."""
    intents: tuple[str, ...]
    """The filled templates; the template itself if it has no names."""
    pages: tuple[CrawledPage, ...]
    """Pages that the model based the idea on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """Usable ideas of the model's reply."""

    ideas: tuple[Idea, ...]
    left_out: tuple[str, ...]
    """Why parts of the reply were rejected."""


def propose(send: Callable[[tuple[Message, ...]], ModelReply], pages: Sequence[CrawledPage], *, count: int) -> Proposed:
    """Ask the model for ``count`` ideas. Raises `ModelError` when no reply has a usable one, and the errors of
    ``send``."""
    values = {
        "count": count,
        "sites": list(dict.fromkeys(page.site for page in pages)),
        "pages": [
            json.dumps(
                {"site": page.site, "address": page.path, "title": page.title, "shows": page.text}, ensure_ascii=False
            )
            for page in pages
        ],
    }
    messages = Template(PROMPT, "webarena tasks generate").messages(values)
    conversation = converse(send, messages, lambda text: read_reply(text, pages, most=count), most=_ASKS)
    if isinstance(conversation.read, str):
        raise ModelError(
            f"expected ideas for tasks, found none in {conversation.requests} replies: {conversation.read} "
            f"The last one was {clip(conversation.last, 120)!r}"
        )
    return conversation.read


def prompt_version() -> str:
    """Returns ``name@hash`` of the prompt."""
    return f"{PROMPT.stem}@{hashlib.sha256(PROMPT.read_bytes()).hexdigest()[:12]}"


def read_reply(text: str, pages: Sequence[CrawledPage], *, most: int) -> Proposed | str:
    """Returns at most ``most`` ideas of a reply; if none is usable, the message to the model.

    >>> read_reply('{"ideas": [{"kind": "information", "template": "Who?"}]}', [], most=3).ideas[0].intents
    ('Who?',)
    """
    listed = next((each["ideas"] for each in json_objects(text) if isinstance(each.get("ideas"), list)), None)
    if listed is None:
        return "Expected a JSON object with a list 'ideas', found none. Please write it with nothing else."
    ideas: list[Idea] = []
    left_out: list[str] = []
    known: set[str] = set()
    for number, each in enumerate(listed, 1):
        found = _idea(each, pages, known)
        if isinstance(found, str):
            left_out.append(f"idea {number}: {found}")
        elif len(ideas) < most:
            ideas.append(found)
            known |= {_normalised(intent) for intent in found.intents}
    if not ideas:
        reasons = "; ".join(left_out[:3]) or "the list is empty"
        return f"Expected ideas, found none that can be used ({reasons}). Please write the whole object again."
    return Proposed(ideas=tuple(ideas), left_out=tuple(left_out))


def _idea(data: object, pages: Sequence[CrawledPage], known: set[str]) -> Idea | str:
    """Returns one idea, or what is wrong with it."""
    if not isinstance(data, Mapping):
        return f"expected an object, found {clip(repr(data), 40)}"
    kind = data.get("kind")
    if kind not in get_args(Kind):
        return f"expected a kind, {', '.join(get_args(Kind))}, found {clip(repr(kind), 40)}"
    template = data.get("template")
    if not isinstance(template, str) or not template.strip():
        return f"expected a template, found {clip(repr(template), 40)}"
    if wrong := _unreadable(template):
        return wrong
    template = " ".join(template.split())
    intents = [*_filled(template, data.get("fillings"))]
    if not intents:
        return f"expected fillings for {clip(template, 80)!r}, found none that has a value for each of its names"
    readable = [intent for intent in dict.fromkeys(intents) if not _unreadable(intent)]
    if not readable:
        return _unreadable(intents[0])
    fresh = [intent for intent in readable if _normalised(intent) not in known]
    if not fresh:
        return f"{clip(intents[0], 80)!r} repeats an earlier idea"
    numbers = data.get("pages")
    page_numbers = [number for number in numbers if _is_page(number, pages)] if isinstance(numbers, list) else []
    return Idea(
        kind=cast(Kind, kind),
        template=scrub(template),
        intents=tuple(scrub(intent) for intent in fresh),
        pages=tuple(pages[number - 1] for number in dict.fromkeys(page_numbers)),
    )


def _filled(template: str, fillings: object) -> Iterator[str]:
    """Yields the template with each of the complete fillings; the template itself if it has no names."""
    names = _NAME.findall(template)
    if not names:
        yield template
        return
    for filling in fillings[:_FILLINGS] if isinstance(fillings, list) else ():
        values = _values(filling, names)
        if values is not None:
            yield _NAME.sub(lambda match: values[match[1]], template)  # noqa: B023  # used at once


def _values(filling: object, names: Sequence[str]) -> dict[str, str] | None:
    """Returns a text for each name; None if one is missing."""
    if not isinstance(filling, Mapping):
        return None
    found: dict[str, Any] = {name: filling.get(name) for name in names}
    if any(isinstance(value, bool) or not isinstance(value, str | int | float) for value in found.values()):
        return None
    texts = {name: " ".join(str(value).split()) for name, value in found.items()}
    return texts if all(texts.values()) else None


def _unreadable(text: str) -> str:
    """Returns what is wrong with a text for people; empty if nothing is."""
    if len(text) > _LONGEST:
        return f"expected at most {_LONGEST} characters, found {len(text)}"
    if not " ".join(text.split()).isprintable():
        return f"expected a text that can be printed, found {clip(text, 60)!r}"
    return ""


def _normalised(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".?!")


def _is_page(number: object, pages: Sequence[CrawledPage]) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 < number <= len(pages)
