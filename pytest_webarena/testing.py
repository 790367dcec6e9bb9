"""Helpers for people who test agents, checks and sites of their own."""

from __future__ import annotations

