"""Serve an embedded app by hand or in a container: ``python -m pytest_webarena.embedded.serve homepage``."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.embedded import APPS, get
from pytest_webarena.errors import UsageError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until interrupted. Returns the exit code: 0, or 2 when the app can't be served."""
    arguments = _parser().parse_args(argv)
    try:
        app = get(arguments.app)
        with tempfile.TemporaryDirectory(prefix=f"webarena-{app.name}-") as scratch:
            directory = arguments.data or Path(scratch)
            if arguments.reseed or not directory.is_dir() or not any(directory.iterdir()):
                app.seed(directory)
            _serve(app.name, app.create_app(directory), arguments.host, arguments.port, arguments.threads)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"can't serve {arguments.app!r} on {arguments.host}:{arguments.port}: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pytest_webarena.embedded.serve", description=__doc__)
    parser.add_argument("app", help=f"one of: {', '.join(sorted(APPS))}")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port; 0 picks a free one (default: %(default)s)")
    parser.add_argument("--data", type=Path, help="data directory, seeded when empty (default: a temporary one)")
    parser.add_argument("--reseed", action="store_true", help="throw away what the data directory holds")
    parser.add_argument("--threads", type=int, default=4, help="requests served at once (default: %(default)s)")
    return parser


def _serve(name: str, app: Any, host: str, port: int, threads: int) -> None:
    from waitress.server import create_server

    # In a container this is process 1, for which the kernel ignores signals without a handler.
    signal.signal(signal.SIGTERM, _leave)
    # Bound here because waitress leaks what it has opened when the port is taken.
    with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        server = create_server(app, sockets=[listener], threads=threads, ident="pytest-webarena")
        shown = f"[{host}]" if ":" in host else host
        print(f"{name}: http://{shown}:{listener.getsockname()[1]}/", flush=True)
        try:
            server.run()
        except (KeyboardInterrupt, SystemExit):
            pass
        finally:
            server.close()


def _leave(_signal: int, _frame: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    raise SystemExit(main())
