"""The process that owns replicas: pools of them, leases, resets, stored sessions and the gateway of each lease."""
