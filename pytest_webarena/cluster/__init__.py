"""Trials on many machines: distribution to nodes, results, and state that the driver owns; one module imports Ray."""
