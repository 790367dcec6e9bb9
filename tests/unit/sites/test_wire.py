"""Serialisation of everything that crosses the broker's socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.actions import Click, Goto, Point, Press, Selector, Type
from pytest_webarena.errors import HarnessError, SiteError, TaskFileError, UsageError
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.sites.backends.base import Rows
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import Account, HttpReady, LoginCheck, LoginRecipe, PortReady
from pytest_webarena.sites.protocol.messages import Grant, ReplicaInfo, SiteAccess, error_from, error_line, line
from pytest_webarena.sites.protocol.report import AppReport, BrokerReport, Durations
from pytest_webarena.sites.protocol.wire import decode, encode
from tests.cases import each_case

RECIPE = LoginRecipe(
    kind="form",
    site="shop",
    path="/signin",
    steps=(
        Goto("/signin"),
        Type(Selector("css=#name"), "{username}", clear=True),
        Click(Point(1.5, 2), modifiers=("Shift",)),
        Press("Enter"),
        Press("Enter", Selector("css=#password")),
    ),
    check=LoginCheck(path="/account", includes="{username}"),
)


@each_case(
    "value",
    [
        RECIPE,
        Rows(columns=("a", "b"), rows=((1, None), ("é\ud800", 2.5), ([1, {"x": True}], {"y": []}))),
        RequestRecord(time=1.5, method="GET", url="http://a.test/", status=None, request_headers=(("A", "b"),)),
        Grant(
            id="lease-1",
            harness_port=2,
            sign_in_port=3,
            port=1,
            waited=0.5,
            sites={
                "shop": SiteAccess(
                    name="shop",
                    app="store",
                    url="http://shop.test",
                    start="http://shop.test/",
                    users={"a": Account(username="a", password="b")},
                    default_user="a",
                    login=RECIPE,
                ),
                "wiki": SiteAccess(
                    name="wiki", app="wiki", url="http://w.test", start="/", users={}, default_user="", login=None
                ),
            },
            replicas=(ReplicaInfo(app="store", id="store-1", generation=2, backend="process", digest="x"),),
        ),
        BrokerReport(catalogue="x", seconds=1.0, apps={"a": AppReport(app="a", backend="b")}, problems=("p",)),
        *load_catalogue("embedded-docker").apps.values(),
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'name', '')}",
)
def test_values_round_trip_through_the_wire(value: Any) -> None:
    assert decode(type(value), json.loads(line(encode(value)))) == value


def test_unions_are_decoded_by_their_fields() -> None:
    app = load_catalogue("embedded").apps["homepage"]
    kinds = {type(one) for one in decode(type(app), encode(app)).ready}
    assert kinds == {PortReady}
    assert decode(HttpReady, encode(HttpReady(path="/x", status=(200,)))).status == (200,)


@each_case(
    ("raised", "kind", "text"),
    [
        (SiteError("it died"), SiteError, "it died"),
        (type("Special", (SiteError,), {})("it died"), SiteError, "it died"),
        (UsageError("no such site"), UsageError, "no such site"),
        (KeyError("x"), HarnessError, "the site broker failed: KeyError: 'x'"),
        (TaskFileError([]), HarnessError, ""),
    ],
)
def test_errors_keep_their_kind(raised: Exception, kind: type[Exception], text: str) -> None:
    data = json.loads(error_line(7, raised))
    assert data["id"] == 7
    error = error_from(data["error"])
    assert type(error) is kind
    assert str(error) == text


def test_durations_are_summarised_in_milliseconds() -> None:
    spread = Durations.of([0.001 * n for n in range(1, 101)])
    assert (spread.count, spread.max) == (100, 100)
    assert (spread.median, spread.p95) == pytest.approx((50.5, 95.05))
    assert Durations.of([]) == Durations()
