"""All modules that import pytest: `entry` in every session, others once a session uses tasks or options of this
plugin."""
