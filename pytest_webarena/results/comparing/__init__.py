"""Comparison of agents: differences, tests, plans, baselines, and reports."""
