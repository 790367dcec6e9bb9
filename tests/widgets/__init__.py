"""Conformance suite: observations and actions against raw Playwright on the widgets of the modern web."""
