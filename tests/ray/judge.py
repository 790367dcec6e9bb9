"""A model with one fixed reply that counts its requests: ``python -m tests.ray.judge REPLY``."""

from __future__ import annotations

import sys

from tests.model_server import model_server
from tests.sealed import sealed

if __name__ == "__main__":
    with model_server([sealed(sys.argv[1])]) as server:
        print(server.url, flush=True)
        for _ in sys.stdin:
            print(server.requests, flush=True)
