"""The only way out of a task's browser: stable host names in, leased replicas behind, all else refused and recorded."""

from __future__ import annotations

from pytest_webarena.sites.gateway.log import Totals
from pytest_webarena.sites.gateway.session import Gateway, GatewaySession

__all__ = ["Gateway", "GatewaySession", "Totals"]
