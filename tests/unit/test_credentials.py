"""Credentials that sites make are found by their place, and are masked in records of requests."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from pytest_webarena import secrets
from pytest_webarena.credentials import in_pages, in_requests, in_storage, masked_request
from pytest_webarena.evidence import RequestRecord
from tests.cases import each_case

TOKEN = "eyJhbGciOiJSUzI1NiJ9.e30.k3Y_x"
SESSION = "4bf92f3577b34da6a3ce"


def request(**fields: Any) -> RequestRecord:
    given: dict[str, Any] = {"time": 0.0, "method": "GET", "url": "http://shop.test/", "status": 200}
    for name, value in fields.items():
        given[name] = tuple(value.items()) if isinstance(value, dict) else value
    return RequestRecord(**given)


def packed(text: str) -> str:
    return "base64:" + base64.b64encode(gzip.compress(text.encode())).decode()


@each_case(
    ("found", "expected"),
    [
        (request(response_headers={"Set-Cookie": f"sid={SESSION}; Path=/; HttpOnly"}), {SESSION}),
        (request(response_headers={"Set-Cookie": "sid=k3-Yx7q; HttpOnly"}), {"k3-Yx7q"}),
        (request(request_headers={"Cookie": f"theme=dark; sid={SESSION}; n=1; admin=true"}), {SESSION}),
        (request(request_headers={"Authorization": f"Bearer {TOKEN}", "Accept": "text/html"}), {TOKEN}),
        (request(request_headers={"X-CSRF-Token": "k3Yx7q", "X-Requested-With": "XMLHttpRequest"}), {"k3Yx7q"}),
        (request(url=f"http://shop.test/callback?code=a1b2c3&state=open&page=2#id_token={TOKEN}"), {"a1b2c3", TOKEN}),
        (request(request_body="user=emma&password=Lantern-86&note=lunch"), {"Lantern-86"}),
        (request(request_body='{"user": {"name": "emma", "password": "Lantern-86"}}'), {"Lantern-86"}),
        (request(response_body=json.dumps({"access_token": TOKEN, "expires_in": 3600})), {TOKEN}),
        (request(request_body=packed(json.dumps({"refresh_token": SESSION}))), {SESSION}),
        (request(request_body="token=1&csrf=true&secret=yes"), set()),
    ],
)
def test_credentials_in_traffic_are_found_by_their_place(found: RequestRecord, expected: set[str]) -> None:
    assert in_requests([found]) == expected


def test_basic_authentication_reveals_the_password() -> None:
    basic = base64.b64encode(b"emma:Lantern-86").decode()
    assert in_requests([request(request_headers={"Authorization": f"Basic {basic}"})]) == {basic, "Lantern-86"}


def test_credentials_in_storage_are_found_also_within_json() -> None:
    local = [
        {"name": "auth", "value": json.dumps({"access_token": TOKEN, "user": "emma of the shop"})},
        {"name": "token", "value": "k3-Yx7q"},
        {"name": "theme", "value": "dark"},
    ]
    cookies = [{"name": "sid", "value": SESSION}, {"name": "theme", "value": "dark"}]
    found = in_storage({"cookies": cookies, "origins": [{"localStorage": local}]})
    assert found == {SESSION, TOKEN, "k3-Yx7q"}


def test_hidden_tokens_and_passwords_in_pages_are_found() -> None:
    page = (
        '<meta name="csrf-token" content="k3&amp;Yx7q"><input type=hidden name=form_key value=Zq81mmKp>'
        "<input type='password' value='Lantern-86'><input name=title value='A long title of a page'>"
        """<script>let user = "someone-else", settings = {"refresh_token": 'Zq-81', csrfToken: "true"}</script>"""
    )
    assert in_pages([page]) == {"k3&Yx7q", "Zq81mmKp", "Lantern-86"}
    assert in_pages(["<script>settings = {'refresh_token': 'Zq81mmKq'}</script>"]) == {"Zq81mmKq"}


def test_records_keep_names_and_attributes_of_masked_headers() -> None:
    record = request(
        request_headers={"Cookie": "sid=1; theme=dark", "Authorization": "Bearer x", "Accept": "text/html"},
        response_headers={"Set-Cookie": "sid=2; Path=/; HttpOnly"},
    )
    masked = masked_request(record, headers=True)
    assert masked.request_headers == (
        ("Cookie", "sid=[secret]; theme=[secret]"), ("Authorization", "Bearer [secret]"), ("Accept", "text/html"),
    )  # fmt: skip
    assert masked.response_headers == (("Set-Cookie", "sid=[secret]; Path=/; HttpOnly"),)
    assert masked_request(record, headers=False) is record


def test_bodies_are_masked_if_a_secret_is_within_their_compressed_or_cut_form() -> None:
    secrets.mark("paper-lantern-86")
    hidden = masked_request(request(request_body=packed("it is paper-lantern-86")), headers=False)
    assert hidden.request_body == secrets.MASK
    harmless = request(request_body=packed("it is a lantern"))
    assert masked_request(harmless, headers=False) is harmless
    cut = masked_request(request(request_body="it is paper-lant", request_bytes=500), headers=False)
    assert cut.request_body == "it is [secret]"
