"""Hosts that pages needed: which refused requests count, and what the summary and the doctor propose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import yaml

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.plugin.reporting.refused_hosts import refused_host_lines
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.refused_hosts import proposed_keys, ways_to_allow
from pytest_webarena.sites.catalogues.format_other_hosts import other_hosts_fault
from pytest_webarena.trials.refused_hosts import refused_hosts
from tests.cases import each_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_webarena.results.refused_hosts import RefusedHost

WHY = "cdn.test is not one of this task's sites"
FONT = RequestRecord(
    time=1.0, method="GET", url="https://cdn.test/f.woff?key=1", status=403, refused=WHY,
    request_headers=(("sec-fetch-dest", "font"),),
)  # fmt: skip
PAGE = replace(FONT, url="https://cdn.test/login", request_headers=(("Accept", "text/html,*/*"),))
REDIRECT = replace(
    FONT, url="http://shop.test/sso", status=302, refused="", response_headers=(("Location", "https://cdn.test/login"),)
)


@each_case(
    ("requests", "keys"),
    [
        ([FONT], ["loads"]),
        ([FONT, FONT], ["loads"]),
        ([replace(FONT, method="POST")], ["site"]),
        ([replace(FONT, request_headers=(("Upgrade", "websocket"),))], ["site"]),
        ([REDIRECT, PAGE], ["sign_in_hosts"]),
        ([REDIRECT, PAGE, FONT], ["sign_in_hosts", "loads"]),
        ([replace(PAGE, method="POST")], ["sign_in_hosts"]),
        ([PAGE], []),  # opened by the agent
        ([replace(REDIRECT, status=200), PAGE], []),
        ([replace(FONT, refused="")], []),
        ([replace(FONT, method="CONNECT")], []),
        ([replace(FONT, intercepted=True)], []),
        ([replace(FONT, request_headers=(("sec-fetch-dest", "empty"), ("sec-fetch-site", "none")))], []),
    ],
)
def test_requests_of_pages_count_and_others_do_not(requests: Sequence[RequestRecord], keys: Sequence[str]) -> None:
    found = refused_hosts(requests)
    assert [known["keys"] for known in found.values()] == ([keys] if keys else [])
    assert "key=1" not in str(found)


def test_a_trial_lists_a_limited_number_of_hosts() -> None:
    assert len(refused_hosts([replace(FONT, url=f"https://h{number}.test/") for number in range(900)])) == 50


def test_proposals_name_each_host_in_one_list() -> None:
    with_port = replace(FONT, url="http://static.test:8080/a.js")
    assert proposed_keys(refused_hosts([FONT, with_port])) == ["loads: [cdn.test, http://static.test:8080]"]
    assert proposed_keys(refused_hosts([REDIRECT, PAGE, FONT])) == ["sign_in_hosts: [cdn.test]"]
    assert proposed_keys(refused_hosts([replace(FONT, method="PUT")])) == []


IP, LOCAL = "127.0.0.8", "localhost:9999"
PLACE = "a name in its place, in 'loads' and 'private_hosts', since lists take no IP addresses"
SITE = "a site of the catalogue with this host"


@each_case(
    ("host", "methods", "ways", "lines"),
    [
        (IP, ["GET"], f"{PLACE} or {SITE}", []),
        ("0.0.0.0:99", ["GET", "POST"], f"{PLACE} or {SITE}", []),
        ("[::1]", ["POST"], SITE, []),
        (
            LOCAL, ["GET"], f"'loads: [https://{LOCAL}]' with 'private_hosts: [localhost]'",
            [f"loads: [https://{LOCAL}]", "private_hosts: [localhost]"],
        ),
        ("cdn.test", ["GET", "POST"], f"'loads: [cdn.test]' or {SITE}", ["loads: [cdn.test]"]),
    ],
)  # fmt: skip
def test_proposals_are_accepted_by_catalogues(
    host: str, methods: Sequence[str], ways: str, lines: Sequence[str]
) -> None:
    found = refused_hosts([replace(FONT, method=method, url=f"https://{host}/a") for method in methods])
    assert ways_to_allow(host, found[host]) == ways
    assert proposed_keys(found) == lines
    unset: dict[str, object] = {"loads": (), "sign_in_hosts": (), "private_hosts": (), "sites": {}}
    unset["certificate_authority"] = ""
    assert other_hosts_fault({**unset, **yaml.safe_load("\n".join(lines) or "{}")}) is None
    (line,) = refused_host_lines([record(1, {host: {**found[host], "why": WHY}})])
    assert line.text.endswith(f"allowed by {ways}")


def record(number: int, found: dict[str, RefusedHost]) -> TrialRecord:
    return TrialRecord(key=TrialKey("t", "a", number), outcome="failed", environment={"refused_hosts": found})


def test_summary_names_each_host_once_with_its_key() -> None:
    posted = replace(FONT, method="POST", url="https://api.test/v1")
    named = replace(FONT, method="POST", refused="cdn.test only serves parts of pages, and POST is not sent")
    records = [record(number, refused_hosts([FONT, posted])) for number in range(3)]
    assert [line.text for line in refused_host_lines(records)] == [
        "refused: GET https://cdn.test/f.woff in 3 trials; its pages may be incomplete; allowed by 'loads: [cdn.test]'",
        "refused: POST https://api.test/v1 in 3 trials; its pages may be incomplete; allowed by a site of the "
        "catalogue with this host",
    ]
    (line,) = refused_host_lines([record(1, refused_hosts([named]))])
    assert line.text.endswith("in 1 trial; cdn.test only serves parts of pages, and POST is not sent")
    many = record(1, refused_hosts([replace(FONT, url=f"https://h{number}.test/") for number in range(30)]))
    lines = [each.text for each in refused_host_lines([many])]
    assert (len(lines), lines[-1].startswith("refused: 20 more hosts")) == (11, True)
    assert list(refused_host_lines([replace(many, environment={})])) == []
