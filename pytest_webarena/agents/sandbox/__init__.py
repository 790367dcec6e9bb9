"""The built-in sandbox: a command inside ``bwrap``, and a relay as its only connection to the network."""

from pytest_webarena.agents.sandbox.bubblewrap import ARGUMENTS, BUBBLEWRAP, SandboxedCommand, check, examine, sandboxed
from pytest_webarena.agents.sandbox.hosts import Destination, read_host

__all__ = ["ARGUMENTS", "BUBBLEWRAP", "Destination", "SandboxedCommand", "check", "examine", "read_host", "sandboxed"]
