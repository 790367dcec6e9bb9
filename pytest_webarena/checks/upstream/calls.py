"""The helper functions that page programs may call: a closed table, read without ever evaluating data.

WebArena's five, and those of VisualWebArena that need no pictures. What such a call may be is a name of the table and
literal arguments; everything else is refused when the task is read.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.errors import closest

__all__ = ["FUNCTIONS", "LAST_URL", "Call", "CallError", "parse_call"]

LAST_URL = "__last_url__"
"""In arguments: the address of the current page."""

_PAGE = "__page__"

Gives = Literal["address", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Function:
    gives: Gives
    page: bool = False
    """Whether it looks at the page that is open (its first argument)."""
    arguments: int = 0
    """Texts that it takes beside the page."""


FUNCTIONS: Mapping[str, _Function] = {
    "reddit_get_post_url": _Function(gives="address", arguments=1),
    "shopping_get_latest_order_url": _Function(gives="address"),
    "shopping_get_sku_latest_review_author": _Function(gives="text", arguments=1),
    "shopping_get_sku_latest_review_rating": _Function(gives="text", arguments=1),
    "gitlab_get_project_memeber_role": _Function(gives="text", page=True, arguments=1),
    # VisualWebArena's
    "shopping_get_sku_latest_review_text": _Function(gives="text", arguments=1),
    "shopping_get_order_product_name_list": _Function(gives="text", page=True),
    "shopping_get_order_product_quantity": _Function(gives="text", page=True, arguments=1),
    "shopping_get_order_product_option": _Function(gives="text", page=True, arguments=2),
    "shopping_get_product_attributes": _Function(gives="text", page=True, arguments=1),
    "shopping_get_product_price": _Function(gives="text", page=True),
    "shopping_get_num_reviews": _Function(gives="text", page=True),
    "shopping_get_rating_as_percentage": _Function(gives="text", page=True),
    "get_query_text": _Function(gives="text", page=True, arguments=1),
    "get_query_text_lowercase": _Function(gives="text", page=True, arguments=1),
    "reddit_get_latest_comment_content_by_username": _Function(gives="text", page=True, arguments=1),
    "reddit_get_parent_comment_username_of_latest_comment_by_username": _Function(gives="text", page=True, arguments=1),
}


class CallError(ValueError):
    """A text that is no call of the table; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: a function of the table and its literal arguments, without the page."""

    name: str
    arguments: tuple[str, ...] = ()

    @property
    def function(self) -> _Function:
        """What the table says of it."""
        return FUNCTIONS[self.name]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.arguments))})"


def parse_call(text: str, gives: Gives) -> Call:
    """The call that ``text`` (without ``func:``) is. `CallError` when it is none of the table that gives this.

    >>> parse_call("reddit_get_post_url('__last_url__')", "address")
    Call(name='reddit_get_post_url', arguments=('__last_url__',))
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CallError("no function call") from None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        raise CallError("no call of a function by its name")
    function = FUNCTIONS.get(node.func.id)
    if function is None or function.gives != gives:
        known = [name for name, each in FUNCTIONS.items() if each.gives == gives]
        raise CallError(f"the unknown function {node.func.id!r}; {closest(node.func.id, known)}")
    arguments = list(node.args)
    if function.page:
        first = arguments.pop(0) if arguments else None
        if not isinstance(first, ast.Name) or first.id != _PAGE:
            raise CallError(f"{node.func.id} without {_PAGE} as its first argument")
    literals = [each.value for each in arguments if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if len(literals) != len(arguments) or len(literals) != function.arguments:
        raise CallError(f"{node.func.id} with other arguments than {function.arguments} text(s)")
    return Call(node.func.id, tuple(literals))
