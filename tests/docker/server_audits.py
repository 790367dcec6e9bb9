"""What a solution writes on a database server, and what an audit changes of it."""

from __future__ import annotations

from typing import Any

from pytest_webarena.evidence import Evidence
from pytest_webarena.trials.tamper import tamper_with
from pytest_webarena.trials.written_values import ValueChanger
from tests.docker.host_programs import Server
from tests.unit.trials.test_tamper import TASK

__all__ = ["try_audit"]

WRITTEN = """
insert into tickets (title, state, price, meta) values ('Bob''s "bell"', 'open', 2.50, '{"tags": ["red", 7]}');
update tickets set state = 'closed' where id = 1; insert into comments (ticket, body) values (2, 'Done');
insert into logs values (1)"""
CHECK = """select count(*) from tickets t join comments c on c.ticket = 2 and c.body = 'Done'
where t.id = 3 and t.title = 'Bob''s "bell"' and t.state = 'open' and t.price = 2.5"""


def try_audit(server: Server, schema: str, document: str) -> None:
    """Write to tables of ``schema``, and assert that each written value is compared, changed, judged and put back.

    ``document`` is a condition on ``meta`` of a ticket.
    """
    server(schema, write=True)
    server.mark()
    server(WRITTEN, write=True)
    changes = server.changes()
    assert not changes[0].unknown
    rows = {(table.table, row.kind): row for table in changes[0].tables for row in table.rows}
    assert rows.keys() == {("tickets", "added"), ("tickets", "changed"), ("comments", "added"), ("logs", "added")}
    assert dict(rows["tickets", "added"].row) == {
        "id": 3, "title": "Bob's \"bell\"", "state": "open", "price": 2.5, "meta": '{"tags": ["red", 7]}',
    }  # fmt: skip
    assert dict(rows["tickets", "changed"].now) == {"state": "closed"}

    def passes(*_: Any) -> bool:
        return bool(server(f"{CHECK} and {document}").rows == (("1",),))

    sent = ('Bob\'s "bell"', 2.5, 2, "Done", "red")
    changer = ValueChanger(
        server, Evidence(answer="", stop_reason="answered", changes=changes),  # type: ignore[arg-type]
        passes=passes, sent=lambda _, value: value in sent, seconds=600,
    )  # fmt: skip
    facts = changer.run()
    tried = {(each["table"][11:], each["column"], each["kind"]): (each["caught"], each["sent"])
             for each in facts["tried"]}  # fmt: skip
    assert tried == {
        ("tickets", "title", "added"): (True, True), ("tickets", "price", "added"): (True, True),
        ("tickets", "state", "added"): (True, False), ("tickets", "meta.tags.0", "added"): (True, True),
        ("tickets", "meta.tags.1", "added"): (False, False), ("tickets", "state", "changed"): (False, True),
        ("tickets", "", "changed"): (False, True), ("comments", "ticket", "added"): (True, True),
        ("comments", "body", "added"): (True, True), ("logs", "nr", "added"): (False, False),
    }, tried  # fmt: skip
    assert facts["untried"] == []
    assert server.changes() == changes
    tamper_with(server, TASK)  # type: ignore[arg-type]
    assert sum(table.removed for table in server.changes()[0].tables) == 1
