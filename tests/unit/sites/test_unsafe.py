"""Which of a lease's apps its traffic may have changed."""

from __future__ import annotations

import pytest

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.sites.desk import unsafe_by_app

HOSTS = {"shop.test": "store", "admin.test": "store", "forum.test": "forum"}
POST = RequestRecord(time=0, method="POST", url="http://Admin.test/save", status=302)


@pytest.mark.parametrize(
    ("records", "overall", "complete", "expected"),
    [
        ([], "", True, {}),
        ([RequestRecord(time=0, method="GET", url="http://shop.test/", status=200)], "", True, {}),
        ([POST], "POST x", True, {"store": "POST http://Admin.test/save"}),
        (
            [RequestRecord(time=0, method="GET", url="http://forum.test/chat", status=101)],
            "WebSocket x",
            True,
            {"forum": "GET http://forum.test/chat"},
        ),
        (
            [RequestRecord(time=0, method="CONNECT", url="forum.test:443", status=200)],
            "CONNECT x",
            True,
            {"forum": "CONNECT forum.test:443"},
        ),
        # Where the log can't tell, everything counts as changed.
        ([POST], "POST x", False, {"store": "POST http://Admin.test/save", "forum": "POST x"}),
        ([], "POST x", True, {"store": "POST x", "forum": "POST x"}),
        (
            [RequestRecord(time=0, method="POST", url="http://evil.example/", status=403, refused="not a site")],
            "",
            True,
            {},
        ),
    ],
)
def test_unsafe_traffic_is_put_down_to_its_app(
    records: list[RequestRecord], overall: str, complete: bool, expected: dict[str, str]
) -> None:
    assert unsafe_by_app(records, HOSTS, overall=overall, complete=complete) == expected
