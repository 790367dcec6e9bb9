"""Whether one agent is better than another: differences, tests, plans, baselines, and how they are told."""
