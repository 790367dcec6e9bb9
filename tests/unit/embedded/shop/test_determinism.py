"""Store builds are reproducible, self-contained, unchanged by reads, and isolated."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest

from pytest_webarena.embedded import shop

BUILD = """
import sys
from pathlib import Path
from pytest_webarena.embedded.shop.seeding import build
build(Path(sys.argv[1]))
"""


SIMPLE_PRODUCTS = """
select p.id from catalogue_product p join partner_stockrecord s on s.product_id = p.id
 where p.structure = 'standalone' and s.num_in_stock > 5
 and p.id not in (select product_id from catalogue_product_product_options) order by p.id limit 12
"""


def dump(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump())


@pytest.mark.exhaustive
def test_two_builds_are_equal(tmp_path: Path, pristine: Path) -> None:
    other = tmp_path / "other.sqlite3"
    package = Path(shop.__file__).parents[3]
    # Another hash seed and another time zone must make no difference.
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "PYTHONPATH": str(package)}
    subprocess.run([sys.executable, "-c", BUILD, str(other)], check=True, env=environment)
    assert dump(other) == dump(pristine / "main.sqlite3")


def test_store_has_minimum_counts(pristine: Path) -> None:
    with closing(sqlite3.connect(pristine / "main.sqlite3")) as connection:

        def one(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0])

        assert one("select count(*) from catalogue_product where parent_id is null") >= 1000
        assert one("select count(*) from catalogue_category where depth = 2") >= 30
        assert one("select count(*) from catalogue_productimage") >= 2000
        assert one("select count(*) from order_order where user_id = 1") > 35
        assert one("select count(*) from reviews_productreview where length(body) > 20") > 2000
        assert connection.execute("pragma foreign_key_check").fetchall() == []


def kind(url: str) -> str:
    """Return the kind of a page: its URL without numbers, names and most query values."""
    parts = urlsplit(url)
    path = re.sub(r"/[^/]+_\d+(?=/)", "/x", re.sub(r"/category/.*", "/category/", parts.path))
    picks = [f"{key}={value}" for key, value in parse_qsl(parts.query) if key in ("report_type", "sort")]
    return f"{parts.hostname}{re.sub('[0-9]+', '#', path)}?{','.join(sorted(picks)[:1])}"


def crawl(visitor: Any, *starts: str, limit: int = 90, right: Collection[int] = (200,)) -> tuple[set[str], set[str]]:
    """Visit one page of each kind; return pages with errors and links to other hosts."""
    queue = [urljoin(visitor.url, start) for start in starts]
    seen: set[str] = set()
    wrong, foreign = set(), set()
    while queue and len(seen) < limit:
        url = queue.pop(0)
        if kind(url) in seen:
            continue
        seen.add(kind(url))
        visitor.get(url)
        if visitor.status not in right:
            wrong.add(f"{visitor.status} {url}")
        for reference in visitor.page.references:
            if urlsplit(urljoin(visitor.url, reference)).hostname not in (*HOSTS, None):
                foreign.add(reference)
        # Oscar moves wishes by links, and ended offers have no page.
        links = (urljoin(visitor.url, href).partition("#")[0] for href, _ in visitor.page.links)
        queue += [link for link in links if not re.search("logout|/move-to/|[.]test/offers/.", link)]
    assert len(seen) >= 20
    return wrong, foreign


HOSTS = ("shopping.test", "shopping-admin.test")


@pytest.mark.matrix(1)
@pytest.mark.parametrize("who", ["visitor", "mara", "owner", "employee"])
def test_no_link_is_broken_or_external(who: str, request: pytest.FixtureRequest) -> None:
    # Some back office links lead employees to pages that only the owner may open.
    right = (200, 403) if who == "employee" else (200,)
    assert crawl(request.getfixturevalue(who), "/", right=right) == (set(), set())


def test_reading_and_signing_in_change_nothing(visitor: Any, data_dir: Path, pristine: Path) -> None:
    file = data_dir / "main.sqlite3"
    before = hashlib.sha256((pristine / "main.sqlite3").read_bytes()).hexdigest()
    crawl(visitor, "/", limit=25)
    mara = visitor.sign_in("mara.linden")
    for path in (
        "/",
        "/search/?q=lantern",
        "/basket/",
        "/accounts/orders/",
        "/accounts/wishlists/",
        "/accounts/profile/",
    ):
        assert mara.get(path)
    mara.get("/catalogue/?sort_by=newest")
    mara.follow("Lamp") if any("Lamp" in text for _, text in mara.page.links) else mara.follow("Tea")
    visitor.url = "http://shopping-admin.test/"
    owner = visitor.sign_in("clementine.rusk")
    for path in (
        "/dashboard/",
        "/dashboard/orders/",
        "/dashboard/catalogue/",
        "/dashboard/reports/?report_type=best_sellers",
    ):
        owner.get(path)
        assert owner.status == 200
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    assert [path.name for path in data_dir.iterdir()] == ["main.sqlite3"]


def test_replicas_share_only_sessions(mara: Any, data_dir: Path, tmp_path: Path, pristine: Path) -> None:
    mara.get("/accounts/addresses/add/")
    values = {
        "first_name": "Mara",
        "last_name": "Linden",
        "line1": "9 Elsewhere",
        "line4": "Ivesham",
        "postcode": "TM9 1",
    }
    mara.submit(mara.form(holds="line1"), values)
    assert "9 Elsewhere" in mara.get("/accounts/addresses/")
    other = tmp_path / "other"
    other.mkdir()
    (other / "main.sqlite3").write_bytes((pristine / "main.sqlite3").read_bytes())
    shop.on_fork(other)
    assert "9 Elsewhere" not in mara.get("/accounts/addresses/")
    assert "Sign out" in mara.text  # the session of the first replica is valid in the second


def test_concurrent_visitors_all_fill_their_baskets(store: Any, data_dir: Path, rows: Any, new_visitor: Any) -> None:
    """Reading and then writing in one request must not fail with "database is locked"."""
    products = [number for (number,) in rows(SIMPLE_PRODUCTS)]
    problems: list[str] = []

    def shop_around(index: int) -> None:
        from django.db import connections

        visitor = new_visitor()
        for number in products[index * 2 : index * 2 + 2]:
            visitor.get(f"/catalogue/x_{number}/")
            visitor.submit(visitor.form("/basket/add/"))
            if visitor.status != 200:
                problems.append(f"{visitor.url} {visitor.status}")
        connections.close_all()

    before = rows("select count(*) from basket_line")[0][0]
    threads = [threading.Thread(target=shop_around, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []
    assert rows("select count(*) from basket_line")[0][0] == before + 12


def test_replacing_the_database_file_resets_a_running_store(mara: Any, data_dir: Path, pristine: Path) -> None:
    mara.get("/accounts/addresses/add/")
    values = {
        "first_name": "Mara",
        "last_name": "Linden",
        "line1": "9 Elsewhere",
        "line4": "Ivesham",
        "postcode": "TM9 1",
    }
    mara.submit(mara.form(holds="line1"), values)
    fresh = data_dir / "fresh"
    fresh.write_bytes((pristine / "main.sqlite3").read_bytes())
    fresh.replace(data_dir / "main.sqlite3")
    assert "9 Elsewhere" not in mara.get("/accounts/addresses/")
