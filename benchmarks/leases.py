"""Measures leases, hand-overs and resets of a site, for one worker and for several.

    python benchmarks/leases.py [--catalogue embedded] [--site homepage] [--leases 200] [--workers 4]

Each lease makes one POST. Prints the times of lease and release as a worker sees them, and the broker's own times of
hand-overs, waits, resets and starts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease


def main() -> None:
    """Prints medians and 95th percentiles for one worker and for several."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalogue", default="embedded", help="catalogue name or path (default: %(default)s)")
    parser.add_argument("--site", default="homepage", help="site to lease (default: %(default)s)")
    parser.add_argument("--leases", type=int, default=200, help="leases per measurement (default: %(default)s)")
    parser.add_argument(
        "--workers", type=int, default=4, help="workers of the second measurement (default: %(default)s)"
    )
    parser.add_argument("--spares", type=int, default=None, help="pristine spares (default: by demand)")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds of work per lease (default: %(default)s)")
    arguments = parser.parse_args()
    spares = "as many spares as demanded" if arguments.spares is None else f"{arguments.spares} spares"
    print(f"catalogue {arguments.catalogue}, site {arguments.site}, {spares}")
    for workers in sorted({1, arguments.workers}):
        _measure(arguments, workers)


def _measure(arguments: argparse.Namespace, workers: int) -> None:
    with tempfile.TemporaryDirectory() as run_dir:
        config = BrokerConfig(
            catalogue=arguments.catalogue,
            run_dir=Path(run_dir),
            max_replicas=3 * workers + 2 if arguments.spares is None else workers + arguments.spares,
            spares=arguments.spares,
            lease_timeout=600,
        )
        began = time.perf_counter()
        launcher = BrokerLauncher(config)
        made = time.perf_counter() - began
        with launcher:
            with BrokerClient(launcher.address, name="first") as client:
                began = time.perf_counter()
                client.lease([arguments.site], holder="first").release()
                first = time.perf_counter() - began
            leases: list[float] = []
            releases: list[float] = []
            began = time.perf_counter()
            threads = [
                threading.Thread(target=_work, args=(launcher.address, index, arguments, workers, leases, releases))
                for index in range(workers)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds = time.perf_counter() - began
            began = time.perf_counter()
            report = launcher.stop()
            stop = time.perf_counter() - began
    app = next(iter(report.apps.values()))
    print(f"\n{workers} worker(s), {len(leases)} leases, each with one POST, in {seconds:.2f} s:")
    print(f"  launcher {made * 1000:.1f} ms, first lease of the run {first * 1000:.0f} ms, stop {stop * 1000:.0f} ms")
    print(f"  lease as the worker sees it   {_spread([1000 * value for value in leases])}")
    print(f"  release as the worker sees it {_spread([1000 * value for value in releases])}")
    print(f"  hand-over (grant to gateway)  median {app.handovers.median:.2f} ms, p95 {app.handovers.p95:.2f} ms")
    print(f"  waits {app.waits.count}, median {app.waits.median:.1f} ms, p95 {app.waits.p95:.1f} ms")
    print(f"  resets {app.resets.count}, median {app.resets.median:.1f} ms, p95 {app.resets.p95:.1f} ms")
    print(f"  starts {app.starts.count}, median {app.starts.median:.1f} ms; clean hand-ons {app.clean_hand_ons}")
    print(f"  most replicas {app.most_replicas}, utilisation {app.utilisation:.0%}")


def _work(
    address: str, index: int, arguments: argparse.Namespace, workers: int, leases: list[float], releases: list[float]
) -> None:
    with BrokerClient(address, name=f"worker{index}") as client:
        for turn in range(arguments.leases // workers):
            began = time.perf_counter()
            lease = client.lease([arguments.site], holder=f"lease {turn}")
            leases.append(time.perf_counter() - began)
            _post(lease, lease.sites[arguments.site].start)
            threading.Event().wait(arguments.pause)
            began = time.perf_counter()
            lease.release()
            releases.append(time.perf_counter() - began)


def _post(lease: Lease, url: str) -> None:
    """Sends one request that makes the replica dirty, whatever the site answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.proxy}))
    try:
        opener.open(urllib.request.Request(url, data=b"x=1"), timeout=30).read()
    except urllib.request.HTTPError as error:
        error.close()


def _spread(values: Sequence[float]) -> str:
    p95 = statistics.quantiles(values, n=20, method="inclusive")[-1]
    return f"median {statistics.median(values):.2f} ms, p95 {p95:.2f} ms, max {max(values):.1f} ms"


if __name__ == "__main__":
    main()
