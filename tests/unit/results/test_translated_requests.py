"""Evidence of versions that recorded the gateway's own redirects to the names of hosted sites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.evidence import Evidence, RequestRecord, Unrecorded
from pytest_webarena.gateway.pages import SERVER, answer_redirect
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.results import RunDir, TrialKey
from pytest_webarena.results.attempts import read_evidence
from tests.unit.checks.helpers import evidence, request, result

OWN = OwnAddresses({"http://h:7770": "http://shopping.test"})


def redirected(path: str, *, server: str = SERVER, status: int = 307, method: str = "GET") -> RequestRecord:
    """Return a request to the shop's own address, with the gateway's answer."""
    lines = answer_redirect(f"http://shopping.test{path}")[0].split("\r\n")[1:]
    fields = [tuple(line.split(": ", 1)) for line in lines if line]
    headers = tuple((name, server if name == "Server" else value) for name, value in fields)
    return request(method, f"http://h:7770{path}", status=status, response_headers=headers)


def stored(tmp_path: Path, *requests: RequestRecord, **facts: Any) -> Evidence:
    """Write evidence with these requests, and return it as it is read for rescoring."""
    writer = RunDir(tmp_path / "run").folder(TrialKey("t", "a", 1)).begin(worker="main", node_id="")
    writer.finish(evidence(requests=requests, own_addresses=OWN, **facts))
    return read_evidence(writer.path)


@pytest.mark.parametrize(
    "translation",
    [redirected("/cart?a=1"), redirected("/cart?a=1", status=204, method="OPTIONS")],
    ids=("redirect", "preflight"),
)
def test_request_counts_once(tmp_path: Path, translation: RequestRecord) -> None:
    sent = request("GET", "/cart?a=1")
    found = stored(tmp_path, translation, sent)
    assert found.requests == (sent,)
    assert result("network: {url: shopping:/cart, count: 1}", found).passed


@pytest.mark.parametrize(
    "answered",
    [
        redirected("/cart", server="Apache"),
        redirected("/cart", status=403),
        request("GET", "http://h:7770/cart", status=403, refused="not named", response_headers=(("Server", SERVER),)),
        request("OPTIONS", "http://other.test/cart", status=204, response_headers=(("Server", SERVER),)),
    ],
    ids=("by a site", "no redirect", "refused", "another host"),
)
def test_other_requests_are_kept(tmp_path: Path, answered: RequestRecord) -> None:
    assert stored(tmp_path, answered).requests == (answered,)


def test_counts_of_requests_without_a_record(tmp_path: Path) -> None:
    counts = [Unrecorded(method="GET", url=f"http://{host}/a", count=2) for host in ("h:7770", "shopping.test")]
    refused = Unrecorded(method="GET", url="http://h:7770/a", count=2, refused=True)
    found = stored(tmp_path, unrecorded=(*counts, refused))
    assert found.unrecorded == (counts[1], refused)
