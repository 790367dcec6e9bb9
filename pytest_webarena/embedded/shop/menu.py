"""The tree of categories, read in one statement per request."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db import connection

__all__ = ["Node", "node", "tree"]


@dataclass(slots=True, kw_only=True)
class Node:
    """A category as menus and breadcrumbs show it."""

    id: int
    name: str
    url: str
    description: str
    image: str
    parents: tuple[Node, ...] = ()
    children: list[Node] = field(default_factory=list)


def tree() -> list[Node]:
    """The departments that menus show, with what is below them."""
    return [node for node in _read() if not node.parents]


def node(number: int) -> Node | None:
    """One category with its place in the tree; None when it is not shown."""
    return next((found for found in _read() if found.id == number), None)


def _read() -> list[Node]:
    with connection.cursor() as cursor:
        cursor.execute(
            "select id, name, slug, path, depth, description, coalesce(image, '') from catalogue_category"
            " where is_public and ancestors_are_public and not exclude_from_menu order by path"
        )
        rows = cursor.fetchall()
    nodes: list[Node] = []
    trail: dict[int, tuple[Node, str]] = {}
    for number, name, slug, _path, depth, description, image in rows:
        parent, prefix = trail.get(depth - 1, (None, ""))
        if depth > 1 and parent is None:
            continue
        slugs = f"{prefix}{slug}"
        found = Node(
            id=number,
            name=name,
            url=f"/catalogue/category/{slugs}_{number}/",
            description=description,
            image=f"/media/{image}" if image else "",
            parents=() if parent is None else (*parent.parents, parent),
        )
        if parent is not None:
            parent.children.append(found)
        trail[depth] = (found, f"{slugs}/")
        nodes.append(found)
    return nodes
