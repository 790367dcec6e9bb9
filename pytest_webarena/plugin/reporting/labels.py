"""Allure labels of a task, as plain pairs: for marks on items, which can be selected, and for results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["EPIC", "behaviour_labels"]

EPIC = "web-agent tasks"
_LABEL_TAGS = ("severity", "owner", "layer")


def behaviour_labels(
    *, task: str, template: str, sites: Sequence[str], tags: Sequence[str], category: str
) -> Iterator[tuple[str, str]]:
    """Yield epic, features, story and tags. A tag such as ``severity:critical`` or ``owner:ana`` becomes that label.

    >>> dict(behaviour_labels(task="buy.tea", template="buy", sites=["shop"], tags=["owner:ana"], category="content"))
    {'epic': 'web-agent tasks', 'feature': 'shop', 'story': 'buy', 'owner': 'ana', 'tag': 'content'}
    """
    yield "epic", EPIC
    for site in sites or ("no site",):
        yield "feature", site
    yield "story", template or task
    for tag in dict.fromkeys((*tags, category)):
        kind, colon, value = tag.partition(":")
        if colon and value and kind in _LABEL_TAGS:
            yield kind, value
        elif tag:
            yield "tag", tag
