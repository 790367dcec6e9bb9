"""Which recorded requests may have changed a site that nothing resets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from pytest_webarena.gateway.log_entry import Entry
from pytest_webarena.gateway.method_override import is_unreadable, mutates, names_method
from pytest_webarena.gateway.upstream import only_reads

__all__ = ["possible_writes"]


def possible_writes(sent: Iterable[tuple[str, Entry]], reads: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Returns, by host, the first request that may have changed its site.

    Args:
        sent: Hosts and requests whose form does not exclude a change.
        reads: By host, path prefixes under which every method only reads. Other hosts are left out.
    """
    found: dict[str, str] = {}
    for host, entry in sent:
        if host in found or host not in reads or only_reads(urlsplit(entry.url).path or "/", reads[host]):
            continue
        if not (entry.unsafe == "POST" and _is_graphql_query(entry)):
            found[host] = f"{entry.unsafe} {entry.url}"
    return found


def _is_graphql_query(entry: Entry) -> bool:
    """Whether the body is known completely and consists of GraphQL operations that only read."""
    fields = entry.request_head.split("\r\n")[1:]
    body = bytes(entry.body.data) if entry.body is not None else b""
    if not body or len(body) != entry.request_bytes or names_method(fields) or is_unreadable(fields, body):
        return False
    try:
        known = json.loads(body)
    except ValueError:
        return False
    operations = known if isinstance(known, list) else [known]
    texts = [each.get("query") for each in operations if isinstance(each, dict)]
    are_known = len(texts) == len(operations) > 0 and all(isinstance(text, str) and "{" in text for text in texts)
    return are_known and not mutates(urlsplit(entry.url).query, body)
