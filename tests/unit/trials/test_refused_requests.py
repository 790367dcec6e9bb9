"""Join of refused connections with the browser's record of their requests."""

from __future__ import annotations

from dataclasses import replace

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.trials.refused_requests import with_browsers_record

REFUSED = "evil.test is not one of this task's sites"


def connection(at: float, target: str = "evil.test:443") -> RequestRecord:
    return RequestRecord(time=at, method="CONNECT", url=target, status=403, refused=REFUSED)


def known(at: float, method: str, url: str = "https://evil.test/collect") -> RequestRecord:
    return RequestRecord(time=at, method=method, url=url, status=None, request_body="a=b", request_bytes=3)


def test_browser_failure_replaces_the_last_connection_before_it() -> None:
    gateway = [connection(1.0), connection(2.0), connection(3.0), connection(2.1, "evil.test:8443")]
    browser = [known(2.05, "POST"), known(3.2, "GET"), known(3.3, "PUT", "https://evil.test:8443/x")]
    joined = with_browsers_record(gateway, browser)
    assert [each.method for each in joined] == ["CONNECT", "POST", "GET", "PUT"]
    assert joined[1] == replace(browser[0], time=2.0, status=403, refused=REFUSED)
    assert joined[3].url == "https://evil.test:8443/x"


def test_connection_without_matching_failure_is_kept() -> None:
    for gateway, browser in (
        (connection(1.0), known(1.1, "POST", "https://other.test/")),
        (connection(1.0), known(0.5, "POST")),  # it failed before the connection
        (connection(1.0), known(900.0, "POST")),
        (replace(connection(1.0), status=200), known(1.1, "POST")),  # the connection succeeded
        (replace(connection(1.0), status=200, refused=""), known(1.1, "POST")),
    ):
        assert with_browsers_record([gateway], [browser]) == (gateway,)
    assert [each.method for each in with_browsers_record([connection(1.0)], [known(1.1, "PUT")] * 2)] == ["PUT"]
