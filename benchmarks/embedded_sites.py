"""Measures all embedded sites together: cold start, memory, resets, processor time per page.

    python benchmarks/embedded_sites.py [--rounds 9] [--without shop]

cold start   time until the first lease of every site: seeding data, loading applications, starting a replica of each
one set      PSS of a replica of each site in MiB, after some pages of each (shared pages counted in proportion)
one set more PSS that a second replica of each site adds
reset        milliseconds per reset, least and median
CPU          processor milliseconds per page, least and median, after a warm-up (the store's pages: `shop.py`)

Wall times depend on other work on the machine, so the load average is printed too.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import psutil
from werkzeug.test import Client

from pytest_webarena.embedded.world import PEOPLE
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.process import ProcessBackend
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.cleanup.reaper import identity

PAGES: Mapping[str, Sequence[str]] = {
    "homepage": ("/", "/passwords", "/calculator", "/scratchpad/", "/manuals/", "/manuals/?q=late+fee",
                 "/manuals/trains", "/converter?value=3", "/calendar/2025-06", "/account"),
    "wikipedia": ("/", "/wiki/Tarnmark", "/wiki/Aldersey", "/search?q=lantern", "/categories", "/index"),
    "map": ("/", "/search?query=bakery", "/search?query=14+Wendgate", "/place/1", "/reverse?lat=54.412&lon=-1.905",
            "/directions?engine=foot&from=Charter+Hall&to=Regional+Library",
            "/directions?engine=car&from=Brackwater&to=Lunnet", "/layers/ground.json"),
    "reddit": ("/", "/all/new", "/all/controversial", "/f/books", "/f/books/2384", "/forums", "/forums/by_category",
               "/comments", "/search?q=lantern", "/search?q=rain&type=comments", "/user/tobin.ashgrove", "/messages",
               "/notifications", "/submit/books", "/f/books/moderation_log", "/f/books.atom"),
    "gitlab": ("/explore", "/dashboard/projects", "/dashboard/todos", "/dashboard/issues", "/makers",
               "/makers/pagefold",
               "/makers/pagefold/-/tree/main/tests", "/makers/pagefold/-/blob/main/README.md",
               "/makers/pagefold/-/blame/main/README.md", "/makers/pagefold/-/commits/main",
               "/makers/pagefold/-/branches", "/makers/pagefold/-/graphs/main", "/makers/pagefold/-/issues",
               "/makers/pagefold/-/issues/1", "/makers/pagefold/-/merge_requests",
               "/makers/pagefold/-/merge_requests/1/diffs", "/makers/pagefold/-/project_members",
               "/makers/pagefold/-/edit/main/README.md", "/makers/pagefold/activity", "/dario.penhallow",
               "/search?search=tide&scope=blobs", "/search?search=add&scope=commits", "/search?search=bug&scope=issues",
               "/api/v4/projects", "/makers/pagefold.git/info/refs?service=git-upload-pack"),
}  # fmt: skip
SIGN_IN = {"homepage": ("/signin", "mara.linden"), "reddit": ("/login", "mara.linden"),
           "gitlab": ("/users/sign_in", "dario.penhallow")}  # fmt: skip
SOME: Mapping[str, Sequence[str]] = {**PAGES, "shop": ("/", "/catalogue/", "/search/?q=tea", "/offers/")}


def pages(rounds: int) -> None:
    """Prints the CPU time per kind of page."""
    print(f"{'CPU in ms per page':62}  least median")
    for name, addresses in PAGES.items():
        site = import_module(f"pytest_webarena.embedded.{name}")
        with tempfile.TemporaryDirectory() as scratch:
            site.seed(Path(scratch))
            client = Client(site.create_app(Path(scratch)))
            if name in SIGN_IN:
                path, username = SIGN_IN[name]
                password = next(person.password for person in PEOPLE if person.username == username)
                client.post(path, data={"username": username, "password": password})
            for address in addresses:
                took = []
                for _ in range(rounds + 2):
                    before = time.process_time()
                    with client.get(address, follow_redirects=True) as response:
                        response.get_data()
                        assert response.status_code == 200, address
                    took.append((time.process_time() - before) * 1000)
                took = took[2:]
                print(f"{name:10}{address:52} {min(took):6.1f} {statistics.median(took):6.1f}", flush=True)


def get(app: AppManifest, replica: Replica, address: str) -> None:
    """Requests a page from a replica."""
    connection = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=120)
    connection.request("GET", address, headers={"Host": app.sites[0].host})
    connection.getresponse().read()
    connection.close()


def family() -> list[psutil.Process]:
    """Returns the processes of all sites: fork servers and replicas."""
    return psutil.Process().children(recursive=True)


def pss() -> float:
    """Returns the memory of all these processes in MiB, with shared pages counted once."""
    return sum(float(process.memory_full_info().pss) for process in family()) / 2**20


async def use(apps: Sequence[AppManifest], replicas: Sequence[Replica]) -> None:
    """Requests some pages of each site."""
    for app, replica in zip(apps, replicas, strict=True):
        for address in SOME[app.name][:6]:
            await asyncio.to_thread(get, app, replica, address)


async def sets(rounds: int, without: Sequence[str]) -> None:
    """Prints the time of a cold start, the memory and the time of resets."""
    apps = [app for name, app in load_catalogue("embedded").apps.items() if name not in without]
    own = [app for app in apps if not app.read_only]
    with tempfile.TemporaryDirectory() as scratch:
        context = BackendContext(run=uuid.uuid4().hex, owner=identity(), directory=Path(scratch), environ={})
        backend = ProcessBackend(context)

        async def start(app: AppManifest) -> Replica:
            await backend.prepare(app)
            return await backend.start(app, f"{app.name}-0")

        try:
            before = time.perf_counter()
            first = await asyncio.gather(*map(start, apps))
            wall = time.perf_counter() - before
            spent = sum(sum(process.cpu_times()[:4]) for process in family())
            print(f"\ncold start       {wall:6.2f} s for {len(apps)} apps, {spent:.2f} s of CPU")
            await use(apps, first)
            one = pss()
            print(f"one set          {one:6.1f} MiB PSS, {len(family())} processes")
            second = [await backend.start(app, f"{app.name}-1") for app in own]
            await use(own, second)
            more = pss() - one
            print(f"one set more     {more:6.1f} MiB PSS ({', '.join(app.name for app in own)}; the others are shared)")
            for app, replica in zip(own, second, strict=True):
                took = []
                for _ in range(rounds):
                    await asyncio.sleep(0.1)  # the shortest time a task takes
                    before = time.perf_counter()
                    replica = await backend.reset(app, replica)
                    took.append((time.perf_counter() - before) * 1000)
                print(f"reset {app.name:10} {min(took):6.1f} ms least, {statistics.median(took):.1f} ms median")
        finally:
            await backend.close()


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="measure this many rounds (default: %(default)s)")
    parser.add_argument("--without", nargs="*", default=(), help="exclude these sites")
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    asyncio.run(sets(arguments.rounds, arguments.without))
    print()
    pages(arguments.rounds)


if __name__ == "__main__":
    main()
