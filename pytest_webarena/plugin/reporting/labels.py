"""Allure labels of a task, as plain pairs: for marks on items, which can be selected, and for results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["EPIC", "behaviour_labels", "tag_links"]

EPIC = "web-agent tasks"
_LABEL_TAGS = ("severity", "owner", "layer")
_LINK_TAGS = ("issue", "tms", "link")


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
        elif tag and not _is_link(tag):
            yield "tag", tag


def tag_links(tags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield type and address of each tag that is a link, such as ``issue:https://git.test/issues/7``.

    >>> list(tag_links(["smoke", "issue:https://git.test/issues/7", "issue:7"]))
    [('issue', 'https://git.test/issues/7')]
    """
    for tag in dict.fromkeys(tags):
        if _is_link(tag):
            kind, _, url = tag.partition(":")
            yield kind, url


def _is_link(tag: str) -> bool:
    kind, _, url = tag.partition(":")
    return kind in _LINK_TAGS and url.startswith(("http://", "https://"))
