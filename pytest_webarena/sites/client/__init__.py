"""A worker's side of the broker: starting it, leasing sites, visiting them without a browser."""
