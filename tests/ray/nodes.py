"""A Ray cluster of several nodes on one machine: ``python -m tests.ray.nodes CPUS…`` in a network namespace.

The head has no CPUs, so it runs no trials; each number in CPUS makes a node with so many. Commands on standard input
are ``add CPUS`` and ``kill N`` (the N-th node, from 1); each is answered by a line. The cluster stops at the end of
the input.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

ONE = {"object_store_memory": 80 << 20, "include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
"""Settings of each node, without processes that only scale clusters or copy logs."""


def main(cpus: list[int]) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "node_ip_address": "127.0.0.1", **ONE},
    )
    nodes: list[Any] = []
    with contextlib.suppress(KeyboardInterrupt):
        for count in cpus:
            nodes.append(cluster.add_node(num_cpus=count, node_ip_address="127.0.0.1", **ONE))
        print("ready", cluster.address, flush=True)
        for line in sys.stdin:
            order, number = line.split()
            if order == "add":
                nodes.append(cluster.add_node(num_cpus=int(number), node_ip_address="127.0.0.1", **ONE))
            elif order == "kill":
                cluster.remove_node(nodes[int(number) - 1], allow_graceful=False)
            print("done", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]])
