"""Monitoring of tasks: whether they can still be done on their sites, and since when not."""
