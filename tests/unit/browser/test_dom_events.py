"""DOM events of a tab: which documents have a listener, and how their events are logged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

from playwright.async_api import CDPSession

from pytest_webarena.browser.driven.hub import Command
from pytest_webarena.browser.driven.trajectory import ScriptTimes
from pytest_webarena.browser.observation.fast.worlds import WORLD
from pytest_webarena.browser.signal_log import SignalLog
from pytest_webarena.browser.tabs.dom_events import BINDING, DomEvents
from pytest_webarena.signals import DomEvent


class Protocol:
    """A fake protocol session."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[dict[str, Any]], None]] = {}
        self.sent: list[tuple[str, object]] = []

    def on(self, event: str, handler: Callable[[dict[str, Any]], None]) -> None:
        self.handlers[event] = handler

    async def send(self, method: str, params: dict[str, Any]) -> object:
        self.sent.append((method, params.get("contextId")))
        return {}

    def navigated(self, frame: str, type: str = "Navigation", **more: str) -> None:
        self.handlers["Page.frameNavigated"]({"frame": {"id": frame, **more}, "type": type})

    def says(self, context: int, frame: str, payload: str, world: str = WORLD) -> None:
        made = {"id": context, "name": world, "auxData": {"frameId": frame}}
        self.handlers["Runtime.executionContextCreated"]({"context": made})
        self.handlers["Runtime.bindingCalled"]({"name": BINDING, "executionContextId": context, "payload": payload})


def listened_to() -> tuple[Protocol, SignalLog]:
    log, protocol = SignalLog(dom_events=True), Protocol()
    events = DomEvents(log.of_tab(), lambda awaitable: None)
    asyncio.run(events.listen(cast(CDPSession, protocol)))
    return protocol, log


def test_document_is_unheard_until_its_own_listener_reports() -> None:
    protocol, log = listened_to()
    protocol.navigated("F")
    protocol.says(1, "F", '{"listening": true}', world="page")
    protocol.says(2, "G", '{"listening": true}')
    assert log.unlistened_documents == 1
    protocol.says(3, "F", '{"listening": true}')
    assert log.unlistened_documents == 0
    protocol.navigated("F")  # the listener of the previous document does not count
    assert (log.unlistened_documents, log.lost) == (1, 0)


def test_restored_and_error_pages_need_no_listener() -> None:
    protocol, log = listened_to()
    protocol.navigated("F", type="BackForwardCacheRestore")
    protocol.navigated("G", unreachableUrl="http://a.test/")
    assert log.unlistened_documents == 0


def _event(name: str, selector: str | None, value: str) -> dict[str, Any]:
    target = None if selector is None else {"selector": selector, "tag": "input"}
    around = [["input", {}, 1, 1, 1, 1, "root"]]
    return {
        "event": name, "target": target, "value": value, "chain": around, "whole": True, "field": 1, "control": None,
        "frame": "", "maker": "", "omits": "",
    }  # fmt: skip


def test_click_and_input_of_one_batch_share_their_target() -> None:
    protocol, log = listened_to()
    protocol.says(1, "F", json.dumps([_event("click", "#q", ""), _event("input", None, "k")]))
    protocol.says(1, "F", json.dumps({"again": 1, "value": "kettle"}))
    found = [(each.event, each.target.selector, each.value) for each in log.since() if isinstance(each, DomEvent)]
    assert found == [("click", "#q", ""), ("input", "#q", "kettle")]
    assert log.lost == 0


def test_malformed_event_batches_count_as_lost() -> None:
    protocol, log = listened_to()
    protocol.says(1, "F", json.dumps([_event("click", "#q", "")]))
    protocol.says(1, "F", json.dumps([_event("click", None, ""), _event("input", None, "k")]))
    protocol.says(1, "F", "[[], []]")
    assert (log.since(), log.lost) == ((), 3)


def test_script_events_do_not_displace_change_events() -> None:
    """A script sets thousands of fields, or clicks without end; then a field changes."""
    protocol, log = listened_to()
    log.commanded = lambda at, values: at == 1
    for number in range(6000):
        protocol.says(1, "F", json.dumps({**_event("set", "#field", str(number)), "scripted": number % 2}))
    assert (2000 < len(log.since()) < 4000, log.lost) == (True, 0)
    count = len(log.since())
    protocol.says(1, "F", json.dumps({**_event("click", "#own", ""), "scripted": 0}))  # a page's own
    protocol.says(1, "F", json.dumps({**_event("change", "#field", "last"), "scripted": 0}))
    assert [(each.event, each.value) for each in log.since(count) if isinstance(each, DomEvent)] == [("change", "last")]


def test_event_is_the_agents_while_its_command_runs() -> None:
    now = [10.0]
    times = ScriptTimes(lambda: now[0])
    one = Command(method="Runtime.evaluate", params={}, session="s", target="t")
    assert not times.cover(10_000)
    times.began(one)
    now[0] = 11.0
    assert [times.cover(at) for at in (9_000, 10_500, 12_000)] == [False, True, True]  # the command is still running
    times.ended(one)
    assert [times.cover(at) for at in (9_000, 9_996, 10_500, 11_004, 12_000, 0)] == [
        False,
        True,
        True,
        True,
        False,
        False,
    ]
    other_command = Command(method="Runtime.callFunctionOn", params={}, session="s", target="t", in_page=False)
    now[0] = 20.0
    times.began(other_command)  # by a client: it sets fields this way and never clicks
    assert (times.cover(20_000), times.cover(20_000, in_page=True)) == (True, False)
    times.ended(other_command)
    assert (times.cover(20_000), times.cover(20_000, in_page=True)) == (True, False)


def test_detached_frames_are_skipped() -> None:
    protocol, log = Protocol(), SignalLog(dom_events=True)
    events = DomEvents(log.of_tab(), lambda awaitable: None)
    asyncio.run(events.listen(cast(CDPSession, protocol)))
    for context, frame in ((1, "F"), (2, "G"), (3, "H")):
        protocol.says(context, frame, '{"listening": true}')
    protocol.handlers["Page.frameDetached"]({"frameId": "F", "reason": "remove"})
    protocol.handlers["Page.frameDetached"]({"frameId": "G", "reason": "swap"})  # to another process
    asyncio.run(events.sweep_fields(1.0))
    assert [context for method, context in protocol.sent if method == "Runtime.evaluate" and context] == [2, 3]
