"""A worker's side of the broker: starts it, leases sites, and visits them without a browser."""
