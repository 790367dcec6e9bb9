#!/bin/sh
# What Playwright starts in place of a stock Firefox; see bidi_bridge.py. -P: modules beside it are none of Python's.
exec "$WEBARENA_BRIDGE_PYTHON" -P "${0%.sh}.py" "$WEBARENA_BRIDGE_FIREFOX" "$@"
