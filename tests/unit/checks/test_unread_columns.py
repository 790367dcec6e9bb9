"""Columns that `changes` checks let be written and no query names."""

from __future__ import annotations

from pytest_webarena.checks.unread_columns import with_unread_columns
from pytest_webarena.testing import make_task

TASK = """
intent: Comment "Battery swapped" on ticket 12.
sites: [shop]
checks:
  - state: {{sql: "select count(*) from comments where {read} = 'Battery swapped'", equals: 1}}
  - changes:
      comments: {{added: 1, allowed_columns: [ticket, body, made_at]{where}}}
      tickets: {{changed: 1, columns: [comments]}}
"""


def note(read: str, where: str = "") -> str:
    return with_unread_columns([make_task(TASK.format(read=read, where=where))])


def test_columns_without_a_query_are_named_except_clocks() -> None:
    assert note("body").startswith("'changes' allows values of comments.ticket (task), which no query names: ")
    assert note("x").startswith("'changes' allows values of comments.ticket (task), comments.body (task), which")


def test_columns_in_where_are_read() -> None:
    assert note("body", ", where: {ticket: 12}") == ""
