#!/bin/sh
# Program that Playwright starts in place of a stock Firefox; see bidi_bridge.py. -P: do not import modules next to it.
exec "$WEBARENA_BRIDGE_PYTHON" -P "${0%.sh}.py" "$WEBARENA_BRIDGE_FIREFOX" "$@"
