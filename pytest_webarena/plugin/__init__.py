"""All modules that import pytest: `entry` in every session, the others once there are tasks or options of this
plugin."""
