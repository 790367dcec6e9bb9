"""Images of pages, collected by a real browser and judged from the stored evidence."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from pytest_webarena.browser.session import Session
from pytest_webarena.checks import Judgement, View
from pytest_webarena.checks.images import collecting as reading
from pytest_webarena.checks.page_images import judge
from pytest_webarena.evidence import Evidence, Probe
from pytest_webarena.testing import make_task
from tests.browser.conftest import Reply, Request, Web

pytestmark = pytest.mark.browser

PAGE = """<base href="/media/"><img src="logo.png" alt="">
<div class="photos"><a><img src="one.png"></a><img src="gone.png"><img></div>
<script>setTimeout(() => {
  document.querySelector('.late').innerHTML = '<img class=photo src="http://b.test/two.png">' +
    '<img class=photo src="http://elsewhere.test/three.png">';
}, 200)</script><p class="late"></p>"""


def png(shade: str) -> bytes:
    image = Image.linear_gradient(shade).resize((60, 40)) if shade == "L" else Image.new("RGB", (60, 40), shade)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def collected(session: Session, *queries: dict[str, Any]) -> tuple[Any, Any]:
    """Return the spec of these queries and the stored evidence of their images, after a round trip through JSON."""
    made = make_task(f"intent: a\nsites: [a, b]\nchecks: [page_image_query: {json.dumps(queries)}]")
    spec: Any = made.checks[0].spec
    live: Any = SimpleNamespace(read_page=session.read_page, sites={"a": "http://a.test", "b": "http://b.test"})
    return spec, json.loads(json.dumps(reading.collect(spec, live)))


def judged(spec: Any, value: Any) -> Judgement:
    recorded = Evidence(answer="", stop_reason="answered", sites={"a": "http://a.test", "b": "http://b.test"})
    return judge(spec, View(evidence=recorded, probe=Probe(check="checks[0]", state="end", value=value)))


def test_page_images_are_stored_and_judged(show: Callable[[str], Session], web: Web) -> None:
    def only_signed_in(request: Request) -> Reply:
        known = "who=ada" in request.headers.get("Cookie", "")
        return Reply(body=png("L"), headers={"Content-Type": "image/png"}) if known else Reply(status=403)

    web.put("/media/one.png", only_signed_in)
    web.file("/media/logo.png", png("red"), "image/png")
    web.file("/ref.png", png("L"), "application/octet-stream")  # a browser saves it instead of showing it
    web.file("http://b.test/two.png", png("L"), "image/png", Content_Security_Policy="default-src 'none'")
    strict = {
        "Content-Security-Policy": "default-src 'self'; connect-src 'none'; img-src *; script-src 'unsafe-inline'"
    }
    web.pages["http://a.test/page"] = Reply(body=PAGE, headers={**strict, "Set-Cookie": "who=ada"})
    session = show("nothing")
    session.open_tabs(["http://a.test/page"])
    requested = "__A__/ref.png"

    spec, value = collected(
        session,
        {"eval_image_url": "last", "eval_image_class": ".photos", "eval_fuzzy_image_match": requested},
        {"eval_image_url": "__A__/page", "eval_image_class": ".photo", "eval_fuzzy_image_match": requested},
        {"eval_image_url": "last", "eval_image_class": ".none", "eval_fuzzy_image_match": requested},
        {"eval_image_url": "last", "eval_image_class": "##", "eval_fuzzy_image_match": requested},
        {"eval_image_url": "last", "eval_fuzzy_image_match": requested},
    )
    one, missing = "http://a.test/media/one.png", "http://a.test/media/gone.png"
    two, three = "http://b.test/two.png", "http://elsewhere.test/three.png"
    assert [look.get("images") for look in value["looks"]] == [
        [one, missing], [two, three], [], None, ["http://a.test/media/logo.png", one, missing, two, three],
    ]  # fmt: skip
    assert {address: next(iter(got)) for address, got in value["sources"].items()} == {
        "http://a.test/ref.png": "file", one: "file", missing: "broken", "http://a.test/media/logo.png": "file",
        two: "file", three: "error",
    }  # fmt: skip
    assert len(value["files"]) == 2
    alone = [judged((spec[index],), {**value, "looks": [value["looks"][index]]}) for index in range(5)]
    assert [each.score for each in alone] == [1.0, 1.0, 0.0, None, 1.0]
    assert session.tabs()[0].url == "http://a.test/page"
