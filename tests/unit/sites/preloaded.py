"""Sources of modules to preload: an app, and modules that cannot be preloaded."""

from __future__ import annotations

__all__ = ["MODULES"]

MODULES = {
    "terms": """
import os, time

CURRENCY = os.environ.get("CURRENCY", "EUR")

def create_app(data_dir):
    late = os.environ.get("LATE", "")

    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        hour = time.localtime(0).tm_hour
        return [f"{CURRENCY} late={late} hour={hour} parent={os.getppid()}".encode()]

    return app
""",
    "late": "",
    "threaded": """
import threading

threading.Thread(target=threading.Event().wait, name="ticker", daemon=True).start()
""",
    "waited": """
import threading

thread = threading.Thread(target=int)
thread.start()
thread.join()
""",
    "scarce": """
import errno, os

fork, forks = os.fork, []

def second_fails():
    forks.append(1)
    if len(forks) == 2:
        raise BlockingIOError(errno.EAGAIN, "no more processes")
    os.fork = second_fails if len(forks) < 2 else fork
    pid = fork()
    if pid == 0:
        os.fork = fork
    return pid

os.fork = second_fails
""",
    "endless": """
import os, sys, threading

print(f"pid={os.getpid()}", file=sys.stderr, flush=True)
threading.Event().wait()
""",
    "gated": """
import time
from pathlib import Path

gate = Path(__file__).with_name("gate")
gate.write_text("")
while gate.exists():
    time.sleep(0.005)
""",
}
"""Texts by name; ``terms`` is the app."""
