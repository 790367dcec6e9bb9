"""Reads Compose files and describes their services as apps of a catalogue."""
