"""What pages of archived sites want of hosts that no archive has anything of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.archives.serving import ArchiveServer
from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.off_archive import OffArchive
from pytest_webarena.gateway.session import GatewaySession
from pytest_webarena.sites.catalogues.loading import load_catalogue
from tests.unit.archives.test_archive import foreign, http, record
from tests.unit.gateway.conftest import Browser, World, world

__all__ = ["world"]

HOME = "http://docs.example/"
PAGE = "Accept: text/html,*/*"
SCRIPT = "Accept: */*"
PICTURE = "Accept: image/avif,*/*"
REFERRED = f"Referer: {HOME}"


@pytest.fixture
def session(world: World, tmp_path: Path) -> Iterator[GatewaySession]:
    away = http(b"", "Location: http://moved.example", status="301 Moved")
    archive = foreign(
        tmp_path / "a.warc", record("response", HOME, http(b"home")), record("response", f"{HOME}away", away, number=2)
    )
    server = ArchiveServer(archive)
    session = world.session()
    world.call(session.route, "docs.example", "127.0.0.1", server.port, archived=True)
    world.call(session.enter, OffArchive(session.routes, read=True, unneeded=("ads.example",), home=("begun.example",)))
    yield session
    server.close()


def ask(world: World, session: GatewaySession, url: str, *fields: str) -> tuple[int, RequestRecord]:
    browser: Browser = world.browser(session)
    browser.send("\r\n".join([f"GET {url} HTTP/1.1", f"Host: {url.split('/')[2]}", *fields, "", ""]).encode())
    return browser.response()[0], world.requests(session)[-1]


@pytest.mark.parametrize(
    ("url", "fields", "lacks"),
    [
        ("http://cdn.example/app.js", (SCRIPT, REFERRED), "part"),
        ("http://cdn.example/app.js", (SCRIPT, "Origin: http://docs.example"), "part"),
        ("http://cdn.example/app.js", (SCRIPT,), "part"),  # the page asked browsers not to tell
        ("http://cdn.example/a.png", (PICTURE, REFERRED), "extra"),
        ("http://www.ads.example/a.js", (SCRIPT, REFERRED), "extra"),
        ("http://video.example/frame", (PAGE, REFERRED), "page"),
        ("http://video.example/", (PAGE, "Sec-Fetch-Dest: document", "Sec-Fetch-Site: cross-site"), "page"),
        ("http://video.example/", (PAGE, "Sec-Fetch-Dest: iframe", "Sec-Fetch-Site: cross-site"), "part"),
        ("http://www.begun.example/", (PAGE,), "page"),  # where the trial begins
    ],
)
def test_what_pages_want_is_lacking(
    world: World,
    session: GatewaySession,
    url: str,
    fields: tuple[str, ...],
    lacks: str,
) -> None:
    status, seen = ask(world, session, url, *fields)
    assert (status, seen.lacks, seen.refused) == (404, lacks, "")


@pytest.mark.parametrize(
    ("url", "fields"),
    [
        ("http://search.example/", (PAGE,)),
        ("http://search.example/", (PAGE, "Sec-Fetch-Dest: document", "Sec-Fetch-Site: none")),
        ("http://search.example/", (PAGE, "Referer: http://other.example/")),
        ("http://cdn.example/app.js", (SCRIPT, "Referer: http://shop.test/")),  # beside the archive
        ("http://cdn.example:8080/app.js", (SCRIPT, REFERRED)),
    ],
)
def test_where_an_agent_goes_by_itself_is_refused_as_ever(
    world: World,
    session: GatewaySession,
    url: str,
    fields: tuple[str, ...],
) -> None:
    status, seen = ask(world, session, url, *fields)
    assert (status, seen.lacks) == (403, "")
    assert seen.refused


def test_whom_an_archived_page_sends_on_has_not_chosen_to(world: World, session: GatewaySession) -> None:
    assert ask(world, session, "http://moved.example/", PAGE)[0] == 403
    assert ask(world, session, f"{HOME}away", PAGE)[0] == 301
    status, seen = ask(world, session, "http://moved.example/", PAGE)
    assert (status, seen.lacks) == (404, "page")


def test_hosts_that_are_not_needed(tmp_path: Path) -> None:
    foreign(tmp_path / "a.warc", record("response", HOME, http(b"home")))
    text = (
        "apps: {{a: {{backend: archive, options: {{files: a.warc, unneeded: {}}}, "
        "sites: {{docs: {{url: 'http://docs.example'}}}}}}}}"
    )
    for named in ("ads.example", "[ads.example, cdn.example]"):
        (tmp_path / "sites.yaml").write_text(text.format(named))
        load_catalogue(tmp_path / "sites.yaml")
    for named in ("'*.example'", "[1]", "https://ads.example"):
        (tmp_path / "sites.yaml").write_text(text.format(named))
        with pytest.raises(UsageError, match=r"names of hosts such as ads\.example\.com in the option 'unneeded'"):
            load_catalogue(tmp_path / "sites.yaml")
