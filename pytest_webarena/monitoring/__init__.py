"""Upkeep of tasks: whether what they ask for can still be done on their sites, and since when not."""
