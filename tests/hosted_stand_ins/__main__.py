"""Serve the stand-ins until interrupted: `python3 -m hosted_stand_ins [DEVIATION]`."""

import argparse
import signal

from .deviations import DEVIATIONS
from .machine import Layout, running


def main() -> None:
    """Serve the machine with at most one deviation and print its addresses."""
    names = {deviation.name: deviation for deviation in DEVIATIONS}
    parser = argparse.ArgumentParser(description="Serve stand-ins for WebArena's hosted sites")
    parser.add_argument("deviation", nargs="?", choices=sorted(names), help="depart in one point")
    parser.add_argument("--hosts", action="store_true", help="serve each site on an own address")
    parser.add_argument("--documented-ports", action="store_true", help="use the guide's ports")
    args = parser.parse_args()
    chosen = names.get(args.deviation)
    options = {chosen.site: chosen.options} if chosen else {}
    layout: Layout = "hosts" if args.hosts else "machine"
    with running(options, layout, args.documented_ports) as machine:
        for name, address in machine.addresses.items():
            print(f"--site-url={name}={address}", flush=True)
        print(f"reset: {machine.reset_address}/reset", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    main()
