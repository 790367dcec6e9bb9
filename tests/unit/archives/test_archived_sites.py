"""Archived sites behind the gateway: http and https, and misses recorded with their severity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.archives.archive import Archive
from pytest_webarena.archives.serving import ArchiveServer
from pytest_webarena.archives.writing import WarcFile
from pytest_webarena.errors import SiteError, TaskError, UsageError
from pytest_webarena.evidence import Evidence, RequestRecord
from pytest_webarena.sites.broker.live_leases import observe_off_archive, share_web_access
from pytest_webarena.sites.catalogues.archived import archive_of
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.protocol.messages import LiveWishes
from pytest_webarena.tasks.model import LiveTerms
from pytest_webarena.trials.archive_misses import reporting_misses, with_misses
from pytest_webarena.trials.outcome import Decided
from tests.cases import each_case
from tests.unit.archives.helpers import opened, write
from tests.unit.gateway.conftest import World, world  # noqa: F401

FAILED, PASSED = Decided("failed", None, "checks said no"), Decided("passed", None, "")


def test_archived_sites_are_served_through_the_gateway(world: World, tmp_path: Path) -> None:  # noqa: F811
    archive = opened(
        tmp_path / "a.warc", ("GET", "https://shop.test/", b"secure"), ("GET", "http://plain.test/", b"plain")
    )
    server = ArchiveServer(archive)
    session = world.session()
    for host in ("shop.test", "plain.test"):
        world.route(session, server.port, host, archived=True)
        world.route(session, server.port, host, port=443, read=True, archived=True)

    def get(url: str, accept: str) -> int:
        return world.browser(session).get(url, f"Accept: {accept}", "X-Forwarded-Proto: gopher")[0]

    try:
        assert get("https://shop.test/", "text/html") == get("http://plain.test/", "text/html") == 200
        assert get("http://shop.test/other", "text/html,*/*") == 404
        assert get("https://shop.test/data.json", "*/*") == 404
        assert get("http://shop.test/x.png", "image/png") == 404
        browser = world.browser(session)
        browser.send(b"POST http://shop.test/buy HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 3\r\n\r\na=b")
        status, head, page = browser.response()
        assert (status, "Webarena-Archive-Lacks" in head) == (404, False)
        assert b"Not archived: POST http://shop.test/buy" in page
        requests = world.requests(session)
        assert [each.lacks for each in requests] == ["", "", "page", "part", "extra", "part"]
        own = world.call(session.own_answer, "http://shop.test/other")
        assert own == "GET http://shop.test/other is not archived"
        assert not session.unsafe
        assert not session.upstream_error
    finally:
        world.run(session.close())
        server.close()
    assert not server.running


def test_intercepted_request_is_recorded_as_intercepted(world: World, tmp_path: Path) -> None:  # noqa: F811
    with WarcFile(tmp_path / "a.warc", sites={}) as file:
        file.add_withheld(method="POST", url="http://shop.test/track", time=1)
    server = ArchiveServer(Archive([tmp_path / "a.warc"]))
    session = world.session()
    world.route(session, server.port, "shop.test", archived=True)
    browser = world.browser(session)
    try:
        browser.send(b"POST http://shop.test/track HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 3\r\n\r\na=b")
        status, head, _ = browser.response()
        assert (status, "Webarena-Archive-Kept-Back" in head) == (403, False)
        (seen,) = world.requests(session)
        assert (seen.intercepted, seen.lacks, seen.request_body) == (True, "", "a=b")
        assert "was not sent to the live site" in seen.refused
    finally:
        world.run(session.close())
        server.close()


@pytest.mark.parametrize(
    ("terms", "body", "lacks"),
    [
        ({"reads": ("POST /graphql",)}, b'{"query": "{products{name}}"}', "part"),
        ({"reads": ("POST /graphql",)}, b'{"query": "mutation{buy{id}}"}', ""),
        ({"reads": ("POST /graphql",)}, b"_method=DELETE", ""),
        ({"writes": ("POST /graphql",)}, b'{"query": "mutation{buy{id}}"}', "part"),
        ({"reads": ("POST /other",)}, b'{"query": "{products{name}}"}', ""),
        ({"domains": ("shop.test",)}, b'{"query": "{products{name}}"}', ""),
    ],
)
def test_write_that_the_tasks_terms_allow_is_a_miss(
    world: World,  # noqa: F811
    tmp_path: Path,
    terms: dict[str, Any],
    body: bytes,
    lacks: str,
) -> None:
    """The live site would have answered: this trial's terms allow more than those of the recording."""
    path = tmp_path / "a.warc"
    with WarcFile(path, sites={"shop": {"url": "http://shop.test", "start": "/", "user": "emma"}}) as file:
        file.add_withheld(method="POST", url="http://shop.test/graphql", time=1)
    server = ArchiveServer(Archive([path]))
    leased, session = world.session(), world.session()
    world.route(leased, server.port, "shop.test", archived=True)
    apps = load_catalogue(f"archive:{path}").apps.values()
    world.call(observe_off_archive, leased, apps, LiveWishes(terms=LiveTerms(**terms)), read=True)
    world.route(session, server.port, "shop.test", archived=True)
    world.call(share_web_access, session, leased)
    try:
        for each in (leased, session):
            browser = world.browser(each)
            head = f"POST http://shop.test/graphql HTTP/1.1\r\nHost: shop.test\r\nContent-Length: {len(body)}\r\n\r\n"
            browser.send(head.encode() + body)
            assert browser.response()[0] == 403
            (seen,) = world.requests(each)
            assert (seen.lacks, seen.intercepted) == (lacks, not lacks)
    finally:
        world.run(leased.close())
        world.run(session.close())
        server.close()


def test_solution_that_meets_a_miss_is_a_site_error() -> None:
    reported: dict[str, object] = {}
    with pytest.raises(SiteError, match=r"not archived: GET http://shop.test/0.*\nstep 2 failed") as error:  # noqa: SIM117
        with reporting_misses(lambda: evidence("page").requests, reported):
            raise TaskError("step 2 failed")
    assert (error.value.cause, error.value.event, error.value.again) == ("site", "archive", False)
    assert reported == {"not_archived": {"GET http://shop.test/0": "page"}}
    with pytest.raises(TaskError), reporting_misses(lambda: evidence("extra").requests, reported):
        raise TaskError("step 2 failed")


def test_miss_header_of_another_site_is_ignored(world: World) -> None:  # noqa: F811
    session, _ = world.serve(
        lambda seen: b"HTTP/1.1 200 OK\r\nWebarena-Archive-Lacks: 1\r\nContent-Length: 2\r\n\r\nhi"
    )
    assert world.browser(session).get("http://homepage.test/", "Accept: text/html")[0] == 200
    assert world.requests(session)[0].lacks == ""
    assert not world.call(session.own_answer, "http://homepage.test/")


def evidence(*lacks: str, answer: str | None = "42") -> Evidence:
    requests = tuple(
        RequestRecord(time=0, method="GET", url=f"http://shop.test/{n}", status=404, lacks=each)  # type: ignore[arg-type]
        for n, each in enumerate(lacks)
    )
    return Evidence(answer=answer, stop_reason="answered", requests=requests)


@each_case(
    ("decided", "given", "outcome"),
    [
        (FAILED, evidence("page"), "error"),
        (FAILED, evidence("part", ""), "error"),
        (FAILED, evidence("extra"), "failed"),
        (FAILED, evidence(), "failed"),
        (PASSED, evidence("page", "part"), "passed"),
        (PASSED, evidence("page", answer="N/A: there is no such page"), "error"),
        (PASSED, evidence("extra", answer="N/A: there is no such page"), "passed"),
        (Decided("error", "judge", "no word"), evidence("page"), "error"),
    ],
)
def test_miss_of_a_page_or_part_is_not_an_agent_failure(decided: Decided, given: Evidence, outcome: str) -> None:
    found = with_misses(decided, given)
    assert found.outcome == outcome
    if outcome == "error" and decided.outcome != "error":
        assert (found.cause, found.event) == ("site", "archive")
        assert "not archived: GET http://shop.test/0" in found.message
        assert decided.message in found.message
    else:
        assert found == decided


def test_archive_path_is_accepted_as_catalogue(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc.gz", ("GET", "https://shop.test/", b"hi"))
    for name in (f"archive:{path}", str(path)):
        (app,) = load_catalogue(name).apps.values()
        (site,) = app.sites
        assert (site.name, site.url, site.default_user, app.read_only) == ("shop", "https://shop.test", "emma", True)
        assert load_catalogue(load_catalogue(name).option).apps.keys() == {"archive"}


def test_catalogue_entry_of_an_archive_is_validated(tmp_path: Path) -> None:
    write(tmp_path / "a.warc.gz", ("GET", "https://shop.test/", b"hi"))
    file = tmp_path / "sites.yaml"
    text = "apps: {old: {backend: archive, options: {files: %s}, sites: {old: {url: 'https://shop.test'}}}}"
    file.write_text(text % "a.warc.gz, at: 2024-01-31")
    app = load_catalogue(file).apps["old"]
    assert (app.read_only, app.sites[0].url) == (True, "https://shop.test")
    (tmp_path / "a.warc.gz").write_bytes(b"other")
    assert load_catalogue(file).apps["old"].digest != app.digest
    for wrong, says in {
        "lost.warc": "expected an archive at",
        "a.zip": "files that end with .warc",
        "a.warc.gz, on: 2024": "no options but 'files', 'at' and 'unneeded'",
        "a.warc.gz, at: noon": "a moment such as",
    }.items():
        file.write_text(text % wrong)
        with pytest.raises(UsageError, match=says):
            load_catalogue(file)


def test_archive_of_recognises_archive_names() -> None:
    assert archive_of("embedded") is None
    assert archive_of("sites.yaml") is None
    assert archive_of("archive:a/b.wacz") == archive_of("a/b.wacz") == Path("a/b.wacz")


def test_missing_archive_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"expected an archive \(.warc, .warc.gz, .wacz\) at .*lost.wacz, found no file"
    ):
        load_catalogue(f"archive:{tmp_path}/lost.wacz")
