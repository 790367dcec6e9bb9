"""Helpers for tests of actions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_webarena.actions import Action, Element
from pytest_webarena.browser.session import Session

if TYPE_CHECKING:
    pass


LOG = """<ol id=log></ol><script>
const list = document.getElementById('log');
function log(text) { list.append(Object.assign(document.createElement('li'), {textContent: text})) }
</script>"""


def logged(session: Session) -> tuple[str, ...]:
    return session.read_page(open=None, locate="css=#log li").texts


def value_of(session: Session, selector: str) -> str:
    return session.read_page(open=None, locate=selector).texts[0]


def by_id(session: Session, line: str) -> Element:
    found = re.search(rf"\[(\d+)\] {re.escape(line)}", session.observe().text)
    assert found, f"{line} is not in\n{session.observe().text}"
    return Element(found[1])


def done(session: Session, action: Action) -> None:
    outcome = session.execute(action)
    assert outcome.error == ""
