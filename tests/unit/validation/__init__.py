"""Tests of task monitoring."""
