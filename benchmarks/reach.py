"""Measures the cost of reachable sites per trial: unused, shared, and leased on the first visit.

    python benchmarks/reach.py [--workers 4] [--trials 50]

A trial leases `map` of the embedded sites. The first two rows are the time until the lease is granted, without other
reachable sites and with all of them, none visited. The other rows are the extra time of a first request over a second
one, for the shared encyclopedia and for the start page, which only this trial uses. Columns: median and 95th percentile
in milliseconds, and the broker's processor milliseconds per trial, the better measure on a busy machine.

The last table is the cost of sites that no trial visits: the first two rows again, each on its own broker, alternating.
Columns: processor milliseconds of the broker, its replicas and the workers; memory (PSS) and number of processes at the
end.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease


def get(lease: Lease, url: str) -> float:
    """Returns the seconds until a page was loaded."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.proxy}))
    began = time.perf_counter()
    with opener.open(url, timeout=120) as answer:
        answer.read()
    return time.perf_counter() - began


def trial(client: BrokerClient, reach: Sequence[str], url: str) -> float:
    """Returns the seconds of a lease, or the extra seconds of a first visit to ``url``."""
    began = time.perf_counter()
    with client.lease(["map"], holder="a benchmark", timeout=300, reach=reach) as lease:
        leased = time.perf_counter() - began
        if not url:
            return leased
        first = get(lease, url)
        return first - get(lease, url)


def measured(address: str, workers: int, trials: int, reach: Sequence[str], url: str) -> list[float]:
    """Returns the results of all workers' trials."""
    found: list[float] = []

    def work(name: str) -> None:
        with BrokerClient(address, name=name) as client:
            for _ in range(trials):
                found.append(trial(client, reach, url))

    threads = [threading.Thread(target=work, args=(f"gw{number}",)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def processor_time(pid: int) -> float:
    """Returns the processor time in seconds that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """Returns a process and all its descendants."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has ended meanwhile
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for each in found:  # the list grows while it is read
        found += [child for child, parent in parents.items() if parent == each]
    return found


def memory(pid: int) -> float:
    """Returns the memory of a process and all its descendants in megabytes, with shared memory counted once."""
    total = 0
    for each in family(pid):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def unused(workers: int, trials: int, reach: Sequence[str]) -> tuple[float, float, int]:
    """Returns the processor time in ms per trial that visits nothing, and the memory in megabytes and the number of
    processes at the end."""
    with BrokerLauncher(BrokerConfig(catalogue="embedded", max_replicas=3 * workers + 2)) as launcher:
        with BrokerClient(launcher.address, name="asks") as client:
            broker = client.status().pid
        measured(launcher.address, 1, 2, reach, "")  # the first start

        def used() -> float:
            return sum(map(processor_time, family(broker))) + time.process_time()

        began = used()
        measured(launcher.address, workers, trials, reach, "")
        return 1000 * (used() - began) / workers / trials, memory(broker), len(family(broker))


def tell_unused(workers: int, trials: int) -> None:
    """Prints the medians of three rounds, taken in turn, so that other load on the machine affects both alike."""
    names: dict[str, list[str]] = {"the task's sites alone": [], "the environment in reach": ["*"]}
    rounds = [{name: unused(workers, trials, reach) for name, reach in names.items()} for _ in range(3)]
    print("unused sites, medians of three rounds")
    for name in names:
        used, megabytes, processes = (statistics.median(each[name][part] for each in rounds) for part in range(3))
        print(f"  {name:36} processor {used:6.2f} ms a trial  memory {megabytes:7.1f} MB  processes {processes:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=4, help="run this many workers (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=50, help="trials per worker (default: %(default)s)")
    given = parser.parse_args()
    config = BrokerConfig(catalogue="embedded", max_replicas=3 * given.workers + 2)
    with BrokerLauncher(config) as launcher:
        with BrokerClient(launcher.address, name="asks") as client:
            broker = client.status().pid

        def run(reach: Sequence[str], url: str) -> tuple[list[float], float]:
            began = processor_time(broker)
            found = measured(launcher.address, given.workers, given.trials, reach, url)
            return found, (processor_time(broker) - began) / len(found)

        for url in ("http://wikipedia.test/", "http://homepage.test/"):  # the first start of each site
            measured(launcher.address, 1, 2, ["*"], url)
        rows = {
            "a lease of the task's sites alone": run([], ""),
            "the same, the environment in reach": run(["*"], ""),
            "first visit of a shared site": run(["*"], "http://wikipedia.test/"),
            "first visit of one of one's own": run(["*"], "http://homepage.test/"),
        }
        with BrokerClient(launcher.address, name="asks") as client:
            apps = {app.app: len(app.replicas) for app in client.status().apps}
    print(f"{given.workers} workers, {given.trials} trials each; milliseconds")
    for name, (seconds, processor) in rows.items():
        median, high = statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1]
        print(f"  {name:36} median {1000 * median:7.2f}  p95 {1000 * high:7.2f}  broker {1000 * processor:7.2f}")
    print("  replicas at the end:", ", ".join(f"{app} {count}" for app, count in sorted(apps.items())))
    tell_unused(given.workers, given.trials)


if __name__ == "__main__":
    main()
