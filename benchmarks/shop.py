"""Measures the store: processor time of its pages, start, reset, and memory of replicas.

    python benchmarks/shop.py [--rounds 15]

CPU per page is the process's own in milliseconds, least and median of the rounds, after a warm-up. The calibration
line, a loop of plain Python, shows the current speed of the machine. Memory is the proportional set size (PSS) in MiB,
after some pages.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import multiprocessing
import statistics
import tempfile
import time
import uuid
from pathlib import Path

import psutil

from pytest_webarena.embedded import shop
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.process import ProcessBackend
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.cleanup.reaper import identity

PAGES = {
    "": ("/", "/catalogue/", "/search/?q=lamp"),
    "mara.linden": (
        "/catalogue/?sort_by=price-asc", "/search/?q=mug", "/offers/", "/basket/", "/accounts/orders/",
        "/accounts/wishlists/", "/accounts/profile/",
    ),
    "clementine.rusk": (
        "/dashboard/", "/dashboard/orders/", "/dashboard/catalogue/", "/dashboard/catalogue/products/1/",
        "/dashboard/catalogue/categories/", "/dashboard/users/", "/dashboard/reviews/", "/dashboard/offers/",
        "/dashboard/vouchers/", "/dashboard/ranges/", "/dashboard/pages/",
        "/dashboard/reports/?report_type=best_sellers", "/dashboard/reports/?report_type=submitted_baskets",
    ),
}  # fmt: skip
REPLICAS = 4


def calibration() -> float:
    """Returns the CPU time of a loop of plain Python in milliseconds."""
    before = time.process_time()
    total = 0
    for number in range(250_000):
        total += number % 7
    return (time.process_time() - before) * 1000


def pages(rounds: int) -> None:
    """Prints the CPU time per page; runs in its own process, since a store can't be unloaded from its process."""
    from pytest_webarena.embedded.shop import runtime

    with tempfile.TemporaryDirectory() as scratch:
        shop.seed(Path(scratch))
        app = shop.create_app(Path(scratch))
        shop.on_fork(Path(scratch))
        print(
            f"calibration {min(calibration() for _ in range(5)):6.1f} ms CPU\n\n{'CPU in ms per page':58}  least median"
        )
        for username, addresses in PAGES.items():
            cookie = runtime._session(username) if username else ""
            for address in addresses:
                took = []
                for _ in range(rounds + 2):
                    before = time.process_time()
                    runtime._visit(app, address, cookie)
                    took.append((time.process_time() - before) * 1000)
                took = took[2:]
                print(f"{address:58} {min(took):6.1f} {statistics.median(took):6.1f}", flush=True)


def get(replica: Replica, address: str) -> None:
    """Requests a page from a replica."""
    connection = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=60)
    connection.request("GET", address, headers={"Host": "shopping.test"})
    connection.getresponse().read()
    connection.close()


def pss(process: psutil.Process) -> float:
    """Returns a process's proportional set size in MiB."""
    return float(process.memory_full_info().pss) / 2**20


async def replicas(rounds: int) -> None:
    """Prints the time of start and resets, and the memory."""
    app = load_catalogue("embedded").apps["shop"]
    with tempfile.TemporaryDirectory() as scratch:
        backend = ProcessBackend(
            BackendContext(run=uuid.uuid4().hex, owner=identity(), directory=Path(scratch), environ={})
        )
        try:
            before = time.perf_counter()
            await backend.prepare(app)
            loaded = time.perf_counter()
            running = [await backend.start(app, "shop-0")]
            print(f"\nstart            {time.perf_counter() - before:6.2f} s, of which loading {loaded - before:.2f} s")
            took = []
            for _ in range(rounds * 2):
                await asyncio.sleep(0.1)  # the shortest time a task takes
                before = time.perf_counter()
                running[0] = await backend.reset(app, running[0])
                took.append((time.perf_counter() - before) * 1000)
            print(f"reset            {min(took):6.1f} ms least, {statistics.median(took):.1f} ms median")
            server = next(p for p in psutil.Process().children() if p.children())
            await asyncio.sleep(0.5)
            alone = pss(server) + sum(pss(child) for child in server.children(recursive=True))
            running += [await backend.start(app, f"shop-{number}") for number in range(1, REPLICAS)]
            for replica in running:
                for address in ("/", "/catalogue/", "/search/?q=tea", "/offers/", "/catalogue/?sort_by=newest"):
                    await asyncio.to_thread(get, replica, address)
            everything = pss(server) + sum(pss(child) for child in server.children(recursive=True))
            print(f"memory           {alone:6.1f} MiB with one replica (and a spare)")
            print(f"per replica      {(everything - alone) / (REPLICAS - 1):6.1f} MiB more, {REPLICAS} used ones")
        finally:
            await backend.close()


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="measure this many rounds (default: %(default)s)")
    rounds = parser.parse_args().rounds
    process = multiprocessing.get_context("spawn").Process(target=pages, args=(rounds,))
    process.start()
    process.join()
    asyncio.run(replicas(rounds))


if __name__ == "__main__":
    main()
