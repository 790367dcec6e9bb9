"""Tests of the upkeep of tasks."""
